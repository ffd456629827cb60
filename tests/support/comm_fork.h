/* SPDX-License-Identifier: MIT
 * Runs a function in several ranks on this computer: processes that fork() creates, with a transport of socket pairs
 * (aoe_comm.h). Assertions of cmocka work in the ranks: a failed one ends its rank.
 */
#pragma once

#include <stdint.h>

#include "aoe_comm.h"

/* The work of a rank. Returns 0, or an error code with a message in *err. */
typedef int (*comm_test_fn)(aoe_comm *comm, void *user, aoe_error *err);

/* How a rank ended. */
typedef struct comm_test_result {
    int code;           /* what the function returned; INT_MIN: it did not return */
    int signal;         /* number of the signal that ended the rank, SIGKILL if the rank was stopped; 0: none */
    char message[1024]; /* message of the error */
} comm_test_result;

/* Runs function(comm, user, err) in `ranks` ranks. Returns 0 if all of them returned 0. Otherwise prints the errors. */
int comm_test_fork(int ranks, comm_test_fn function, void *user);
/* Like comm_test_fork, but sets results[r] for each rank and prints nothing. results: [ranks]. Returns the number of
 * ranks that did not return 0. When one of them has ended, the others have 20 seconds until they are killed. */
int comm_test_fork_results(int ranks, comm_test_fn function, void *user, comm_test_result *results);

/* Changes one bit in the middle of the n-th message that the rank receives after this call (n = 1: the next one). */
void comm_test_flip(aoe_comm *comm, uint64_t n);
