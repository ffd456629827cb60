/* SPDX-License-Identifier: MIT
 * Opens a model in these steps:
 * 1. Reads the configuration and the settings.
 * 2. Finds the tensors of the weights in the files.
 * 3. Places the weights in memory and generates the weights that are not in the files.
 * 4. Checks the values of the weights and opens the tokenizer at the same time.
 * 5. Packs the weights, if the model is opened for inference. The weights of layers may be packed later, when they are
 *    used.
 */
#include "model/open.h"

#include "base/alloc.h"
#include "base/context.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/file_cache.h"
#include "base/options.h"
#include "encoder/arch.h"
#include "encoder/layer_pooling.h"
#include "encoder/slots.h"
#include "model/first_layers.h"
#include "model/generated_weights.h"
#include "model/logit_score_head.h"
#include "model/lora_options.h"
#include "model/packed_weights.h"
#include "model/weight_placement.h"
#include "model/weight_rows.h"
#include "model/word_table.h"
#include "modeldir/cross_encoder.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/model_keys.h"
#include "modeldir/model_tokenizer.h"
#include "modeldir/peft.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/settings_read.h"
#include "modeldir/token_module.h"
#include "modeldir/weight_tensors.h"

#include <limits.h>
#include "nn/dtype.h"
#include "nn/pooling.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

/* Checks the options that only embedding models or only cross-encoders have. */
static int check_kind_options(const aoe_model_options *o, int cross_encoder, aoe_error *err) {
    if (cross_encoder && (o->pooling != AOE_POOLING_AUTO || o->normalize != AOE_AUTO))
        return aoei_fail(err, AOE_EARG,
                         "options.pooling and options.normalize have no effect on a cross-encoder; leave them unset");
    if (o->activation != AOE_AUTO &&
        (!cross_encoder || !aoe_score_activation_name((aoe_score_activation)o->activation)))
        return aoei_fail(err, AOE_EARG,
                         "options.activation is %d; use AOE_AUTO or, for a cross-encoder (options.cross_encoder), an "
                         "aoe_score_activation",
                         o->activation);
    return 0;
}

/* Checks the options that do not depend on the model. */
static int check_options(const aoe_model_options *o, aoe_error *err) {
    if (o->dtype < AOE_DTYPE_AUTO || o->dtype > AOE_DTYPE_INT8)
        return aoei_fail(err, AOE_EARG,
                         "options.dtype is %d; use AOE_DTYPE_F32, AOE_DTYPE_BF16, AOE_DTYPE_INT8 or AOE_DTYPE_AUTO",
                         (int)o->dtype);
    if (o->normalize != 0 && o->normalize != 1 && o->normalize != AOE_AUTO)
        return aoei_fail(err, AOE_EARG, "options.normalize is %d; use 0, 1 or AOE_AUTO", o->normalize);
    return o->cross_encoder == AOE_AUTO ? 0 : check_kind_options(o, o->cross_encoder, err);
}

/* Sets *cross_encoder to 1 if the model is opened as a cross-encoder, otherwise to 0. */
static int find_kind(int *cross_encoder, const aoe_model *m, const aoe_model_options *o, aoe_error *err) {
    *cross_encoder = o->cross_encoder != 0;
    if (o->cross_encoder != AOE_AUTO)
        return 0;
    const int rc = aoei_declares_cross_encoder(cross_encoder, &m->config, &m->files, err);
    return rc ? rc : check_kind_options(o, *cross_encoder, err);
}

/* Argument and result of open_tokenizer. */
typedef struct tokenizer_work {
    aoe_model *model; /* its field `tokenizer` is set */
    const char *dir;  /* directory of the tokenizer, borrowed */
    int rc;           /* error code; 0: success */
    aoe_error error;
} tokenizer_work;

/* Opens the tokenizer of the model, and parses its chat template if the model renders texts with it. */
static void open_tokenizer(void *arg) {
    tokenizer_work *work = arg;
    aoe_model *m = work->model;
    work->rc = aoei_model_tokenizer_open(&m->tokenizer, &work->dir, &m->files, m->settings.chat,
                                         m->config.modules.classes > 0, &work->error);
}

