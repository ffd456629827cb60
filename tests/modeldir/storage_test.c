/* SPDX-License-Identifier: MIT
 * Tests the storage of weights as bf16, and as int8 and int5 with one scale per row. Rounding is compared with exact
 * arithmetic. Values that are read from int8 or int5 rows and stored again must give identical bytes, for scales of all
 * magnitudes. Other tests cover the errors of the function that writes files.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "modeldir/storage.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/bf16.h"
#include "base/random.h"

static float of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Asserts that the row x is quantized to int8 as documented. Dequantizes the row to v and asserts that quantizing v
 * gives identical bytes. q, again and v are buffers of n elements, like x. */
static void check_row(const float *x, size_t n, int8_t *q, int8_t *again, float *v) {
    const float scale = aoei_int8_row(q, x, n);
    float maximum = 0;
    int highest = 0;
    for (size_t i = 0; i < n; i++) {
        maximum = fmaxf(maximum, fabsf(x[i]));
        highest = abs(q[i]) > highest ? abs(q[i]) : highest;
        v[i] = (float)q[i] * scale;
        assert_true(q[i] >= -127 && isfinite(v[i]));
        /* The difference x - q * scale is exact in double. q must be the integer nearest to x / scale. If two integers
         * are equally near, q must be the even integer. */
        const double off = fabs((double)x[i] - (double)q[i] * (double)scale);
        assert_true(scale == 0 || off < (double)scale / 2 || (off == (double)scale / 2 && q[i] % 2 == 0));
    }
    if (maximum <= 0x1p-127f)
        assert_true(scale == 0 && highest == 0);
    else
        assert_true(scale == fmaxf(maximum / 127.0f, 0x1p-126f) && highest > 0);
    if (scale > 0x1p-126f)
        assert_int_equal(highest, 127);
    const float scale2 = aoei_int8_row(again, v, n);
    if (bits_of(scale2) != bits_of(scale) || memcmp(q, again, n) != 0)
        fail_msg("row with maximum %a: quantizing the dequantized row changes the scale %a to %a or changes values",
                 (double)maximum, (double)scale, (double)scale2);
}

/* Returns the 5 bits that contain int5 value i of a row, read bit by bit. */
static int stored_at(const unsigned char *packed, size_t i) {
    int stored = 0;
    for (size_t k = 0; k < 5; k++) {
        const size_t bit = i % 8 * 5 + k; /* index of the bit in its group of 5 bytes */
        stored |= (packed[i / 8 * 5 + bit / 8] >> bit % 8 & 1) << k;
    }
    return stored;
}

/* Sets the 5 bits that contain int5 value i of a row. */
static void set_stored(unsigned char *packed, size_t i, int stored) {
    for (size_t k = 0; k < 5; k++) {
        const size_t bit = i % 8 * 5 + k;
        unsigned char *byte = &packed[i / 8 * 5 + bit / 8];
        *byte = (unsigned char)((*byte & ~(1 << bit % 8)) | (stored >> k & 1) << bit % 8);
    }
}

/* Returns the sum of the squared differences between the row x and its int5 values with the scale s, and writes the
 * values to q[n]. Each value is found by comparing x with every multiple of s. If two multiples are equally near, it is
 * the even one. */
static long double nearest_int5(int8_t *q, const float *x, size_t n, float s) {
    long double sum = 0;
    for (size_t i = 0; i < n; i++) {
        q[i] = -15;
        for (int k = -14; k <= 15; k++) {
            const double near = fabs((double)x[i] - (double)k * (double)s),
                         least = fabs((double)x[i] - (double)q[i] * (double)s);
            if (near < least || (near == least && k % 2 == 0))
                q[i] = (int8_t)k;
        }
        const long double d = (long double)x[i] - (long double)((float)q[i] * s);
        sum += d * d;
    }
    return sum;
}

/* Asserts that the row x is quantized to int5 as documented, and that quantizing the dequantized row gives identical
 * bytes. */
