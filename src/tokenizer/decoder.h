/* SPDX-License-Identifier: MIT
 * Converts tokens back to text, with the decoders of Hugging Face tokenizers. A decoder is a list of steps. Each step
 * changes a list of pieces, which are the tokens at first. The text consists of the pieces after the last step. Nested
 * decoders of the type Sequence are flattened into one list.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"
#include "tokenizer/pattern.h"

typedef enum aoei_token_decoder_type {
    AOEI_DECODE_WORDPIECE,     /* adds a space before pieces that begin a word, and may clean up the spaces */
    AOEI_DECODE_BYTE_LEVEL,    /* letters of byte-level vocabularies become bytes (byte_letters.h) */
    AOEI_DECODE_METASPACE,     /* matches of the pattern become spaces, or are removed in the first piece */
    AOEI_DECODE_BPE,           /* matches of the pattern become spaces, or are removed in the last piece */
    AOEI_DECODE_REPLACE,       /* matches of the pattern are replaced by `content` */
    AOEI_DECODE_STRIP,         /* removes a character at both ends of each piece */
    AOEI_DECODE_FUSE,          /* joins all pieces */
    AOEI_DECODE_BYTE_FALLBACK, /* tokens such as <0x41> become bytes */
} aoei_token_decoder_type;

/* A step of a decoder. The comment of a field begins with the types that use the field. */
typedef struct aoei_token_decoder_step {
    aoei_token_decoder_type type;
    char *content; /* WORDPIECE: prefix of continuations, such as "##"; STRIP: the character; REPLACE: the text that is
                      inserted. [content_len], owned */
    size_t content_len;   /* length of content in bytes */
    aoei_pattern pattern; /* METASPACE, BPE, REPLACE: pattern whose matches are replaced; owned */
    int cleanup;          /* WORDPIECE: 1: spaces before punctuation and in contractions are removed */
    int keep_first;       /* METASPACE: 1: matches in the first piece become spaces as in other pieces */
    size_t start, stop;   /* STRIP: maximum number of characters that are removed at the start and at the end */
} aoei_token_decoder_step;

/* A decoder. A zeroed struct is no decoder: the tokens are joined with spaces. */
typedef struct aoei_token_decoder {
    aoei_token_decoder_step *step; /* [n] steps in the order in which they run; owned */
    size_t n, capacity;
    int exists;        /* 1: there is a decoder, which may have no steps */
    aoe_error *reason; /* why the decoder of the tokenizer cannot be used, owned; NULL: it can be used */
} aoei_token_decoder;

/* A list of strings. A zeroed struct is an empty list. */
typedef struct aoei_pieces {
    aoei_buffer text; /* the concatenated strings, valid UTF-8 */
    size_t *end;      /* [n] offset in `text` of the end of each string, owned */
    size_t n, capacity;
} aoei_pieces;

/* Appends s[len] to the list. Errors: AOE_ENOMEM. */
int aoei_pieces_add(aoei_pieces *p, const char *s, size_t len, aoe_error *err);
void aoei_pieces_free(aoei_pieces *p);

/* Runs all steps on the tokens in *p; p->text is then the decoded text. Errors: AOE_ENOMEM; AOE_EFORMAT if a regular
 * expression exceeds PCRE2's match limit; the error in d->reason. */
int aoei_token_decoder_run(const aoei_token_decoder *d, aoei_pieces *p, aoe_error *err);
void aoei_token_decoder_free(aoei_token_decoder *d); /* accepts a zeroed struct */
