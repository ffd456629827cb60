/* SPDX-License-Identifier: MIT
 * Divides batches into windows, rounds and steps (see ran_windows.h). The texts of a batch are divided into groups of
 * adjacent texts. A group is so small that a round has enough rows for the largest window of every text of the group.
 * The steps of a group are added to a round until the round is full, then to the next round. The windows of a text are
 * therefore processed in ascending order.
 */
#include "encoder/ran_windows.h"

#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/rows.h"

#include <string.h>

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most_of(size_t a, size_t b) {
    return a > b ? a : b;
}

/* maximum number of rows in a round in inference; with this number of rows, matmuls run at full speed */
#define ROUND_ROWS ((size_t)4096)

aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training) {
    return (aoei_ran_limits){
        .window = c->ran.window, .min_window = c->ran.min_window, .rows = training ? SIZE_MAX : ROUND_ROWS};
}

size_t aoei_ran_window_count(const aoei_ran_limits *l, size_t tokens) {
    if (tokens <= l->window)
        return 1;
    const size_t n = (tokens + l->window - 1) / l->window, tail = tokens - (n - 1) * l->window;
    return tail < l->min_window ? n - 1 : n;
}

size_t aoei_ran_max_windows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts) {
    return least_of(n_tokens, n_texts + n_tokens / l->window);
}

size_t aoei_ran_window_rows(const aoei_ran_limits *l, size_t longest) {
    return 1 + least_of(longest, l->window + (l->min_window ? l->min_window - 1 : 0));
}

size_t aoei_ran_round_rows(const aoei_ran_limits *l, size_t n_tokens, size_t n_texts, size_t longest) {
    return least_of(n_tokens + aoei_ran_max_windows(l, n_tokens, n_texts),
                    most_of(l->rows, aoei_ran_window_rows(l, longest)));
}

static uint32_t *numbers(aoei_arena *arena, size_t n) {
    return aoei_arena_take_array(arena, n, sizeof(uint32_t));
}

void aoei_ran_windows_layout(aoei_ran_windows *w, const aoei_ran_limits *l, aoei_arena *arena, size_t n_tokens,
                             size_t n_texts) {
    const size_t C = aoei_ran_max_windows(l, n_tokens, n_texts);
    memset(w, 0, sizeof *w);
    w->rounds = aoei_arena_take_array(arena, C, sizeof *w->rounds);
    w->steps = aoei_arena_take_array(arena, C, sizeof *w->steps);
    w->token = numbers(arena, n_tokens + C);
    w->position = numbers(arena, n_tokens + C);
    w->offsets = numbers(arena, 2 * C);
    w->round_spans = aoei_arena_take_array(arena, C, sizeof *w->round_spans);
    w->step_spans = aoei_arena_take_array(arena, C, sizeof *w->step_spans);
    w->singles = numbers(arena, C + 1);
    w->last = numbers(arena, n_texts);
    w->text_first = numbers(arena, n_texts + 1);
    w->block_offsets = numbers(arena, n_texts + 1);
    w->block_text = numbers(arena, n_texts);
    w->block_first = numbers(arena, n_texts);
    w->block_spans = aoei_arena_take_array(arena, n_texts, sizeof *w->block_spans);
    uint32_t **const by_window[] = {&w->round_first, &w->round_text, &w->previous,  &w->text,
                                    &w->row,         &w->step_first, &w->step_text, &w->step_number,
                                    &w->step_order,  &w->later,      &w->earlier};
    for (size_t i = 0; i < sizeof by_window / sizeof *by_window; i++)
        *by_window[i] = numbers(arena, C);
}

/* State while the lists of *w are filled. The last four fields are the next free indices: row in the lists by row,
 * window in the lists in round order, step_index in the lists in step order, and offset in the list `offsets`. */
typedef struct filling {
    aoei_ran_windows *w;
    const aoei_ran_limits *l;
    const aoei_batch *batch;
    size_t row, window, step_index, offset;
} filling;

static size_t text_length(const filling *f, size_t text) {
    return f->batch->offsets[text + 1] - f->batch->offsets[text];
}

static size_t text_windows(const filling *f, size_t text) {
    return f->w->text_first[text + 1] - f->w->text_first[text];
}

