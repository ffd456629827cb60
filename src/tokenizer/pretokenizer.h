/* SPDX-License-Identifier: MIT
 * Splits normalized text into words with a list of steps. Every supported pre-tokenizer of Hugging Face tokenizers is
 * represented by one or two steps. A step adds a prefix, splits the text, and maps its bytes to letters (byte_letters.h); each
 * of the three is optional. The input is a piece of text, such as the text between two added tokens. Without steps, the whole
 * piece is one word.
 */
#ifndef AOEI_TOKENIZER_PRETOKENIZER_H
#define AOEI_TOKENIZER_PRETOKENIZER_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"
#include "tokenizer/splitter.h"
#include "tokenizer/token_list.h"
#include "tokenizer/words.h"

typedef enum aoei_prefix { AOEI_PREFIX_NEVER, AOEI_PREFIX_ALWAYS, AOEI_PREFIX_FIRST } aoei_prefix;

typedef struct aoei_pretokenizer_step {
    aoei_prefix prefix; /* pieces that get the prefix `letter` if they lack it; FIRST: first piece of the text */
    char letter[5];     /* [letter_len] a space, or Metaspace's replacement */
    size_t letter_len;  /* length in bytes */
    int spaces;         /* 1: before the split, spaces are replaced by the letter (Metaspace) */
    aoei_split split;   /* how the piece is split after the prefix is added; owned */
    int bytes;          /* 1: each byte becomes a letter after the split (ByteLevel) */
} aoei_pretokenizer_step;

typedef struct aoei_pretokenizer {
    aoei_pretokenizer_step *step; /* [n] steps in the order in which they run; owned */
    size_t n, capacity;
    int bert;        /* 1: the only step is BertPreTokenizer */
    int byte_level;  /* 1: the last step maps bytes to letters */
    int leave_bytes; /* 1: the last step does not map bytes to letters, because the model maps them; set by the tokenizer */
    int needs_first; /* 1: a step depends on whether a piece is the first of the text, so origins must be tracked */
    char space[5];   /* the letter that represents a space in the model's input, or ""; NUL-terminated */
} aoei_pretokenizer;

typedef struct aoei_piece_list {
    aoei_span *span; /* [n] byte range of each piece; owned */
    size_t n, capacity;
} aoei_piece_list;

/* Iterates over the words of one piece of text. The caller zeroes it before the first use and may reuse it for other pieces. */
typedef struct aoei_pretokenizing {
    const aoei_pretokenizer *p;    /* pre-tokenizer, borrowed */
    int used;                      /* 1: a step has run, so there may be memory to free */
    const char *s;                 /* [end] text that contains the piece, borrowed; s[at, end) is not processed yet */
    const size_t *origin;          /* [end] origin of each byte of s, borrowed; NULL: not tracked */
    size_t at, end;                /* byte positions in s */
    size_t base;                   /* offset of the piece's origins in the whole text */
    int first_started;             /* 1: the first step has begun */
    aoei_normalized front;         /* the piece after the first step */
    aoei_normalized text[2];       /* the piece after later steps; the two buffers alternate */
    aoei_piece_list list[2];       /* the pieces before and after a step; the two lists alternate */
    const char *words_s;           /* text that contains the words of the last batch */
    const size_t *words_origin;    /* origins of words_s */
    size_t which_text, which_list; /* indices of the text and the list that were written last */
    size_t n_returned;             /* number of words of the last list that have been returned */
    aoei_splitter outer, inner;    /* splitters of the first step and of later steps */
} aoei_pretokenizing;

/* Starts with the piece text[start, end). Its origins are relative to byte `base` of the whole text. */
void aoei_pretokenizing_begin(aoei_pretokenizing *g, const aoei_pretokenizer *p, const aoei_normalized *text, size_t start,
                              size_t end, size_t base);
/* Writes the next batch of words, at least one, and returns 1. Returns 0 if there are no more words. Errors: AOE_ENOMEM;
 * AOE_EFORMAT if a regular expression exceeds PCRE2's match limit. */
int aoei_pretokenizing_next(aoei_pretokenizing *g, aoei_words *words, aoe_error *err);
void aoei_pretokenizing_end(aoei_pretokenizing *g); /* frees its memory */

#endif
