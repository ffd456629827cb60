/* SPDX-License-Identifier: MIT
 * The vocabulary of a tokenizer.json, read from its bytes: as JSON values its
 * tens of thousands of entries are most of the time that opening a tokenizer takes.
 */
#ifndef AOEI_TOKENIZER_VOCAB_SCAN_H
#define AOEI_TOKENIZER_VOCAB_SCAN_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/vocab.h"

/* 1: the tokens are in *v (zeroed before), and data[*begin, *end) is the object that holds them; the rest of the file has
 * not been checked. 0: something is out of the ordinary (also: wrong), *v is empty and the JSON parser has the say. Or
 * AOE_ENOMEM. */
int aoei_vocab_scan(aoei_vocab *v, size_t *begin, size_t *end, const char *data, size_t len, aoe_error *err);

#endif