/* Returns the number that selects the dropout masks of text `text` of the batch. */
static uint32_t text_key(const filling *f, size_t text) {
    return f->batch->text_index ? f->batch->text_index[text] : (uint32_t)text;
}

/* Returns the number of tokens of window `number` of a text. */
static size_t window_tokens(const filling *f, size_t text, size_t number) {
    return number + 1 < text_windows(f, text) ? f->l->window : text_length(f, text) - number * f->l->window;
}

/* Returns the total number of rows in window `number` of texts [first, end). Texts that have no such window are
 * skipped. */
static size_t step_rows(const filling *f, size_t first, size_t end, size_t number) {
    size_t rows = 0;
    for (size_t i = first; i < end; i++)
        rows += number < text_windows(f, i) ? 1 + window_tokens(f, i, number) : 0;
    return rows;
}

/* Appends windows [from, to) of a text to the round. */
static void add_windows(filling *f, const aoei_ran_round *r, size_t text, size_t from, size_t to) {
    aoei_ran_windows *w = f->w;
    for (size_t k = from; k < to && k < text_windows(f, text); k++) {
        const size_t tokens = window_tokens(f, text, k), begin = f->batch->offsets[text] + k * f->l->window;
        const uint32_t row = (uint32_t)(f->row - r->first_row), number = (uint32_t)(k * (f->l->window + 1));
        const uint32_t rows = (uint32_t)tokens + 1;
        w->offsets[f->offset++] = row;
        w->round_first[f->window] = number;
        w->round_text[f->window] = text_key(f, text);
        w->round_spans[f->window++] = (aoei_attention_span){row, rows, row, rows, text_key(f, text), number};
        /* add_step has set the element of step_order for this window, because the steps of a round are added before its
         * windows */
        const uint32_t at = w->step_order[w->text_first[text] + k];
        w->row[at] = row;
        w->step_spans[at] = (aoei_attention_span){w->step_spans[at].q_first, 1, row, rows, text_key(f, text), number};
        for (size_t t = 0; t <= tokens; t++) {
            w->token[f->row] = t ? (uint32_t)(begin + t - 1) : AOEI_NO_ROW;
            w->position[f->row++] = (uint32_t)t;
        }
    }
}

static void add_to_step(filling *f, const aoei_ran_step *step, size_t text) {
    aoei_ran_windows *w = f->w;
    const size_t number = step->number, at = f->step_index++;
    uint32_t *order = w->step_order + w->text_first[text];
    order[number] = (uint32_t)at;
    w->previous[at] = number ? order[number - 1] : AOEI_NO_ROW;
    w->text[at] = (uint32_t)text;
    w->step_first[at] = (uint32_t)(number * (f->l->window + 1));
    w->step_text[at] = text_key(f, text);
    w->step_number[at] = (uint32_t)number;
    w->step_spans[at].q_first = (uint32_t)(at - step->first);
    if (number + 1 == text_windows(f, text))
        w->last[text] = (uint32_t)at;
}

/* Adds the step that consists of window `number` of all texts [first, end) that have such a window. The last windows of
 * texts are placed after the other windows of the step. */
static void add_step(filling *f, size_t first, size_t end, size_t number) {
    aoei_ran_step *s = &f->w->steps[f->w->n_steps++];
    *s = (aoei_ran_step){.number = number, .first = f->step_index};
    for (size_t i = first; i < end; i++)
        if (text_windows(f, i) > number + 1)
            add_to_step(f, s, i);
    s->unfinished = f->step_index - s->first;
    for (size_t i = first; i < end; i++)
        if (text_windows(f, i) == number + 1)
            add_to_step(f, s, i);
    s->n = f->step_index - s->first;
}

