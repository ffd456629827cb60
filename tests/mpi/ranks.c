/* SPDX-License-Identifier: MIT
 * A rank of the tests of MPI (tests/mpi/run.sh). Usage: ranks MODE [RANK]. All ranks open the transport, and:
 *   open         close it
 *   collectives  run the collective operations, also with messages of several parts
 *   error RANK   one rank has an error of which the others know nothing
 *   kill RANK    one rank is killed in the second exchange
 *   stop RANK    one rank stops in the second exchange; the time limit is 2 seconds
 *   traffic NAME run an optimizer step of a model with a predefined shape, and print the bytes, seconds and a hash
 * Rank 0 prints results. If a rank has an error, it prints it and ends all ranks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/comm_cases.h"
#include "../support/support.h"
#include "aoe_shape.h"
#include "base/hash.h"
#include "comm/collectives.h"
#include "encoder/shapes.h"
#include "train/partitioned_step.h"

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

/* The parameters of a model, and its optimizer step. */
typedef struct training {
    aoei_encoder_config config;
    aoei_arena arena;
    aoei_params params;
    aoei_gradient_tree tree;
    aoei_shards shards;
    aoei_partitioned_step step;
} training;

static int lay_out(training *t, const aoe_context *ctx, aoe_error *err) {
    const aoei_params_options o = {.optimizer = AOEI_SGD, .rank = (size_t)t->shards.comm->c.rank, .ranks = t->shards.n};
    const int rc = aoei_params_layout(&t->params, ctx, &t->config, &o, &t->arena, err);
    aoei_gradient_tree_layout(&t->tree, &t->params, &t->shards, 0, &t->arena);
    return rc;
}

/* Creates the parameters, and a gradient that differs between the ranks. */
static int create_training(training *t, aoe_context *ctx, aoei_comm *c, const char *name, aoe_error *err) {
    aoe_shape shape = {.struct_size = sizeof shape};
    t->shards = aoei_shards_of((size_t)c->c.ranks, c);
    int rc = aoe_shape_named(&shape, name, err);
    rc = rc ? rc : aoei_shape_checked(&t->config, &shape, err);
    aoei_arena_measure(&t->arena);
    rc = rc ? rc : lay_out(t, ctx, err);
    rc = rc ? rc : aoei_arena_create(&t->arena, t->arena.used, err);
    rc = rc ? rc : lay_out(t, ctx, err);
    rc = rc ? rc : aoei_partitioned_step_create(&t->step, &t->shards, &t->params, &t->tree, err);
    if (rc)
        return rc;
    float *part = malloc(t->params.count * sizeof *part);
    assert_non_null(part);
    for (size_t i = 0; i < t->params.count; i++)
        part[i] = (float)((i * 2654435761u >> 13) % 1000 + (size_t)c->c.rank) * 1e-6f;
    aoei_gradient_tree_bind(&t->tree, ctx, (size_t)c->c.rank);
    aoei_tensor_write(ctx, t->params.grad, part);
    aoei_gradient_tree_done(&t->tree, ctx, (size_t)c->c.rank);
    memset(part, 0, t->params.count * sizeof *part);
    aoei_tensor_write(ctx, t->params.value, part);
    free(part);
    return 0;
}

/* Prints the largest numbers of bytes and seconds of all ranks, and checks that all ranks have the same values. */
static int print_traffic(aoei_comm *c, const training *t, const aoe_context *ctx, aoe_error *err) {
    aoei_traffic own[2] = {c->traffic[AOEI_TRAFFIC_GRADIENTS], c->traffic[AOEI_TRAFFIC_WEIGHTS]}, most[2] = {{0}};
    aoei_traffic all[2 * COMM_CASE_RANKS];
    float *values = malloc(t->params.count * sizeof *values);
    assert_non_null(values);
    aoei_tensor_read(ctx, values, t->params.value);
    const uint64_t hash = aoei_hash_words(AOEI_HASH_START, values, t->params.count);
    free(values);
    memcpy(all + 2 * c->c.rank, own, sizeof own);
    int rc = aoei_comm_same_hash(c, "the weights", hash, err);
    rc = rc ? rc : aoei_comm_gather_equal(c, all, sizeof own, err);
    if (rc || c->c.rank)
        return rc;
    for (int i = 0; i < 2 * c->c.ranks; i++) {
        aoei_traffic *m = &most[i % 2];
        m->sent = all[i].sent > m->sent ? all[i].sent : m->sent;
        m->seconds = all[i].seconds > m->seconds ? all[i].seconds : m->seconds;
    }
    printf("ranks %d gradients %llu gradient_seconds %.3f weights %llu weight_seconds %.3f hash %016llx\n", c->c.ranks,
           (unsigned long long)most[0].sent, most[0].seconds, (unsigned long long)most[1].sent, most[1].seconds,
           (unsigned long long)hash);
    return 0;
}

/* Runs the optimizer step of a training run. */
static int run_traffic(aoe_comm *comm, const char *name, aoe_error *err) {
    aoei_comm c;
    training t = {.arena = {0}};
    char connect[COMM_CASE_RANKS * 1024] = "";
    double norm = 0;
    aoe_context *ctx = NULL;
    const aoe_context_options o = {.struct_size = sizeof o, .threads = 1};
    int rc = aoei_comm_init(&c, comm, 60, err);
    rc = rc ? rc : aoe_context_create(&ctx, &o, err);
    rc = rc ? rc : create_training(&t, ctx, &c, name, err);
    rc = rc ? rc : aoei_comm_gather_equal(&c, connect, 1024, err); /* connects all ranks */
    rc = rc ? rc : aoei_comm_agree(&c, 0, err);
    memset(c.traffic, 0, sizeof c.traffic);
    const aoei_optimizer sgd = {.kind = AOEI_SGD, .lr = 1, .step = 1};
    rc = rc ? rc : aoei_partitioned_step_update(&t.step, ctx, &sgd, 1, &norm, err);
    rc = rc ? rc : print_traffic(&c, &t, ctx, err);
    aoei_partitioned_step_destroy(&t.step);
    aoei_arena_destroy(&t.arena);
    aoe_context_destroy(ctx);
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
        rc = run_traffic(comm, argc > 2 ? argv[2] : "", &err);
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