static void check_int5_row(const float *x, size_t n) {
    enum { MAX = 255 };
    unsigned char packed[(MAX + 7) / 8 * 5], again[(MAX + 7) / 8 * 5];
    int8_t q[MAX], want[MAX];
    float v[MAX], maximum = 0;
    int highest = 0;
    assert_true(n <= MAX);
    const float scale = aoei_int5_row(packed, x, n);
    aoei_int5_unpack(q, packed, n);
    for (size_t i = 0; i < n; i++) {
        maximum = fmaxf(maximum, fabsf(x[i]));
        highest = abs(q[i]) > highest ? abs(q[i]) : highest;
        v[i] = (float)q[i] * scale;
        assert_true(q[i] >= -15 && isfinite(v[i]));
    }
    for (size_t i = n; i % 8; i++)
        assert_int_equal(stored_at(packed, i), 16);
    if (maximum <= 0x1p-127f) {
        assert_true(scale == 0 && highest == 0);
    } else {
        const long double error = nearest_int5(want, x, n, scale);
        int index = -1;
        assert_memory_equal(q, want, n);
        for (int k = 0; k <= 20; k++) {
            const float s = fmaxf((float)((double)maximum * (50 - k) / 50) / 15.0f, 0x1p-126f);
            index = s == scale && index < 0 ? k : index;
            /* sums in float64 differ from exact sums by a relative error of less than 1e-12 */
            assert_true(nearest_int5(want, x, n, s) * (1 + 1e-12L) >= error);
        }
        assert_true(index >= 0 && highest > 0);
    }
    if (scale > 0x1p-126f)
        assert_int_equal(highest, 15);
    const float scale2 = aoei_int5_row(again, v, n);
    if (bits_of(scale2) != bits_of(scale) || memcmp(packed, again, aoei_int5_bytes(n)) != 0)
        fail_msg(
            "row with maximum %a: quantizing the dequantized row to int5 changes the scale %a to %a or changes values",
            (double)maximum, (double)scale, (double)scale2);
}

static void check_value(float x) {
    int8_t q, again;
    float v;
    check_row(&x, 1, &q, &again, &v);
    check_int5_row(&x, 1);
}

/* Tests that a row that is quantized, dequantized and quantized again keeps its scale. The scale depends only on the
 * largest magnitude of the row. The test uses rows with every largest magnitude in [1, 4). Doubling the magnitude
 * changes only exponents, unless the scale is subnormal, so other magnitudes need no test. The smallest and largest
 * magnitudes of float32 are tested separately. Some of them are so small that the scale is 2^-126, the smallest
 * positive scale. For int5, the largest magnitude is 15 times the scale, and the same is tested for every magnitude to
 * which a row can be limited. */
static void every_maximum_keeps_its_scale(void **state) {
    (void)state;
    for (uint32_t bits = bits_of(1.0f); bits < bits_of(4.0f); bits++) {
        const float maximum = of_bits(bits), scale = maximum / 127.0f;
        const float scale5 = maximum / 15.0f;
        if (127.0f * scale / 127.0f != scale || 15.0f * scale5 / 15.0f != scale5)
            fail_msg("row with maximum %a: quantizing the dequantized row changes the scale", (double)maximum);
    }
    for (uint32_t bits = bits_of(1.0f); bits < bits_of(4.0f); bits += 61)
        check_value(of_bits(bits));
    for (uint32_t bits = 0; bits < bits_of(FLT_MAX); bits += 4099)
        check_value(-of_bits(bits));
    static const float ends[] = {
        0,           0x1p-149f,    0x1p-128f,        0x1p-127f,        0x1.000002p-127f, 0x1p-126f,
        0x1.8p-126f, 0x1.fcp-120f, 0x1.fbfffep-120f, 0x1.fc0002p-120f, 0x1.fffffcp127f};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        check_value(ends[i]);
        check_value(-ends[i]);
    }
    for (uint32_t bits = bits_of(0x1.fcp-120f) - 200000; bits < bits_of(0x1.fcp-120f) + 200000; bits++)
        check_value(of_bits(bits));
}