/* Adds all rounds of the group of texts [first, end). */
static void add_group(filling *f, size_t first, size_t end) {
    aoei_ran_windows *w = f->w;
    size_t most = 0;
    for (size_t i = first; i < end; i++)
        most = most_of(most, text_windows(f, i));
    for (size_t number = 0; number < most;) {
        aoei_ran_round *r = &w->rounds[w->n_rounds++];
        *r = (aoei_ran_round){
            .first_row = f->row, .first_window = f->window, .first_offset = f->offset, .first_step = w->n_steps};
        const size_t from = number;
        size_t rows = 0, more = step_rows(f, first, end, number);
        do {
            add_step(f, first, end, number++);
            rows += more;
            more = number < most ? step_rows(f, first, end, number) : 0;
        } while (more && (rows + more <= f->l->rows));
        for (size_t i = first; i < end; i++)
            add_windows(f, r, i, from, number);
        r->rows = f->row - r->first_row;
        r->windows = f->window - r->first_window;
        r->steps = w->n_steps - r->first_step;
        w->offsets[f->offset++] = (uint32_t)r->rows;
    }
}

/* Fills the lists `later`, `earlier` and `singles`, and sets `previous` for the first window of each text. */
static void finish(filling *f) {
    aoei_ran_windows *w = f->w;
    size_t n = 0;
    for (size_t i = 0; i < w->n_texts; i++)
        for (size_t k = w->text_first[i]; k < w->text_first[i + 1]; k++) {
            const uint32_t at = w->step_order[k];
            if (k == w->text_first[i]) {
                w->previous[at] = w->last[i];
                continue;
            }
            w->later[n] = at;
            w->earlier[n++] = w->previous[at];
        }
    for (size_t i = 0; i <= w->n; i++)
        w->singles[i] = (uint32_t)i;
}

void aoei_ran_windows_fill(aoei_ran_windows *w, const aoei_ran_limits *l, const aoei_batch *batch) {
    filling f = {.w = w, .l = l, .batch = batch};
    w->n_texts = batch->n_texts;
    w->n_rounds = w->n_steps = w->n = 0;
    for (size_t i = 0; i < batch->n_texts; i++) {
        w->text_first[i] = (uint32_t)w->n;
        w->n += aoei_ran_window_count(l, text_length(&f, i));
    }
    w->text_first[batch->n_texts] = (uint32_t)w->n;
    for (size_t i = 0, end; i < batch->n_texts; i = end) {
        size_t rows = aoei_ran_window_rows(l, text_length(&f, i));
        for (end = i + 1; end < batch->n_texts; end++) {
            const size_t more = aoei_ran_window_rows(l, text_length(&f, end));
            if (more > l->rows || rows > l->rows - more)
                break;
            rows += more;
        }
        add_group(&f, i, end);
    }
    finish(&f);
}

aoei_batch aoei_ran_round_batch(const aoei_ran_windows *w, const aoei_ran_round *r) {
    return (aoei_batch){.n_tokens = r->rows,
                        .n_texts = r->windows,
                        .offsets = w->offsets + r->first_offset,
                        .text_index = w->round_text + r->first_window,
                        .first = w->round_first + r->first_window};
}

aoei_batch aoei_ran_step_batch(const aoei_ran_windows *w, size_t first, size_t n) {
    return (aoei_batch){.n_tokens = n,
                        .n_texts = n,
                        .offsets = w->singles,
                        .text_index = w->step_text + first,
                        .first = w->step_first + first};
}

aoei_batch aoei_ran_block(aoei_ran_windows *w, const aoei_batch *batch, size_t first, size_t n) {
    aoei_batch b = {.n_tokens = n, .offsets = w->block_offsets, .text_index = w->block_text, .first = w->block_first};
    for (size_t i = 0; i < batch->n_texts; i++) {
        const size_t begin = most_of(batch->offsets[i], first), end = least_of(batch->offsets[i + 1], first + n);
        if (begin >= end)
            continue;
        const uint32_t key = batch->text_index ? batch->text_index[i] : (uint32_t)i;
        const uint32_t number = (uint32_t)(begin - batch->offsets[i]), cells = w->text_first[i + 1] - w->text_first[i];
        w->block_offsets[b.n_texts] = (uint32_t)(begin - first);
        w->block_text[b.n_texts] = key;
        w->block_first[b.n_texts] = number;
        w->block_spans[b.n_texts++] = (aoei_attention_span){
            (uint32_t)(begin - first), (uint32_t)(end - begin), w->text_first[i], cells, key, number};
    }
    w->block_offsets[b.n_texts] = (uint32_t)n;
    return b;
}
