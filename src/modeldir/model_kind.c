/* SPDX-License-Identifier: MIT
 * Checks the settings of a model as an embedding model and as a cross-encoder, and its tokenizer.
 */
#include "modeldir/model_kind.h"

#include "base/error.h"
#include "modeldir/cross_encoder.h"
#include "modeldir/model_tokenizer.h"
#include "modeldir/settings_read.h"

/* Checks the settings of an embedding model. */
static int check_embedding(const aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    aoei_settings settings = {0};
    aoe_model_options options;
    json_t *record = NULL;
    aoe_model_options_defaults(&options);
    const int rc = aoei_settings_read(&settings, &record, aoei_settings_dir(f), c, &options, err);
    aoei_settings_free(&settings);
    json_decref(record);
    return rc;
}

/* Checks the head and the settings of a cross-encoder. */
static int check_cross_encoder(aoei_model_files *f, const aoei_encoder_config *config, aoe_error *err) {
    aoei_encoder_config c = *config;
    aoei_settings settings = {0};
    aoe_model_options options;
    json_t *record = NULL;
    aoe_model_options_defaults(&options);
    int rc = aoei_cross_encoder_open(&c, f, &(aoei_head_request){0}, err);
    if (!rc)
        rc = aoei_settings_read(&settings, &record, aoei_settings_dir(f), &c, &options, err);
    if (!rc && c.modules.classes)
        rc = aoei_cross_encoder_settings(&settings, &c, f, &options, err);
    aoei_settings_free(&settings);
    json_decref(record);
    return rc;
}

/* Checks that aoe can read the tokenizer of the model, and its chat template if the model renders texts with it. */
static int check_tokenizer(const aoei_model_files *f, aoe_error *err) {
    aoe_tokenizer *t = NULL;
    json_t *chat = NULL;
    const char *dir = f->dir;
    int lowercase, rc = aoei_text_settings_read(&lowercase, &chat, aoei_settings_dir(f), err);
    if (!rc)
        rc = aoei_model_tokenizer_open(&t, &dir, f, chat, 0, err);
    if (!rc && !t)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: no tokenizer found; add tokenizer.json, or vocab.txt with tokenizer_config.json, or vocab.json with "
            "merges.txt",
            dir);
    json_decref(chat);
    aoe_tokenizer_close(t);
    return rc;
}

/* Checks the settings and sets *kind (see aoei_model_kind_check). */
static int check_settings(aoei_model_kind *kind, aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    int declared;
    int rc = aoei_declares_cross_encoder(&declared, c, f, err);
    if (rc)
        return rc;
    rc = declared ? check_cross_encoder(f, c, err) : check_embedding(f, c, err);
    *kind = declared ? AOEI_KIND_CROSS_ENCODER : AOEI_KIND_EMBEDDING;
    if (!rc || rc == AOE_ENOMEM)
        return rc;
    if (declared ? check_embedding(f, c, NULL) : check_cross_encoder(f, c, NULL))
        return rc;
    *kind = declared ? AOEI_KIND_EMBEDDING : AOEI_KIND_CROSS_ENCODER;
    return 0;
}

int aoei_model_kind_check(aoei_model_kind *kind, aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const int rc = check_settings(kind, f, c, err);
    return rc ? rc : check_tokenizer(f, err);
}