/* Tests that quantizing q * scale gives q, for every q and for scales of every exponent. */
static void every_int8_value_is_kept(void **state) {
    (void)state;
    float x[255], v[255];
    int8_t q[255], again[255];
    aoei_rng rng;
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 0);
    for (int exponent = -126; exponent <= 120; exponent++)
        for (int k = 0; k < 8; k++) {
            const float scale = ldexpf(1.0f + (float)(aoei_rng_u32(&rng) >> 9) * 0x1p-23f, exponent);
            for (int b = -127; b <= 127; b++)
                x[b + 127] = (float)b * scale;
            check_row(x, 255, q, again, v);
            for (int b = -127; b <= 127; b++)
                assert_int_equal(q[b + 127], b);
        }
}

static void random_and_adversarial_rows(void **state) {
    (void)state;
    enum { N = 37 };
    float x[N], v[N];
    int8_t q[N], again[N];
    aoei_rng rng;
    aoei_rng_init(&rng, 2, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 60000; round++) {
        const int kind = round % 6;
        for (size_t i = 0; i < N; i++) {
            const double normal = aoei_rng_normal(&rng);
            const int e = (int)aoei_rng_below(&rng, 270) - 149;
            x[i] = kind == 0   ? (float)(0.02 * normal)
                   : kind == 1 ? of_bits(aoei_rng_u32(&rng) & 0xff7ffffeu)        /* any finite value */
                   : kind == 2 ? (float)aoei_rng_below(&rng, 255) - 127.0f + 0.5f /* halfway between two integers */
                   : kind == 3 ? ldexpf((float)normal, e)                         /* any exponent */
                   : kind == 4 ? of_bits(aoei_rng_below(&rng, 0x04000000u))       /* near the smallest scale */
                               /* halfway between two integers, with the smallest scale */
                               : (float)((int)aoei_rng_below(&rng, 509) - 254) * 0x1p-127f;
        }
        if (kind == 2)
            x[0] = 127;
        check_row(x, N, q, again, v);
        if (round % 7 == 0)
            check_int5_row(x, N - (size_t)round % 9);
    }
    memset(x, 0, sizeof x);
    x[3] = -0.0f;
    assert_true(aoei_int8_row(q, x, N) == 0);
    check_int5_row(x, N);
    x[5] = 0x1.fffffcp127f;
    x[6] = -0x1.fffffcp127f;
    x[7] = 1e-45f;
    check_row(x, N, q, again, v);
    check_int5_row(x, N);
    assert_true(aoei_int8_row(q, x, 0) == 0);
    check_int5_row(x, 0);
}

/* Tests that a value halfway between two integers is rounded to the even integer, and that the next float values above
 * and below are rounded to the nearest integer. */
static void rounds_ties_to_even(void **state) {
    (void)state;
    const float x[] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, 125.5f, 0x1.000002p-1f, 0x1.fffffep-2f};
    static const int8_t want[] = {127, 0, 2, 2, 0, -2, -2, 126, 126, 1, 0};
    int8_t q[sizeof want];
    assert_true(aoei_int8_row(q, x, sizeof want) == 1.0f);
    assert_memory_equal(q, want, sizeof want);
}

/* Tests rows of int5 values whose scales and packed values are known: multiples of the scale, values halfway between
 * two multiples, and a row in which limiting the largest element reduces the error. */
