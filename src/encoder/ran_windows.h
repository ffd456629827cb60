/* SPDX-License-Identifier: MIT
 * Divides a batch into windows, as the encoder of recurrent attention networks (RAN, docs/ran.md) requires, and
 * determines the order in which the windows are processed. The result consists of index lists, which depend only on the
 * lengths of the texts.
 *
 * A text has aoei_ran_window_count windows. A window has one row for its cell, a vector that is passed from window to
 * window, and one row per token. A round is a set of windows whose tokens are processed at once. A step is a set of
 * windows of one round. All windows of a step have the same number within their texts, so a text has at most one window
 * in a step. The cells of a step are processed at once. A list of windows is in one of three orders:
 *   text order   text by text, and window by window within a text
 *   round order  in the order of their rows in the round
 *   step order   step by step: the first windows of several texts, then their second windows
 */
#pragma once

#include "encoder/config.h"
#include "nn/attention.h"
#include "nn/batch.h"

typedef struct aoei_ran_step {
    size_t number;     /* number of the windows of the step within their texts, counted from 0 */
    size_t first, n;   /* the indices in step order of the windows of the step are [first, first + n) */
    size_t unfinished; /* number of windows in the step that are not the last window of their text; these windows come
                          first */
} aoei_ran_step;

typedef struct aoei_ran_round {
    size_t first_row, rows; /* index in the lists by row of the first row of the round; number of rows in the round */
    /* index of the first window of the round in the lists in round order; number of windows in the round */
    size_t first_window, windows;
    size_t first_offset;      /* index in `offsets` of the first window of the round */
    size_t first_step, steps; /* index of the first step of the round; number of steps of the round */
} aoei_ran_round;

typedef struct aoei_ran_windows {
    size_t n;               /* C, number of windows in the batch */
    size_t n_texts;         /* number of texts in the batch */
    aoei_ran_round *rounds; /* [n_rounds] rounds in the order in which they run */
    size_t n_rounds;
    aoei_ran_step *steps; /* [n_steps] steps in the order in which they run */
    size_t n_steps;
    /* lists by row, [N + C], one round after the other */
    uint32_t *token;    /* index of the token in the batch; AOEI_NO_ROW: the row is a cell */
    uint32_t *position; /* position of the row in its window; the position of the cell is 0 */
    /* Lists in round order. They have C elements, except `offsets`. They describe the windows of a round as texts of a
     * batch and as attention spans. */
    /* [C + rounds] for each window, the index of its first row in its round; after the windows of a round, the number
     * of rows in the round */
    uint32_t *offsets;
    uint32_t *round_first; /* for each window, the position of its first row in its text, where every window has a row
                              for its cell; selects dropout masks */
    uint32_t *round_text;  /* for each window, the text_index (aoei_batch) of its text, which selects dropout masks */
    aoei_attention_span *round_spans; /* for each window, the attention of all its rows to all its rows */
    /* lists in step order, with C elements except `singles` */
    uint32_t *previous;    /* for each window, the index in step order of the previous window of its text; for the first
                              window of a text, the index of the last window of the text */
    uint32_t *text;        /* index in the batch of the text of each window */
    uint32_t *row;         /* for each window, the index of the row of its cell in its round */
    uint32_t *step_first;  /* for each window, the position of its cell in its text, as in round_first; selects dropout
                              masks */
    uint32_t *step_text;   /* for each window, the text_index (aoei_batch) of its text, which selects dropout masks */
    uint32_t *step_number; /* number of each window within its text */
    uint32_t *singles;     /* [C + 1] 0, 1, 2, ...: the offsets of a batch with one row per text */
    aoei_attention_span *step_spans; /* for each window, the attention of its cell to its rows; the index of the query
                                        row is counted from the start of the step */
    /* lists by text */
    uint32_t *last;       /* [texts] index in step order of the last window of each text */
    uint32_t *text_first; /* [texts + 1] index in text order of the first window of each text */
    /* lists in text order */
    uint32_t *step_order; /* [C] index in step order of each window */
    uint32_t *later;      /* [C - texts] index in step order of each window that is not the first of its text */
    uint32_t *earlier;    /* [C - texts] index in step order of the window before each window in `later` */
    /* Lists of a block. A block is a range of tokens of the batch that memory review processes at once. A part is the
     * set of those tokens of the block that belong to one text. */
    uint32_t *block_offsets; /* [texts + 1] index in the block of the first token of each part */
    uint32_t *block_text;    /* [texts] for each part, the text_index (aoei_batch) of its text, which selects dropout
                                masks */
    uint32_t *block_first;   /* [texts] position in its text of the first token of each part, which selects dropout
                                masks */
    aoei_attention_span *block_spans; /* [texts] for each part, the attention of its tokens to the cells of its text */
} aoei_ran_windows;

typedef struct aoei_ran_limits {
    size_t window;     /* number of tokens per window */
    size_t min_window; /* minimum number of tokens in the last window of a text that has several windows */
    size_t rows; /* maximum number of rows in a round; a round that consists of a single window may have more rows;
                    SIZE_MAX: no limit */
} aoei_ran_limits;

/* Returns the limits for a configuration, in training or in inference. */
aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training);
/* Returns the number of windows in a text of `tokens` tokens. */
size_t aoei_ran_window_count(const aoei_ran_limits *l, size_t tokens);
/* Returns the maximum number of windows of n_texts texts that have n_tokens tokens together. */
size_t aoei_ran_max_windows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts);
/* Returns the maximum number of rows in a window, including its cell, for texts of up to `longest` tokens. */
size_t aoei_ran_window_rows(const aoei_ran_limits *l, size_t longest);
/* Returns the maximum number of rows in a round. */
size_t aoei_ran_round_rows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts, size_t longest);

/* Allocates the lists of *w in the arena, for batches of at most n_tokens tokens and n_texts texts. */
void aoei_ran_windows_layout(aoei_ran_windows *w, const aoei_ran_limits *l, aoei_arena *arena, size_t n_tokens,
                             size_t n_texts);
/* Fills the lists of *w for a batch. */
void aoei_ran_windows_fill(aoei_ran_windows *w, const aoei_ran_limits *l, const aoei_batch *batch);

/* Returns a batch whose texts are the windows of round *r. */
aoei_batch aoei_ran_round_batch(const aoei_ran_windows *w, const aoei_ran_round *r);
/* Returns a batch whose texts are the cells [first, first + n) in step order; each text has one row. */
aoei_batch aoei_ran_step_batch(const aoei_ran_windows *w, size_t first, size_t n);
/* Fills the lists of the block of tokens [first, first + n) of the batch. Returns the block as a batch, in which each
 * part is a text. */
aoei_batch aoei_ran_block(aoei_ran_windows *w, const aoei_batch *batch, size_t first, size_t n);
