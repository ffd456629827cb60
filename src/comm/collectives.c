/* SPDX-License-Identifier: MIT
 * Collective operations over a transport that exchanges bytes between two ranks. In most operations, round k of
 * ranks - 1 rounds exchanges bytes with the ranks at distance k, so that in each round every rank sends one message and
 * receives one. Large buffers are gathered in a ring, because on nodes with several ranks most of its messages then
 * stay within a node.
 */
#include "comm/collectives.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/struct_layout.h"

enum {
    RING_BYTES = 1 << 16, /* buffers with more bytes are gathered in a ring */
    SIGN_SECONDS = 5,     /* how long a rank waits for the signs of life of the others */
    VALUE_BYTES = 256,    /* bytes of a value in the message of a difference, with its NUL */
    NAMED_RANKS = 4       /* number of ranks that a message names */
};

/* What the ranks tell each other at the start. `order` shows the byte order. */
typedef struct hello {
    uint64_t order;
    int32_t version;
    uint32_t reserved;
    char host[AOEI_COMM_HOST];
} hello;

#define BYTE_ORDER_MARK UINT64_C(0x0102030405060708)

/* ----------------------------------------------------------------- messages */

/* Appends formatted text to text[size]. */
static void append(char *text, size_t size, const char *fmt, ...) AOEI_PRINTF(3, 4);
static void append(char *text, size_t size, const char *fmt, ...) {
    const size_t len = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + len, size - len, fmt, args);
    va_end(args);
}

/* Appends "rank 3 (node7)". */
static void append_rank(const aoei_comm *c, char *text, size_t size, int rank) {
    append(text, size, "rank %d", rank);
    if (c->host && c->host[rank][0])
        append(text, size, " (%s)", c->host[rank]);
}

/* Writes " in PHASE of step N" to text, or "" if the phase is not known. */
static void describe_phase(const aoei_comm *c, char *text, size_t size) {
    text[0] = '\0';
    if (c->phase)
        append(text, size, " in %s", c->phase);
    if (c->phase && c->step)
        append(text, size, " of step %llu", (unsigned long long)c->step);
}

/* Writes the list of the absent ranks, at least one, to text. */
static void list_absent(const aoei_comm *c, const unsigned char *absent, char *text, size_t size) {
    int n = 0;
    for (int r = 0; r < c->c.ranks; r++)
        n += absent[r] != 0;
    text[0] = '\0';
    for (int r = 0, named = 0; r < c->c.ranks && named < NAMED_RANKS; r++)
        if (absent[r]) {
            append(text, size, named ? ", " : "");
            append_rank(c, text, size, r);
            named++;
        }
    if (n > NAMED_RANKS)
        append(text, size, " and %d more", n - NAMED_RANKS);
    append(text, size, n == 1 ? " does not respond" : " do not respond");
}

/* Fills err after the transport made no progress with the ranks `to` and `from`. */
static int fail_stalled(aoei_comm *c, int to, int from, aoe_error *err) {
    char phase[128], who[512] = "";
    describe_phase(c, phase, sizeof phase);
    unsigned char *absent = c->c.absent ? aoei_calloc((size_t)c->c.ranks, 1) : NULL;
    int n = 0;
    if (absent) {
        c->c.absent(c->c.self, SIGN_SECONDS, absent);
        for (int r = 0; r < c->c.ranks; r++)
            n += absent[r] != 0;
    }
    if (n)
        list_absent(c, absent, who, sizeof who);
    else if (absent)
        append(who, sizeof who, "all ranks respond, but the network delivers no data");
    else {
        append(who, sizeof who, "waited for ");
        append_rank(c, who, sizeof who, from >= 0 ? from : to);
        if (to >= 0 && from >= 0 && to != from) {
            append(who, sizeof who, " or ");
            append_rank(c, who, sizeof who, to);
        }
    }
    aoei_free(absent);
    return aoei_fail(err, AOE_ECOMM,
                     "no progress for %g seconds%s: %s; check this node and its network, and resume the run from its "
                     "last checkpoint",
                     c->timeout, phase, who);
}

