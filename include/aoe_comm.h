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

#ifdef __cplusplus
}
#endif
#endif
