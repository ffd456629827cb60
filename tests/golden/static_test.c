/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests the published static model potion-base-2M from the shared data. Its embedding matrix must equal the matrix in
 * the file from which the model was converted. Its correlations on STS-B must equal the values in the README.txt of the
 * model, which an independent implementation computed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "encoder/slot_layout.h"
#include "model/model.h"

#define MODEL     "models/potion-base-2M"
#define TOLERANCE 5e-5 /* the expected values have four digits */

static uint32_t read_u32(const char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Compares the embedding matrix and the tokens of the model with the original file. The file contains:
 * - "GGE1", the vocabulary size V and the dimension D (32-bit integers)
 * - V scales (float32)
 * - the matrix [V, D] (int8)
 * - V tokens, each after its length (16-bit integer)
 * An element of the embedding matrix is the int8 value multiplied by the scale of its row. */
static void rows_equal_the_original(void **state) {
    (void)state;
    char *dir = test_shared_path(MODEL), *path = test_shared_path(MODEL "/original/potion-base-2M.bin");
    if (!dir || !path) {
        free(dir);
        free(path);
        skip();
    }
    aoe_context *ctx = test_context(test_best_tier(), 2);
    aoe_model *m;
    assert_int_equal(aoe_model_open(&m, ctx, dir, NULL, NULL), 0);
    size_t size;
    char *data = test_read(path, &size);
    assert_non_null(data);
    const size_t V = read_u32(data + 4), D = read_u32(data + 8);
    assert_true(V == m->config.vocab && D == m->config.hidden && size > 12 + V * (4 + D));
    const char *scales = data + 12, *tokens = scales + 4 * V + V * D;
    const signed char *rows = (const signed char *)scales + 4 * V;
    const float *weights = m->weights[AOEI_W_WORD].data;
    for (size_t i = 0; i < V; i++) {
        float scale;
        uint16_t len;
        memcpy(&scale, scales + 4 * i, sizeof scale);
        for (size_t k = 0; k < D; k++)
            assert_true(weights[i * D + k] == scale * (float)rows[i * D + k]);
        memcpy(&len, tokens, sizeof len);
        const aoe_text token = aoe_tokenizer_token(m->tokenizer, (int32_t)i);
        assert_int_equal(token.len, len);
        assert_memory_equal(token.data, tokens + 2, len);
        tokens += 2 + len;
    }
    assert_true(tokens == data + size);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(data);
    free(path);
    free(dir);
}

static void store_result(void *user, const aoe_sts_result *r) {
    *(aoe_sts_result *)user = *r;
}

static void correlations_equal_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t pairs;
        double spearman;
    } tables[] = {{"data/stsb/dev.tsv", 1500, 0.8110}, {"data/stsb/test.tsv", 1379, 0.7280}};
    char *dir = test_shared_path(MODEL);
    if (!dir)
        skip();
    aoe_context *ctx = test_context(test_best_tier(), 2);
    aoe_model *m;
    aoe_embedder *e;
    assert_int_equal(aoe_model_open(&m, ctx, dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        char *path = test_shared_path(tables[i].path);
        if (!path)
            continue;
        const char *const paths[] = {path};
        aoe_sts_result r = {.struct_size = sizeof r};
        assert_int_equal(aoe_eval_sts(e, paths, 1, NULL, store_result, &r, NULL), 0);
        assert_int_equal(r.pairs, tables[i].pairs);
        assert_true(fabs(r.spearman - tables[i].spearman) <= TOLERANCE);
        free(path);
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_equal_the_original),
                                       cmocka_unit_test(correlations_equal_the_published_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
