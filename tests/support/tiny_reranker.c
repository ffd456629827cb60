/* SPDX-License-Identifier: MIT
 * The models are copies of a model in tests/golden, which has two outputs. A model with one output has only the second.
 */
#include "tiny_reranker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <aoe_sequence.h>

#include "modeldir/safetensors.h"
#include "modeldir/safetensors_writer.h"
#include "support.h"

#define MODEL  "tests/golden/cross_encoders/bert"
#define LABELS "\"num_labels\": 2"

enum { MOST_TENSORS = 64 };

/* Copies the model to dir, and replaces the number of its outputs in config.json by `with`. */
static void copy_model(const char *dir, const char *with) {
    char *path = test_path(dir, "config.json"), *text;
    assert_int_equal(mkdir(dir, 0700), 0);
    test_copy_dir(MODEL, dir);
    text = test_read(path, NULL);
    char *at = strstr(text, LABELS), *changed = malloc(strlen(text) + strlen(with) + 1);
    assert_non_null(at);
    assert_non_null(changed);
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, with, at + strlen(LABELS));
    free(test_write_text(dir, "config.json", changed));
    free(changed);
    free(text);
    free(path);
}

void tiny_classifier_write(const char *dir, const char *labels) {
    char with[256];
    snprintf(with, sizeof with, "\"id2label\": %s", labels ? labels : "");
    copy_model(dir, labels ? with : LABELS);
}

void tiny_reranker_write(const char *dir) {
    aoei_safetensors *s;
    aoei_st_writer *w;
    aoei_st_entry entries[MOST_TENSORS];
    copy_model(dir, "\"num_labels\": 1");
    char *path = test_path(dir, "model.safetensors");
    assert_int_equal(aoei_safetensors_open(&s, MODEL "/model.safetensors", NULL), 0);
    const size_t n = aoei_safetensors_count(s);
    assert_in_range(n, 1, MOST_TENSORS);
    for (size_t i = 0; i < n; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(s, i);
        entries[i] = (aoei_st_entry){.name = t->name, .dtype = t->dtype, .n_dims = t->n_dims};
        memcpy(entries[i].shape, t->shape, sizeof t->shape);
        if (!strncmp(t->name, "classifier.", 11))
            entries[i].shape[0] = 1;
    }
    assert_int_equal(aoei_st_writer_open(&w, path, entries, n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(s, i);
        const size_t skipped = strncmp(t->name, "classifier.", 11) ? 0 : t->bytes / 2;
        assert_int_equal(aoei_st_writer_write(w, t->data + skipped, t->bytes - skipped, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoei_safetensors_close(s);
    free(path);
}

void tiny_reranker_scores(const char *dir, const char *const *first, const char *const *second, size_t n,
                          int activation, float *scores) {
    aoe_context *ctx;
    aoe_model *m;
    aoe_embedder *e;
    aoe_model_options o;
    aoe_error err = {0};
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    if (aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&m, ctx, dir, &o, &err) ||
        aoe_embedder_create(&e, m, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++) {
        const aoe_text a = aoe_text_of(first[i]), b = aoe_text_of(second[i] ? second[i] : "");
        float *row = scores + i * aoe_model_classes(m);
        aoe_sequence *s;
        if (aoe_sequences_create_pairs(e, &a, second[i] ? &b : NULL, 1, NULL, &s, &err) ||
            aoe_score_sequences(e, (const aoe_sequence *const *)&s, 1, activation, &row, &err))
            fail_msg("%s", err.message);
        aoe_sequence_destroy(s);
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}