static void packs_int5_rows(void **state) {
    (void)state;
    enum { N = 255 };
    static const float exact[] = {15, -15, 0, 1, -1, 2, 3, -8, 14, -11, 7},
                       ties[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0x1.000002p-1f, 0x1.fffffep-2f};
    static const unsigned char want[] = {0x3f, 0xc0, 0xf8, 0xe4, 0x44, 0xbe, 0x5c, 0x08, 0x21, 0x84};
    static const int8_t want_ties[] = {0, 2, 2, 0, -2, -2, 1, 0};
    unsigned char packed[(N + 7) / 8 * 5];
    float x[N];
    int8_t q[N];
    assert_true(aoei_int5_row(packed, exact, 11) == 1.0f);
    assert_memory_equal(packed, want, sizeof want);
    for (int i = 0; i < N; i++)
        x[i] = 15; /* a scale below 1 would change all these elements */
    memcpy(x, ties, sizeof ties);
    assert_true(aoei_int5_row(packed, x, N) == 1.0f);
    aoei_int5_unpack(q, packed, N);
    assert_memory_equal(q, want_ties, sizeof want_ties);
    /* candidate 10 is 16 / 15; its only error is that of the element -20, which is limited to -16 */
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 14 + 1) * (16.0f / 15.0f);
    x[100] = -20;
    assert_true(aoei_int5_row(packed, x, N) == 16.0f / 15.0f);
    aoei_int5_unpack(q, packed, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(q[i], i == 100 ? -15 : i % 14 + 1);
    check_int5_row(x, N);
}

/* Tests every stored value at every position of a group, with all other values of the row at random, for rows of every
 * length up to 17. The elements after the row must not be changed. */
static void every_int5_value_at_every_position(void **state) {
    (void)state;
    enum { MAX = 17 };
    aoei_rng rng;
    aoei_rng_init(&rng, 6, AOEI_STREAM_TEST, 0);
    for (size_t n = 0; n <= MAX; n++)
        for (size_t at = 0; at < n; at++)
            for (int value = -15; value <= 15; value++) {
                const size_t bytes = aoei_int5_bytes(n);
                unsigned char want[3 * 5] = {0}, packed[3 * 5 + 1];
                float x[MAX] = {0}, v[MAX + 1];
                int8_t q[MAX + 1];
                assert_int_equal(bytes, n > 16 ? 15 : n > 8 ? 10 : 5);
                for (size_t i = 0; i < bytes / 5 * 8; i++) {
                    const int k = i >= n ? 0 : i == at ? value : (int)aoei_rng_below(&rng, 31) - 15;
                    set_stored(want, i, k + 16);
                    if (i < n)
                        x[i] = (float)k;
                }
                memset(q, 0x55, sizeof q);
                aoei_int5_unpack(q, want, n);
                for (size_t i = 0; i < n; i++)
                    assert_true((float)q[i] == x[i]);
                assert_int_equal(q[n], 0x55);
                const float scale = 0.75f;
                const aoei_st_tensor scales = {.dtype = AOEI_ST_F32,
                                               .n_dims = 1,
                                               .shape = {1},
                                               .data = (const void *)&scale},
                                     t = {.dtype = AOEI_ST_I5,
                                          .n_dims = 2,
                                          .shape = {1, n},
                                          .data = want,
                                          .bytes = bytes,
                                          .scale = &scales};
                v[n] = -99;
                aoei_st_to_float(v, &t);
                for (size_t i = 0; i < n; i++)
                    assert_true(v[i] == x[i] * scale);
                assert_true(v[n] == -99);
                /* a row whose largest magnitude is 15 is quantized with the scale 1 */
                const size_t other = at ? 0 : n - 1;
                if (n < 2)
                    continue;
                x[other] = -15;
                set_stored(want, other, 1);
                packed[bytes] = 0x55;
                assert_true(aoei_int5_row(packed, x, n) == 1.0f);
                assert_memory_equal(packed, want, bytes);
                assert_int_equal(packed[bytes], 0x55);
            }
    int8_t q = 0x55;
    unsigned char packed = 0x55;
    aoei_int5_unpack(&q, &packed, 0);
    assert_true(aoei_int5_row(&packed, NULL, 0) == 0);
    assert_true(q == 0x55 && packed == 0x55 && aoei_int5_bytes(0) == 0);
}