/* Warns about ignored keys of the tokenizer in `dir`, and if this is not the directory in which transformers looks for
 * it. */
static void warn_tokenizer(const aoe_model *m, const char *dir) {
    aoei_tokenizer_warn(m->tokenizer, dir, &m->ctx->log);
    if (m->files.transformer_dir && !strcmp(dir, m->files.dir))
        aoei_log_write(&m->ctx->log, AOE_LOG_WARNING,
                       "%s: the folder of the first module contains no tokenizer, so the tokenizer of %s is used; "
                       "sentence-transformers reads it from the folder, and its embeddings can differ",
                       m->files.transformer_dir, dir);
}

/* Checks that all weights are finite, and opens the tokenizer on another thread at the same time. */
static int check_weights_and_open_tokenizer(aoe_model *m, aoe_error *err) {
    tokenizer_work work = {.model = m};
    const int rc = aoei_weight_tensors_check_values(&m->files, &m->config, m->ctx->pool, open_tokenizer, &work, err);
    if (m->tokenizer)
        warn_tokenizer(m, work.dir);
    return rc || !work.rc ? rc : aoei_fail(err, work.rc, "%s", work.error.message);
}

/* Sets m->config.mask_id if the pooling uses the token [MASK]. */
static int find_mask(aoe_model *m, aoe_error *err) {
    if (m->settings.pooling != AOE_POOLING_MASK || !m->tokenizer)
        return AOE_OK;
    m->config.mask_id = aoei_tokenizer_mask_id(m->tokenizer);
    return m->config.mask_id >= 0
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT,
                           "%s: the pooling is mask, but the tokenizer has no token [MASK] or <mask>; choose "
                           "another pooling",
                           m->files.dir);
}

/* Checks that the maximum sequence length of the directory is larger than the number of special tokens. */
static int check_length(const aoe_model *m, aoe_error *err) {
    const aoei_settings *s = &m->settings;
    const size_t special = m->tokenizer && !s->chat ? m->tokenizer->post.n_before + m->tokenizer->post.n_after : 0;
    if (!strcmp(s->max_length_from, "option") || m->config.arch->plain_tokens || m->config.arch->truncates_end ||
        !special || s->max_length > special)
        return AOE_OK;
    const int given =
        strcmp(s->max_length_from, "default") != 0 && s->max_length < m->config.arch->max_length(&m->config);
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the maximum sequence length is %zu (from %s), but must be larger than the number of special tokens, "
        "%zu; correct the value, or set options.max_length",
        m->files.dir, s->max_length, given ? s->max_length_from : "max_position_embeddings in config.json", special);
}

/* Sets m->lora_targets to the names of the adapted layers. */
static int name_targets(aoe_model *m, aoe_error *err) {
    aoei_buffer names = {0};
    const int rc =
        aoei_peft_append_targets(&names, &m->lora, &m->config) || !(m->lora_targets = aoei_strdup(names.data))
            ? aoei_fail_nomem(err, names.len)
            : 0;
    aoei_buffer_free(&names);
    return rc;
}

/* Warns if the pooling is the default although the model on the Hugging Face Hub may have a modules.json: transformers
 * and peft download models without this file. */
static int warn_incomplete(const aoe_model *m, aoe_error *err) {
    aoei_hub_name name;
    if (strcmp(m->settings.pooling_from, "default") != 0 || m->config.modules.classes || m->config.lora.r)
        return 0;
    if (aoei_hub_may_miss(&name, m->files.dir, "modules.json"))
        return aoei_fail_nomem(err, 0);
    if (*name.id)
        aoei_log_write(
            &m->ctx->log, AOE_LOG_WARNING,
            "%s: the Hugging Face cache may contain only a part of this model: modules.json is missing, so the pooling "
            "is the default, %s; to download the missing files: aoe pull %s",
            name.id, aoe_pooling_name(m->settings.pooling), name.id);
    return 0;
}

