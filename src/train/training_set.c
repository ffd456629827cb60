/* SPDX-License-Identifier: MIT
 * Tokenizes a training file, groups identical texts and computes maximum lengths.
 */
#include "train/training_set.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Computes the lowest and the highest label, the maximum number of tokens in a text, the number of truncated texts, and
 * the fingerprint of the tokens and labels, by which a resumed run recognizes its training data. */
static void compute_statistics(aoei_dataset *d) {
    d->lowest = d->highest = d->labels[0];
    for (size_t i = 0; i < d->n; i++) {
        if (d->labels[i] < d->lowest)
            d->lowest = d->labels[i];
        if (d->labels[i] > d->highest)
            d->highest = d->labels[i];
    }
    const aoei_token_lists *l = &d->tokens;
    for (size_t i = 0; i < l->n; i++) {
        if (aoei_token_count(l, i) > d->longest)
            d->longest = aoei_token_count(l, i);
        d->truncated += l->truncated[i];
    }
    d->fingerprint = aoei_hash(AOEI_HASH_START, l->ids, l->offsets[l->n] * sizeof *l->ids);
    d->fingerprint = aoei_hash(d->fingerprint, l->offsets, (l->n + 1) * sizeof *l->offsets);
    d->fingerprint = aoei_hash(d->fingerprint, d->first, (d->n * d->arity + 1) * sizeof *d->first);
    d->fingerprint = aoei_hash(d->fingerprint, d->labels, d->n * sizeof *d->labels);
    if (l->types)
        d->fingerprint = aoei_hash(d->fingerprint, l->types, l->offsets[l->n]);
}

static int tokenize(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                    const char *doc_prompt, aoe_error *err) {
    uint8_t *is_later = aoei_calloc(e->n_texts, sizeof *is_later); /* [n_texts] 1 for each text that is not at the first
                                                                      position of its example */
    if (!is_later)
        return aoei_fail_nomem(err, e->n_texts);
    for (size_t i = 0; i < d->n; i++)
        for (size_t t = d->first[i * d->arity + 1]; t < d->first[(i + 1) * d->arity]; t++)
            is_later[t] = 1;
    const char *const prompts[2] = {prompt, doc_prompt};
    size_t failed;
    aoe_error inner;
    const int code = aoei_encode_with_prompts(m, e->text, e->n_texts, prompts, is_later, &d->tokens, &failed, &inner);
    aoei_free(is_later);
    if (!code)
        return AOE_OK;
    return failed == (size_t)-1
               ? aoei_fail(err, code, "%s", inner.message)
               : aoei_fail(err, code, "%s:%zu: %s", e->name, aoei_examples_line(e, failed), inner.message);
}

int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                        const char *doc_prompt, aoe_error *err) {
    memset(d, 0, sizeof *d);
    d->kind = e->kind;
    d->n = e->n;
    d->arity = e->roles;
    if (d->n == 0 || e->n_texts > UINT32_MAX - 2)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file has %zu examples; give a file with 1 to 2^32 - 3 texts",
                         e->name, d->n);
    const size_t n_first = d->n * d->arity + 1;
    d->labels = aoei_malloc_array(d->n, sizeof *d->labels);
    d->groups = aoei_malloc_array(e->n_texts, sizeof *d->groups);
    d->first = aoei_malloc_array(n_first, sizeof *d->first);
    int code = AOE_OK;
    if (!d->labels || !d->groups || !d->first)
        code = aoei_fail_nomem(err, n_first * sizeof *d->first);
    if (!code) {
        memcpy(d->labels, e->label, d->n * sizeof *d->labels);
        memcpy(d->first, e->first, n_first * sizeof *d->first);
        code = tokenize(d, m, e, prompt, doc_prompt, err);
    }
    if (!code)
        code = aoei_token_classes(&d->tokens, d->groups, err);
    if (code)
        aoei_dataset_destroy(d);
    else
        compute_statistics(d);
    return code;
}

/* The pairs of a data set for a cross-encoder. */
typedef struct joined_pairs {
    aoe_text *first, *second; /* [n] texts of each pair; arrays owned */
    double *label;            /* [n] label of each pair; owned */
    size_t *text;             /* [n] index in aoei_examples.text of the first text of each pair; owned */
    size_t n, capacity;
} joined_pairs;

static void free_pairs(joined_pairs *p) {
    aoei_free(p->first);
    aoei_free(p->second);
    aoei_free(p->label);
    aoei_free(p->text);
}

/* Appends the pairs of each text of role 0 with each text of role `role` of example i. The arrays have been
 * allocated. */