/* Tests rows of 1 to 16 columns. Each padding value must be 0; the message names the row and the column of another
 * value. */
static void checks_int5_padding(void **state) {
    (void)state;
    static const int other[] = {0, 1, 15, 17, 31};
    char *dir = test_dir_create(), *path = test_path(dir, "w.safetensors");
    const float x[2 * 16] = {0};
    for (size_t cols = 1; cols <= 16; cols++) {
        const aoei_st_entry entry = {"m", AOEI_ST_I5, 2, {2, cols}};
        const size_t bytes = cols > 8 ? 10 : 5;
        aoei_storage_writer *w;
        aoei_safetensors *s;
        aoe_error err;
        size_t size;
        assert_int_equal(aoei_storage_open(&w, path, &entry, 1, AOE_STORAGE_INT8, NULL), 0);
        assert_int_equal(aoei_storage_write(w, x, 2 * cols, NULL), 0);
        assert_int_equal(aoei_storage_commit(w, NULL), 0);
        char *data = test_read(path, &size);
        assert_int_equal(aoei_safetensors_open_memory(&s, data, size, "w", NULL), 0);
        const aoei_st_tensor *t = aoei_safetensors_find(s, "m");
        for (size_t r = 0; r < 2; r++)
            for (size_t c = 0; c < bytes / 5 * 8; c++)
                for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
                    unsigned char *row = (unsigned char *)data + ((const char *)t->data - data) + r * bytes;
                    char message[128];
                    snprintf(message, sizeof message,
                             "w: the padding of tensor 'm' contains %d at row %zu, column %zu, but", other[k] - 16, r,
                             c);
                    set_stored(row, c, other[k]);
                    assert_int_equal(aoei_int5_check(s, t, cols, &err), c < cols ? 0 : AOE_EFORMAT);
                    if (c >= cols)
                        FRAGMENT(err, message);
                    set_stored(row, c, 16);
                }
        assert_int_equal(aoei_int5_check(s, t, cols, NULL), 0);
        aoei_safetensors_close(s);
        free(data);
    }
    free(path);
    test_dir_remove(dir);
}

static void names_and_sizes(void **state) {
    (void)state;
    assert_string_equal(aoei_storage_name(AOE_STORAGE_INT8, AOE_EMBEDDING_STORAGE_AUTO), "I8");
    assert_string_equal(aoei_storage_name(AOE_STORAGE_INT8, AOE_EMBEDDING_STORAGE_INT5), "I8, token embeddings I5");
    assert_string_equal(aoei_storage_torch_dtype(AOE_STORAGE_BF16), "bfloat16");
    assert_string_equal(aoei_storage_torch_dtype(AOE_STORAGE_INT8), "float32");
    assert_int_equal(aoei_storage_bytes(AOE_STORAGE_F32, 3, 5, 0), 60);
    assert_int_equal(aoei_storage_bytes(AOE_STORAGE_BF16, 3, 5, 0), 30);
    assert_int_equal(aoei_storage_bytes(AOE_STORAGE_INT8, 3, 5, 0), 27);
    assert_int_equal(aoei_storage_bytes(AOE_STORAGE_INT8, 1, 5, 1), 20);
    assert_int_equal(aoei_int5_storage_bytes(3, 5), 27);
    assert_int_equal(aoei_int5_storage_bytes(3, 8), 27);
    assert_int_equal(aoei_int5_storage_bytes(3, 9), 42);
}

/* Tests tensors of several shapes that are written in pieces and read again. The writer converts values in blocks. The
 * tensors include a matrix larger than a block, a matrix whose rows are longer than a block, a vector, empty tensors, a
 * scalar, and a tensor of three dimensions. */
