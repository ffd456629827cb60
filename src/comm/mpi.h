/* SPDX-License-Identifier: MIT
 * The transport MPI (aoe_comm_open): finds and loads the shim libaoe-mpi.so, and exchanges messages of any size with
 * its functions. Nothing of MPI is loaded until a program opens the transport.
 */
#pragma once

#include "aoe_comm.h"
#include "comm/mpi_shim.h"

/* Opens the transport with the functions of a shim, in the thread that will use it. The state of the process is
 * unchanged (comm/process_state.h). Errors: AOE_EUNSUPPORTED (another version of the shim), AOE_EMISMATCH (MPI has one
 * rank, but a launcher started several copies), AOE_ECOMM (MPI failed), AOE_ENOMEM. */
int aoei_mpi_open(aoe_comm **comm, const aoei_mpi_shim *shim, aoe_error *err);

/* Loads the shim: $AOE_MPI, or libaoe-mpi.so in PREFIX/lib/aoe or next to the program or the library. It stays loaded
 * until the process ends. Errors: AOE_ENOENT (no shim), AOE_EIO (it cannot be loaded, for example because its MPI is
 * not installed), AOE_EUNSUPPORTED (the file is no shim). */
int aoei_mpi_load(const aoei_mpi_shim **shim, aoe_error *err);
