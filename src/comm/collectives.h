/* SPDX-License-Identifier: MIT
 * Collective operations of the ranks of a distributed run, over a transport (aoe_comm.h) that only exchanges bytes
 * between two ranks. All ranks call the same operations in the same order, with the same sizes. The operations never
 * add values, so no result depends on the number of ranks. If a program has no transport, or a run has one rank, the
 * operations do nothing: every function accepts NULL and a struct with one rank.
 *
 * After the transport has failed, every operation returns AOE_ECOMM, and the run must end with aoe_comm.abort, because
 * the other ranks may wait for this one. An error on which all ranks agreed is returned by all of them, so that the run
 * can end in order.
 */
#pragma once

#include <stdint.h>

#include "aoe_comm.h"

enum { AOEI_COMM_HOST = 64 /* bytes of the name of a host, with its NUL */ };

/* What a rank tells the others when all ranks agree on something. */
typedef struct aoei_comm_record {
    uint64_t value; /* hash */
    uint32_t code;  /* negated error code, or number of facts */
    uint32_t calls; /* number of operations so far, which must be equal in all ranks */
} aoei_comm_record;

/* The parts of a training step in which ranks exchange bytes. Messages outside of steps, such as those of a checkpoint,
 * have the kind OTHER. */
typedef enum aoei_traffic_kind {
    AOEI_TRAFFIC_OTHER,
    AOEI_TRAFFIC_VECTORS,   /* vectors of the texts, or the losses of the shards */
    AOEI_TRAFFIC_GRADIENTS, /* partial sums of the gradient */
    AOEI_TRAFFIC_NORM,      /* sums of squares, for the norm of the gradient */
    AOEI_TRAFFIC_WEIGHTS,   /* new values of the parameters */
    AOEI_TRAFFIC_AGREEMENT, /* hashes that are compared, and whether to stop */
    AOEI_TRAFFIC_KINDS
} aoei_traffic_kind;

/* What this rank has sent, and the time of these exchanges, which includes waiting for the other ranks. */
typedef struct aoei_traffic {
    uint64_t sent; /* bytes */
    double seconds;
} aoei_traffic;

typedef struct aoei_comm {
    aoe_comm c;              /* complete copy of the program's transport */
    double timeout;          /* seconds without progress after which an operation fails; 0: none */
    uint64_t sent, received; /* bytes of all messages to and from other ranks so far */
    const char *phase; /* what the ranks are doing, for messages, such as "the gradients"; borrowed; may be NULL */
    uint64_t step;     /* step of the run, for messages, counted from 1; 0: none */
    char (*host)[AOEI_COMM_HOST]; /* [ranks] name of the host of each rank; owned; NULL if there is one rank */
    aoei_comm_record *records;    /* [ranks] scratch; owned; NULL if there is one rank */
    size_t *offset;               /* [ranks + 1] scratch; owned; NULL if there is one rank */
    uint32_t calls;               /* number of operations so far */
    aoei_traffic_kind kind;       /* kind of the messages at present */
    aoei_traffic traffic[AOEI_TRAFFIC_KINDS]; /* bytes and seconds so far */
    int broken;                               /* 1: the transport failed */
    int agreed;                               /* 1: the last operation returned an error on which all ranks agreed */
} aoei_comm;

/* A part of a message to one rank, or from one rank. */
typedef struct aoei_comm_part {
    void *data; /* [bytes] not changed in a part that is sent */
    size_t bytes;
} aoei_comm_part;

/* Something that must be equal in all ranks. The message of a difference is "rank 3 (node7) NAME VALUE, but rank 0
 * (node1) NAME VALUE; ADVICE". */
typedef struct aoei_fact {
    const char *name;   /* such as "computes with" */
    const char *value;  /* such as "avx2" */
    const char *advice; /* such as "set AOE_CPU=avx2 on all nodes" */
} aoei_fact;

/* Sets *c to a transport of the program, or, if `given` is NULL, to a run with one rank. Collective: exchanges the
 * names of the hosts, and checks that all ranks use the same version of the library and the same byte order. The caller
 * calls aoei_comm_free, also after an error. The transport itself stays open. Errors: AOE_EARG (invalid struct),
 * AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM. */
int aoei_comm_init(aoei_comm *c, const aoe_comm *given, double timeout, aoe_error *err);
void aoei_comm_free(aoei_comm *c);