static void writes_and_reads_tensors(void **state) {
    (void)state;
    static const aoei_st_entry entries[] = {
        {"wide", AOEI_ST_F32, 2, {2, 70001}}, {"bias", AOEI_ST_F32, 1, {7}},    {"tall", AOEI_ST_F32, 2, {9000, 11}},
        {"none", AOEI_ST_F32, 2, {0, 4}},     {"thin", AOEI_ST_F32, 2, {4, 0}}, {"one", AOEI_ST_F32, 0, {0}},
        {"cube", AOEI_ST_F32, 3, {2, 2, 2}},
    };
    enum { N = sizeof entries / sizeof *entries, MAX_ELEMENTS = 2 * 70001 };
    float *x = malloc(MAX_ELEMENTS * sizeof *x), *y = malloc(MAX_ELEMENTS * sizeof *y);
    int8_t *q = malloc(MAX_ELEMENTS);
    assert_true(x && y && q);
    for (int storage = AOE_STORAGE_F32; storage <= AOE_STORAGE_INT8; storage++) {
        char *dir = test_dir_create(), *path = test_path(dir, "w.safetensors");
        aoei_storage_writer *w;
        aoei_safetensors *s;
        for (int pass = 0; pass < 2; pass++) { /* pass 0 writes, pass 1 reads */
            aoei_rng rng;
            aoei_rng_init(&rng, 3, AOEI_STREAM_TEST, 0);
            if (pass)
                assert_int_equal(aoei_safetensors_open(&s, path, NULL), 0);
            else
                assert_int_equal(aoei_storage_open(&w, path, entries, N, (aoe_storage)storage, NULL), 0);
            for (size_t e = 0; e < N; e++) {
                size_t n = 1, cols = entries[e].n_dims ? entries[e].shape[entries[e].n_dims - 1] : 1;
                for (size_t d = 0; d < entries[e].n_dims; d++)
                    n *= entries[e].shape[d];
                for (size_t i = 0; i < n; i++)
                    x[i] = (float)aoei_rng_normal(&rng);
                if (!pass) {
                    /* number of elements per piece; a matrix is written in two or three pieces of whole rows */
                    const size_t piece = cols && n > cols ? n / cols / 2 * cols : n;
                    size_t at = 0;
                    do {
                        const size_t part = n - at < piece ? n - at : piece;
                        assert_int_equal(aoei_storage_write(w, x + at, part, NULL), 0);
                        at += part;
                    } while (at < n);
                    continue;
                }
                const aoei_st_tensor *t = aoei_safetensors_find(s, entries[e].name);
                const int rows = storage == AOE_STORAGE_INT8 && entries[e].n_dims == 2 && cols > 0;
                assert_non_null(t);
                assert_int_equal(t->n_dims, entries[e].n_dims);
                assert_memory_equal(t->shape, entries[e].shape, t->n_dims * sizeof *t->shape);
                assert_int_equal(t->dtype, rows                          ? AOEI_ST_I8
                                           : storage == AOE_STORAGE_BF16 ? AOEI_ST_BF16
                                                                         : AOEI_ST_F32);
                assert_int_equal(t->scale != NULL, rows);
                if (rows)
                    assert_int_equal(aoei_int8_check(s, t, NULL), 0);
                aoei_st_to_float(y, t);
                for (size_t r = 0; rows && r < entries[e].shape[0]; r++) {
                    const float scale = aoei_int8_row(q, x + r * cols, cols);
                    assert_memory_equal(t->data + r * cols, q, cols);
                    assert_memory_equal(t->scale->data + r * sizeof scale, &scale, sizeof scale);
                    for (size_t i = 0; i < cols; i++)
                        assert_true(y[r * cols + i] == (float)q[i] * scale);
                }
                for (size_t i = 0; !rows && i < n; i++)
                    assert_true(y[i] ==
                                (storage == AOE_STORAGE_BF16 ? aoei_bf16_to_f32(aoei_bf16_from_f32(x[i])) : x[i]));
            }
            if (pass)
                aoei_safetensors_close(s);
            else
                assert_int_equal(aoei_storage_commit(w, NULL), 0);
        }
        free(path);
        test_dir_remove(dir);
    }
    free(x);
    free(y);
    free(q);
}

