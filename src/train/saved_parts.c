/* SPDX-License-Identifier: MIT
 * Lists the saved parts of a model, and the parts that only training uses.
 */
#include "train/saved_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/context.h"

enum { MAX_PARTS = 8 + AOEI_MAX_MODULES };

/* A list of names of parts. */
typedef struct parts {
    const char *name[MAX_PARTS];
    size_t n;
} parts;

static void add(parts *p, int condition, const char *name) {
    if (condition)
        p->name[p->n++] = name;
}

static parts dropped_parts(const aoei_method *method, const aoei_training_layers *training) {
    parts p = {.n = 0};
    add(&p, training->n_projection && !training->projects_features, "projection head");
    add(&p, method->second_encoder != NULL, method->second_encoder);
    add(&p, training->head_rows > 0, method->head ? method->head : "classifier");
    add(&p, method->dropped != NULL, method->dropped);
    return p;
}

static parts kept_parts(const aoei_method *method, const aoe_model *m) {
    static const char *const modules[] = {
        [AOEI_MODULE_DENSE] = "dense layer",    [AOEI_MODULE_LAYERNORM] = "layer norm",
        [AOEI_MODULE_DROPOUT] = "dropout",      [AOEI_MODULE_NORMALIZE] = "normalization",
        [AOEI_MODULE_BATCHNORM] = "batch norm", [AOEI_MODULE_FLOW] = "flow"};
    const aoei_encoder_config *c = &m->config;
    parts p = {.n = 0};
    add(&p, 1, c->lora.r ? "adapters" : c->layers ? "encoder" : "word embeddings");
    add(&p, c->modules.classes > 0, "classification head");
    if (c->modules.classes)
        return p;
    add(&p, c->bigrams > 0, "bigram embeddings");
    add(&p, c->modules.n_kernels > 0, "convolutions");
    add(&p, c->modules.lstm_dims > 0, "LSTM");
    add(&p, 1, "pooling");
    for (size_t i = 0; i < c->modules.n; i++)
        add(&p, 1, modules[c->modules.list[i].kind]);
    add(&p, method->kept != NULL, method->kept);
    add(&p, m->settings.subtract_empty_prompt, "subtraction of the empty prompt");
    return p;
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
    const parts dropped = dropped_parts(method, aoei_training_layers_of(&m->config)), kept = kept_parts(method, m);
    return json_object_set_new(record, "kept_parts", list_of(&kept)) ||
           json_object_set_new(record, "dropped_parts", list_of(&dropped));
}

/* Returns the number of parts with the name of part i, or 0 if an earlier part has the same name. */
static size_t count_of(const parts *p, size_t i) {
    size_t n = 0;
    for (size_t k = 0; k < p->n; k++)
        if (!strcmp(p->name[k], p->name[i])) {
            if (k < i)
                return 0;
            n++;
        }
    return n;
}

/* Writes the names to text[size], separated by commas and "and". Equal names are written once, with their number. */
static void enumerate(char *text, size_t size, const parts *p) {
    static const char *const numbers[] = {"", "", "two ", "three ", "four ", "five ", "six "};
    _Static_assert(sizeof numbers / sizeof *numbers == AOEI_MAX_MODULES + 1, "a number for each count of modules");
    size_t at = 0, distinct = 0, written = 0;
    for (size_t i = 0; i < p->n; i++)
        distinct += count_of(p, i) > 0;
    for (size_t i = 0; i < p->n && at < size; i++) {
        const size_t n = count_of(p, i);
        if (!n)
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s%s%s%s",
                               !written                 ? ""
                               : written + 1 < distinct ? ", "
                                                        : " and ",
                               numbers[n], p->name[i], n > 1 ? "s" : "");
        written++;
    }
}

void aoei_saved_parts_log(const aoei_method *method, const aoe_model *m) {
    const parts dropped = dropped_parts(method, aoei_training_layers_of(&m->config)), kept = kept_parts(method, m);
    char in[512] = "", out[256] = "nothing";
    enumerate(in, sizeof in, &kept);
    enumerate(out, sizeof out, &dropped);
    aoei_log_write(&m->ctx->log, AOE_LOG_INFO, "saved: %s; used in training only: %s", in, out);
}
