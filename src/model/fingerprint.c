/* SPDX-License-Identifier: MIT
 * Computes hashes of an open model.
 */
#include "model/fingerprint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "encoder/slots.h"
#include "model/weight_rows.h"
#include "tokenizer/tokenizer_parts.h"

enum { READ_ROWS = 64 /* rows of a weight that are read at a time */ };

int aoei_model_hash_weights(const aoe_model *m, uint64_t *hash, aoe_error *err) {
    int code = AOE_OK;
    *hash = AOEI_HASH_START;
    for (size_t s = 0; s < aoei_slot_count(&m->config) && !code; s++) {
        aoei_slot d;
        aoei_slot_describe(&m->config, s, &d);
        if (d.absent || (!m->weights[s].data && !(m->files.tensors && m->files.tensors[s])))
            continue;
        float *rows = aoei_malloc_array(READ_ROWS * d.cols, sizeof *rows);
        for (size_t r = 0; r < d.rows && rows; r += READ_ROWS) {
            const size_t n = d.rows - r < READ_ROWS ? d.rows - r : READ_ROWS;
            aoei_model_rows(m, rows, s, r, n);
            *hash = aoei_hash(*hash, rows, n * d.cols * sizeof *rows);
        }
        code = rows ? AOE_OK : aoei_fail_nomem(err, READ_ROWS * d.cols * sizeof *rows);
        aoei_free(rows);
    }
    return code;
}

static void add(uint64_t *hash, const void *data, size_t bytes) {
    *hash = aoei_hash(*hash, data, bytes);
}

static void add_number(uint64_t *hash, uint64_t number) {
    unsigned char bytes[sizeof number];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    add(hash, bytes, sizeof bytes);
}

static void add_numbers(uint64_t *hash, const size_t *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        add_number(hash, numbers[i]);
}

static void add_real(uint64_t *hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_number(hash, bits);
}

/* Continues the hash with the size and the contents of the files from which the tokenizer was read. */
static void hash_tokenizer(const aoe_tokenizer *t, uint64_t *hash) {
    for (size_t i = 0; t && i < AOEI_FILE_COUNT; i++) {
        add_number(hash, t->file[i].size);
        if (t->file[i].data)
            add(hash, t->file[i].data, t->file[i].size);
    }
}

/* Continues the hash with a JSON value, or with an empty text if it is NULL. */
static int hash_json(const json_t *value, uint64_t *hash, aoe_error *err) {
    char *text = value ? aoei_json_text(value, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    if (value && !text)
        return aoei_fail_nomem(err, 1);
    add(hash, text ? text : "", (text ? strlen(text) : 0) + 1);
    aoei_free(text);
    return AOE_OK;
}

/* Continues the hash with the adapters. An adapter that is merged into a packed weight exists only in its file. */
static void hash_adapters(const aoe_model *m, uint64_t *hash) {
    const aoei_lora *l = &m->lora;
    const aoei_safetensors *file = m->files.adapters;
    for (size_t layer = 0; l->r && layer < m->config.layers; layer++)
        for (size_t i = 0; i < AOEI_ADAPTERS; i++) {
            const aoei_lora_layer a = aoei_lora_of(l, layer, i);
            add_number(hash, a.r);
            add_real(hash, a.r ? aoei_lora_factor(l, a) : 0);
        }
    for (size_t i = 0; file && i < aoei_safetensors_count(file); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(file, i);
        add(hash, t->name, strlen(t->name) + 1);
        add(hash, t->data, t->bytes);
    }
}

/* Continues the hash with the shapes and functions of the layers between the encoder and the normalization. */
static void hash_modules(const aoei_encoder_config *c, uint64_t *hash) {
    const size_t numbers[] = {
        c->modules.layer_weights, c->modules.paired_state, c->modules.n_kernels, c->modules.kernel_channels,
        c->modules.lstm_dims,     c->modules.lstm_layers,  c->modules.n,         (size_t)c->modules.lstm_one_direction};
    add_numbers(hash, numbers, sizeof numbers / sizeof *numbers);
    add_numbers(hash, c->modules.kernels, c->modules.n_kernels);
    for (size_t i = 0; i < c->modules.n; i++) {
        const aoei_module *a = &c->modules.list[i];
        const size_t module[] = {(size_t)a->kind,
                                 (size_t)a->activation,
                                 (size_t)a->residual,
                                 (size_t)a->no_bias,
                                 a->in,
                                 a->out,
                                 a->levels,
                                 a->depth,
                                 a->width};
        add_numbers(hash, module, sizeof module / sizeof *module);
        add_real(hash, a->norm_eps);
    }
}

int aoei_model_hash_embedding(const aoe_model *m, uint64_t *hash, aoe_error *err) {
    const aoei_settings *s = &m->settings;
    const size_t numbers[] = {(size_t)s->pooling,
                              s->max_length,
                              (size_t)s->normalize,
                              (size_t)s->bidirectional,
                              s->bidirectional_from,
                              (size_t)s->lowercase,
                              (size_t)s->exclude_prompt,
                              (size_t)s->subtract_empty_prompt,
                              m->dims ? m->dims : s->truncate_dim,
                              (size_t)s->token_module,
                              (size_t)m->type | (size_t)(m->dtype == AOE_DTYPE_INT8) << 8};
    const int code = aoei_model_hash_weights(m, hash, err);
    if (code)
        return code;
    add_numbers(hash, numbers, sizeof numbers / sizeof *numbers);
    add(hash, s->prompt, strlen(s->prompt) + 1);
    hash_adapters(m, hash);
    hash_modules(&m->config, hash);
    hash_tokenizer(m->tokenizer, hash);
    if (s->chat && hash_json(s->chat, hash, err))
        return AOE_ENOMEM;
    return hash_json(m->files.config_json, hash, err);
}

int aoe_model_fingerprint(const aoe_model *m, uint64_t *fingerprint, aoe_error *err) {
    AOEI_CHECK(err, m, fingerprint);
    return aoei_model_hash_embedding(m, fingerprint, err);
}
