/* SPDX-License-Identifier: MIT
 * Computes start weights of the linear map from the embeddings to the teacher embeddings by least squares, so that
 * training does not begin with a random map.
 */
#pragma once

#include "aoe_train.h"
#include "model/model.h"
#include "table/examples.h"
#include "train/teacher.h"

/* Sets the training head of *m, the map of teacher_map.h with weight W and bias b, to the values that minimize
 *     1/n sum_i |W v_i + b - t_i|^2 + r |W|^2,    r = 1e-3 times the mean variance of a component of v,
 * (ridge regression), where v_i is the embedding of a text by the start model options.model, without normalization, and
 * t_i is the teacher embedding. The n texts are spread evenly over the training files; at most 4096 are used. If the
 * files contain fewer than 4 texts per component of v, the start weights of teacher_map.h are kept. The result does not
 * depend on the number of threads. t: teachers with their embeddings. files: [n] the texts of the training files.
 * Errors: AOE_ENUMERIC, AOE_ENOMEM, and the errors of aoe_model_open and aoe_embed. */
int aoei_teacher_map_fit(aoe_model *m, const aoe_training_args *args, const aoei_teacher *t, const aoei_examples *files,
                         size_t n, aoe_error *err);
