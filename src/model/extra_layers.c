/* SPDX-License-Identifier: MIT
 * Adds layers after the pooling. A slot is the index of a weight in the arrays m->weights and m->files.tensors
 * (encoder/slot_layout.h). The slots of the layers after the pooling follow all other slots, so adding a layer appends
 * elements to these arrays.
 */
#include "model/extra_layers.h"

#include <string.h>

#include "encoder/arch.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "encoder/initial_weights.h"
#include "modeldir/token_module.h"

/* Returns the training layers of m, which the caller may change. */
static aoei_training_layers *training_layers(aoe_model *m) {
    m->training = *aoei_training_layers_of(&m->config);
    m->config.training = &m->training;
    return &m->training;
}

/* Extends m->weights and m->files.tensors, which have `before` elements, to the number of slots of the
 * configuration. */
static int extend(aoe_model *m, size_t before, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    if (n == before)
        return 0;
    aoei_tensor *weights = aoei_realloc_array(m->weights, n, sizeof *weights);
    if (weights) {
        memset(weights + before, 0, (n - before) * sizeof *weights);
        m->weights = weights;
    }
    const aoei_st_tensor **tensors =
        m->files.tensors && weights ? aoei_realloc_array(m->files.tensors, n, sizeof *tensors) : NULL;
    if (tensors) {
        memset(tensors + before, 0, (n - before) * sizeof *tensors);
        m->files.tensors = tensors;
    }
    return weights && (tensors || !m->files.tensors) ? 0 : aoei_fail_nomem(err, n * sizeof *weights);
}

/* Allocates the weights of added layers, which belong to the model. Returns NULL on failure. */
static float *allocate(aoe_model *m, size_t floats, aoe_error *err) {
    size_t i = 0;
    while (i + 1 < AOEI_MAX_ADDED && m->memory.added[i])
        i++;
    float *memory = m->memory.added[i] ? NULL : aoei_aligned((floats + 1) * sizeof *memory);
    if (!memory)
        aoei_fail_nomem(err, (floats + 1) * sizeof *memory);
    else
        m->memory.added[i] = memory;
    return memory;
}

/* Returns the number of floats that a weight occupies, rounded up to the alignment. */
static size_t padded(const aoei_slot *s) {
    const size_t aligned = AOEI_ALIGN / sizeof(float);
    return s->absent ? 0 : (s->rows * s->cols + aligned - 1) / aligned * aligned;
}

/* Adds the weights of the slots [first, end), which m->config already describes, with random values from `seed`.
 * before: number of elements of m->weights before the call. Weights that are absent are skipped. */
static int add_slots(aoe_model *m, size_t before, size_t first, size_t end, uint64_t seed, aoe_error *err) {
    size_t floats = 0;
    aoei_slot s;
    const int rc = extend(m, before, err);
    if (rc)
        return rc;
    for (size_t slot = first; slot < end; slot++) {
        aoei_slot_describe(&m->config, slot, &s);
        floats += padded(&s);
    }
    float *memory = allocate(m, floats, err);
    if (!memory)
        return AOE_ENOMEM;
    for (size_t slot = first; slot < end; slot++) {
        aoei_slot_describe(&m->config, slot, &s);
        if (s.absent)
            continue;
        m->weights[slot] = aoei_tensor_wrap(memory, s.rows, s.cols);
        aoei_init_weight(memory, &m->config, slot, seed);
        memory += padded(&s);
    }
    return AOE_OK;
}

/* Appends a module of this type to the list of modules in the settings, with the folder to which it will be written. */
static int list_module(aoe_model *m, const char *type, aoe_error *err) {
    const size_t index = m->config.modules.n;
    char name[AOEI_MODULE_FOLDER_SIZE];
    const int rc = aoei_module_list_append(&m->settings.modules, type, "", err);
    if (rc)
        return rc;
    return json_object_set_new(json_array_get(m->settings.modules, index), "path",
                               json_string(aoei_settings_module_folder(&m->settings, index, name)))
               ? aoei_fail_nomem(err, 1)
               : 0;
}

int aoei_model_add_flow(aoe_model *m, const aoei_flow_shape *shape, const double *parameters, aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config), index = m->config.modules.n, n = aoei_flow_parameters(shape);
    int rc = list_module(m, AOEI_FLOW_TYPE, err);
    if (rc)
        return rc;
    m->config.modules.list[index] = (aoei_module){.kind = AOEI_MODULE_FLOW,
                                                  .in = shape->dims,
                                                  .out = shape->dims,
                                                  .levels = shape->levels,
                                                  .depth = shape->depth,
                                                  .width = shape->width};
    m->config.modules.n++;
    aoei_model_describe_modules(m);
    if ((rc = extend(m, before, err)))
        return rc;
    float *memory = allocate(m, n, err);
    if (!memory)
        return AOE_ENOMEM;
    for (size_t i = 0; i < n; i++)
        memory[i] = (float)parameters[i];
    m->weights[aoei_pooled_slot(&m->config, AOEI_MODULE_WEIGHTS * index)] = aoei_tensor_wrap(memory, 1, n);
    return 0;
}

