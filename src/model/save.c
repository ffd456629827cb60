/* SPDX-License-Identifier: MIT
 * Saves an open model. A model over external weights (weight_view.h) has no files. If such a model is saved, files and
 * tensors are copied from the model from which it was created.
 */
#include "model/save.h"

#include "aoe_convert.h"
#include "model/weight_rows.h"
#include "modeldir/model_writer.h"

/* The callback `rows` of aoei_weight_reader, which reads rows of a weight of the model. */
static void model_rows(aoei_weight_reader *source, float *to, size_t slot, size_t first, size_t n) {
    aoei_model_rows(((const aoei_model_weight_reader *)source)->model, to, slot, first, n);
}

void aoei_model_contents_of(aoei_model_contents *contents, aoei_model_weight_reader *rows, const aoe_model *m,
                            json_t *record, aoe_storage storage) {
    *rows = (aoei_model_weight_reader){.source = {.rows = model_rows}, .model = m};
    *contents = (aoei_model_contents){.config = &m->config,
                                      .settings = &m->settings,
                                      .config_json = m->files.config_json,
                                      .record = record,
                                      .tokenizer = m->tokenizer,
                                      .rows = &rows->source,
                                      .source = m->base ? &m->base->files : &m->files,
                                      .storage = storage};
}

int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader rows;
    aoei_model_contents_of(&contents, &rows, m, record, AOE_STORAGE_F32);
    contents.only_adapters = m->config.lora.r > 0;
    return aoei_contents_save(&contents, dir, &m->ctx->log, err);
}

int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader rows;
    aoei_model_contents_of(&contents, &rows, m, record, storage);
    return aoei_contents_save(&contents, dir, &m->ctx->log, err);
}

int aoei_model_write(const aoe_model *m, const char *dir, json_t *record, aoe_error *err) {
    aoei_model_contents contents;
    aoei_model_weight_reader rows;
    aoei_model_contents_of(&contents, &rows, m, record, AOE_STORAGE_F32);
    contents.only_adapters = m->config.lora.r > 0;
    return aoei_contents_write(&contents, dir, err);
}
