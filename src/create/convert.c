/* SPDX-License-Identifier: MIT
 * Implements aoe_convert, which writes a copy of a model and stores the weights as another data type. Settings,
 * prompts, tokenizer and training record are copied. If the input is an adapter directory, the adapters are merged into
 * the weights of the base model.
 */
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "aoe_convert.h"
#include "base/check.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "create/convert.h"
#include "create/reduce_vocabulary.h"
#include "create/truncate.h"
#include "model/open.h"
#include "modeldir/cross_encoder.h"
#include "modeldir/layout.h"
#include "modeldir/model_writer.h"
#include "modeldir/publish.h"
#include "modeldir/storage.h"

int aoei_check_new_model(const char *to, aoe_storage storage, int force, aoe_error *err) {
    if (storage != AOE_STORAGE_F32 && storage != AOE_STORAGE_BF16 && storage != AOE_STORAGE_INT8)
        return aoei_fail(err, AOE_EARG,
                         "options.storage is %d; use AOE_STORAGE_F32, AOE_STORAGE_BF16 or AOE_STORAGE_INT8",
                         (int)storage);
    if (aoei_is_model_dir(to) && !force)
        return aoei_fail(
            err, AOE_EEXIST,
            "%s: the directory already contains a model; choose another directory, or use options.force to replace it",
            to);
    const int rc = aoei_model_dir_check(to, force, err);
    return rc ? rc : aoei_check_writable_dir(to, err);
}

/* Returns AOE_EARG if `embeddings` is not a value of the enum, or if it requires another storage type of the
 * weights. */
static int check_embedding_storage(aoe_storage storage, aoe_embedding_storage embeddings, aoe_error *err) {
    if (embeddings == AOE_EMBEDDING_STORAGE_AUTO ||
        (embeddings == AOE_EMBEDDING_STORAGE_INT5 && storage == AOE_STORAGE_INT8))
        return 0;
    if (embeddings == AOE_EMBEDDING_STORAGE_INT5)
        return aoei_fail(
            err, AOE_EARG,
            "AOE_EMBEDDING_STORAGE_INT5 in options.embedding_storage requires AOE_STORAGE_INT8 in options.storage; "
            "change one of them");
    return aoei_fail(err, AOE_EARG,
                     "options.embedding_storage is %d; use AOE_EMBEDDING_STORAGE_AUTO or AOE_EMBEDDING_STORAGE_INT5",
                     (int)embeddings);
}

int aoei_check_base_kept(const aoe_model *m, const char *to, aoe_error *err) {
    if (!m->files.base_dir || !aoei_path_within(m->files.base_dir, to))
        return 0;
    return aoei_fail(err, AOE_EARG, "%s: the base model of the adapters is in this directory; choose another output",
                     to);
}

int aoei_convert_check(const char *from, const char *to, const aoe_convert_options *o, aoe_error *err) {
    if (!o->force && aoei_same_path(from, to))
        return aoei_fail(
            err, AOE_EARG,
            "%s: the input model and the output are the same directory; choose another output, or use options.force to "
            "replace the model",
            to);
    if (o->merge && !aoei_is_adapter_dir(from))
        return aoei_fail(err, aoei_is_dir(from) ? AOE_EARG : AOE_ENOENT,
                         "%s: there are no adapters to merge; give a directory that contains %s and no config.json",
                         from, AOEI_PEFT_CONFIG);
    const int rc = check_embedding_storage(o->storage, o->embedding_storage, err);
    return rc ? rc : aoei_check_new_model(to, o->storage, o->force, err);
}

/* Sets *r to the storage types and the sizes of the input model m and of the output model. */
static void fill_result(aoe_convert_result *r, const aoe_model *m, const aoei_model_contents *output) {
    const aoei_encoder_config *c = output->config;
    const aoe_storage storage = output->storage;
    *r = (aoe_convert_result){.from = m->files.storage,
                              .to = aoei_storage_name(storage, output->embedding_storage),
                              .parameters = aoei_base_count(c),
                              .bytes_from = m->files.stored_bytes,
                              .layers_from = m->config.layers,
                              .layers = c->layers,
                              .dims_from = aoe_model_dims(m),
                              .dims = aoei_settings_dims(output->settings, aoei_vector_dims(c))};
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (slot.table && output->embedding_storage == AOE_EMBEDDING_STORAGE_INT5)
            r->bytes_stored += aoei_int5_storage_bytes(slot.rows, slot.cols);
        else if (!slot.absent && !slot.adapter)
            r->bytes_stored +=
                aoei_storage_bytes(slot.pooled ? AOE_STORAGE_F32 : storage, slot.rows, slot.cols, slot.vector);
    }
}

