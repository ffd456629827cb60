/* SPDX-License-Identifier: MIT
 * The parts of a model in training: those that the saved model contains, and those that only training uses, such as a
 * classifier.
 */
#pragma once

#include <jansson.h>

#include "model/model.h"
#include "train/method.h"

/* Adds the lists "kept_parts" and "dropped_parts" to the training record. m: model with the layers that the method has
 * added. Returns a nonzero value if out of memory. */
int aoei_saved_parts_describe(const aoei_method *method, const aoe_model *m, json_t *record);
/* Logs both lists. */
void aoei_saved_parts_log(const aoei_method *method, const aoe_model *m);
