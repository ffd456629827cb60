/* SPDX-License-Identifier: MIT
 * The last step of a tokenizer adds special tokens before and after the tokens of a text.
 */
#ifndef AOEI_TOKENIZER_POSTPROCESSOR_H
#define AOEI_TOKENIZER_POSTPROCESSOR_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_postprocessor {
    int32_t *id;     /* [n_before + n_after] tokens before the text, followed by the tokens after the text; owned */
    size_t n_before; /* number of tokens before the text */
    size_t n_after;  /* number of tokens after the text */
    size_t capacity; /* number of allocated elements of `id` */
} aoei_postprocessor;

/* Adds a special token. `after` is 0 for a token before the text and 1 for a token after the text. All tokens before the text
 * must be added first. */
int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id, aoe_error *err);
/* Reads the "post_processor" section of tokenizer.json into a zeroed postprocessor. If `section` is NULL or JSON null, the
 * postprocessor adds no tokens. In a Sequence, the tokens of a later part surround the tokens of earlier parts. Errors:
 * AOE_ENOMEM; AOE_EFORMAT; AOE_EUNSUPPORTED for unknown types, which the message names. */
int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err);
void aoei_postprocessor_free(aoei_postprocessor *p);

#endif
