/* SPDX-License-Identifier: MIT
 * Splits a text into words by running the steps of a pre-tokenizer. The first step splits the text only until a batch
 * of pieces is full. A caller that needs only the first words of a long text therefore does not wait for the other
 * words. The other steps then process the batch. A step copies the text only if it changes the text.
 */
#include "tokenizer/pretokenizer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/words_bert.h"

static int push(aoei_piece_list *l, size_t start, size_t end) {
    if (aoei_grow((void **)&l->span, &l->capacity, l->n, sizeof *l->span))
        return -1;
    l->span[l->n++] = (aoei_span){start, end};
    return 0;
}

static int rewrites(const aoei_pretokenizer_step *step) {
    return step->prefix != AOEI_PREFIX_NEVER || step->spaces;
}

static int begins_with(const aoei_pretokenizer_step *step, const char *s, size_t len) {
    if (step->spaces && s[0] == ' ')
        return 1;
    return len >= step->letter_len && memcmp(s, step->letter, step->letter_len) == 0;
}

/* Appends the piece, which is a byte range of s and not empty, to `out`. Prepends step->letter if step->prefix requires
 * it, and replaces spaces by this letter if step->spaces is 1. */
static int rewrite(const aoei_pretokenizing *g, const aoei_pretokenizer_step *step, const char *s, const size_t *origin,
                   aoei_span piece, aoei_normalized *out) {
    size_t at = piece.start;
    const int first = origin && g->base + origin[at] == 0;
    if ((step->prefix == AOEI_PREFIX_ALWAYS || (step->prefix == AOEI_PREFIX_FIRST && first)) &&
        !begins_with(step, s + at, piece.end - at) &&
        aoei_normalized_put(out, step->letter, step->letter_len, origin ? origin[at] : 0))
        return -1;
    while (step->spaces && at < piece.end) {
        const char *space = memchr(s + at, ' ', piece.end - at);
        const size_t stop = space ? (size_t)(space - s) : piece.end;
        if (aoei_normalized_copy(out, s, at, stop, origin) ||
            (space && aoei_normalized_put(out, step->letter, step->letter_len, origin ? origin[stop] : 0)))
            return -1;
        at = stop + (space != NULL);
    }
    return aoei_normalized_copy(out, s, at, piece.end, origin);
}

/* Appends to out the letters that represent the bytes of the piece. */
static int map_bytes(const char *s, const size_t *origin, aoei_span piece, aoei_normalized *out) {
    for (size_t i = piece.start; i < piece.end; i++)
        if (aoei_normalized_put_cp(out, aoei_byte_letter((unsigned char)s[i]), origin ? origin[i] : 0))
            return -1;
    return 0;
}

/* Returns the output buffer of the current step after emptying it. This is the buffer of g->text that was not written
 * last, because the step may read the buffer that was written last. */
static aoei_normalized *other_text(aoei_pretokenizing *g, int track) {
    aoei_normalized *out = &g->text[g->which_text ^= 1];
    out->track = track;
    out->len = 0;
    return out;
}

/* Writes all pieces of the current list to the buffer other_text(g), replaces their byte ranges, and sets *s and
 * *origin to the text in this buffer. If `mapped` is 0, prefixes are added and spaces are replaced as the step
 * requires. If `mapped` is 1, bytes are mapped to letters. */
static int transform_pieces(aoei_pretokenizing *g, const aoei_pretokenizer_step *step, int mapped, const char **s,
                            const size_t **origin) {
    aoei_normalized *out = other_text(g, *origin != NULL);
    aoei_piece_list *l = &g->list[g->which_list];
    for (size_t i = 0; i < l->n; i++) {
        const size_t start = out->len;
        if (mapped ? map_bytes(*s, *origin, l->span[i], out) : rewrite(g, step, *s, *origin, l->span[i], out))
            return -1;
        l->span[i] = (aoei_span){start, out->len};
    }
    if (aoei_normalized_end(out))
        return -1;
    *s = out->data;
    *origin = out->track ? out->origin : NULL;
    return 0;
}

/* Splits each piece of the current list with step->split. The resulting pieces become the current list. */
static int split_pieces(aoei_pretokenizing *g, const aoei_pretokenizer_step *step, const char *s, aoe_error *err) {
    const aoei_piece_list *from = &g->list[g->which_list];
    aoei_piece_list *to = &g->list[g->which_list ^= 1];
    to->n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const size_t base = from->span[i].start;
        size_t start, end;
        int rc;
        aoei_splitter_begin(&g->inner, &step->split, s + base, from->span[i].end - base);
        while ((rc = aoei_splitter_next(&g->inner, &start, &end, err)) > 0)
            if (push(to, base + start, base + end))
                return aoei_fail_nomem(err, to->n);
        if (rc)
            return rc;
    }
    return 0;
}

