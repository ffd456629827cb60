/* SPDX-License-Identifier: MIT
 * Creates models over external weights. Such a model uses the data of the model from which it is created, except the
 * weights. Data that aoe_model_close frees is copied.
 */
#include "model/weight_view.h"

#include <string.h>

#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"

int aoei_model_view(aoe_model **out, const aoe_model *base, const aoei_tensor *weights, aoe_error *err) {
    size_t n = aoei_slot_count(&base->config);
    *out = NULL;
    aoe_model *m = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->base = base;
    m->ctx = base->ctx;
    m->config = base->config;
    m->lora = base->lora;
    m->type = base->type;
    m->dtype = base->dtype;
    memcpy(m->modules_text, base->modules_text, sizeof m->modules_text);
    m->tokenizer = base->tokenizer;
    m->files = (aoei_model_files){.dir = aoei_strdup(base->files.dir),
                                  .config_json = json_incref(base->files.config_json),
                                  .record = json_incref(base->files.record),
                                  .storage = "F32",
                                  .prefix = base->files.prefix};
    m->weights = aoei_malloc_array(n, sizeof *m->weights);
    int rc = m->files.dir && m->weights ? aoei_settings_copy(&m->settings, &base->settings, err)
                                        : aoei_fail_nomem(err, n * sizeof *m->weights);
    if (rc) {
        aoe_model_close(m);
        return rc;
    }
    memcpy(m->weights, weights, n * sizeof *weights);
    *out = m;
    return 0;
}

void aoei_model_release_weights(aoe_model *m) {
    if (aoei_has_frozen_weights(&m->config))
        return; /* training still reads the frozen weights */
    memset(m->weights, 0, aoei_slot_count(&m->config) * sizeof *m->weights);
    aoei_aligned_free(m->memory.converted);
    aoei_aligned_free(m->memory.generated);
    m->memory.converted = NULL;
    m->memory.generated = NULL;
    for (size_t i = 0; i < AOEI_MAX_ADDED; i++) {
        aoei_aligned_free(m->memory.added[i]);
        m->memory.added[i] = NULL;
    }
    m->memory.converted_bytes = 0;
    if (m->files.weights)
        aoei_safetensors_drop(m->files.weights);
}
