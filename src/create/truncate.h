/* SPDX-License-Identifier: MIT
 * Contents of a model that is truncated to its first layers and to the first components of its embeddings, for aoe_convert.
 */
#ifndef AOEI_CREATE_TRUNCATE_H
#define AOEI_CREATE_TRUNCATE_H

#include "model/save.h"

/* A truncated model. The contents point into this struct, which must not be moved. */
typedef struct aoei_truncated_model {
    aoei_model_contents contents; /* contents of the truncated model */
    aoei_encoder_config config;
    aoei_settings settings;    /* the members that are allocated are borrowed */
    json_t *config_json;       /* owned */
    aoei_weight_reader source; /* weights of the truncated model, by slot */
    aoei_weight_reader *all;   /* weights of the complete model; borrowed */
    size_t pooled, all_pooled; /* slots of the first weight after the pooling in the truncated and in the complete model */
} aoei_truncated_model;

/* Sets t->contents to `contents`, the contents of m, with only the first `layers` layers and the first `dims` components of the
 * embeddings. 0: all layers, all components. The caller calls aoei_truncated_destroy. Errors: AOE_EARG (the model has fewer
 * layers or components), AOE_EUNSUPPORTED (the layers of the model cannot be removed), AOE_ENOMEM. */
int aoei_truncated_create(aoei_truncated_model *t, const aoei_model_contents *contents, const aoe_model *m, size_t layers,
                          size_t dims, aoe_error *err);
void aoei_truncated_destroy(aoei_truncated_model *t); /* accepts a zeroed struct */

#endif
