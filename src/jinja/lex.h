/* SPDX-License-Identifier: MIT
 * Tokenizes a chat template, with the white space rules of Jinja that transformers sets: trim_blocks, lstrip_blocks,
 * and the signs - and + of tags.
 */
#pragma once

#include "aoe.h"
#include "jinja/value.h"

typedef enum aoei_jinja_token_type {
    AOEI_JINJA_DATA,
    AOEI_JINJA_TAG,      /* {% */
    AOEI_JINJA_TAG_END,  /* %} */
    AOEI_JINJA_EXPR,     /* {{ */
    AOEI_JINJA_EXPR_END, /* }} */
    AOEI_JINJA_NAME,
    AOEI_JINJA_TEXT,  /* string literal; `text` is its value */
    AOEI_JINJA_WHOLE, /* integer literal */
    AOEI_JINJA_REAL,
    AOEI_JINJA_OPERATOR,
    AOEI_JINJA_END
} aoei_jinja_token_type;

typedef struct aoei_jinja_token {
    aoei_jinja_token_type type;
    unsigned line; /* 1 for the first line */
    aoe_text text; /* borrowed from the source or from the arena */
} aoei_jinja_token;

typedef struct aoei_jinja_tokens {
    aoei_jinja_token *token; /* [n], owned; the last one has the type AOEI_JINJA_END */
    size_t n, capacity;
} aoei_jinja_tokens;

/* Tokenizes `source`. `source` and `arena` must outlive the tokens. name: name of the file in messages. The caller
 * frees t->token with aoei_free, even if the function fails. Errors: AOE_EFORMAT (syntax), AOE_EUNSUPPORTED,
 * AOE_ENOMEM. */
int aoei_jinja_lex(aoei_jinja_tokens *t, aoei_jinja_arena *arena, aoe_text source, const char *name, aoe_error *err);
