/* SPDX-License-Identifier: MIT
 * Splits normalized text into words with a list of steps. Every supported pre-tokenizer of Hugging Face tokenizers is
 * represented by one or two steps. A step can add a prefix, split the text, and map the bytes of the text to letters
 * (byte_letters.h). The input is a piece of text, such as the text between two added tokens. Each step splits the
 * pieces of the previous step into smaller pieces, and the pieces of the last step are the words. If there are no
 * steps, the whole input is one word.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"
#include "tokenizer/splitter.h"
#include "tokenizer/token_list.h"
#include "tokenizer/words.h"

typedef enum aoei_prefix { AOEI_PREFIX_NEVER, AOEI_PREFIX_ALWAYS, AOEI_PREFIX_FIRST } aoei_prefix;

typedef struct aoei_pretokenizer_step {
    aoei_prefix prefix; /* which pieces get the prefix `letter` if they do not begin with it */
    char letter[5];     /* [letter_len] prefix: a space, or the "replacement" of Metaspace */
    size_t letter_len;  /* length in bytes */
    int spaces;         /* 1: spaces are replaced by the letter before the split (Metaspace) */
    aoei_split split;   /* how a piece is split after the prefix was added; owned */
    int bytes;          /* 1: each byte is mapped to its letter after the split (ByteLevel) */
} aoei_pretokenizer_step;

typedef struct aoei_pretokenizer {
    aoei_pretokenizer_step *step; /* [n] steps in the order in which they run; owned */
    size_t n, capacity;
    int bert;        /* 1: the steps are exactly those of one BertPreTokenizer */
    int byte_level;  /* 1: the last step maps bytes to letters */
    int leave_bytes; /* 1: the last step leaves bytes unchanged, because the model maps bytes to letters; set by the
                        tokenizer */
    int needs_first; /* 1: a step treats the first piece of the text differently, so origins must be tracked */
    char space[5];   /* letter that represents a space in the model's input, NUL-terminated; "" if unknown */
} aoei_pretokenizer;

typedef struct aoei_piece_list {
    aoei_span *span; /* [n] byte range of each piece; owned */
    size_t n, capacity;
} aoei_piece_list;

/* Iterates over the words of one piece of text. The caller zeroes it before the first use and may reuse it for other
 * pieces. */
typedef struct aoei_pretokenizing {
    const aoei_pretokenizer *p;    /* pre-tokenizer, borrowed */
    int used;                      /* 1: a step has run, so there may be memory to free */
    const char *s;                 /* [end] text that contains the piece, borrowed */
    const size_t *origin;          /* [end] origin of each byte of s, borrowed; NULL: not tracked */
    size_t at, end;                /* s[at, end) has not been processed yet */
    size_t base;                   /* offset to add to `origin` to get an offset in the whole text */
    int first_started;             /* 1: the first step has been started */
    aoei_normalized front;         /* text of the piece after the first step, if this step changes the text */
    aoei_normalized text[2];       /* text of the batch after later steps that change it; the two buffers alternate */
    aoei_piece_list list[2];       /* pieces before and after a step; the two lists alternate */
    const char *words_s;           /* text that contains the words of the last batch */
    const size_t *words_origin;    /* origin of each byte of words_s; NULL: not tracked */
    size_t which_text, which_list; /* indices of the text and the list that were written last */
    size_t n_returned;             /* number of words in the last batch that have been returned */
    aoei_splitter outer, inner;    /* splitters of the first step and of later steps */
} aoei_pretokenizing;

/* Starts the iteration over the words of the piece text->data[start, end). The origins in `text` are offsets from byte
 * `base` of the whole text. */
void aoei_pretokenizing_begin(aoei_pretokenizing *g, const aoei_pretokenizer *p, const aoei_normalized *text,
                              size_t start, size_t end, size_t base);
/* Sets *words to the next batch of at least one word and returns 1. Returns 0 if there are no more words. Errors:
 * AOE_ENOMEM; AOE_EFORMAT if a regular expression exceeds PCRE2's match limit. */
int aoei_pretokenizing_next(aoei_pretokenizing *g, aoei_words *words, aoe_error *err);
void aoei_pretokenizing_end(aoei_pretokenizing *g); /* frees the memory of *g */