/* Exchanges messages, of which one may be empty, and counts their bytes. */
static int exchange(aoei_comm *c, int to, const void *send, size_t send_bytes, int from, void *receive,
                    size_t receive_bytes, aoe_error *err) {
    if (c->broken)
        return aoei_fail(err, AOE_ECOMM, "the communication with the other ranks has failed before; end the run");
    to = send_bytes ? to : -1;
    from = receive_bytes ? from : -1;
    if (to < 0 && from < 0)
        return 0;
    aoe_error reason = {0};
    const double start = aoei_now();
    const int status =
        c->c.exchange(c->c.self, to, send, send_bytes, from, receive, receive_bytes, c->timeout, &reason);
    if (status == AOE_COMM_DONE) {
        c->agreed = 0;
        c->sent += to >= 0 ? send_bytes : 0;
        c->traffic[c->kind].sent += to >= 0 ? send_bytes : 0;
        c->traffic[c->kind].seconds += aoei_now() - start;
        c->received += from >= 0 ? receive_bytes : 0;
        return 0;
    }
    c->broken = 1;
    if (status == AOE_COMM_STALLED)
        return fail_stalled(c, to, from, err);
    char phase[128], who[256] = "";
    describe_phase(c, phase, sizeof phase);
    append_rank(c, who, sizeof who, from >= 0 ? from : to);
    if (to >= 0 && from >= 0 && to != from) {
        append(who, sizeof who, " or ");
        append_rank(c, who, sizeof who, to);
    }
    reason.message[sizeof reason.message - 1] = '\0';
    return aoei_fail(err, AOE_ECOMM, "the communication with %s failed%s: %s; resume the run from its last checkpoint",
                     who, phase, reason.message);
}

/* -------------------------------------------------------------- start and end */

/* Exchanges the greetings of all ranks, and stores the names of the hosts. */
static int exchange_hellos(aoei_comm *c, hello *all, aoe_error *err) {
    hello *own = &all[c->c.rank];
    own->order = BYTE_ORDER_MARK;
    own->version = aoe_version_number();
    snprintf(own->host, sizeof own->host, "%s", c->c.host ? c->c.host : "");
    int rc = aoei_comm_gather_equal(c, all, sizeof *all, err);
    if (rc)
        return rc;
    for (int r = 0; r < c->c.ranks; r++) {
        all[r].host[sizeof all[r].host - 1] = '\0';
        memcpy(c->host[r], all[r].host, sizeof c->host[r]);
    }
    for (int r = 1; r < c->c.ranks && !rc; r++) {
        char who[128] = "";
        append_rank(c, who, sizeof who, r);
        if (all[r].order != all[0].order)
            rc = aoei_fail(err, AOE_EMISMATCH, "%s has another byte order than rank 0; use nodes of one architecture",
                           who);
        else if (all[r].version != all[0].version)
            rc = aoei_fail(err, AOE_EMISMATCH,
                           "%s runs another version of aoe (%d) than rank 0 (%d); install the same version on all "
                           "nodes",
                           who, all[r].version, all[0].version);
    }
    c->agreed |= rc != 0;
    return rc;
}

int aoei_comm_init(aoei_comm *c, const aoe_comm *given, double timeout, aoe_error *err) {
    *c = (aoei_comm){.c = {.struct_size = sizeof(aoe_comm), .ranks = 1}, .timeout = timeout};
    if (!given)
        return 0;
    int rc = aoei_struct_check(given, &aoei_layout_aoe_comm, "options.comm", err);
    if (rc)
        return rc;
    aoe_comm full = {.struct_size = sizeof full};
    aoei_struct_read(&full, given, &aoei_layout_aoe_comm);
    if (full.ranks < 1 || full.rank < 0 || full.rank >= full.ranks || (full.ranks > 1 && !full.exchange))
        return aoei_fail(err, AOE_EARG,
                         "options.comm: rank %d of %d ranks is not valid, or there is no exchange function; use a "
                         "transport of aoe_comm_open, or set all fields",
                         full.rank, full.ranks);
    if (full.ranks == 1)
        return 0;
    const size_t ranks = (size_t)full.ranks;
    c->host = aoei_calloc(ranks, sizeof *c->host);
    c->records = aoei_calloc(ranks, sizeof *c->records);
    c->offset = aoei_calloc(ranks + 1, sizeof *c->offset);
    hello *all = aoei_calloc(ranks, sizeof *all);
    c->c = full;
    /* If the memory is not sufficient in one rank, the others wait for it until aoei_comm_result ends the run. */
    rc = c->host && c->records && c->offset && all ? exchange_hellos(c, all, err)
                                                   : aoei_fail_nomem(err, ranks * sizeof *all);
    aoei_free(all);
    return rc;
}