/* Reads the settings, and the configurations of the encoder, of the adapters and of the modules after the pooling. */
static int read_directory(aoe_model *m, const char *dir, const aoe_model_options *o, const aoei_open_mode *mode,
                          aoe_error *err) {
    int cross_encoder, rc = aoei_model_files_open(&m->files, &m->config, dir, o->base, mode->mlm, err);
    if (!rc)
        rc = find_kind(&cross_encoder, m, o, err);
    if (!rc && cross_encoder)
        rc = aoei_cross_encoder_open(&m->config, &m->files, &mode->head, err);
    if (!rc)
        rc = aoei_lora_configure(&m->config, &m->files, mode->lora, err);
    m->lora = m->config.lora;
    if (!rc && m->lora.r)
        rc = name_targets(m, err);
    if (!rc)
        rc = aoei_settings_read(&m->settings, &m->files.record, aoei_settings_dir(&m->files), &m->config, o, err);
    if (!rc && m->config.modules.classes)
        rc = aoei_cross_encoder_settings(&m->settings, &m->config, &m->files, o, err);
    if (!rc)
        rc = aoei_first_layers_select(&m->config, o->layers, m->files.dir, err);
    m->config.modules.pooled_parts = rc ? 0 : aoei_pooling_parts(m->settings.pooling);
    if (!rc && !m->config.mlm_head) /* pretraining uses the last hidden state */
        rc = aoei_layer_pooling_select(&m->config, m->settings.pooling, err);
    if (!rc)
        rc = aoei_layer_pooling_open(&m->config, &m->files, aoei_settings_dir(&m->files), m->settings.layer_pooling,
                                     err);
    if (!rc)
        rc = aoei_token_module_open(&m->config, &m->files, aoei_settings_dir(&m->files), &m->settings, err);
    if (!rc)
        rc = aoei_modules_open(&m->config, &m->files, aoei_settings_dir(&m->files), m->settings.modules, err);
    if (!rc)
        rc = aoei_first_dims_check(&m->settings, &m->config, o->dims, m->files.dir, err);
    m->dims = o->dims < aoe_model_dims(m) ? o->dims : 0;
    if (!rc && m->files.module_head)
        rc = aoei_cross_encoder_modules_finish(&m->settings, &m->config, &m->files, err);
    if (o->activation != AOE_AUTO)
        m->settings.activation = (aoe_score_activation)o->activation;
    if (!rc)
        rc = aoei_model_keys_check(&m->files, &m->config, &m->ctx->log, err);
    if (!rc)
        rc = aoei_has_head(&m->has_head, &m->config, &m->files, err);
    if (!rc)
        rc = warn_incomplete(m, err);
    aoei_model_describe_modules(m);
    return rc;
}

/* Finds the tensors of the weights in the files, loads them according to the open mode, and opens the tokenizer. */
static int load_weights_and_tokenizer(aoe_model *m, const aoei_open_mode *mode, const aoe_model_options *o,
                                      aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    const int has_prompt = o->prompt || o->prompt_name;
    int rc;
    m->weights = aoei_calloc(n, sizeof *m->weights);
    if (!m->weights)
        return aoei_fail_nomem(err, n * sizeof *m->weights);
    if ((rc = aoei_weight_tensors_find(&m->files, &m->config, err)) ||
        (mode->words != AOE_POOLING_AUTO && (rc = aoei_word_table_select(m, mode->words, has_prompt, err))) ||
        (rc = aoei_weights_place(m, mode, err)) || (rc = aoei_weights_generate(m, mode->seed, err)) ||
        (rc = check_weights_and_open_tokenizer(m, err)) || (rc = find_mask(m, err)) || (rc = check_length(m, err)))
        return rc;
    if (m->config.modules.classes && (rc = aoei_head_adapters_merge(m, err)))
        return rc;
    if (m->files.decoder && (rc = aoei_logit_score_head_set(m, err)))
        return rc;
    if (m->files.ignored_adapters)
        aoei_log_write(&m->ctx->log, AOE_LOG_WARNING,
                       "%s: %d adapters of a pooler or a head are left out, because they have no effect on embeddings",
                       m->files.dir, m->files.ignored_adapters);
    if (m->config.lora.r) /* release the pages of the mapped file that were read for conversions */
        aoei_safetensors_drop(m->files.weights);
    return 0;
}

