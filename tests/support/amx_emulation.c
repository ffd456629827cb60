/* SPDX-License-Identifier: MIT
 * Emulates the AMX tile instructions; see amx_emulation.h.
 */
#include "amx_emulation.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/bf16.h"
#include "support.h"

enum { PALETTE_ROWS = 16, PALETTE_ROW_BYTES = 64, MAX_REGIONS = 4, STORES_KEPT = 8, PAGE = 4096, LINE = 64 };

typedef struct tile {
    size_t rows, row_bytes; /* shape of the tile; 0 rows: the tile is not configured */
    int has_value;          /* 1: the tile was loaded or zeroed */
    unsigned char data[PALETTE_ROWS][PALETTE_ROW_BYTES];
} tile;

/* A store instruction that was executed. Later loads are compared with it to compute least_reuse and least_alias. */
typedef struct past_store {
    uintptr_t rows[PALETTE_ROWS]; /* [n] addresses of the rows of the tile in memory */
    size_t n;
    size_t dots; /* number of dot instructions before the store */
} past_store;

static struct {
    int configured;
    tile tiles[TILES];
    amx_region regions[MAX_REGIONS];
    size_t n_regions;
    amx_counts counts;
    past_store stores[STORES_KEPT]; /* the most recent stores; the next store replaces element counts.stores %
                                       STORES_KEPT */
} state;

static tile *use(int number) {
    if (!state.configured)
        fail_msg("tile %d is used without a configuration", number);
    if (number < 0 || number >= TILES || !state.tiles[number].rows)
        fail_msg("tile %d is not configured", number);
    return &state.tiles[number];
}

static tile *read_tile(int number) {
    tile *t = use(number);
    if (!t->has_value)
        fail_msg("tile %d is read before it has a value", number);
    return t;
}

/* Asserts that the bytes [p, p + n) are inside one region. */
static void check_memory(const void *p, size_t n, const char *what) {
    const uintptr_t at = (uintptr_t)p;
    for (size_t i = 0; i < state.n_regions; i++) {
        const uintptr_t start = (uintptr_t)state.regions[i].start;
        if (at >= start && at - start <= state.regions[i].bytes && n <= state.regions[i].bytes - (at - start))
            return;
    }
    fail_msg("tile %s of %zu bytes at %p, outside every region", what, n, p);
}

static void lower(size_t *least, size_t value) {
    *least = value < *least ? value : *least;
}

/* Updates counts.least_reuse and counts.least_alias for a load of `bytes` bytes at the address `at`. An earlier store
 * to these bytes may decrease least_reuse. An earlier store to another address with the same cache line offset within a
 * page may decrease least_alias. */
static void compare_with_stores(uintptr_t at, size_t bytes) {
    for (size_t i = 0; i < STORES_KEPT && i < state.counts.stores; i++) {
        const past_store *s = &state.stores[i];
        for (size_t r = 0; r < s->n; r++) {
            if (at < s->rows[r] + bytes && s->rows[r] < at + bytes)
                lower(&state.counts.least_reuse, state.counts.dots - s->dots);
            else if (at % PAGE / LINE == s->rows[r] % PAGE / LINE)
                lower(&state.counts.least_alias, state.counts.dots - s->dots);
        }
    }
}

void amx_emulate_configure(const tile_shapes *shapes) {
    static const uint8_t zeros[sizeof shapes->reserved];
    assert_int_equal(shapes->palette, 1);
    assert_int_equal(shapes->start_row, 0);
    assert_memory_equal(shapes->reserved, zeros, sizeof zeros);
    assert_int_equal(sizeof *shapes, 64);
    memset(state.tiles, 0, sizeof state.tiles);
    for (size_t i = 0; i < 16; i++) {
        assert_true(shapes->rows[i] <= PALETTE_ROWS && shapes->row_bytes[i] <= PALETTE_ROW_BYTES);
        assert_true(i < TILES || (!shapes->rows[i] && !shapes->row_bytes[i]));
        assert_int_equal(!shapes->rows[i], !shapes->row_bytes[i]);
        if (i < TILES)
            state.tiles[i] = (tile){.rows = shapes->rows[i], .row_bytes = shapes->row_bytes[i]};
    }
    state.configured = 1;
    state.counts.configures++;
}

void amx_emulate_release(void) {
    assert_true(state.configured);
    state.configured = 0;
    state.counts.releases++;
}

void amx_emulate_zero(int number) {
    tile *t = use(number);
    memset(t->data, 0, sizeof t->data);
    t->has_value = 1;
    state.counts.zeros++;
}

void amx_emulate_load(int number, const void *from, size_t stride) {
    tile *t = use(number);
    const unsigned char *p = from;
    memset(t->data, 0, sizeof t->data);
    for (size_t r = 0; r < t->rows; r++) {
        const unsigned char *row = p + r * stride;
        check_memory(row, t->row_bytes, "load");
        memcpy(t->data[r], row, t->row_bytes);
        compare_with_stores((uintptr_t)row, t->row_bytes);
        state.counts.load_lines += ((uintptr_t)row + t->row_bytes - 1) / LINE - (uintptr_t)row / LINE + 1;
    }
    t->has_value = 1;
    state.counts.loads++;
}

