/* SPDX-License-Identifier: MIT
 * Step five of a tokenizer: the special tokens around a single text.
 */
#ifndef AOEI_TOKENIZER_POSTPROCESSOR_H
#define AOEI_TOKENIZER_POSTPROCESSOR_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_postprocessor {
    int32_t *id; /* [n_before + n_after], owned: the specials before the text, then those after it */
    size_t n_before;
    size_t n_after;
    size_t capacity; /* of id */
} aoei_postprocessor;

int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id, aoe_error *err); /* before first, then after */
/* The "post_processor" section of tokenizer.json, null or NULL for none, into a zeroed one. In a Sequence the later ones put
 * their tokens around those of the ones before. AOE_EUNSUPPORTED names the type. */
int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err);
void aoei_postprocessor_free(aoei_postprocessor *p);

#endif
