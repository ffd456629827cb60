/* SPDX-License-Identifier: MIT
 * Names of the values of enums, for option tables and for records.
 */
#include "options/rows.h"

const char *const aoei_dtype_names[] = {"auto", "f32", "bf16", "int8", NULL};
const char *const aoei_similarity_names[] = {"cosine", "dot", "euclidean", "manhattan", NULL};
const char *const aoei_layer_prior_names[] = {"uniform", "log", "linear", NULL};
const char *const aoei_distill_names[] = {"cosine", "kl", NULL};
const char *const aoei_teacher_map_names[] = {"auto", "none", "dropped", "kept", NULL};
