/* SPDX-License-Identifier: MIT
 * Implements the checks of the ranks of a distributed run.
 */
#include "train/agreement.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "model/fingerprint.h"
#include "nn/linear.h"

enum { ROWS = 40, COLS = 72, FUNCTIONS = 256, HEX = 24 };

#define SLICE ((size_t)1 << 18) /* number of float32 values copied at a time */

/* Continues the hash h with functions of the C library, which differ between its versions. */
static uint64_t hash_library(uint64_t h) {
    static double (*const of_double[])(double) = {exp, log1p, tanh, sin, cos, erf, sqrt};
    static float (*const of_float[])(float) = {expf, tanhf, sinf, cosf};
    for (int i = 0; i < FUNCTIONS; i++) {
        const double x = (i + 0.37) / 17;
        for (size_t f = 0; f < sizeof of_double / sizeof *of_double; f++) {
            uint64_t bits;
            const double y = of_double[f](x);
            memcpy(&bits, &y, sizeof bits);
            h = (h ^ bits) * UINT64_C(0x100000001b3);
        }
        for (size_t f = 0; f < sizeof of_float / sizeof *of_float; f++) {
            const float y = of_float[f]((float)x);
            h = aoei_hash_words(h, &y, 1);
        }
    }
    return h;
}

/* Continues the hash h with a product of matrices of this type. */
static uint64_t hash_product(uint64_t h, const aoe_context *ctx, aoei_dtype type, aoei_arena *arena, float *host) {
    const size_t mark = aoei_arena_mark(arena);
    const aoei_tensor x = aoei_tensor_take_typed(arena, type, ROWS, COLS),
                      w = aoei_tensor_take_typed(arena, type, ROWS, COLS), y = aoei_tensor_take(arena, ROWS, ROWS);
    for (size_t i = 0; i < ROWS * COLS; i++)
        host[i] = (float)((int)(i * 7919 % 1009) - 504) / 631;
    if (x.data && w.data && y.data) {
        aoei_tensor_write(ctx, x, host);
        aoei_tensor_write(ctx, w, host);
        aoei_linear_forward(ctx, y, x, w, (aoei_tensor){0}, NULL);
        aoei_tensor_read(ctx, host, y);
        h = aoei_hash_words(h, host, (size_t)ROWS * ROWS);
    }
    aoei_arena_reset(arena, mark);
    return h;
}

/* Sets text[HEX] to the result of the self-test. */
static int self_test(char *text, const aoe_context *ctx, aoe_error *err) {
    aoei_arena arena;
    const size_t bytes = sizeof(float) * (4 * ROWS * COLS + 2 * ROWS * ROWS);
    float *host = aoei_calloc(ROWS * COLS, sizeof *host);
    if (!host)
        return aoei_fail_nomem(err, ROWS * COLS * sizeof *host);
    const int code = aoei_arena_create(&arena, bytes, err);
    if (!code) {
        uint64_t h = hash_library(AOEI_HASH_START);
        h = hash_product(h, ctx, AOEI_F32, &arena, host);
        h = hash_product(h, ctx, AOEI_BF16, &arena, host);
        snprintf(text, HEX, "%016llx", (unsigned long long)h);
        aoei_arena_destroy(&arena);
    }
    aoei_free(host);
    return code;
}

int aoei_agree_on_machine(aoei_trainer *t, aoe_error *err) {
    char hash[HEX] = "";
    if (aoei_comm_ranks(&t->comm) == 1)
        return AOE_OK;
    int code = self_test(hash, t->ctx, err);
    code = aoei_comm_agree(&t->comm, code, err);
    const aoei_fact facts[] = {
        {"computes with", aoei_tier_name(t->ctx->tier), "set AOE_CPU on all nodes to a tier that all of them have"},
        {"has the self-test result", hash, "use nodes with the same C library and the same kind of CPU"}};
    return code ? code : aoei_comm_same(&t->comm, facts, sizeof facts / sizeof *facts, err);
}

