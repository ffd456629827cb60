/* SPDX-License-Identifier: MIT
 * Chat templates. A model with a chat template reads a text as the message of a user: sentence-transformers renders the
 * text with the template and tokenizes the result without special tokens.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"
#include "base/buffer.h"
#include "tokenizer/tokenizer_file_names.h"

/* The chat template of a directory. */
typedef struct aoei_chat_source {
    char *text; /* the template, or the template with the name "default"; owned; NULL: there is none */
    int found;  /* 1: there are templates; text is NULL if none of them is the default */
    int named;  /* 1: the templates have names; the content of messages is then structured */
    char *name; /* file of the template in messages, owned */
} aoei_chat_source;

/* Finds the chat template as transformers does: the file chat_template.jinja or, if it does not exist, the key
 * "chat_template" of tokenizer_config.json. file, config: contents of the two files; their data may be NULL. dir:
 * directory of the files, for messages. The caller frees *s with aoei_chat_source_free, even if the function fails.
 * Errors: AOE_EFORMAT, AOE_ENOMEM. */
int aoei_chat_source_find(aoei_chat_source *s, const char *dir, aoe_text file, aoe_text config, aoe_error *err);
void aoei_chat_source_free(aoei_chat_source *s); /* accepts a zeroed struct */
/* Returns 1 if the template expects the content of a message as a list of parts, as sentence-transformers infers it. */
int aoei_chat_source_is_structured(const aoei_chat_source *s);

/* A parsed chat template with its variables. */
typedef struct aoei_chat aoei_chat;

/* The form of the messages. */
typedef struct aoei_chat_form {
    int structured;        /* 1: the content of a message is a list of parts; 0: it is the text */
    const json_t *options; /* object of the arguments of apply_chat_template, or NULL */
    const json_t *tokens;  /* object of the special tokens: "bos_token" and others are strings; or NULL */
} aoei_chat_form;

/* Parses the template. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (names the construct), AOE_ENOMEM. */
int aoei_chat_create(aoei_chat **out, const aoei_chat_source *s, const aoei_chat_form *form, aoe_error *err);
void aoei_chat_free(aoei_chat *c);
/* Returns 1 if both templates have the same text. */
int aoei_chat_equal(const aoei_chat *a, const aoei_chat *b);
/* Returns 1 if the end of the template is restored after a truncation. */
int aoei_chat_restores_end(const aoei_chat *c);

/* The texts of a conversation. */
typedef struct aoei_chat_texts {
    aoe_text prompt;        /* content of the system message; data is NULL: there is none */
    aoe_text text;          /* message of the user, or the query of a pair */
    const aoe_text *second; /* document of a pair; NULL: no pair */
} aoei_chat_texts;

/* Appends the rendered conversation to `out`. Errors: AOE_EFORMAT (the template rejects the conversation),
 * AOE_EUNSUPPORTED (names the construct), AOE_ENOMEM. */
int aoei_chat_render(const aoei_chat *c, aoei_buffer *out, const aoei_chat_texts *texts, aoe_error *err);
/* Checks that the rendered conversation depends on the text or, if `pairs` is 1, on both texts of a pair. Errors: see
 * aoei_chat_render; AOE_EUNSUPPORTED (a text is not rendered). */
int aoei_chat_check(const aoei_chat *c, int pairs, aoe_error *err);
