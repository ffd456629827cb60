/* SPDX-License-Identifier: MIT
 * A rank of the tests of MPI (tests/mpi/run.sh). Usage: ranks MODE [RANK]. All ranks open the transport, and:
 *   open         close it
 *   collectives  run the collective operations, also with messages of several parts
 *   error RANK   one rank has an error of which the others know nothing
 *   kill RANK    one rank is killed in the second exchange
 *   stop RANK    one rank stops in the second exchange; the time limit is 2 seconds
 *   traffic N    exchange N MB between all ranks, and print the bytes and the seconds
 * Rank 0 prints results. If a rank has an error, it prints it and ends all ranks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/comm_cases.h"
#include "../support/support.h"
#include "base/clock.h"
#include "comm/collectives.h"

/* Prints the error of this rank and ends all ranks. Rank 0 is the first to print, so that an error of several ranks is
 * printed once. */
static void end_with(aoe_comm *comm, const aoe_error *err) {
    usleep((unsigned)(4000000.0 * comm->rank / comm->ranks));
    fprintf(stderr, "aoe: %s\n", err->message);
    comm->abort(comm->self, 3);
}

/* Sends messages of several parts, of which each rank receives another number of bytes, and counts them. */
static int exchange_large(aoe_comm *comm, aoe_error *err) {
    enum { PART = 1 << 24 };
    static const size_t sizes[] = {PART - 1, PART, PART + 1, 5 * (size_t)PART + 7};
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 60, err), 0);
    uint64_t sent = c.sent;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (comm->ranks > 3 && k == 3)
            continue; /* 5 processes with hundreds of MB prove no more */
        aoei_comm_part send[COMM_CASE_RANKS] = {{NULL, 0}}, receive[COMM_CASE_RANKS] = {{NULL, 0}};
        const int to = (comm->rank + 1) % comm->ranks, from = (comm->rank + comm->ranks - 1) % comm->ranks;
        if (comm->ranks == 1)
            break;
        send[to] = (aoei_comm_part){malloc(sizes[k]), sizes[k]};
        receive[from] = (aoei_comm_part){malloc(sizes[k]), sizes[k]};
        unsigned char *out = send[to].data, *in = receive[from].data;
        for (size_t i = 0; i < sizes[k]; i++)
            out[i] = (unsigned char)((i * 2654435761u >> 13) + (unsigned)comm->rank);
        assert_int_equal(aoei_comm_exchange_all(&c, send, receive, err), 0);
        for (size_t i = 0; i < sizes[k]; i++)
            if (in[i] != (unsigned char)((i * 2654435761u >> 13) + (unsigned)from))
                fail_msg("byte %zu of %zu is wrong", i, sizes[k]);
        assert_int_equal(c.sent - sent, sizes[k]);
        sent = c.sent;
        free(out);
        free(in);
    }
    aoei_comm_free(&c);
    return 0;
}

static int run_collectives(aoe_comm *comm, aoe_error *err) {
    int (*const cases[])(aoe_comm *, void *, aoe_error *) = {comm_case_gather, comm_case_exchange, comm_case_copy,
                                                             comm_case_agree, comm_case_compare};
    char host[32];
    snprintf(host, sizeof host, "node%d", comm->rank);
    aoe_comm named = *comm;
    named.host = host;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cases[i](&named, NULL, err), 0);
    assert_int_equal(exchange_large(comm, err), 0);
    if (!comm->rank)
        printf("%d ranks: ok\n", comm->ranks);
    return 0;
}

/* Gathers twice; before the second time, one rank has an error, is killed, or stops. */
static int run_fault(aoe_comm *comm, const char *mode, int rank, aoe_error *err) {
    aoei_comm c;
    int rc = aoei_comm_init(&c, comm, strcmp(mode, "stop") == 0 ? 2 : 60, err);
    char *buffer = calloc((size_t)comm->ranks, 100000);
    aoei_comm_phase(&c, "the gradients", 812);
    rc = rc ? rc : aoei_comm_gather_equal(&c, buffer, 100000, err);
    if (!rc && comm->rank == rank && strcmp(mode, "error") == 0) {
        snprintf(err->message, sizeof err->message, "the disk is full");
        rc = aoei_comm_result(&c, AOE_ENOSPC, err);
    } else if (comm->rank == rank) {
        raise(strcmp(mode, "kill") == 0 ? SIGKILL : SIGSTOP);
    }
    rc = rc ? rc : aoei_comm_gather_equal(&c, buffer, 100000, err);
    rc = aoei_comm_result(&c, rc, err);
    free(buffer);
    aoei_comm_free(&c);
    return rc;
}

/* Exchanges the pieces of a buffer of `megabytes` MB, as a step of training does, and prints a hash of the result. */
static int run_traffic(aoe_comm *comm, size_t megabytes, aoe_error *err) {
    aoei_comm c;
    int rc = aoei_comm_init(&c, comm, 60, err);
    const size_t ranks = (size_t)comm->ranks, piece = megabytes * 1000000 / ranks;
    char *out = malloc(ranks * piece), *in = malloc(ranks * piece);
    aoei_comm_part send[COMM_CASE_RANKS], receive[COMM_CASE_RANKS];
    for (size_t r = 0; r < ranks; r++) {
        send[r] = (aoei_comm_part){out + r * piece, piece};
        receive[r] = (aoei_comm_part){in + r * piece, piece};
    }
    for (size_t i = 0; i < ranks * piece; i++)
        out[i] = (char)((i * 2654435761u >> 13) + (size_t)comm->rank);
    memset(in, 0, ranks * piece); /* otherwise the memory would be mapped while the time is measured */
    rc = rc ? rc : aoei_comm_exchange_all(&c, send, receive, err); /* connects all ranks */
    rc = rc ? rc : aoei_comm_agree(&c, 0, err);
    const uint64_t before = c.sent;
    const double start = aoei_now();
    rc = rc ? rc : aoei_comm_exchange_all(&c, send, receive, err);
    const double exchanged = aoei_now();
    rc = rc ? rc : aoei_comm_gather_equal(&c, in, piece, err);
    const double gathered = aoei_now();
    const uint64_t sent = c.sent - before;
    uint64_t hash = 0;
    for (size_t i = 0; i < ranks * piece; i++)
        hash = hash * 31 + (unsigned char)in[i];
    rc = rc ? rc : aoei_comm_same_hash(&c, "the buffers", hash, err);
    if (!rc && !comm->rank)
        printf("ranks %d bytes %llu exchange %.3f gather %.3f hash %016llx\n", comm->ranks, (unsigned long long)sent,
               exchanged - start, gathered - exchanged, (unsigned long long)hash);
    free(out);
    free(in);
    aoei_comm_free(&c);
    return rc;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    const char *mode = argv[1];
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends the process */
    aoe_comm *comm = NULL;
    aoe_error err = {0};
    if (aoe_comm_open(&comm, "mpi", &err)) {
        fprintf(stderr, "aoe: %s\n", err.message);
        return 1;
    }
    int rc = 0;
    if (strcmp(mode, "collectives") == 0)
        rc = run_collectives(comm, &err);
    else if (strcmp(mode, "traffic") == 0)
        rc = run_traffic(comm, (size_t)number, &err);
    else if (strcmp(mode, "open") != 0)
        rc = run_fault(comm, mode, number, &err);
    else if (!comm->rank)
        printf("%d ranks\n", comm->ranks);
    if (rc)
        end_with(comm, &err);
    fflush(stdout);
    aoe_comm_close(comm);
    return 0;
}
