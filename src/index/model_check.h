/* SPDX-License-Identifier: MIT
 * The model of an index: its description in the settings, and the check that an embedder computes the same vectors.
 */
#pragma once

#include "aoe.h"
#include "index/schema.h"

/* Sets the fields of the settings that describe the model of an embedder, and its vectors of the probe text. name: for
 * messages; NULL: unknown. */
int aoei_model_describe(aoei_index_settings *s, aoe_embedder *e, const char *name, aoe_error *err);
/* Checks that an embedder computes the same vectors as the model of the settings. place: name of the index, for the
 * message; name: of the model, for the message; NULL: that of its directory. Errors: AOE_EMISMATCH (the message
 * contains the names of both models), and those of aoe_embed. */
int aoei_model_check(const aoei_index_settings *then, const char *place, aoe_embedder *e, const char *name,
                     aoe_error *err);
