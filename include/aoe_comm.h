/* SPDX-License-Identifier: MIT
 *
 * aoe_comm.h: communication between the processes of a distributed training run. Each process is a rank, and the ranks
 * exchange bytes, never sums: the library adds in a fixed order, so that the result has the same bits for every number
 * of ranks. A program fills an aoe_comm with the functions of its transport. This interface is experimental: it may
 * change before version 1.0.
 */
#ifndef AOE_COMM_H
#define AOE_COMM_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Results of aoe_comm.exchange. */
typedef enum aoe_comm_status {
    AOE_COMM_DONE,   /* all bytes were sent and received */
    AOE_COMM_FAILED, /* the transport failed; the message says why */
    AOE_COMM_STALLED /* there was no progress for `timeout` seconds, or another rank has called `absent` */
} aoe_comm_status;

/* A transport. The functions are called in one thread at a time, and always in the thread that opened the transport. */
typedef struct aoe_comm {
    size_t struct_size;
    int rank;         /* number of this process, from 0 to ranks - 1 */
    int ranks;        /* number of processes */
    const char *host; /* name of this computer, for messages; at most 63 bytes are used */
    void *self;       /* first argument of the functions */
    /* Sends send_bytes bytes to the rank `to` while it receives receive_bytes bytes from the rank `from`, and returns
     * when both are done. to or from is -1 if there is nothing to send or to receive. Messages between two ranks arrive
     * in the order in which they were sent. timeout: seconds without progress after which the function returns; 0: it
     * waits without a limit. Returns an aoe_comm_status; except for AOE_COMM_DONE, err->message says what happened. */
    int (*exchange)(void *self, int to, const void *send, size_t send_bytes, int from, void *receive,
                    size_t receive_bytes, double timeout, aoe_error *err);
    void (*abort)(void *self, int status); /* ends all ranks with this exit status; does not return */
    void (*close)(void *self);             /* ends the communication in all ranks, and frees *self and this struct */
    /* Finds the ranks that do not respond, after `exchange` has returned AOE_COMM_STALLED: sends a sign of life to all
     * other ranks, for which `exchange` in these ranks returns AOE_COMM_STALLED, and waits at most `seconds` for the
     * signs of the others. Sets absent[r] to 1 if there was no sign of rank r, otherwise to 0. absent: [ranks]. NULL:
     * the transport cannot do this. */
    void (*absent)(void *self, double seconds, unsigned char *absent);
} aoe_comm;

/* Opens a transport, which the caller closes with aoe_comm_close. Collective: all ranks call the function, and each of
 * them uses the transport only in the thread that opened it. transport: "mpi", the only one. It needs the library
 * libaoe-mpi.so, which `make mpi` compiles for the MPI of a computer: $AOE_MPI, or libaoe-mpi.so in PREFIX/lib/aoe or
 * next to the program or the library. MPI is initialized with MPI_THREAD_FUNNELED, unless the program has already
 * initialized it. Signal handlers, umask, locale, working directory and floating-point environment are unchanged. A
 * process can open a transport once, because MPI cannot be started again. Errors: AOE_EARG (another transport),
 * AOE_ENOENT (no libaoe-mpi.so), AOE_EIO (it cannot be loaded), AOE_EUNSUPPORTED (it belongs to another version of
 * aoe), AOE_EMISMATCH (MPI has one rank, but several copies of the program were started), AOE_ECOMM. */
AOE_API int aoe_comm_open(aoe_comm **comm, const char *transport, aoe_error *AOE_NULLABLE err);
/* Closes a transport with its function `close`. Collective, except after a failure: MPI then still runs until the
 * program calls comm->abort or ends. */
AOE_API void aoe_comm_close(aoe_comm *AOE_NULLABLE comm);
/* Returns the number of copies of this program that a launcher started, from the environment variables of mpirun
 * (OMPI_COMM_WORLD_SIZE, PMI_SIZE) and of a step of Slurm (SLURM_STEP_NUM_TASKS), or 1. Sets *variable to the name of
 * the variable, or to NULL if the result is 1. A program that would write to the same files in each copy uses it to end
 * with an error, unless it opens a transport. */
AOE_API int aoe_comm_copies(const char **AOE_NULLABLE variable);

#ifdef __cplusplus
}
#endif
#endif
