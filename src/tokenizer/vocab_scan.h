/* SPDX-License-Identifier: MIT
 * Reads the vocabulary of a tokenizer.json directly from its bytes. Parsing its tens of thousands of entries as JSON values
 * would take most of the time of opening a tokenizer.
 */
#ifndef AOEI_TOKENIZER_VOCAB_SCAN_H
#define AOEI_TOKENIZER_VOCAB_SCAN_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/vocab.h"

/* Returns 1 if the tokens are in *v (zeroed before) and data[*begin, *end) is their JSON object; the remaining file is not
 * checked. Returns 0 with *v empty if the file has an unusual or invalid form, which the JSON parser must handle. Errors:
 * AOE_ENOMEM. */
int aoei_vocab_scan(aoei_vocab *v, size_t *begin, size_t *end, const char *data, size_t len, aoe_error *err);

#endif