void amx_emulate_store(int number, void *to, size_t stride) {
    const tile *t = read_tile(number);
    unsigned char *p = to;
    past_store *s = &state.stores[state.counts.stores % STORES_KEPT];
    *s = (past_store){.n = t->rows, .dots = state.counts.dots};
    for (size_t r = 0; r < t->rows; r++) {
        check_memory(p + r * stride, t->row_bytes, "store");
        memcpy(p + r * stride, t->data[r], t->row_bytes);
        s->rows[r] = (uintptr_t)(p + r * stride);
    }
    state.counts.stores++;
}

/* Returns x, or a zero with the sign of x if x is subnormal. */
static float flushed(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

static float float_at(const unsigned char *row, size_t i) {
    float x;
    memcpy(&x, row + i * sizeof x, sizeof x);
    return x;
}

static float bf16_at(const unsigned char *row, size_t i) {
    aoei_bf16 x;
    memcpy(&x, row + i * sizeof x, sizeof x);
    return flushed(aoei_bf16_to_f32(x));
}

/* Asserts that the three tiles are distinct and that their shapes match. */
static void check_shapes(int sums, int left, int right) {
    const tile *c = read_tile(sums), *a = read_tile(left), *b = read_tile(right);
    if (sums == left || sums == right || left == right)
        fail_msg("tiles %d, %d and %d are not distinct", sums, left, right);
    if (c->rows != a->rows || c->row_bytes != b->row_bytes || a->row_bytes != 4 * b->rows || c->row_bytes % 4)
        fail_msg("tiles of %zu x %zu, %zu x %zu and %zu x %zu bytes do not match", c->rows, c->row_bytes, a->rows,
                 a->row_bytes, b->rows, b->row_bytes);
}

static int8_t int8_at(const unsigned char *row, size_t i) {
    int8_t x;
    memcpy(&x, row + i, sizeof x);
    return x;
}

void amx_emulate_dot_int8(int sums, int left, int right) {
    tile *c = read_tile(sums);
    const tile *a = read_tile(left), *b = read_tile(right);
    check_shapes(sums, left, right);
    for (size_t m = 0; m < c->rows; m++)
        for (size_t n = 0; n < c->row_bytes / 4; n++) {
            int32_t sum;
            memcpy(&sum, c->data[m] + n * sizeof sum, sizeof sum);
            for (size_t k = 0; k < 4 * b->rows; k++)
                sum += int8_at(a->data[m], k) * int8_at(b->data[k / 4], 4 * n + k % 4);
            memcpy(c->data[m] + n * sizeof sum, &sum, sizeof sum);
        }
    state.counts.dots++;
}

void amx_emulate_dot_bf16(int sums, int left, int right) {
    tile *c = read_tile(sums);
    const tile *a = read_tile(left), *b = read_tile(right);
    check_shapes(sums, left, right);
    const size_t columns = c->row_bytes / 4, pairs = b->rows;
    float right_even[PALETTE_ROWS][PALETTE_ROWS], right_odd[PALETTE_ROWS][PALETTE_ROWS];
    for (size_t k = 0; k < pairs; k++)
        for (size_t n = 0; n < columns; n++) {
            right_even[k][n] = bf16_at(b->data[k], 2 * n);
            right_odd[k][n] = bf16_at(b->data[k], 2 * n + 1);
        }
    for (size_t m = 0; m < c->rows; m++) {
        float even[PALETTE_ROWS] = {0}, odd[PALETTE_ROWS] = {0};
        for (size_t k = 0; k < pairs; k++) {
            const float x = bf16_at(a->data[m], 2 * k), y = bf16_at(a->data[m], 2 * k + 1);
            for (size_t n = 0; n < columns; n++) {
                even[n] = flushed(fmaf(x, right_even[k][n], even[n]));
                odd[n] = flushed(fmaf(y, right_odd[k][n], odd[n]));
            }
        }
        for (size_t n = 0; n < columns; n++) {
            const float sum = flushed(flushed(float_at(c->data[m], n)) + flushed(even[n] + odd[n]));
            memcpy(c->data[m] + n * sizeof sum, &sum, sizeof sum);
        }
    }
    state.counts.dots++;
}

void amx_emulation_begin(const amx_region *regions, size_t n) {
    assert_true(n <= MAX_REGIONS);
    memset(&state, 0, sizeof state);
    memcpy(state.regions, regions, n * sizeof *regions);
    state.n_regions = n;
    state.counts.least_reuse = state.counts.least_alias = SIZE_MAX;
}

amx_counts amx_emulation_end(void) {
    assert_false(state.configured);
    return state.counts;
}
