/* SPDX-License-Identifier: MIT
 * Reads the vocabulary of a tokenizer.json directly from its bytes. A vocabulary has tens of thousands of entries. If
 * the JSON parser created a value for each entry, this would take most of the time of opening a tokenizer.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/vocab.h"

/* Reads the vocabulary of data[len], the contents of a tokenizer.json, into *v, which must be zeroed. Returns 1 and
 * sets *begin and *end to the byte range in `data` of the JSON object that contains the tokens. The other parts of the
 * file are not checked. If the file has an unusual or invalid form, returns 0 and leaves *v empty. The caller must then
 * use the JSON parser. Errors: AOE_ENOMEM. */
int aoei_vocab_scan(aoei_vocab *v, size_t *begin, size_t *end, const char *data, size_t len, aoe_error *err);