int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config), index = m->config.modules.n;
    int rc = list_module(m, "Dense", err);
    if (rc)
        return rc;
    m->config.modules.list[index] = (aoei_module){.kind = AOEI_MODULE_DENSE,
                                                  .in = aoei_vector_dims(&m->config),
                                                  .out = out,
                                                  .activation = with_tanh ? AOEI_DENSE_TANH : AOEI_DENSE_IDENTITY};
    m->config.modules.n++;
    aoei_model_describe_modules(m);
    const size_t slot = aoei_pooled_slot(&m->config, AOEI_MODULE_WEIGHTS * index);
    if ((rc = add_slots(m, before, slot, slot + AOEI_MODULE_WEIGHTS, seed, err)) || !weight)
        return rc;
    aoei_tensor_write(m->ctx, m->weights[slot], weight);
    aoei_tensor_write(m->ctx, m->weights[slot + 1], bias);
    return AOE_OK;
}

int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    aoei_training_layers *training = training_layers(m);
    training->head_rows = rows;
    training->head_cols = cols;
    const size_t slot = aoei_pooled_slot(&m->config, AOEI_PW_HEAD);
    return add_slots(m, before, slot, slot + 2, seed, err);
}

int aoei_model_add_linear_head(aoe_model *m, size_t rows, size_t cols, const float *weight, const float *bias,
                               aoe_error *err) {
    const int code = aoei_model_add_head(m, rows, cols, 0, err);
    if (!code) {
        const size_t slot = aoei_pooled_slot(&m->config, AOEI_PW_HEAD);
        aoei_tensor_write(m->ctx, m->weights[slot], weight);
        aoei_tensor_write(m->ctx, m->weights[slot + 1], bias);
    }
    return code;
}

int aoei_model_add_constant_head(aoe_model *m, float value, aoe_error *err) {
    const int code = aoei_model_add_head(m, 1, 1, 0, err);
    if (!code)
        aoei_tensor_write(m->ctx, m->weights[aoei_pooled_slot(&m->config, AOEI_PW_HEAD)], &value);
    return code;
}

int aoei_model_add_modules(aoe_model *m, const aoei_module *modules, size_t n, uint64_t seed, aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        if (!(rc = list_module(m, modules[i].kind == AOEI_MODULE_LAYERNORM ? "LayerNorm" : "Dense", err)))
            m->config.modules.list[m->config.modules.n++] = modules[i];
    }
    aoei_model_describe_modules(m);
    return rc ? rc
              : add_slots(m, before, aoei_pooled_slot(&m->config, 0),
                          aoei_pooled_slot(&m->config, AOEI_MODULE_WEIGHTS * n), seed, err);
}

int aoei_model_train_words(aoe_model *m, size_t bigrams, aoe_error *err) {
    const size_t n = bigrams * m->config.hidden;
    m->config.frozen_words = 0;
    if (bigrams) {
        float *memory = allocate(m, n, err);
        if (!memory)
            return AOE_ENOMEM;
        memset(memory, 0, n * sizeof *memory);
        m->weights[AOEI_W_BIGRAM] = aoei_tensor_wrap(memory, bigrams, m->config.hidden);
        m->config.bigrams = bigrams;
        m->type = AOEI_F32;
    }
    return m->config.arch->write(&m->config, m->files.config_json) ? aoei_fail_nomem(err, 0) : AOE_OK;
}

int aoei_model_add_projection(aoe_model *m, const aoei_module *modules, size_t n, int of_features, uint64_t seed,
                              aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    aoei_training_layers *training = training_layers(m);
    memcpy(training->projection, modules, n * sizeof *modules);
    training->n_projection = n;
    training->projects_features = of_features;
    return add_slots(m, before, aoei_pooled_slot(&m->config, AOEI_PW_PROJECTION),
                     aoei_pooled_slot(&m->config, AOEI_PW_PROJECTION + AOEI_MODULE_WEIGHTS * AOEI_MAX_PROJECTION), seed,
                     err);
}

/* Sets the module between the encoder and the pooling in the settings. */
static int set_token_module(aoe_model *m, aoei_token_module kind, aoe_error *err) {
    m->settings.token_module = kind;
    m->settings.token_module_folder = aoei_strdup(aoei_token_module_folder(kind));
    return m->settings.token_module_folder ? AOE_OK : aoei_fail_nomem(err, 1);
}

/* Adds the weights of the module between the encoder and the pooling. before: number of slots without it. */
static int add_token_module(aoe_model *m, size_t before, uint64_t seed, aoe_error *err) {
    aoei_model_describe_modules(m);
    return add_slots(m, before, aoei_pooled_slot(&m->config, AOEI_PW_TOKEN_MODULE),
                     aoei_pooled_slot(&m->config, AOEI_PW_COUNT), seed, err);
}

int aoei_model_add_convolutions(aoe_model *m, const size_t *kernels, size_t n, size_t channels, uint64_t seed,
                                aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    int rc = aoei_token_module_check(&m->config, AOEI_TOKEN_MODULE_CNN, m->settings.pooling, m->files.dir, err);
    if (rc || (rc = set_token_module(m, AOEI_TOKEN_MODULE_CNN, err)))
        return rc;
    memcpy(m->config.modules.kernels, kernels, n * sizeof *kernels);
    m->config.modules.n_kernels = n;
    m->config.modules.kernel_channels = channels;
    return add_token_module(m, before, seed, err);
}

int aoei_model_add_lstm(aoe_model *m, size_t out, uint64_t seed, aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    int rc = aoei_token_module_check(&m->config, AOEI_TOKEN_MODULE_LSTM, m->settings.pooling, m->files.dir, err);
    if (rc || (rc = set_token_module(m, AOEI_TOKEN_MODULE_LSTM, err)))
        return rc;
    m->config.modules.lstm_dims = out;
    m->config.modules.lstm_layers = 1;
    return add_token_module(m, before, seed, err);
}
