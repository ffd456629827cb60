/* SPDX-License-Identifier: MIT
 * Step three of a tokenizer: normalised text into words, through a list of steps.
 * Every pre-tokenizer of Hugging Face tokenizers that is read comes down to one or
 * two steps of the same form: something put in front, a cut, bytes turned into
 * letters. No step: the whole piece is one word.
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
    aoei_prefix prefix; /* put the letter in front of a piece that does not begin with it; FIRST: of the text's first only */
    char letter[5];     /* [letter_len] a space, or Metaspace's replacement */
    size_t letter_len;  /* bytes */
    int spaces;         /* Metaspace: spaces become the letter, before that */
    aoei_split split;   /* then the piece is cut; owned */
    int bytes;          /* ByteLevel: then each byte becomes a letter */
} aoei_pretokenizer_step;

typedef struct aoei_pretokenizer {
    aoei_pretokenizer_step *step; /* [n], owned */
    size_t n, capacity;
    int bert;        /* BertPreTokenizer and nothing else */
    int byte_level;  /* the last step turns bytes into letters */
    int leave_bytes; /* set by the tokenizer: the last step leaves that to the model */
    int needs_first; /* a step asks whether a piece is the text's first: origins must be tracked */
    char space[5];   /* what a space has become when the model sees it: "", or a letter; NUL-terminated */
} aoei_pretokenizer;

typedef struct aoei_piece_list {
    aoei_span *span; /* [n], owned */
    size_t n, capacity;
} aoei_piece_list;

/* A walk over the words of one piece of text after the other. Zeroed at first. */
typedef struct aoei_pretokenizing {
    const aoei_pretokenizer *p;
    int used;                /* a step has run: there may be something to free */
    const char *s;           /* [end] the piece's text, borrowed; it goes on at `at` */
    const size_t *origin;    /* by byte of s, borrowed; NULL: not tracked */
    size_t at, end;          /* bytes */
    size_t base;             /* offset of origins in the whole text */
    int first_done;          /* the first step has begun */
    aoei_normalized front;   /* the piece as the first step has rewritten it */
    aoei_normalized text[2]; /* likewise the later ones, by turns */
    aoei_piece_list list[2]; /* the pieces before and behind a step, by turns */
    const char *done_s;      /* the text of the words, as aoei_words has it */
    const size_t *done_origin;
    size_t which_text, which_list, handed; /* the last written text and list; words of it handed out */
    aoei_splitter outer, inner;            /* of the first step, and of the others */
} aoei_pretokenizing;

/* The piece text[start, end), whose origins count from `base` in the whole text. */
void aoei_pretokenizing_begin(aoei_pretokenizing *g, const aoei_pretokenizer *p, const aoei_normalized *text, size_t start,
                              size_t end, size_t base);
/* 1 and the next words, at least one; 0: no more. AOE_ENOMEM; AOE_EFORMAT: a pattern gives up. */
int aoei_pretokenizing_next(aoei_pretokenizing *g, aoei_words *words, aoe_error *err);
void aoei_pretokenizing_end(aoei_pretokenizing *g); /* frees */

#endif