/* If int8 was requested, rejects training, and encoders without int8 matmuls. */
static int check_int8(const aoe_model *m, const aoei_open_mode *mode, aoe_error *err) {
    return m->dtype == AOE_DTYPE_INT8 ? aoei_model_int8_check(&m->config, mode->packed, m->files.dir, err) : 0;
}

int aoei_model_open_for(aoe_model **out, aoe_context *ctx, const char *dir, const aoe_model_options *o,
                        const aoei_open_mode *mode, aoe_error *err) {
    aoe_model_options defaults;
    aoe_model_options_defaults(&defaults);
    o = o ? o : &defaults;
    *out = NULL;
    int rc = check_options(o, err);
    if (rc)
        return rc;
    aoe_model *m = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->ctx = ctx;
    m->type = aoei_context_type(ctx, o->dtype);
    m->prompt_given = o->prompt || o->prompt_name;
    /* a model that is opened to be saved computes nothing */
    m->dtype = mode->rows_from_file && o->dtype == AOE_DTYPE_INT8 ? AOE_DTYPE_AUTO : o->dtype;
    if ((rc = read_directory(m, dir, o, mode, err)) || (rc = check_int8(m, mode, err)) ||
        (rc = load_weights_and_tokenizer(m, mode, o, err)) ||
        (mode->packed && (rc = aoei_model_pack(m, mode->packed_later, err)))) {
        aoe_model_close(m);
        return rc;
    }
    aoei_file_cache_clear(m->files.cache);
    if (m->settings.bidirectional)
        m->config.bidirectional_from = m->settings.bidirectional_from;
    /* only static models, whose weights are not packed later, are changed to float32 */
    if ((m->config.arch->auto_float32 && o->dtype == AOE_DTYPE_AUTO) || m->config.bigrams)
        m->type = AOEI_F32;
    *out = m;
    return 0;
}

AOEI_DEFAULTS(aoe_model_options) {
    *o = (aoe_model_options){.struct_size = sizeof *o,
                             .dtype = AOE_DTYPE_AUTO,
                             .pooling = AOE_POOLING_AUTO,
                             .max_length = AOE_AUTO,
                             .normalize = AOE_AUTO,
                             .bidirectional_from = AOE_AUTO,
                             .activation = AOE_AUTO};
}

int aoe_model_open(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, aoe_error *err) {
    if (m)
        *m = NULL;
    AOEI_CHECK(err, m, ctx);
    AOEI_OPTIONS(aoe_model_options, o, err);
    char found[PATH_MAX];
    const int code = dir ? aoe_model_find(found, sizeof found, dir, err) : aoe_default_model(found, sizeof found, err);
    if (code)
        return code;
    return aoei_model_open_for(m, ctx, found, o, &(aoei_open_mode){.packed = 1, .packed_later = 1}, err);
}

int aoei_model_open_trainable(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o,
                              aoe_error *err) {
    return aoei_model_open_for(m, ctx, dir, o, &(aoei_open_mode){0}, err);
}

int aoei_model_open_mlm(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, uint64_t seed,
                        aoe_error *err) {
    return aoei_model_open_for(m, ctx, dir, o, &(aoei_open_mode){.mlm = 1, .seed = seed}, err);
}

int aoei_model_has_mlm_head(const aoe_model *m) {
    for (size_t s = aoei_head_slot(&m->config, 0); s < aoei_pooled_slot(&m->config, 0); s++)
        if (m->files.tensors[s])
            return 1;
    return 0;
}
