/* SPDX-License-Identifier: MIT
 * Computes the similarities of text pairs in blocks of pairs. The texts of a block are sorted to find the distinct
 * texts, which are embedded in sorted order. Therefore, the similarities do not depend on the order of the pairs in a
 * block.
 */
#include "eval/similarities.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "table/examples.h"
#include "table/pairs.h"
#include "vectors/similarity.h"

enum { BLOCK = 4096 }; /* pairs per block; the block size limits the memory for embeddings */

/* A text of a block and its position in the block. */
typedef struct placed_text {
    aoe_text text; /* text; borrowed */
    size_t index;  /* position of the text: 2 * (index of its pair in the block), plus 1 if it is the second text */
} placed_text;

/* The texts of a block of pairs, and their embeddings. */
typedef struct block {
    placed_text *placed_text; /* [2 * pairs] all texts of the block, sorted so that equal texts are adjacent; owned */
    aoe_text *text;           /* [2 * pairs] distinct texts in sorted order; owned */
    size_t *source;     /* [2 * pairs] for each distinct text, the position (placed_text.index) of its first occurrence;
                           owned */
    size_t *vector;     /* [2 * pairs] for each position in the block, the row of its text in `vectors`; owned */
    float *vectors;     /* [2 * pairs, dims] embeddings of the distinct texts; owned */
    uint8_t *truncated; /* [2 * pairs] 1 for each distinct text that was truncated, 0 for others; owned */
} block;

