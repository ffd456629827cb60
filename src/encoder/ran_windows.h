/* SPDX-License-Identifier: MIT
 * How the recurrent encoder splits a batch into windows (docs/ran.md), and the order in which it processes them. The index
 * lists depend only on the lengths of the texts.
 *
 * A text of L tokens has aoei_ran_window_count(L) windows. A window consists of one row for its cell and one row per token.
 * A round is a set of windows whose tokens are processed at once. A step is a set of windows of one round that have equal
 * indices within their texts; their cells are processed at once. A list of windows has one of three orders:
 *   text order   text by text, and window by window within a text
 *   round order  in the order of their rows in the round
 *   step order   step by step: the first windows of several texts, then their second windows
 */
#ifndef AOEI_ENCODER_RAN_WINDOWS_H
#define AOEI_ENCODER_RAN_WINDOWS_H

#include "encoder/config.h"
#include "nn/attention.h"
#include "nn/batch.h"

typedef struct aoei_ran_step {
    size_t number;     /* index of the step's windows within their texts, counted from 0 */
    size_t first, n;   /* the step consists of windows [first, first + n) in step order */
    size_t unfinished; /* number of windows, at the start of the step, that are not the last of their texts */
} aoei_ran_step;

typedef struct aoei_ran_round {
    size_t first_row, rows;       /* index of the first row in the lists by row; number of rows */
    size_t first_window, windows; /* index of the first window in the lists in round order; number of windows */
    size_t first_offset;          /* index of the first entry in `offsets` */
    size_t first_step, steps;     /* index of the first step; number of steps */
} aoei_ran_round;

typedef struct aoei_ran_windows {
    size_t n;               /* number of windows of the batch, C */
    size_t n_texts;         /* number of texts of the batch */
    aoei_ran_round *rounds; /* [n_rounds] rounds in the order in which they run */
    size_t n_rounds;
    aoei_ran_step *steps; /* [n_steps] steps in the order in which they run */
    size_t n_steps;
    /* lists by row, round after round: [N + C] */
    uint32_t *token;    /* row of the token in the batch; AOEI_NO_ROW: the row is a cell */
    uint32_t *position; /* position in the window; 0 for the cell */
    /* lists in round order: [C] except `offsets`; they describe the windows of a round as a batch and as attention spans */
    uint32_t *offsets;                /* [C + rounds] first row of each window in the round */
    uint32_t *round_first;            /* position of the window's first row in its text (for dropout) */
    uint32_t *round_text;             /* index of the window's text (for dropout) */
    aoei_attention_span *round_spans; /* attention of each window to itself */
    /* lists in step order: [C] except `singles` */
    uint32_t *previous; /* index in step order of the previous window of the text; for the first window of a text, index of the
                           last window of this text */
    uint32_t *text;     /* index of the window's text in the batch */
    uint32_t *row;      /* row of the window's cell in the round */
    uint32_t *step_first;  /* position of the cell's row in its text (for dropout) */
    uint32_t *step_text;   /* index of the window's text (for dropout) */
    uint32_t *step_number; /* index of the window within its text */
    uint32_t *singles;     /* [C + 1] 0, 1, 2, ...: offsets of a batch with one row per text */
    aoei_attention_span
        *step_spans; /* attention of each cell to its window; query rows are counted from the start of the step */
    /* lists by text */
    uint32_t *last;       /* [texts] index in step order of each text's last window */
    uint32_t *text_first; /* [texts + 1] index in text order of each text's first window */
    /* lists in text order */
    uint32_t *step_order; /* [C] index of each window in step order */
    uint32_t *later;      /* [C - texts] index in step order of the windows that are not the first of their texts */
    uint32_t *earlier;    /* [C - texts] index in step order of the windows before those in `later` */
    /* the lists of a block, which is a range of consecutive tokens of the batch that memory review processes at once; a part is
     * the range of tokens of one text in the block */
    uint32_t *block_offsets;          /* [texts + 1] first token of each part, relative to the block */
    uint32_t *block_text;             /* [texts] index of the part's text (for dropout) */
    uint32_t *block_first;            /* [texts] position of the part's first token in its text (for dropout) */
    aoei_attention_span *block_spans; /* [texts] attention of each part to the cells of its text */
} aoei_ran_windows;

typedef struct aoei_ran_limits {
    size_t window;     /* tokens per window */
    size_t min_window; /* minimum tokens of the last window of a text with several windows */
    size_t rows;       /* maximum rows of a round; a single window may have more; SIZE_MAX: no limit */
} aoei_ran_limits;

/* Returns the limits of a configuration. */
aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training);
/* Returns the number of windows of a text. */
size_t aoei_ran_window_count(const aoei_ran_limits *l, size_t tokens);
/* Returns the maximum number of windows of n_texts texts with n_tokens tokens in total. */
size_t aoei_ran_max_windows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts);
/* Returns the maximum number of rows of a window, including its cell, in texts of up to `longest` tokens. */
size_t aoei_ran_window_rows(const aoei_ran_limits *l, size_t longest);
/* Returns the maximum number of rows of a round. */
size_t aoei_ran_round_rows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts, size_t longest);

/* Allocates the lists in the arena, for batches of at most n_tokens tokens and n_texts texts. */
void aoei_ran_windows_layout(aoei_ran_windows *w, const aoei_ran_limits *l, aoei_arena *arena, size_t n_tokens, size_t n_texts);
/* Fills the lists for a batch. */
void aoei_ran_windows_fill(aoei_ran_windows *w, const aoei_ran_limits *l, const aoei_batch *batch);

/* Returns the rows of a round as a batch with one text per window. */
aoei_batch aoei_ran_round_batch(const aoei_ran_windows *w, const aoei_ran_round *r);
/* Returns the cells [first, first + n) in step order as a batch with one text per cell. */
aoei_batch aoei_ran_step_batch(const aoei_ran_windows *w, size_t first, size_t n);
/* Returns the tokens [first, first + n) of the batch as a batch in which each part of a text is one text. Fills the lists of
 * the block in *w. */
aoei_batch aoei_ran_block(aoei_ran_windows *w, const aoei_batch *batch, size_t first, size_t n);

#endif
