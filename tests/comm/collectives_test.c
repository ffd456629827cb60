/* SPDX-License-Identifier: MIT
 * Collective operations with 1 to 8 ranks, which are processes on this computer: every byte arrives, the numbers of
 * bytes are counted, differences and errors are reported by all ranks with the same message, and ranks that end or stop
 * are named.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/comm_cases.h"
#include "../support/comm_fork.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "comm/collectives.h"

enum { MOST = COMM_CASE_RANKS };

/* Runs the function with 1 to MOST ranks. */
static void with_all_ranks(comm_test_fn function) {
    for (int ranks = 1; ranks <= MOST; ranks++)
        if (comm_test_fork(ranks, function, NULL))
            fail_msg("failed with %d ranks", ranks);
}

/* ------------------------------------------------------------------ movement */

static void gathers(void **state) {
    (void)state;
    with_all_ranks(comm_case_gather);
}

static void exchanges_parts(void **state) {
    (void)state;
    with_all_ranks(comm_case_exchange);
}

static void copies(void **state) {
    (void)state;
    with_all_ranks(comm_case_copy);
}

/* Operations of a run without a transport, and of a transport with one rank. */
static void one_rank(void **state) {
    (void)state;
    aoe_error err;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, NULL, 1, &err), 0);
    char out[4] = "abc", in[4] = "";
    const aoei_comm_part send = {out, 4}, receive = {in, 4};
    const size_t offset[] = {0, 4};
    aoei_comm *all[] = {&c, NULL};
    for (int i = 0; i < 2; i++) {
        memset(in, 0, sizeof in);
        assert_int_equal(aoei_comm_rank(all[i]), 0);
        assert_int_equal(aoei_comm_ranks(all[i]), 1);
        aoei_comm_phase(all[i], "a test", 1);
        assert_int_equal(aoei_comm_exchange_all(all[i], &send, &receive, &err), 0);
        assert_string_equal(in, "abc");
        assert_int_equal(aoei_comm_gather_all(all[i], in, offset, &err), 0);
        assert_int_equal(aoei_comm_gather_equal(all[i], in, 4, &err), 0);
        assert_int_equal(aoei_comm_broadcast(all[i], in, 4, &err), 0);
        assert_int_equal(aoei_comm_to_first(all[i], in, 4, 0, &err), 0);
        assert_int_equal(aoei_comm_same(all[i], &(aoei_fact){"uses", "x", "y"}, 1, &err), 0);
        assert_int_equal(aoei_comm_same_hash(all[i], "the weights", 1, &err), 0);
        assert_int_equal(aoei_comm_agree(all[i], 0, &err), 0);
        snprintf(err.message, sizeof err.message, "no space");
        assert_int_equal(aoei_comm_agree(all[i], AOE_ENOSPC, &err), AOE_ENOSPC);
        assert_int_equal(aoei_comm_result(all[i], AOE_ENOSPC, &err), AOE_ENOSPC);
        assert_string_equal(err.message, "no space");
    }
    assert_int_equal(c.sent, 0);
    aoei_comm_free(&c);
    const aoe_comm wrong = {.struct_size = sizeof wrong, .rank = 2, .ranks = 2};
    assert_int_equal(aoei_comm_init(&c, &wrong, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "rank 2 of 2"));
    aoei_comm_free(&c);
    const aoe_comm unset = {.rank = 0, .ranks = 2};
    assert_int_equal(aoei_comm_init(&c, &unset, 1, &err), AOE_EARG);
    aoei_comm_free(&c);
}

/* ----------------------------------------------------------------- agreement */

static void agrees(void **state) {
    (void)state;
    with_all_ranks(comm_case_agree);
}

static void compares(void **state) {
    (void)state;
    with_all_ranks(comm_case_compare);
}

