/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests a trained LLaMA model of 260K parameters from the shared data. It has grouped-query attention and tied
 * embeddings. One test compares the logits after a prompt with expected values. Another test compares the text that
 * greedy decoding generates. The tests are skipped if the model is not available.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/causal_head.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/json.h"

#define LOGIT_TOLERANCE 1e-4

static json_t *load(const char *dir, const char *name) {
    json_t *root;
    aoe_error err = {0};
    char *path = test_path(dir, name);
    if (aoei_json_load(&root, path, &err))
        fail_msg("%s", err.message);
    free(path);
    return root;
}

/* Returns the ids of a JSON list and sets *n to their number. The caller frees them. */
static int32_t *ids_of(const json_t *list, size_t *n) {
    *n = json_array_size(list);
    int32_t *ids = malloc((*n + 1) * sizeof *ids);
    assert_true(ids && *n > 0);
    for (size_t i = 0; i < *n; i++)
        ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return ids;
}

static void test_logits(void **state) {
    (void)state;
    char *dir = test_shared_path("models/stories260K");
    if (!dir)
        skip();
    json_t *reference = load(dir, "reference.json");
    const json_t *want = json_object_get(reference, "last_logits");
    size_t n;
    int32_t *ids = ids_of(json_object_get(reference, "ids"), &n);
    for (int tier = 0; tier <= (int)test_best_tier(); tier++) {
        aoe_model *m;
        aoe_error err = {0};
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = AOE_DTYPE_F32;
        aoe_context *ctx = test_context((aoei_tier)tier, 2);
        if (aoe_model_open(&m, ctx, dir, &o, &err))
            fail_msg("%s", err.message);
        const size_t V = m->config.vocab;
        assert_int_equal(json_array_size(want), V);
        float *logits = malloc(n * V * sizeof *logits);
        assert_non_null(logits);
        causal_logits(m, ids, n, logits);
        for (size_t i = 0; i < V; i++) {
            const double w = json_number_value(json_array_get(want, i)), got = (double)logits[(n - 1) * V + i];
            if (!(fabs(got - w) <= LOGIT_TOLERANCE))
                fail_msg("logit %zu is %.7g, expected %.7g", i, got, w);
        }
        free(logits);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
    }
    free(ids);
    json_decref(reference);
    free(dir);
}

/* Appends the string of a token id to text[size]. If the string is "<0xNN>", appends the byte 0xNN instead. */
static void append_piece(char *text, size_t size, const json_t *pieces, int32_t id) {
    const json_t *p = json_array_get(pieces, (size_t)id);
    const char *piece = json_string_value(json_object_get(p, "text"));
    unsigned byte;
    assert_true(piece && json_integer_value(json_object_get(p, "id")) == id);
    const size_t len = strlen(text);
    if (sscanf(piece, "<0x%2x>", &byte) == 1 && strlen(piece) == 6)
        snprintf(text + len, size - len, "%c", (int)byte);
    else
        snprintf(text + len, size - len, "%s", piece);
}

/* Tests greedy decoding. Each expected token after the prompt must be the most likely token after the tokens before it.
 * The strings of all tokens together must be the expected text. */
static void test_greedy(void **state) {
    (void)state;
    char *dir = test_shared_path("models/stories260K");
    if (!dir)
        skip();
    json_t *reference = load(dir, "reference.json"), *tokens = load(dir, "tok512.json");
    size_t n, prompt;
    int32_t *ids = ids_of(json_object_get(reference, "greedy_256_ids"), &n);
    int32_t *start = ids_of(json_object_get(reference, "ids"), &prompt);
    aoe_model *m;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    aoe_context *ctx = test_context(test_best_tier(), 2);
    if (aoe_model_open(&m, ctx, dir, &o, &err))
        fail_msg("%s", err.message);
    float *logits = malloc(n * m->config.vocab * sizeof *logits);
    assert_true(logits && n > prompt && !memcmp(ids, start, prompt * sizeof *ids));
    /* the logits depend only on earlier tokens, so one forward pass over all expected ids is sufficient */
    causal_logits(m, ids, n, logits);
    static char text[4096];
    for (size_t t = 0; t + 1 < n; t++) {
        const int32_t best = causal_best(logits + t * m->config.vocab, m->config.vocab);
        if (t + 1 >= prompt && best != ids[t + 1])
            fail_msg("token %zu: the most likely id is %d, expected %d", t + 1, (int)best, (int)ids[t + 1]);
        append_piece(text, sizeof text, tokens, ids[t + 1]);
    }
    const char *want = json_string_value(json_object_get(reference, "greedy_256_text"));
    assert_string_equal(text + (text[0] == ' '), want);
    free(logits);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(ids);
    free(start);
    json_decref(reference);
    json_decref(tokens);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_logits), cmocka_unit_test(test_greedy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
