/* SPDX-License-Identifier: MIT
 * Windows of pairs: distinct texts are found by sorting, so that nothing depends on
 * where a text stands.
 */
#include "eval/cosines.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "table/examples.h"
#include "table/pairs.h"

enum { WINDOW = 4096 }; /* pairs embedded at a time: bounds the memory of the vectors */

/* A text of a window and the place its vector belongs to. */
typedef struct slot {
    aoe_text text;
    size_t index; /* 2 * pair + side */
} slot;

typedef struct window {
    slot *slot;         /* [2 * pairs] sorted: equal texts are neighbours */
    aoe_text *text;     /* [2 * pairs] distinct texts, in the order of slot */
    size_t *source;     /* [2 * pairs] for each distinct text the index of its first slot */
    size_t *vector;     /* [2 * pairs] by index: which distinct text */
    float *vectors;     /* [2 * pairs, dims] of the distinct texts */
    uint8_t *truncated; /* [2 * pairs] 1: the text was truncated */
} window;

static int compare_slots(const void *a, const void *b) {
    const slot *x = a, *y = b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? -1 : 1;
    int order = x->text.len ? memcmp(x->text.data, y->text.data, x->text.len) : 0;
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int window_create(window *w, size_t pairs, size_t dims, aoe_error *err) {
    size_t n = 2 * pairs, floats;
    *w = (window){0};
    if (aoei_mul_size(n, dims, &floats))
        floats = SIZE_MAX; /* which no allocation serves */
    w->slot = aoei_malloc_array(n, sizeof *w->slot);
    w->text = aoei_malloc_array(n, sizeof *w->text);
    w->source = aoei_malloc_array(n, sizeof *w->source);
    w->vector = aoei_malloc_array(n, sizeof *w->vector);
    w->vectors = aoei_malloc_array(floats, sizeof *w->vectors);
    w->truncated = aoei_malloc_array(n, sizeof *w->truncated);
    if (w->slot && w->text && w->source && w->vector && w->vectors && w->truncated)
        return 0;
    aoei_fail_nomem(err, floats);
    return AOE_ENOMEM;
}

static void window_free(window *w) {
    aoei_free(w->slot);
    aoei_free(w->text);
    aoei_free(w->source);
    aoei_free(w->vector);
    aoei_free(w->vectors);
    aoei_free(w->truncated);
}

/* Distinct texts of the pairs [first, first + n) into w->text; returns how many. */
static size_t gather(window *w, const aoei_text_pairs *c, size_t first, size_t n) {
    for (size_t i = 0; i < 2 * n; i++)
        w->slot[i] = (slot){c->text(c->source, first + i / 2, i % 2), i};
    qsort(w->slot, 2 * n, sizeof *w->slot, compare_slots);
    size_t distinct = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        aoe_text t = w->slot[i].text;
        if (i == 0 || t.len != w->text[distinct - 1].len || (t.len && memcmp(t.data, w->text[distinct - 1].data, t.len) != 0)) {
            w->text[distinct] = t;
            w->source[distinct++] = w->slot[i].index;
        }
        w->vector[w->slot[i].index] = distinct - 1;
    }
    return distinct;
}

/* The code goes through apart from the message, which may not be wanted (err NULL). */
static int name_text(const aoei_text_pairs *c, size_t pair, size_t side, int rc, aoe_error *err) {
    aoei_error_prefix(err, "%s:%zu: %s", c->name, c->line(c->source, pair), c->role(pair, side));
    return rc;
}

int aoei_cosines(const aoei_eval_model *e, const aoei_text_pairs *c, double *cosine, size_t *truncated, aoei_eval_progress *p,
                 aoe_error *err) {
    window w;
    *truncated = 0;
    int rc = window_create(&w, c->n < WINDOW ? c->n : WINDOW, e->dims, err);
    for (size_t first = 0; !rc && first < c->n; first += WINDOW) {
        size_t count = c->n - first < WINDOW ? c->n - first : WINDOW, failed = (size_t)-1;
        size_t distinct = gather(&w, c, first, count);
        rc = e->embed(e->user, w.text, distinct, w.vectors, w.truncated, &failed, err);
        if (rc && failed < distinct)
            rc = name_text(c, first + w.source[failed] / 2, w.source[failed] % 2, rc, err);
        for (size_t i = 0; !rc && i < count; i++)
            cosine[first + i] =
                aoe_cosine(w.vectors + w.vector[2 * i] * e->dims, w.vectors + w.vector[2 * i + 1] * e->dims, e->dims);
        for (size_t i = 0; !rc && i < 2 * count; i++)
            *truncated += c->triplets && i % 4 == 2 ? 0 : w.truncated[w.vector[i]];
        if (!rc)
            rc = aoei_eval_advance(p, count, err);
    }
    window_free(&w);
    return rc;
}

int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err) {
    int all;
    int rc = aoei_eval_model_has_specials(e, &all, err);
    for (size_t i = 0; !rc && !all && i < 2 * c->n; i++) {
        size_t tokens = 1;
        rc = e->count_tokens(e->user, c->text(c->source, i / 2, i % 2), &tokens, err);
        if (rc)
            return name_text(c, i / 2, i % 2, rc, err);
        if (!tokens)
            return aoei_fail(err, AOE_EFORMAT, "%s:%zu: %s has no token; correct or remove the row", c->name,
                             c->line(c->source, i / 2), c->role(i / 2, i % 2));
    }
    return rc;
}

static aoe_text pair_text(const void *source, size_t pair, size_t side) {
    return side ? aoe_pairs_text2(source, pair) : aoe_pairs_text1(source, pair);
}

static size_t pair_line(const void *source, size_t pair) {
    return aoe_pairs_line(source, pair);
}

static const char *pair_role(size_t pair, size_t side) {
    (void)pair;
    return side ? "text2" : "text1";
}

static aoei_text_pairs pairs_of(const aoe_pairs *p) {
    return (aoei_text_pairs){aoe_pairs_count(p), aoei_pairs_name(p), p, pair_text, pair_line, pair_role, 0};
}

int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err) {
    const aoei_text_pairs pairs = pairs_of(p);
    return aoei_text_pairs_check(e, &pairs, err);
}

int aoei_pairs_cosines(const aoei_eval_model *e, const aoe_pairs *p, double *cosine, size_t *truncated,
                       aoei_eval_progress *progress, aoe_error *err) {
    const aoei_text_pairs pairs = pairs_of(p);
    return aoei_cosines(e, &pairs, cosine, truncated, progress, err);
}

size_t aoei_pairs_empty(const aoe_pairs *p) {
    size_t empty = 0;
    for (size_t i = 0; i < aoe_pairs_count(p); i++)
        for (size_t side = 0; side < 2; side++)
            empty += (size_t)aoei_text_is_empty(pair_text(p, i, side));
    return empty;
}
