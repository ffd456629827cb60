/* SPDX-License-Identifier: MIT
 * Cases of the collective operations for every transport.
 */
#include "comm_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/collectives.h"
#include "support.h"

enum { MOST = COMM_CASE_RANKS };

/* Byte i of the piece of rank r. */
static unsigned char byte_of(int r, size_t i) {
    return (unsigned char)((unsigned)r * 31 + (unsigned)(i * 7) + (unsigned)(i >> 8));
}

static void fill(void *buffer, int r, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)buffer)[i] = byte_of(r, i);
}

static void check_bytes(const void *buffer, int r, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)buffer)[i] != byte_of(r, i))
            fail_msg("byte %zu of %zu of the piece of rank %d is wrong", i, bytes, r);
}

/* Gathers pieces of different sizes, among them empty ones. */
int comm_case_gather(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    static const size_t scale[] = {1, 100, 60000}; /* the last one is gathered in a ring */
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    for (size_t k = 0; k < 3; k++) {
        size_t offset[MOST + 1] = {5};
        for (int r = 0; r < comm->ranks; r++)
            offset[r + 1] = offset[r] + (size_t)((r * 5 + 2) % 4) * scale[k];
        char *buffer = malloc(offset[comm->ranks] + 1);
        memset(buffer, 0xEE, offset[comm->ranks] + 1);
        const size_t own = offset[comm->rank + 1] - offset[comm->rank];
        fill(buffer + offset[comm->rank], comm->rank, own);
        const uint64_t sent = c.sent, received = c.received;
        assert_int_equal(aoei_comm_gather_all(&c, buffer, offset, err), 0);
        for (int r = 0; r < comm->ranks; r++)
            check_bytes(buffer + offset[r], r, offset[r + 1] - offset[r]);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal((unsigned char)buffer[i], 0xEE);
        assert_int_equal((unsigned char)buffer[offset[comm->ranks]], 0xEE);
        assert_int_equal(c.received - received, offset[comm->ranks] - 5 - own);
        if (k < 2)
            assert_int_equal(c.sent - sent, own * (size_t)(comm->ranks - 1));
        free(buffer);
    }
    uint32_t numbers[MOST];
    numbers[comm->rank] = (uint32_t)comm->rank * 3 + 1;
    assert_int_equal(aoei_comm_gather_equal(&c, numbers, sizeof *numbers, err), 0);
    for (int r = 0; r < comm->ranks; r++)
        assert_int_equal(numbers[r], r * 3 + 1);
    aoei_comm_free(&c);
    return 0;
}

/* Size of the part that rank `from` sends to rank `to`; some are empty. */
static size_t part_bytes(int from, int to) {
    return (size_t)((from * 7 + to * 3) % 5) * 30000;
}

int comm_case_exchange(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    const uint64_t sent = c.sent, received = c.received;
    aoei_comm_part send[MOST], receive[MOST];
    size_t bytes_out = 0, bytes_in = 0;
    for (int r = 0; r < comm->ranks; r++) {
        const size_t out = part_bytes(comm->rank, r), in = part_bytes(r, comm->rank);
        send[r] = (aoei_comm_part){malloc(out + 1), out};
        receive[r] = (aoei_comm_part){calloc(in + 1, 1), in};
        fill(send[r].data, comm->rank * 10 + r, out);
        bytes_out += r == comm->rank ? 0 : out;
        bytes_in += r == comm->rank ? 0 : in;
    }
    assert_int_equal(aoei_comm_exchange_all(&c, send, receive, err), 0);
    for (int r = 0; r < comm->ranks; r++) {
        check_bytes(receive[r].data, r * 10 + comm->rank, receive[r].bytes);
        assert_int_equal(((char *)receive[r].data)[receive[r].bytes], 0);
        free(send[r].data);
        free(receive[r].data);
    }
    assert_int_equal(c.sent - sent, bytes_out);
    assert_int_equal(c.received - received, bytes_in);
    aoei_comm_free(&c);
    return 0;
}

/* Copies a buffer of rank 0 to all ranks, and a buffer of each rank to rank 0. */
int comm_case_copy(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    enum { BYTES = 300000 };
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    char *buffer = malloc(BYTES);
    fill(buffer, comm->rank, BYTES);
    assert_int_equal(aoei_comm_broadcast(&c, buffer, BYTES, err), 0);
    check_bytes(buffer, 0, BYTES);
    for (int from = 0; from < comm->ranks; from++) {
        fill(buffer, comm->rank, BYTES);
        assert_int_equal(aoei_comm_to_first(&c, buffer, BYTES, from, err), 0);
        check_bytes(buffer, comm->rank == 0 ? from : comm->rank, BYTES);
    }
    free(buffer);
    aoei_comm_free(&c);
    return 0;
}

