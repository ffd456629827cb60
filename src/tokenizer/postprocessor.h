/* SPDX-License-Identifier: MIT
 * Adds the special tokens around a single text, the last step of a tokenizer.
 */
#ifndef AOEI_TOKENIZER_POSTPROCESSOR_H
#define AOEI_TOKENIZER_POSTPROCESSOR_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_postprocessor {
    int32_t *id; /* [n_before + n_after] special tokens before the text, then those after it; owned */
    size_t n_before;
    size_t n_after;
    size_t capacity; /* capacity of id */
} aoei_postprocessor;

int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id,
                           aoe_error *err); /* add all tokens before the text first, then those after it */
/* Reads the "post_processor" section of tokenizer.json into a zeroed postprocessor. NULL or null: no tokens. In a Sequence,
 * later parts put their tokens around those of earlier parts. AOE_EUNSUPPORTED names the type. */
int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err);
void aoei_postprocessor_free(aoei_postprocessor *p);

#endif