/* One bit of a gathered buffer is flipped in rank 1. */
static int flip(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    unsigned char bytes[4] = {1, 2, 3, 4};
    if (comm->rank == 1)
        comm_test_flip(comm, 1);
    assert_int_equal(aoei_comm_gather_equal(&c, bytes, 1, err), 0);
    uint64_t hash = 0;
    for (int r = 0; r < 4; r++)
        hash = hash * 256 + bytes[r];
    assert_int_equal(aoei_comm_same_hash(&c, "the bytes", hash, err), AOE_EMISMATCH);
    assert_memory_equal(err->message, "the bytes of rank 1 (node1) differ", 34);
    aoei_comm_free(&c);
    return 0;
}

static void flipped_bit(void **state) {
    (void)state;
    assert_int_equal(comm_test_fork(4, flip, NULL), 0);
}

/* --------------------------------------------------------------------- faults */

/* Rank 2 receives a signal in the second operation. */
static int end_rank(aoe_comm *comm, void *user, aoe_error *err) {
    aoei_comm c;
    int rc = aoei_comm_init(&c, comm, 1, err);
    assert_int_equal(rc, 0);
    char *buffer = calloc(5, 100000);
    aoei_comm_phase(&c, "the gradients", 812);
    rc = aoei_comm_gather_equal(&c, buffer, 100000, err);
    assert_int_equal(rc, 0);
    if (comm->rank == 2)
        raise(*(int *)user);
    rc = aoei_comm_gather_equal(&c, buffer, 100000, err);
    assert_int_equal(rc, AOE_ECOMM);
    aoe_error second;
    assert_int_equal(aoei_comm_broadcast(&c, buffer, 1, &second), AOE_ECOMM);
    assert_int_equal(aoei_comm_agree(&c, 0, &second), AOE_ECOMM);
    assert_int_equal(aoei_comm_agree(&c, rc, err), AOE_ECOMM);
    assert_int_equal(aoei_comm_result(&c, rc, err), AOE_ECOMM);
    free(buffer);
    aoei_comm_free(&c);
    return rc;
}

static void rank_is_killed(void **state) {
    (void)state;
    comm_test_result results[5];
    int signal = SIGKILL;
    assert_int_equal(comm_test_fork_results(5, end_rank, &signal, results), 5);
    for (int r = 0; r < 5; r++) {
        if (r == 2) {
            assert_int_equal(results[r].signal, SIGKILL);
            continue;
        }
        assert_int_equal(results[r].signal, 0);
        assert_int_equal(results[r].code, AOE_ECOMM);
        assert_non_null(strstr(results[r].message, " failed in the gradients of step 812: "));
    }
    assert_non_null(strstr(results[3].message, "rank 2 has ended"));
}

/* All other ranks name the rank that stopped, not the rank for which they waited. */
static void rank_is_stopped(void **state) {
    (void)state;
    comm_test_result results[5];
    int signal = SIGSTOP;
    assert_int_equal(comm_test_fork_results(5, end_rank, &signal, results), 5);
    for (int r = 0; r < 5; r++) {
        if (r == 2)
            continue;
        assert_int_equal(results[r].code, AOE_ECOMM);
        if (!strstr(results[r].message, "no progress for 1 seconds in the gradients of step 812: rank 2 (node2) does "
                                        "not respond; "))
            fail_msg("rank %d: %s", r, results[r].message);
    }
}

/* Rank 1 calls another operation than the other ranks. */
static int disagree(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 5, err), 0);
    c.calls += comm->rank == 1;
    const int rc = aoei_comm_agree(&c, 0, err);
    assert_int_equal(rc, AOE_ECOMM);
    assert_non_null(strstr(err->message, "rank 1 (node1) is at another point of the run"));
    aoei_comm_free(&c);
    return 0;
}

static void other_operation(void **state) {
    (void)state;
    assert_int_equal(comm_test_fork(3, disagree, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gathers),         cmocka_unit_test(exchanges_parts),
                                       cmocka_unit_test(copies),          cmocka_unit_test(one_rank),
                                       cmocka_unit_test(agrees),          cmocka_unit_test(compares),
                                       cmocka_unit_test(flipped_bit),     cmocka_unit_test(rank_is_killed),
                                       cmocka_unit_test(rank_is_stopped), cmocka_unit_test(other_operation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