AOEI_DEFAULTS(aoe_convert_options) {
    *o = (aoe_convert_options){.struct_size = sizeof *o, .storage = AOE_STORAGE_F32};
    aoe_table_options_defaults(&o->table);
}

int aoei_convert_write(const aoe_model *m, const aoei_model_contents *contents, const char *to,
                       aoe_convert_result *result, aoe_error *err) {
    const int rc = aoei_contents_save(contents, to, &m->ctx->log, err);
    if (!rc && result)
        fill_result(result, m, contents);
    if (!rc && contents->storage == AOE_STORAGE_INT8)
        aoei_log_write(&m->ctx->log, AOE_LOG_WARNING,
                       "%s: only aoe reads int8 weights; for other programs, convert the model to f32", to);
    return rc;
}

/* Opens the model to convert, with its classification head if it is a cross-encoder. A cross-encoder with modules.json
 * cannot be opened as an embedding model. */
static int open_complete(aoe_model **m, aoe_context *ctx, const char *from, const char *base, aoe_error *err) {
    const aoei_open_mode mode = {.rows_from_file = 1};
    aoe_model_options options;
    aoe_model_options_defaults(&options);
    options.base = base;
    const int rc = aoei_model_open_for(m, ctx, from, &options, &mode, err);
    if (rc ? !aoei_is_cross_encoder(from, base) : !aoe_model_is_cross_encoder(*m))
        return rc;
    aoe_model_close(*m);
    options.cross_encoder = 1;
    return aoei_model_open_for(m, ctx, from, &options, &mode, err);
}

/* Removes tokens from the truncated model t of m. v: the selected tokens, which must remain valid as long as t. */
static int reduce_vocabulary(aoei_truncated_model *t, aoei_reduced_vocabulary *v, const aoe_model *m,
                             const aoe_convert_options *o, aoe_error *err) {
    const int rc = aoei_vocabulary_reduce(v, m, o, err);
    json_t *config = rc ? NULL : aoei_reduced_config(v, t->contents.config_json);
    if (rc || !config)
        return rc ? rc : aoei_fail_nomem(err, v->rows);
    return aoei_truncated_set_tokens(t, v->subset.old_id, v->rows, config, v->tokenizer, m->files.dir, err);
}

/* Writes the truncated copy of m to the directory `to`. reduces: 1: the options select tokens. */
static int write_truncated(const aoe_model *m, const char *to, const aoe_convert_options *o, int reduces,
                           aoe_convert_result *result, aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader rows;
    aoei_truncated_model t;
    aoei_reduced_vocabulary v = {.rows = 0};
    aoei_model_contents_of(&contents, &rows, m, m->files.record, o->storage);
    contents.embedding_storage = o->embedding_storage;
    int rc = aoei_truncated_create(&t, &contents, m, o, err);
    if (!rc && reduces)
        rc = reduce_vocabulary(&t, &v, m, o, err);
    if (!rc)
        rc = aoei_convert_write(m, &t.contents, to, result, err);
    if (!rc && reduces && result) {
        result->vocab_from = v.subset.n;
        result->vocab = v.subset.n_kept;
        result->texts = v.texts;
        result->tokens = v.tokens;
        result->tokens_kept = v.tokens_kept;
        result->tokens_after = v.tokens_after;
        result->vocab_found = v.found;
    }
    aoei_truncated_destroy(&t);
    aoei_reduced_vocabulary_free(&v);
    return rc;
}

int aoe_convert(aoe_context *ctx, const char *from, const char *to, const aoe_convert_options *o,
                aoe_convert_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_RESULT(aoe_convert_result, result, err);
    AOEI_OPTIONS(aoe_convert_options, o, err);
    aoe_model *m;
    int reduces, rc = aoei_convert_check(from, to, o, err);
    if (rc || (rc = aoei_vocabulary_check(&reduces, o, err)) || (rc = open_complete(&m, ctx, from, o->base, err)))
        return rc;
    if (aoei_is_language_model(&m->config, &m->files))
        aoei_log_write(
            &ctx->log, AOE_LOG_WARNING,
            "%s: the head that predicts tokens is not copied; the new model computes embeddings and is not a reranker",
            from);
    if (!(rc = aoei_check_base_kept(m, to, err)))
        rc = write_truncated(m, to, o, reduces, result, err);
    aoe_model_close(m);
    return rc;
}
