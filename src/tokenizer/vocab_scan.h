/* SPDX-License-Identifier: MIT
 * Reads the vocabulary of a tokenizer.json directly from its bytes. Parsing its tens of thousands of entries as JSON values
 * would take most of the time of opening a tokenizer.
 */
#ifndef AOEI_TOKENIZER_VOCAB_SCAN_H
#define AOEI_TOKENIZER_VOCAB_SCAN_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/vocab.h"

/* Adds the tokens to *v, which must be zeroed, and returns 1. Sets *begin and *end to the byte range in data of the JSON object
 * that contains the tokens. The other parts of the file are not checked. If the file has an unusual or invalid form, returns 0
 * and leaves *v empty; the caller then uses the JSON parser. Errors: AOE_ENOMEM. */
int aoei_vocab_scan(aoei_vocab *v, size_t *begin, size_t *end, const char *data, size_t len, aoe_error *err);

#endif