int aoei_agree_on_model(aoei_trainer *t, aoe_error *err) {
    char text[HEX] = "";
    uint64_t fingerprint = 0;
    if (aoei_comm_ranks(&t->comm) == 1)
        return AOE_OK;
    const int code = aoei_comm_agree(&t->comm, aoei_model_hash_embedding(t->base, &fingerprint, err), err);
    snprintf(text, sizeof text, "%016llx", (unsigned long long)fingerprint);
    const aoei_fact fact = {"has a model with the fingerprint", text,
                            "copy the same model directory, and its base model, to all nodes"};
    return code ? code : aoei_comm_same(&t->comm, &fact, 1, err);
}

/* Fills facts[n] with the n settings. text: [2 n] their names and values; the caller frees them. */
static int list_settings(const json_t *settings, aoei_fact *facts, aoei_buffer *text) {
    const char *key;
    json_t *setting;
    size_t n = 0;
    json_object_foreach((json_t *)settings, key, setting) {
        aoei_buffer *name = &text[2 * n], *value = &text[2 * n + 1];
        aoei_buffer_printf(name, "has %s =", key);
        const int failed = aoei_json_append(value, setting, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        if (failed || name->failed || value->failed)
            return AOE_ENOMEM;
        facts[n++] = (aoei_fact){name->data, value->data, "start all ranks with the same options and files"};
    }
    return AOE_OK;
}

int aoei_agree_on_settings(aoei_trainer *t, aoe_error *err) {
    const size_t n = json_object_size(t->settings);
    char method[128];
    if (aoei_comm_ranks(&t->comm) == 1)
        return AOE_OK;
    aoei_fact *facts = aoei_calloc(n, sizeof *facts);
    aoei_buffer *text = aoei_calloc(2 * n, sizeof *text);
    int code = facts && text ? list_settings(t->settings, facts, text) : AOE_ENOMEM;
    code = aoei_comm_agree(&t->comm, code ? aoei_fail_nomem(err, n * sizeof *facts) : AOE_OK, err);
    /* methods and tasks differ in the names of their settings */
    const char *name = json_string_value(json_object_get(t->settings, "method"));
    snprintf(method, sizeof method, "%s (%zu settings)", name ? name : "masked-lm", n);
    const aoei_fact first = {"trains with the method", method, "start all ranks with the same options"};
    if (!code)
        code = aoei_comm_same(&t->comm, &first, 1, err);
    if (!code)
        code = aoei_comm_same(&t->comm, facts, n, err);
    for (size_t i = 0; text && i < 2 * n; i++)
        aoei_buffer_free(&text[i]);
    aoei_free(facts);
    aoei_free(text);
    return code;
}

int aoei_agree_on_weights(aoei_trainer *t, const char *what, aoe_error *err) {
    const aoei_tensor value = t->params->value;
    if (aoei_comm_ranks(&t->comm) == 1)
        return AOE_OK;
    float *slice = aoei_malloc_array(SLICE, sizeof *slice);
    uint64_t hash = AOEI_HASH_START;
    int code = aoei_comm_agree(&t->comm, slice ? AOE_OK : aoei_fail_nomem(err, SLICE * sizeof *slice), err);
    for (size_t at = 0; slice && at < value.cols && !code; at += SLICE) {
        const size_t length = value.cols - at < SLICE ? value.cols - at : SLICE;
        aoei_tensor_read(t->ctx, slice, aoei_tensor_slice(value, at, 1, length));
        hash = aoei_hash_words(hash, slice, length);
    }
    aoei_free(slice);
    return code ? code : aoei_comm_same_hash(&t->comm, what, hash, err);
}

uint64_t aoei_agree_on_weights_sent(size_t ranks) {
    return 2 * aoei_comm_same_hash_sent(ranks); /* an agreement has the size of the comparison of a hash */
}