void aoei_comm_free(aoei_comm *c) {
    aoei_free(c->host);
    aoei_free(c->records);
    aoei_free(c->offset);
    c->host = NULL;
    c->records = NULL;
    c->offset = NULL;
}

void aoei_comm_phase(aoei_comm *c, const char *phase, uint64_t step) {
    if (!c)
        return;
    c->phase = phase;
    c->step = step;
}

aoei_traffic_kind aoei_comm_count(aoei_comm *c, aoei_traffic_kind kind) {
    const aoei_traffic_kind before = c ? c->kind : AOEI_TRAFFIC_OTHER;
    if (c)
        c->kind = kind;
    return before;
}

/* ------------------------------------------------------------------ movement */

/* Rank at distance k, which may be negative. */
static int neighbor(const aoei_comm *c, int k) {
    return (c->c.rank + k + c->c.ranks) % c->c.ranks;
}

static size_t piece_bytes(const size_t *offset, int r) {
    return offset[r + 1] - offset[r];
}

static int gather_ring(aoei_comm *c, char *buffer, const size_t *offset, aoe_error *err) {
    const int next = neighbor(c, 1), last = neighbor(c, -1);
    int rc = 0;
    for (int k = 0; k + 1 < c->c.ranks && !rc; k++) {
        const int out = neighbor(c, -k), in = neighbor(c, -k - 1);
        rc = exchange(c, next, buffer + offset[out], piece_bytes(offset, out), last, buffer + offset[in],
                      piece_bytes(offset, in), err);
    }
    return rc;
}

/* Returns 1 if a buffer with these pieces is gathered in a ring. */
static int uses_ring(size_t ranks, const size_t *offset) {
    return ranks > 2 && offset[ranks] - offset[0] > RING_BYTES;
}

int aoei_comm_gather_all(aoei_comm *c, void *buffer, const size_t *offset, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1)
        return 0;
    c->calls++;
    if (uses_ring((size_t)c->c.ranks, offset))
        return gather_ring(c, buffer, offset, err);
    char *b = buffer;
    int rc = 0;
    for (int k = 1; k < c->c.ranks && !rc; k++) {
        const int from = neighbor(c, -k), own = c->c.rank;
        rc = exchange(c, neighbor(c, k), b + offset[own], piece_bytes(offset, own), from, b + offset[from],
                      piece_bytes(offset, from), err);
    }
    return rc;
}

int aoei_comm_gather_equal(aoei_comm *c, void *buffer, size_t bytes, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1)
        return 0;
    for (size_t r = 0; r <= (size_t)c->c.ranks; r++)
        c->offset[r] = r * bytes;
    return aoei_comm_gather_all(c, buffer, c->offset, err);
}

int aoei_comm_exchange_all(aoei_comm *c, const aoei_comm_part *send, const aoei_comm_part *receive, aoe_error *err) {
    const int own = aoei_comm_rank(c);
    if (send[own].bytes && send[own].data != receive[own].data)
        memcpy(receive[own].data, send[own].data, send[own].bytes);
    if (aoei_comm_ranks(c) == 1)
        return 0;
    c->calls++;
    int rc = 0;
    for (int k = 1; k < c->c.ranks && !rc; k++) {
        const int to = neighbor(c, k), from = neighbor(c, -k);
        rc = exchange(c, to, send[to].data, send[to].bytes, from, receive[from].data, receive[from].bytes, err);
    }
    return rc;
}

/* Copies a buffer of the rank `root` to all ranks, along a binomial tree. */
static int broadcast_from(aoei_comm *c, int root, void *buffer, size_t bytes, aoe_error *err) {
    const int ranks = c->c.ranks, distance = (c->c.rank - root + ranks) % ranks;
    int bit = 1, rc = 0;
    while (bit < ranks && !(distance & bit))
        bit <<= 1;
    if (distance)
        rc = exchange(c, -1, NULL, 0, (distance - bit + root) % ranks, buffer, bytes, err);
    for (bit >>= 1; bit && !rc; bit >>= 1)
        if (distance + bit < ranks)
            rc = exchange(c, (distance + bit + root) % ranks, buffer, bytes, -1, NULL, 0, err);
    return rc;
}

