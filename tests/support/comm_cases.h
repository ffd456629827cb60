/* SPDX-License-Identifier: MIT
 * Cases of the collective operations (comm/collectives.h), each of which all ranks of a transport run: socket pairs in
 * tests/comm, MPI in tests/mpi. The transport has at most COMM_CASE_RANKS ranks, and the name of the host of rank r is
 * "noder". A failed assertion ends the rank. Each function returns 0.
 */
#pragma once

#include "aoe_comm.h"

enum { COMM_CASE_RANKS = 8 };

int comm_case_gather(aoe_comm *comm, void *user, aoe_error *err); /* pieces of different sizes, among them empty ones */
int comm_case_exchange(aoe_comm *comm, void *user, aoe_error *err); /* a part for each rank */
int comm_case_copy(aoe_comm *comm, void *user, aoe_error *err);     /* from rank 0 to all ranks, and to rank 0 */
int comm_case_agree(aoe_comm *comm, void *user, aoe_error *err);    /* errors of some ranks */
int comm_case_compare(aoe_comm *comm, void *user, aoe_error *err);  /* facts and hashes that are not equal */