static int compare_texts(const void *a, const void *b) {
    const placed_text *x = a, *y = b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? -1 : 1;
    int order = x->text.len ? memcmp(x->text.data, y->text.data, x->text.len) : 0;
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int block_create(block *b, size_t pairs, size_t dims, aoe_error *err) {
    size_t n = 2 * pairs, floats;
    *b = (block){0};
    if (aoei_mul_size(n, dims, &floats))
        floats = SIZE_MAX; /* makes the allocation fail */
    b->placed_text = aoei_malloc_array(n, sizeof *b->placed_text);
    b->text = aoei_malloc_array(n, sizeof *b->text);
    b->source = aoei_malloc_array(n, sizeof *b->source);
    b->vector = aoei_malloc_array(n, sizeof *b->vector);
    b->vectors = aoei_malloc_array(floats, sizeof *b->vectors);
    b->truncated = aoei_malloc_array(n, sizeof *b->truncated);
    if (b->placed_text && b->text && b->source && b->vector && b->vectors && b->truncated)
        return 0;
    aoei_fail_nomem(err, floats);
    return AOE_ENOMEM;
}

static void block_free(block *b) {
    aoei_free(b->placed_text);
    aoei_free(b->text);
    aoei_free(b->source);
    aoei_free(b->vector);
    aoei_free(b->vectors);
    aoei_free(b->truncated);
}

/* Sets b->text to the distinct texts of the pairs [first, first + n). Returns the number of distinct texts. */
static size_t collect_distinct(block *b, const aoei_text_pairs *c, size_t first, size_t n) {
    for (size_t i = 0; i < 2 * n; i++)
        b->placed_text[i] = (placed_text){c->text(c->source, first + i / 2, i % 2), i};
    qsort(b->placed_text, 2 * n, sizeof *b->placed_text, compare_texts);
    size_t distinct = 0;
    for (size_t i = 0; i < 2 * n; i++) {
        aoe_text t = b->placed_text[i].text;
        if (i == 0 || t.len != b->text[distinct - 1].len ||
            (t.len && memcmp(t.data, b->text[distinct - 1].data, t.len) != 0)) {
            b->text[distinct] = t;
            b->source[distinct++] = b->placed_text[i].index;
        }
        b->vector[b->placed_text[i].index] = distinct - 1;
    }
    return distinct;
}

/* Inserts the file, the line and the name of a text (side_name) at the beginning of the error message. Returns rc. err
 * may be NULL. */
static int prefix_error(const aoei_text_pairs *c, size_t pair, size_t side, int rc, aoe_error *err) {
    aoei_error_prefix(err, "%s:%zu: %s", c->name, c->line(c->source, pair), c->side_name(c->source, pair, side));
    return rc;
}

/* Computes the scores of the pairs with a cross-encoder. The arguments are the same as in aoei_similarities. */
static int score_pairs(const aoei_eval_model *e, const aoei_text_pairs *c, double *scores, size_t *truncated,
                       aoei_eval_progress *p, aoe_error *err) {
    const size_t most = c->n < BLOCK ? c->n : BLOCK;
    aoe_text *text = aoei_malloc_array(2 * most + 1, sizeof *text);
    uint8_t *cut = aoei_malloc_array(most + 1, sizeof *cut);
    int rc = text && cut ? 0 : aoei_fail_nomem(err, 2 * most * sizeof *text);
    for (size_t first = 0; !rc && first < c->n; first += BLOCK) {
        size_t count = c->n - first < BLOCK ? c->n - first : BLOCK, failed = (size_t)-1;
        for (size_t i = 0; i < count; i++) {
            text[i] = c->text(c->source, first + i, 0);
            text[most + i] = c->text(c->source, first + i, 1);
        }
        rc = e->score(e->user, text, text + most, count, scores + first, cut, &failed, err);
        if (rc && failed < count)
            aoei_error_prefix(err, "%s:%zu", c->name, c->line(c->source, first + failed));
        for (size_t i = 0; !rc && i < count; i++)
            *truncated += cut[i];
        if (!rc)
            rc = aoei_eval_advance(p, count, err);
    }
    aoei_free(text);
    aoei_free(cut);
    return rc;
}

int aoei_similarities(const aoei_eval_model *e, const aoei_text_pairs *c, double *similarity, size_t *truncated,
                      aoei_eval_progress *p, aoe_error *err) {
    block b;
    *truncated = 0;
    if (e->score)
        return score_pairs(e, c, similarity, truncated, p, err);
    int rc = block_create(&b, c->n < BLOCK ? c->n : BLOCK, e->dims, err);
    for (size_t first = 0; !rc && first < c->n; first += BLOCK) {
        size_t count = c->n - first < BLOCK ? c->n - first : BLOCK, failed = (size_t)-1;
        size_t distinct = collect_distinct(&b, c, first, count);
        rc = e->embed(e->user, b.text, distinct, b.vectors, b.truncated, &failed, err);
        if (rc && failed < distinct)
            rc = prefix_error(c, first + b.source[failed] / 2, b.source[failed] % 2, rc, err);
        for (size_t i = 0; !rc && i < count; i++)
            similarity[first + i] = aoei_similarity_value(e->similarity, b.vectors + b.vector[2 * i] * e->dims,
                                                          b.vectors + b.vector[2 * i + 1] * e->dims, e->dims);
        for (size_t i = 0; !rc && i < 2 * count; i++)
            *truncated += i % 2 == 0 && (first + i / 2) % c->group ? 0 : b.truncated[b.vector[i]];
        if (!rc)
            rc = aoei_eval_advance(p, count, err);
    }
    block_free(&b);
    return rc;
}

int aoei_text_pairs_check(const aoei_eval_model *e, const aoei_text_pairs *c, aoe_error *err) {
    int all;
    int rc = aoei_eval_model_has_specials(e, &all, err);
    for (size_t i = 0; !rc && !all && i < 2 * c->n; i++) {
        size_t tokens = 1;
        rc = e->count_tokens(e->user, c->text(c->source, i / 2, i % 2), &tokens, err);
        if (rc)
            return prefix_error(c, i / 2, i % 2, rc, err);
        if (!tokens)
            return aoei_fail(err, AOE_EFORMAT, "%s:%zu: %s has no token; correct or remove the row", c->name,
                             c->line(c->source, i / 2), c->side_name(c->source, i / 2, i % 2));
    }
    return rc;
}

static aoe_text pair_text(const void *source, size_t pair, size_t side) {
    return side ? aoe_pairs_text2(source, pair) : aoe_pairs_text1(source, pair);
}

static size_t pair_line(const void *source, size_t pair) {
    return aoe_pairs_line(source, pair);
}

static const char *side_name(const void *source, size_t pair, size_t side) {
    (void)source;
    (void)pair;
    return side ? "text2" : "text1";
}

static aoei_text_pairs pairs_of(const aoe_pairs *p) {
    return (aoei_text_pairs){aoe_pairs_count(p), aoei_pairs_name(p), p, pair_text, pair_line, side_name, 1};
}

int aoei_pairs_check(const aoei_eval_model *e, const aoe_pairs *p, aoe_error *err) {
    const aoei_text_pairs pairs = pairs_of(p);
    return aoei_text_pairs_check(e, &pairs, err);
}

int aoei_pairs_similarities(const aoei_eval_model *e, const aoe_pairs *p, double *similarity, size_t *truncated,
                            aoei_eval_progress *progress, aoe_error *err) {
    const aoei_text_pairs pairs = pairs_of(p);
    return aoei_similarities(e, &pairs, similarity, truncated, progress, err);
}

size_t aoei_pairs_empty(const aoe_pairs *p) {
    size_t empty = 0;
    for (size_t i = 0; i < aoe_pairs_count(p); i++)
        for (size_t side = 0; side < 2; side++)
            empty += (size_t)aoei_text_is_empty(pair_text(p, i, side));
    return empty;
}