static inline int aoei_comm_rank(const aoei_comm *c) {
    return c ? c->c.rank : 0;
}
static inline int aoei_comm_ranks(const aoei_comm *c) {
    return c && c->c.ranks > 1 ? c->c.ranks : 1;
}

/* Sets the phase and the step for messages. */
void aoei_comm_phase(aoei_comm *c, const char *phase, uint64_t step);
/* Sets the kind to which the bytes and the seconds of the following operations are added. Returns the kind before. */
aoei_traffic_kind aoei_comm_count(aoei_comm *c, aoei_traffic_kind kind);

/* Gathers a buffer in all ranks, in place: rank r has the bytes from offset[r] to offset[r + 1] - 1 before the call,
 * and every rank has all bytes after it. offset: [ranks + 1], ascending, equal in all ranks. Errors: AOE_ECOMM. */
int aoei_comm_gather_all(aoei_comm *c, void *buffer, const size_t *offset, aoe_error *err);
/* Like aoei_comm_gather_all, with pieces of the same size: rank r has the bytes from r * bytes. buffer: [ranks * bytes]
 */
int aoei_comm_gather_equal(aoei_comm *c, void *buffer, size_t bytes, aoe_error *err);
/* Sends send[r] to each rank r, and receives receive[r] from each rank r. send, receive: [ranks]; receive[r].bytes of
 * rank q must be equal to send[q].bytes of rank r. The part of a rank for itself is copied, unless both pointers are
 * equal. No two parts to receive may overlap. In round k, rank r sends to rank r + k and receives from rank r - k
 * (modulo ranks), so that no rank is the target of several others. Errors: AOE_ECOMM. */
int aoei_comm_exchange_all(aoei_comm *c, const aoei_comm_part *send, const aoei_comm_part *receive, aoe_error *err);
/* Copies a buffer of rank 0 to all ranks. Errors: AOE_ECOMM. */
int aoei_comm_broadcast(aoei_comm *c, void *buffer, size_t bytes, aoe_error *err);
/* Copies a buffer of the rank `from` to rank 0. Other ranks may pass NULL. Does nothing if `from` is 0. Errors:
 * AOE_ECOMM. */
int aoei_comm_to_first(aoei_comm *c, void *buffer, size_t bytes, int from, aoe_error *err);

/* Return the number of bytes that a rank sends in aoei_comm_gather_all, in aoei_comm_gather_equal, in
 * aoei_comm_broadcast, and in aoei_comm_same_hash if the hashes are equal. */
uint64_t aoei_comm_gather_all_sent(size_t rank, size_t ranks, const size_t *offset);
uint64_t aoei_comm_gather_equal_sent(size_t ranks, size_t bytes);
uint64_t aoei_comm_broadcast_sent(size_t rank, size_t ranks, size_t bytes);
uint64_t aoei_comm_same_hash_sent(size_t ranks);

/* Agrees on the result of something that every rank has done, such as the reading of a file. code: 0, or an aoe_code,
 * with its message in *err. If all codes are 0, returns 0. Otherwise every rank returns the code of the lowest failing
 * rank with its message, prefixed by "rank 3 (node7): " unless all ranks fail with the same message. err may not be
 * NULL. Errors: also AOE_ECOMM. */
int aoei_comm_agree(aoei_comm *c, int code, aoe_error *err);
/* Checks that n facts are equal in all ranks. The names must be equal. All ranks return the same error, which names the
 * lowest rank that differs from rank 0. Errors: AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM. */
int aoei_comm_same(aoei_comm *c, const aoei_fact *facts, size_t n, aoe_error *err);
/* Checks that a hash is equal in all ranks. what: plural noun, such as "the gathered vectors". All ranks return the
 * same error, which names the lowest rank whose hash differs from that of most ranks. Errors: AOE_EMISMATCH, AOE_ECOMM.
 */
int aoei_comm_same_hash(aoei_comm *c, const char *what, uint64_t hash, aoe_error *err);

/* Returns the code with which a rank ends a run. An error that the other ranks do not know becomes AOE_ECOMM, with the
 * message prefixed by "rank 3 (node7): ", because they may wait for this rank: the program must call aoe_comm.abort. */
int aoei_comm_result(const aoei_comm *c, int code, aoe_error *err);