/* Agrees on errors of some ranks. */
int comm_case_agree(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    assert_int_equal(aoei_comm_agree(&c, 0, err), 0);
    assert_int_equal(c.agreed, 0);
    const int last = comm->ranks - 1;
    int code = 0;
    if (comm->rank == last)
        code = AOE_ENOSPC;
    snprintf(err->message, sizeof err->message, "the disk of rank %d is full", comm->rank);
    err->code = code;
    assert_int_equal(aoei_comm_agree(&c, code, err), AOE_ENOSPC);
    assert_int_equal(err->code, AOE_ENOSPC);
    char want[100];
    snprintf(want, sizeof want, "rank %d (node%d): the disk of rank %d is full", last, last, last);
    assert_string_equal(err->message, last ? want : want + strlen("rank 0 (node0): "));
    assert_int_equal(aoei_comm_result(&c, AOE_ENOSPC, err), AOE_ENOSPC);
    /* the lowest failing rank; in all other ranks, there is another error or none */
    snprintf(err->message, sizeof err->message, "error of rank %d", comm->rank);
    code = comm->rank >= last / 2 ? (comm->rank % 2 ? AOE_EIO : AOE_EFORMAT) : 0;
    const int lowest = last / 2;
    assert_int_equal(aoei_comm_agree(&c, code, err), lowest % 2 ? AOE_EIO : AOE_EFORMAT);
    snprintf(want, sizeof want, "rank %d (node%d): error of rank %d", lowest, lowest, lowest);
    assert_string_equal(err->message, last ? want : want + strlen("rank 0 (node0): "));
    /* the same error in all ranks has no prefix */
    snprintf(err->message, sizeof err->message, "the same error");
    assert_int_equal(aoei_comm_agree(&c, AOE_EARG, err), AOE_EARG);
    assert_string_equal(err->message, "the same error");
    /* after a failure on which all agreed, the run can continue */
    assert_int_equal(aoei_comm_agree(&c, 0, err), 0);
    /* an error that the others do not know */
    snprintf(err->message, sizeof err->message, "out of memory");
    if (comm->ranks > 1) {
        assert_int_equal(aoei_comm_result(&c, AOE_ENOMEM, err), AOE_ECOMM);
        snprintf(want, sizeof want, "rank %d (node%d): out of memory", comm->rank, comm->rank);
        assert_string_equal(err->message, want);
    }
    assert_int_equal(aoei_comm_result(&c, 0, err), 0);
    aoei_comm_free(&c);
    return 0;
}

/* Compares facts that are equal, and facts of which ranks 2 and higher have others. */
int comm_case_compare(aoe_comm *comm, void *user, aoe_error *err) {
    (void)user;
    aoei_comm c;
    assert_int_equal(aoei_comm_init(&c, comm, 20, err), 0);
    aoei_fact facts[] = {{"reads", "data.tsv", "use the same data"},
                         {"computes with", "avx512", "set AOE_CPU=avx2 everywhere"},
                         {"has the seed", "1", "use the same seed"}};
    assert_int_equal(aoei_comm_same(&c, facts, 3, err), 0);
    if (comm->rank >= 2) {
        facts[1].value = "avx2";
        facts[2].value = "2";
    }
    const int differs = comm->ranks > 2;
    assert_int_equal(aoei_comm_same(&c, facts, 3, err), differs ? AOE_EMISMATCH : 0);
    if (differs) {
        assert_string_equal(err->message, "rank 2 (node2) computes with avx2, but rank 0 (node0) computes with avx512; "
                                          "set AOE_CPU=avx2 everywhere");
        assert_int_equal(aoei_comm_result(&c, AOE_EMISMATCH, err), AOE_EMISMATCH);
    }
    assert_int_equal(aoei_comm_same_hash(&c, "the weights", 77, err), 0);
    aoei_comm_phase(&c, "the check of all weights", 100);
    const int code = aoei_comm_same_hash(&c, "the weights", comm->rank == comm->ranks - 1 ? 78 : 77, err);
    assert_int_equal(code, comm->ranks > 1 ? AOE_EMISMATCH : 0);
    char want[200];
    snprintf(want, sizeof want,
             "the weights of rank %d (node%d) differ from those of rank 0 (node0) in the check of all weights of step "
             "100;",
             comm->ranks - 1, comm->ranks - 1);
    if (code)
        assert_memory_equal(err->message, want, strlen(want));
    if (comm->ranks > 2) { /* if only rank 0 is different, it is named */
        assert_int_equal(aoei_comm_same_hash(&c, "the losses", comm->rank == 0, err), AOE_EMISMATCH);
        assert_memory_equal(err->message, "the losses of rank 0 (node0) differ from those of rank 1 (node1)", 64);
    }
    aoei_comm_free(&c);
    return 0;
}
