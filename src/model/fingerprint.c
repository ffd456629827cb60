/* SPDX-License-Identifier: MIT
 * Computes hashes of an open model.
 */
#include "model/fingerprint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/slots.h"

enum { READ_ROWS = 64 /* rows of a weight that are read at a time */ };

int aoei_model_hash_weights(const aoe_model *m, uint64_t *hash, aoe_error *err) {
    int code = AOE_OK;
    *hash = AOEI_HASH_START;
    for (size_t s = 0; s < aoei_slot_count(&m->config) && !code; s++) {
        const aoei_tensor w = m->weights[s];
        if (!w.data)
            continue;
        float *rows = aoei_malloc_array(READ_ROWS * w.cols, sizeof *rows);
        for (size_t r = 0; r < w.rows && rows; r += READ_ROWS) {
            const size_t n = w.rows - r < READ_ROWS ? w.rows - r : READ_ROWS;
            aoei_tensor_read(m->ctx, rows, aoei_tensor_rows(w, r, n));
            *hash = aoei_hash(*hash, rows, n * w.cols * sizeof *rows);
        }
        code = rows ? AOE_OK : aoei_fail_nomem(err, READ_ROWS * w.cols * sizeof *rows);
        aoei_free(rows);
    }
    return code;
}

/* Continues the hash with the contents of a file of the model directory. A missing file is hashed as an empty file. */
static int hash_file(const aoe_model *m, const char *name, uint64_t *hash, aoe_error *err) {
    const char *dir = m->files.transformer_dir ? m->files.transformer_dir : m->files.dir;
    char *path = aoei_path_join(dir, name), *text = NULL;
    size_t size = 0;
    int code = path ? AOE_OK : aoei_fail_nomem(err, strlen(name));
    if (!code && aoei_exists(path))
        code = aoei_read_file(&text, &size, path, 0, err);
    if (!code) {
        *hash = aoei_hash(*hash, &size, sizeof size);
        *hash = aoei_hash(*hash, text ? text : "", size);
    }
    aoei_free(text);
    aoei_free(path);
    return code;
}

/* Continues the hash with a JSON value, or with an empty text if it is NULL. */
static int hash_json(const json_t *value, uint64_t *hash, aoe_error *err) {
    char *text = value ? aoei_json_text(value, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
    if (value && !text)
        return aoei_fail_nomem(err, 1);
    *hash = aoei_hash(*hash, text ? text : "", (text ? strlen(text) : 0) + 1);
    aoei_free(text);
    return AOE_OK;
}

int aoei_model_hash_embedding(const aoe_model *m, uint64_t *hash, aoe_error *err) {
    static const char *const tokenizer[] = {"tokenizer.json", "vocab.txt", "vocab.json", "merges.txt", "tokenizer_config.json"};
    const aoei_settings *s = &m->settings;
    const size_t numbers[] = {(size_t)s->pooling,
                              s->max_length,
                              (size_t)s->normalize,
                              (size_t)s->bidirectional,
                              s->bidirectional_from,
                              (size_t)s->lowercase,
                              (size_t)s->exclude_prompt,
                              (size_t)s->subtract_empty_prompt,
                              s->truncate_dim,
                              (size_t)s->token_module,
                              (size_t)m->type};
    int code = aoei_model_hash_weights(m, hash, err);
    *hash = aoei_hash(*hash, numbers, sizeof numbers);
    *hash = aoei_hash(*hash, s->prompt, strlen(s->prompt) + 1);
    if (!code)
        code = hash_json(m->files.config_json, hash, err);
    if (!code)
        code = hash_json(s->modules, hash, err);
    for (size_t i = 0; i < sizeof tokenizer / sizeof *tokenizer && !code; i++)
        code = hash_file(m, tokenizer[i], hash, err);
    return code;
}