static void add_pairs(joined_pairs *p, const aoei_examples *e, size_t i, size_t role, double label) {
    const size_t *at = e->first + i * e->roles;
    for (size_t a = at[0]; a < at[1]; a++)
        for (size_t b = at[role]; b < at[role + 1]; b++) {
            assert(p->n < p->capacity);
            p->first[p->n] = e->text[a];
            p->second[p->n] = e->text[b];
            p->text[p->n] = a;
            p->label[p->n++] = label;
        }
}

/* Lists all pairs of the examples. */
static int list_pairs(joined_pairs *p, const aoei_examples *e, aoe_error *err) {
    for (size_t i = 0; i < e->n; i++) {
        const size_t *at = e->first + i * e->roles;
        p->capacity += (at[1] - at[0]) * (at[e->roles] - at[1]);
    }
    p->first = aoei_malloc_array(p->capacity + 1, sizeof *p->first);
    p->second = aoei_malloc_array(p->capacity + 1, sizeof *p->second);
    p->label = aoei_malloc_array(p->capacity + 1, sizeof *p->label);
    p->text = aoei_malloc_array(p->capacity + 1, sizeof *p->text);
    if (!p->first || !p->second || !p->label || !p->text)
        return aoei_fail_nomem(err, p->capacity * sizeof *p->first);
    for (size_t i = 0; i < e->n; i++)
        for (size_t role = 1; role < e->roles; role++)
            add_pairs(p, e, i, role, e->kind == AOE_EXAMPLES_PAIRS ? e->label[i] : role == 1);
    return p->n && p->n <= UINT32_MAX - 2
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT, "%s: the file has %zu pairs; give a file with 1 to 2^32 - 3 pairs",
                           e->name, p->n);
}

/* Tokenizes the pairs. */
static int tokenize_pairs(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const joined_pairs *p,
                          const char *prompt, aoe_error *err) {
    size_t failed;
    aoe_error inner;
    const int code = aoei_encode_pairs(m->ctx, m, p->first, p->second, p->n, prompt, 0, 0, &d->tokens, &failed, &inner);
    if (!code)
        return AOE_OK;
    return failed == (size_t)-1
               ? aoei_fail(err, code, "%s", inner.message)
               : aoei_fail(err, code, "%s:%zu: %s", e->name, aoei_examples_line(e, p->text[failed]), inner.message);
}

int aoei_dataset_create_joined(aoei_dataset *d, const aoe_model *m, const aoei_examples *e, const char *prompt,
                               aoe_error *err) {
    joined_pairs p = {0};
    memset(d, 0, sizeof *d);
    int code = list_pairs(&p, e, err);
    d->kind = AOE_EXAMPLES_PAIRS;
    d->n = p.n;
    d->arity = 1;
    d->groups = code ? NULL : aoei_malloc_array(p.n, sizeof *d->groups);
    d->first = code ? NULL : aoei_malloc_array(p.n + 1, sizeof *d->first);
    if (!code && (!d->groups || !d->first))
        code = aoei_fail_nomem(err, p.n * sizeof *d->first);
    for (size_t i = 0; i <= p.n && !code; i++)
        d->first[i] = i;
    if (!code)
        code = tokenize_pairs(d, m, e, &p, prompt, err);
    if (!code)
        code = aoei_token_classes(&d->tokens, d->groups, err);
    d->labels = p.label;
    p.label = NULL;
    if (code)
        aoei_dataset_destroy(d);
    else
        compute_statistics(d);
    free_pairs(&p);
    return code;
}

void aoei_dataset_destroy(aoei_dataset *d) {
    aoei_token_lists_free(&d->tokens);
    aoei_free(d->labels);
    aoei_free(d->groups);
    aoei_free(d->first);
    memset(d, 0, sizeof *d);
}

static int descending(const void *pa, const void *pb) {
    const size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Returns the maximum number of tokens that example i can have in a batch. For each position, the alternative text with
 * the most tokens is counted. */
static size_t example_tokens(const aoei_dataset *d, size_t i) {
    size_t sum = 0;
    for (size_t position = i * d->arity; position < (i + 1) * d->arity; position++) {
        size_t longest = 0;
        for (size_t t = d->first[position]; t < d->first[position + 1]; t++)
            if (aoei_token_count(&d->tokens, t) > longest)
                longest = aoei_token_count(&d->tokens, t);
        sum += longest;
    }
    return sum;
}

int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n, size_t *tokens, aoe_error *err) {
    size_t *length = aoei_malloc_array(d->n, sizeof *length);
    if (!length)
        return aoei_fail_nomem(err, d->n * sizeof *length);
    for (size_t i = 0; i < d->n; i++)
        length[i] = example_tokens(d, i);
    qsort(length, d->n, sizeof *length, descending);
    *tokens = 0;
    for (size_t i = 0; i < d->n && i < n; i++)
        *tokens += length[i];
    aoei_free(length);
    return AOE_OK;
}