/* Runs the first step, which fills the current list with the next pieces of the text, at most AOEI_WORDS. If the step
 * changes the text, the changed copy is stored in g->front, and g->s is set to this copy. */
static int first_step(aoei_pretokenizing *g, aoe_error *err) {
    const aoei_pretokenizer_step *step = &g->p->step[0];
    aoei_piece_list *l = &g->list[g->which_list];
    size_t start, end;
    int rc = 1;
    if (!g->first_started) {
        if (rewrites(step)) {
            g->front.track = g->origin != NULL;
            g->front.len = 0;
            if (rewrite(g, step, g->s, g->origin, (aoei_span){g->at, g->end}, &g->front) ||
                aoei_normalized_end(&g->front))
                return aoei_fail_nomem(err, g->end - g->at);
            g->s = g->front.data;
            g->origin = g->front.track ? g->front.origin : NULL;
            g->at = 0;
            g->end = g->front.len;
        }
        aoei_splitter_begin(&g->outer, &step->split, g->s + g->at, g->end - g->at);
        g->first_started = 1;
    }
    l->n = 0;
    while (l->n < AOEI_WORDS && (rc = aoei_splitter_next(&g->outer, &start, &end, err)) > 0)
        if (push(l, g->at + start, g->at + end))
            return aoei_fail_nomem(err, l->n);
    return rc < 0 ? rc : 0;
}

/* Runs all steps on the next batch of pieces. The current list then contains the words of the batch. The list is empty
 * at the end of the text, or if the steps have removed all pieces of the batch. */
static int run_steps(aoei_pretokenizing *g, aoe_error *err) {
    const aoei_pretokenizer *p = g->p;
    g->used = 1;
    int rc = first_step(g, err);
    const char *s = g->s;
    const size_t *origin = g->origin;
    for (size_t i = 0; i < p->n && !rc; i++) {
        const aoei_pretokenizer_step *step = &p->step[i];
        if (i > 0 && rewrites(step) && transform_pieces(g, step, 0, &s, &origin))
            return aoei_fail_nomem(err, g->end);
        if (i > 0 && step->split.at != AOEI_SPLIT_NOWHERE)
            rc = split_pieces(g, step, s, err);
        if (!rc && step->bytes && !(p->leave_bytes && i + 1 == p->n) && transform_pieces(g, step, 1, &s, &origin))
            return aoei_fail_nomem(err, g->end);
    }
    g->words_s = s;
    g->words_origin = origin;
    g->n_returned = 0;
    return rc;
}

void aoei_pretokenizing_begin(aoei_pretokenizing *g, const aoei_pretokenizer *p, const aoei_normalized *text,
                              size_t start, size_t end, size_t base) {
    g->p = p;
    g->s = text->data;
    g->origin = text->track ? text->origin : NULL;
    g->at = start;
    g->end = end;
    g->base = base;
    g->first_started = 0;
    g->list[0].n = g->list[1].n = g->n_returned = 0;
}

int aoei_pretokenizing_next(aoei_pretokenizing *g, aoei_words *words, aoe_error *err) {
    words->s = g->s;
    words->origin = g->origin;
    if (g->p->bert)
        return aoei_words_bert(g->s, g->end, &g->at, words) > 0;
    if (g->p->n == 0) {
        words->start[0] = g->at;
        words->end[0] = g->end;
        words->n = g->at < g->end;
        g->at = g->end;
        return words->n > 0;
    }
    const aoei_piece_list *l = &g->list[g->which_list];
    if (g->at >= g->end)
        return 0;
    while (g->n_returned == l->n) { /* a step may have removed all pieces of a batch */
        const int rc = run_steps(g, err);
        l = &g->list[g->which_list];
        if (rc)
            return rc;
        if (l->n == 0 && g->outer.at == g->outer.len && !g->outer.has_pending)
            return 0;
    }
    words->s = g->words_s;
    words->origin = g->words_origin;
    for (words->n = 0; words->n < AOEI_WORDS && g->n_returned < l->n; words->n++, g->n_returned++) {
        words->start[words->n] = l->span[g->n_returned].start;
        words->end[words->n] = l->span[g->n_returned].end;
    }
    return 1;
}

void aoei_pretokenizing_end(aoei_pretokenizing *g) {
    if (!g->used)
        return;
    aoei_normalized_free(&g->front);
    for (int i = 0; i < 2; i++) {
        aoei_normalized_free(&g->text[i]);
        aoei_free(g->list[i].span);
    }
    aoei_splitter_end(&g->outer);
    aoei_splitter_end(&g->inner);
    memset(g, 0, sizeof *g);
}