/* Tests matrices that are stored as int5, in files with other tensors. The rows of one matrix are padded; another
 * matrix is larger than a block, and the packed rows of a third matrix, which is written in one call, have more bytes
 * than values. If the storage type is float32, the matrices are stored as float32. */
static void writes_int5_matrices(void **state) {
    (void)state;
    static const aoei_st_entry entries[] = {{"padded", AOEI_ST_I5, 2, {3, 5}},
                                            {"other", AOEI_ST_F32, 2, {2, 4}},
                                            {"large", AOEI_ST_I5, 2, {3000, 64}},
                                            {"bias", AOEI_ST_I5, 1, {4}},
                                            {"thin", AOEI_ST_I5, 2, {70000, 1}}};
    enum { N = sizeof entries / sizeof *entries, MAX_ELEMENTS = 3000 * 64 };
    char *dir = test_dir_create(), *path = test_path(dir, "w.safetensors");
    float *x = malloc(N * MAX_ELEMENTS * sizeof *x), *y = malloc(MAX_ELEMENTS * sizeof *y);
    aoei_storage_writer *w;
    aoei_safetensors *s;
    aoei_rng rng;
    assert_true(x && y);
    aoei_rng_init(&rng, 4, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < N * MAX_ELEMENTS; i++)
        x[i] = (float)aoei_rng_normal(&rng);
    for (int storage = AOE_STORAGE_F32; storage <= AOE_STORAGE_INT8; storage += AOE_STORAGE_INT8) {
        assert_int_equal(aoei_storage_open(&w, path, entries, N, (aoe_storage)storage, NULL), 0);
        for (size_t e = 0; e < N; e++)
            for (size_t r = 0; r < (e >= 3 ? 1 : entries[e].shape[0]); r++) {
                const size_t cols = e >= 3 ? entries[e].shape[0] : entries[e].shape[1];
                assert_int_equal(aoei_storage_write(w, x + e * MAX_ELEMENTS + r * cols, cols, NULL), 0);
            }
        assert_int_equal(aoei_storage_commit(w, NULL), 0);
        assert_int_equal(aoei_safetensors_open(&s, path, NULL), 0);
        for (size_t e = 0; e < N; e++) {
            const aoei_st_tensor *t = aoei_safetensors_find(s, entries[e].name);
            const int int5 = storage == AOE_STORAGE_INT8 && e % 2 == 0, int8 = storage == AOE_STORAGE_INT8 && e == 1;
            assert_int_equal(t->dtype, int5 ? AOEI_ST_U8 : int8 ? AOEI_ST_I8 : AOEI_ST_F32);
            assert_int_equal(t->scale != NULL, int5 || int8);
            if (!int5)
                continue;
            const size_t cols = entries[e].shape[1], bytes = aoei_int5_bytes(cols);
            unsigned char packed[40];
            int8_t q[64];
            assert_int_equal(t->shape[0], entries[e].shape[0]);
            assert_int_equal(t->shape[1], bytes);
            assert_true(aoei_safetensors_scaled(s, t->scale) == t);
            assert_int_equal(aoei_int5_check(s, t, cols, NULL), 0);
            aoei_st_tensor description = *t;
            description.dtype = AOEI_ST_I5;
            description.shape[1] = cols;
            aoei_st_to_float(y, &description);
            for (size_t r = 0; r < t->shape[0]; r++) {
                float row[64];
                const float scale = aoei_int5_row(packed, x + e * MAX_ELEMENTS + r * cols, cols);
                assert_memory_equal(t->data + r * bytes, packed, bytes);
                assert_memory_equal(t->scale->data + r * sizeof scale, &scale, sizeof scale);
                aoei_int5_unpack(q, packed, cols);
                aoei_st_rows_to_float(row, &description, r, 1);
                assert_memory_equal(row, y + r * cols, cols * sizeof *row);
                for (size_t i = 0; i < cols; i++)
                    assert_true(row[i] == (float)q[i] * scale);
            }
        }
        aoei_safetensors_close(s);
    }
    free(x);
    free(y);
    free(path);
    test_dir_remove(dir);
}

