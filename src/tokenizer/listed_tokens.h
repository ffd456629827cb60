/* SPDX-License-Identifier: MIT
 * Added tokens that a file lists by their ids: "added_tokens_decoder" in tokenizer_config.json, and the older
 * added_tokens.json.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "tokenizer/added_tokens.h"

typedef struct aoei_listed_token {
    long long id;        /* id in the file; tokens are added in ascending order of these ids */
    const char *content; /* [len] text of the token, borrowed from a JSON value */
    size_t len;
    aoei_added_flags flags;
} aoei_listed_token;

/* Adds the tokens list[n] in ascending order of their ids. The function sorts the list. Messages name `file`. Errors:
 * AOE_ENOMEM, AOE_EFORMAT. */
int aoei_listed_tokens_add(aoei_added_tokens *a, const aoei_vocab *v, aoei_listed_token *list, size_t n,
                           const char *file, aoe_error *err);
/* Adds the tokens of "added_tokens_decoder", an object of entries "id": {"content": ...}. If `decoder` is NULL, no
 * tokens are added. Errors: as above. */
int aoei_listed_tokens_add_decoder(aoei_added_tokens *a, const aoei_vocab *v, json_t *decoder, const char *file,
                                   aoe_error *err);
/* Adds the tokens of added_tokens.json, an object of entries "content": id, that were not added before.
 * is_special(user, ...) returns 1 for special tokens. If `object` is NULL, no tokens are added. Errors: as above. */
int aoei_listed_tokens_add_ids(aoei_added_tokens *a, const aoei_vocab *v, json_t *object,
                               int (*is_special)(const void *user, const char *content, size_t len), const void *user,
                               const char *file, aoe_error *err);
/* Reads the token under `key` from `value`, which is a string or an object with "content" and flags. A string gets the
 * flags `flags`. The token is always special. t->id is not set. Errors: AOE_EFORMAT. */
int aoei_listed_token_read_special(aoei_listed_token *t, const json_t *value, aoei_added_flags flags, const char *key,
                                   const char *file, aoe_error *err);
