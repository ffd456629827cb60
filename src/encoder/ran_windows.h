/* SPDX-License-Identifier: MIT
 * How the recurrent encoder cuts a batch into windows (docs/ran.md), and in which order they are worked on. Nothing here
 * knows of numbers: index lists alone, a pure function of the lengths of the texts.
 *
 * A text of L tokens has aoei_ran_window_count(L) windows; each is a row for the cell and then its tokens. Windows are
 * known by three orders: *text order*, text after text; *places*, as their rows lie in the work of a round; *turns*, step by
 * step: the first windows of some texts, then their second ones. A round is what is worked on at once.
 */
#ifndef AOEI_ENCODER_RAN_WINDOWS_H
#define AOEI_ENCODER_RAN_WINDOWS_H

#include "encoder/config.h"
#include "nn/attention.h"
#include "nn/batch.h"

/* Windows of one number in their texts, by turn: [first, first + n), of which the first `unfinished` are not their texts' last.
 */
typedef struct aoei_ran_step {
    size_t number; /* 0: the texts' first windows */
    size_t first, n, unfinished;
} aoei_ran_step;

typedef struct aoei_ran_round {
    size_t first_row, rows;       /* of the lists by row */
    size_t first_window, windows; /* of the lists by place */
    size_t first_offset;          /* of `offsets` */
    size_t first_step, steps;
} aoei_ran_round;

typedef struct aoei_ran_windows {
    size_t n;       /* C windows */
    size_t n_texts; /* of the batch */
    aoei_ran_round *rounds;
    size_t n_rounds;
    aoei_ran_step *steps;
    size_t n_steps;
    /* by row, of all rounds one after the other [N + C] */
    uint32_t *token;    /* row of the batch, AOEI_NO_ROW: a cell */
    uint32_t *position; /* in the window; 0: the cell */
    /* by place [C]: a round's windows as a batch, whose rows are numbered by text for dropout, and as attention spans */
    uint32_t *offsets; /* [C + rounds] rows in the round */
    uint32_t *round_first, *round_text;
    aoei_attention_span *round_spans;
    /* by turn [C] */
    uint32_t *previous;               /* turn of the window before; of a first one its own text's last */
    uint32_t *text;                   /* in the batch */
    uint32_t *row;                    /* of the cell, in the round */
    uint32_t *step_first, *step_text; /* number of the cell's row in the text, index of the text: for dropout */
    uint32_t *step_number;            /* of the window in the text */
    uint32_t *singles;                /* [C + 1] 0, 1, 2, ...: each row a text of its own */
    aoei_attention_span *step_spans;  /* of the cell to its window; the query's row counts from the step's first */
    /* by text */
    uint32_t *last;       /* [texts] turn of the last window */
    uint32_t *text_first; /* [texts + 1] first window of each text in text order */
    /* in text order */
    uint32_t *step_order; /* [C] the turn */
    uint32_t *later;      /* [C - texts] turns of the windows that are not their texts' first */
    uint32_t *earlier;    /* [C - texts] turns of the windows before those */
    /* a block of tokens that is made at once, its pieces of texts as a batch and with their texts' windows as spans */
    uint32_t *block_offsets, *block_text, *block_first; /* [texts + 1], [texts], [texts] */
    aoei_attention_span *block_spans;                   /* [texts] */
} aoei_ran_windows;

typedef struct aoei_ran_limits {
    size_t window, min_window; /* tokens of a window; of the last one, when it is not the only one, at least */
    size_t rows;               /* of a round, where one window has no more; SIZE_MAX: one round */
} aoei_ran_limits;

/* The limits of a configuration. */
aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training);
size_t aoei_ran_window_count(const aoei_ran_limits *l, size_t tokens);
/* The most windows that n_texts texts of n_tokens tokens in all can have. */
size_t aoei_ran_most_windows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts);
/* The most rows of a window of texts of up to `longest` tokens, its cell included. */
size_t aoei_ran_window_rows(const aoei_ran_limits *l, size_t longest);
/* The most rows of a round. */
size_t aoei_ran_round_rows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts, size_t longest);

/* Takes the lists from the arena, for batches within these bounds. */
void aoei_ran_windows_layout(aoei_ran_windows *w, const aoei_ran_limits *l, aoei_arena *arena, size_t n_tokens, size_t n_texts);
void aoei_ran_windows_fill(aoei_ran_windows *w, const aoei_ran_limits *l, const aoei_batch *batch);

/* The rows of a round as a batch; rows of turns [first, first + n) as a batch of one row a text. */
aoei_batch aoei_ran_round_batch(const aoei_ran_windows *w, const aoei_ran_round *r);
aoei_batch aoei_ran_step_batch(const aoei_ran_windows *w, size_t first, size_t n);
/* Makes the lists of the block of tokens [first, first + n), and the batch of its pieces; its spans are w->block_spans. */
aoei_batch aoei_ran_block(aoei_ran_windows *w, const aoei_batch *batch, size_t first, size_t n);

#endif
