/* SPDX-License-Identifier: MIT
 * The linear map from the embeddings to the teacher embeddings (options.teacher_map). If the map is dropped, it is the
 * training head of the model, with one row per component of the teacher embeddings and one column per component of the
 * student embeddings. If it is kept, it is a dense layer after the pooling, which further training continues to train.
 * Only the term of the vectors uses a map that is dropped, so it is not added if options.w_vectors is 0.
 */
#pragma once

#include "aoe_train.h"
#include "model/model.h"

/* Adds the map that the options require to the model. A map that is kept is not added if the last module of the model
 * is already a linear layer with `dims` outputs. dims: size of the teacher embeddings. Errors: AOE_EARG if the sizes
 * differ and there is no map, or if the map is kept and the model has other modules after the pooling; AOE_ENOMEM. */
int aoei_teacher_map_add(const aoe_train_options *o, aoe_model *m, size_t dims, aoe_error *err);
/* Returns the name of an option value for the training record: "none", "dropped" or "kept". m: the model with its
 * map. */
const char *aoei_teacher_map_name(const aoe_train_options *o, const aoe_model *m);