int aoei_comm_broadcast(aoei_comm *c, void *buffer, size_t bytes, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1)
        return 0;
    c->calls++;
    return broadcast_from(c, 0, buffer, bytes, err);
}

int aoei_comm_to_first(aoei_comm *c, void *buffer, size_t bytes, int from, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1 || from == 0)
        return 0;
    c->calls++;
    if (c->c.rank == 0)
        return exchange(c, -1, NULL, 0, from, buffer, bytes, err);
    return c->c.rank == from ? exchange(c, 0, buffer, bytes, -1, NULL, 0, err) : 0;
}

/* ---------------------------------------------------------------- bytes sent */

uint64_t aoei_comm_gather_all_sent(size_t rank, size_t ranks, const size_t *offset) {
    const size_t next = (rank + 1) % ranks;
    if (ranks == 1)
        return 0;
    /* In a ring, a rank passes on every piece except that of the next rank. */
    return uses_ring(ranks, offset) ? (offset[ranks] - offset[0]) - (offset[next + 1] - offset[next])
                                    : (uint64_t)(ranks - 1) * (offset[rank + 1] - offset[rank]);
}

uint64_t aoei_comm_gather_equal_sent(size_t ranks, size_t bytes) {
    return (uint64_t)(ranks - 1) * bytes; /* in a ring, too */
}

uint64_t aoei_comm_broadcast_sent(size_t rank, size_t ranks, size_t bytes) {
    uint64_t children = 0;
    for (size_t bit = 1; bit < ranks && !(rank & bit); bit <<= 1)
        children += rank + bit < ranks;
    return children * bytes;
}

uint64_t aoei_comm_same_hash_sent(size_t ranks) {
    return aoei_comm_gather_equal_sent(ranks, sizeof(aoei_comm_record));
}

/* ----------------------------------------------------------------- agreement */

/* Gathers one record per rank: a value of the operation, and a value that shows whether all ranks are at the same
 * operation of the run. Errors: AOE_ECOMM. */
static int gather_records(aoei_comm *c, uint32_t code, uint64_t value, aoe_error *err) {
    const uint32_t calls = c->calls;
    c->records[c->c.rank].value = value;
    c->records[c->c.rank].code = code;
    c->records[c->c.rank].calls = calls;
    int rc = aoei_comm_gather_equal(c, c->records, sizeof *c->records, err);
    for (int r = 1; r < c->c.ranks && !rc; r++)
        if (c->records[r].calls != c->records[0].calls) {
            char who[128] = "";
            append_rank(c, who, sizeof who, r);
            c->broken = 1;
            rc = aoei_fail(err, AOE_ECOMM, "%s is at another point of the run than rank 0; this is a bug", who);
        }
    return rc;
}

int aoei_comm_agree(aoei_comm *c, int code, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1 || (c->broken && code))
        return code;
    aoe_error own = {0};
    if (code)
        own = *err;
    const int rc =
        gather_records(c, (uint32_t)-code, aoei_hash(AOEI_HASH_START, own.message, strlen(own.message)), err);
    if (rc)
        return rc;
    int first = -1, equal = 1;
    for (int r = 0; r < c->c.ranks; r++) {
        if (first < 0 && c->records[r].code)
            first = r;
        equal = equal && c->records[r].code == c->records[0].code && c->records[r].value == c->records[0].value;
    }
    if (first < 0)
        return 0;
    const int result = -(int)c->records[first].code;
    const int failed = broadcast_from(c, first, own.message, sizeof own.message, err);
    if (failed)
        return failed;
    own.message[sizeof own.message - 1] = '\0';
    c->agreed = 1;
    if (equal)
        return aoei_fail(err, result, "%s", own.message);
    char who[128] = "";
    append_rank(c, who, sizeof who, first);
    return aoei_fail(err, result, "%s: %s", who, own.message);
}

static uint64_t fact_hash(uint64_t h, const aoei_fact *f) {
    h = aoei_hash(h, f->name, strlen(f->name) + 1);
    return aoei_hash(h, f->value, strlen(f->value) + 1);
}

