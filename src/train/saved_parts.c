/* SPDX-License-Identifier: MIT
 * Lists the saved parts of a model, and the parts that only training uses.
 */
#include "train/saved_parts.h"

#include <stdio.h>

#include "base/context.h"
#include "encoder/arch_words.h"

enum { MAX_PARTS = 4 + AOEI_MAX_MODULES };

/* A list of names of parts. */
typedef struct parts {
    const char *name[MAX_PARTS];
    size_t n;
} parts;

static void add(parts *p, int condition, const char *name) {
    if (condition)
        p->name[p->n++] = name;
}

static parts dropped_parts(const aoei_method *method, const aoei_encoder_config *c) {
    parts p = {.n = 0};
    add(&p, c->n_projection && !c->projects_features, "projection head");
    add(&p, c->discriminator, "discriminator");
    add(&p, c->twin && !c->discriminator, "second encoder");
    add(&p, c->head_rows > 0, method->head ? method->head : "classifier");
    add(&p, method->generator, "generator");
    return p;
}

static parts kept_parts(const aoei_encoder_config *c) {
    static const char *const modules[] = {
        [AOEI_MODULE_DENSE] = "dense layer",       [AOEI_MODULE_LAYERNORM] = "layer norm", [AOEI_MODULE_DROPOUT] = "dropout",
        [AOEI_MODULE_NORMALIZE] = "normalization", [AOEI_MODULE_BATCHNORM] = "batch norm", [AOEI_MODULE_FLOW] = "flow"};
    parts p = {.n = 0};
    add(&p, 1, c->lora.r ? "adapters" : c->arch == &aoei_arch_words ? "word embeddings" : "encoder");
    add(&p, c->bigrams > 0, "bigram embeddings");
    add(&p, c->n_kernels > 0, "convolutions");
    add(&p, c->lstm_dims > 0, "LSTM");
    add(&p, 1, "pooling");
    for (size_t i = 0; i < c->n_modules; i++)
        add(&p, 1, modules[c->modules[i].kind]);
    return p;
}

/* Returns 1 if the method adds parts to the model or uses parts in training only. */
static int has_parts(const aoei_method *method, const parts *dropped) {
    return dropped->n || method->layer;
}

/* Returns the list as a JSON array, or NULL if an allocation fails. */
static json_t *list_of(const parts *p) {
    json_t *list = json_array();
    for (size_t i = 0; i < p->n && list; i++)
        if (json_array_append_new(list, json_string(p->name[i]))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

int aoei_saved_parts_describe(const aoei_method *method, const aoe_model *m, json_t *record) {
    const parts dropped = dropped_parts(method, &m->config), kept = kept_parts(&m->config);
    return has_parts(method, &dropped) && (json_object_set_new(record, "kept_parts", list_of(&kept)) ||
                                           json_object_set_new(record, "dropped_parts", list_of(&dropped)));
}

/* Writes the names to text[size], separated by commas and "and". */
static void enumerate(char *text, size_t size, const parts *p) {
    size_t at = 0;
    for (size_t i = 0; i < p->n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", !i ? "" : i + 1 < p->n ? ", " : " and ", p->name[i]);
}

void aoei_saved_parts_log(const aoei_method *method, const aoe_model *m) {
    const parts dropped = dropped_parts(method, &m->config), kept = kept_parts(&m->config);
    char in[256] = "", out[256] = "";
    enumerate(in, sizeof in, &kept);
    enumerate(out, sizeof out, &dropped);
    if (has_parts(method, &dropped))
        aoei_log_write(&m->ctx->log, AOE_LOG_INFO, dropped.n ? "saved: %s; used in training only: %s" : "saved: %s", in, out);
}