static void rejects_invalid_input(void **state) {
    (void)state;
    static const aoei_st_entry matrix = {"m", AOEI_ST_F32, 2, {2, 2}}, int5 = {"m", AOEI_ST_I5, 2, {2, 2}},
                               taken = {"m_scale", AOEI_ST_F32, 1, {2}};
    static const struct {
        aoe_storage storage;
        float value;
        const char *fragment;
    } cases[] = {
        {AOE_STORAGE_BF16, FLT_MAX, "tensor 'm' contains 3.40282e+38, which bf16 cannot represent"},
        {AOE_STORAGE_BF16, NAN, "contains nan"},
        {AOE_STORAGE_INT8, -INFINITY, "tensor 'm' contains -inf, which int8 cannot represent; store this model as f32"},
        {AOE_STORAGE_INT8, NAN, "contains nan"},
        {AOE_STORAGE_INT8, -FLT_MAX, "tensor 'm' contains -3.40282e+38, which int8 cannot represent"},
    };
    char *dir = test_dir_create(), *path = test_path(dir, "w.safetensors");
    aoei_storage_writer *w;
    aoe_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float x[4] = {1, 2, 3, cases[i].value};
        assert_int_equal(aoei_storage_open(&w, path, &matrix, 1, cases[i].storage, NULL), 0);
        assert_int_equal(aoei_storage_write(w, x, 4, &err), AOE_ENUMERIC);
        FRAGMENT(err, cases[i].fragment);
        aoei_storage_abort(w);
    }
    assert_int_equal(aoei_storage_open(&w, path, &int5, 1, AOE_STORAGE_INT8, NULL), 0);
    assert_int_equal(aoei_storage_write(w, (const float[]){1, 2, 3, FLT_MAX}, 4, &err), AOE_ENUMERIC);
    FRAGMENT(err, "tensor 'm' contains 3.40282e+38, which int5 cannot represent; store this model as f32");
    aoei_storage_abort(w);
    const float x[5] = {0};
    assert_int_equal(aoei_storage_open(&w, path, &matrix, 1, AOE_STORAGE_INT8, NULL), 0);
    assert_int_equal(aoei_storage_write(w, x, 5, &err), AOE_EARG);
    FRAGMENT(err, "1 more values were written than the tensors have");
    assert_int_equal(aoei_storage_write(w, x, 3, &err), AOE_EARG);
    FRAGMENT(err, "not complete rows");
    assert_int_equal(aoei_storage_write(w, x, 2, &err), 0);
    assert_int_equal(aoei_storage_commit(w, &err), AOE_EARG);
    assert_int_equal(aoei_storage_open(&w, path, &matrix, 1, AOE_STORAGE_BF16, NULL), 0);
    assert_int_equal(aoei_storage_write(w, x, 4, NULL), 0);
    assert_int_equal(aoei_storage_write(w, x, 1, &err), AOE_EARG);
    aoei_storage_abort(w);
    assert_int_equal(aoei_storage_open(&w, path, &taken, 1, AOE_STORAGE_INT8, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "tensor 'm_scale' has the name of the scales");
    assert_null(w);
    assert_int_equal(test_count_entries(dir), 0);
    free(path);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_maximum_keeps_its_scale),
        cmocka_unit_test(every_int8_value_is_kept),
        cmocka_unit_test(random_and_adversarial_rows),
        cmocka_unit_test(rounds_ties_to_even),
        cmocka_unit_test(packs_int5_rows),
        cmocka_unit_test(every_int5_value_at_every_position),
        cmocka_unit_test(checks_int5_padding),
        cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(writes_and_reads_tensors),
        cmocka_unit_test(writes_int5_matrices),
        cmocka_unit_test(rejects_invalid_input),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