/* Finds the first fact in which the rank `other` differs from rank 0, and fills err. */
static int fail_different(aoei_comm *c, int other, const aoei_fact *facts, size_t n, aoe_error *err) {
    char value[2][VALUE_BYTES];
    for (size_t i = 0; i < n; i++) {
        const uint64_t own = fact_hash(AOEI_HASH_START, &facts[i]);
        uint64_t hash[2] = {own, own};
        int rc = broadcast_from(c, 0, &hash[0], sizeof hash[0], err);
        rc = rc ? rc : broadcast_from(c, other, &hash[1], sizeof hash[1], err);
        if (rc)
            return rc;
        if (hash[0] == hash[1])
            continue;
        for (int k = 0; k < 2 && !rc; k++) {
            memset(value[k], 0, sizeof value[k]);
            snprintf(value[k], sizeof value[k], "%s", facts[i].value);
            rc = broadcast_from(c, k ? other : 0, value[k], sizeof value[k], err);
            value[k][sizeof value[k] - 1] = '\0';
        }
        if (rc)
            return rc;
        char who[2][128] = {"", ""};
        append_rank(c, who[0], sizeof who[0], 0);
        append_rank(c, who[1], sizeof who[1], other);
        c->agreed = 1;
        return aoei_fail(err, AOE_EMISMATCH, "%s %s %s, but %s %s %s; %s", who[1], facts[i].name, value[1], who[0],
                         facts[i].name, value[0], facts[i].advice);
    }
    c->broken = 1;
    return aoei_fail(err, AOE_ECOMM, "the ranks compare different properties; this is a bug");
}

int aoei_comm_same(aoei_comm *c, const aoei_fact *facts, size_t n, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1)
        return 0;
    uint64_t h = AOEI_HASH_START;
    for (size_t i = 0; i < n; i++)
        h = fact_hash(h, &facts[i]);
    const int rc = gather_records(c, (uint32_t)n, h, err);
    if (rc)
        return rc;
    for (int r = 1; r < c->c.ranks; r++)
        if (c->records[r].code != c->records[0].code) {
            c->broken = 1;
            return aoei_fail(err, AOE_ECOMM, "the ranks compare different numbers of properties; this is a bug");
        }
    for (int r = 1; r < c->c.ranks; r++)
        if (c->records[r].value != c->records[0].value)
            return fail_different(c, r, facts, n, err);
    return 0;
}

/* Returns the lowest rank whose value is one of those that most ranks have. */
static int majority(const aoei_comm *c) {
    int best = 0, most = 0;
    for (int r = 0; r < c->c.ranks; r++) {
        int n = 0;
        for (int q = 0; q < c->c.ranks; q++)
            n += c->records[q].value == c->records[r].value;
        if (n > most) {
            most = n;
            best = r;
        }
    }
    return best;
}

int aoei_comm_same_hash(aoei_comm *c, const char *what, uint64_t hash, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1)
        return 0;
    const int rc = gather_records(c, 0, hash, err);
    if (rc)
        return rc;
    int equal = 1;
    for (int r = 1; r < c->c.ranks; r++)
        equal = equal && c->records[r].value == c->records[0].value;
    if (equal)
        return 0;
    const int reference = majority(c);
    int other = 0;
    while (c->records[other].value == c->records[reference].value)
        other++;
    char who[2][128] = {"", ""}, phase[128];
    append_rank(c, who[0], sizeof who[0], reference);
    append_rank(c, who[1], sizeof who[1], other);
    describe_phase(c, phase, sizeof phase);
    c->agreed = 1;
    return aoei_fail(err, AOE_EMISMATCH,
                     "%s of %s differ from those of %s%s; check the memory and the libraries of both nodes, and resume "
                     "the run from its last checkpoint",
                     what, who[1], who[0], phase);
}

int aoei_comm_result(const aoei_comm *c, int code, aoe_error *err) {
    if (aoei_comm_ranks(c) == 1 || !code || (c->agreed && !c->broken) || code == AOE_ECOMM)
        return code;
    char who[128] = "";
    append_rank(c, who, sizeof who, c->c.rank);
    aoei_error_prefix(err, "%s", who);
    if (err)
        err->code = AOE_ECOMM;
    return AOE_ECOMM;
}
