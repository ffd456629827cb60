/* SPDX-License-Identifier: MIT
 * Reads SentEval folders. The gold file and the input file of a subset are read together, line by line. If the gold
 * line of a pair is empty, the pair is counted but not evaluated.
 */
#include "eval/senteval.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "table/labels.h"
#include "table/lines.h"
#include "table/pairs.h"
#include "table/table.h"

static const char input_prefix[] = "STS.input.";
static const char gold_prefix[] = "STS.gs.";
static const char suffix[] = ".txt";

/* If `name` is `prefix` followed by a subset name and ".txt", returns the subset name. Otherwise returns an empty
 * text. */
static aoe_text subset_of(const char *name, const char *prefix) {
    size_t n = strlen(name), p = strlen(prefix), s = strlen(suffix);
    if (n <= p + s || strncmp(name, prefix, p) != 0 || strcmp(name + n - s, suffix) != 0)
        return (aoe_text){NULL, 0};
    return (aoe_text){name + p, n - p - s};
}

/* Returns the path dir + "/" + prefix + name + ".txt", which the caller frees. Returns NULL if out of memory. */
static char *file_of(const char *dir, const char *prefix, const char *name) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s/%s%s%s", dir, prefix, name, suffix);
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

static int compare_subsets(const void *a, const void *b) {
    return strcmp(((const aoei_senteval_subset *)a)->name, ((const aoei_senteval_subset *)b)->name);
}

/* The gold file and the input file of a subset, which are read together. */
typedef struct reader {
    aoei_lines *gold, *input; /* gold: file with gold scores; input: file with sentences; both owned */
    int skip_bad_rows;        /* 1: skip bad lines (aoe_table_options.skip_bad_rows) */
} reader;

/* Adds the pair of one line. The line must have a score. Returns 0, AOEI_BAD_ROW or an error. */
static int add_pair(aoe_pairs *pairs, const reader *r, const aoei_line *gold, const aoei_line *input, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    double score = 0;
    if (aoei_number_of((aoe_text){gold->data, gold->len}, &score) != AOEI_LABEL_VALUE) {
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: '%s' is not a score; give a number or an empty line, or set options.skip_bad_rows",
                  aoei_lines_name(r->gold), gold->number, aoei_excerpt(excerpt, (aoe_text){gold->data, gold->len}));
        return AOEI_BAD_ROW;
    }
    const char *tab = memchr(input->data, '\t', input->len);
    if (!tab) {
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: no TAB between two sentences; " AOEI_ROW_REMEDY, aoei_lines_name(r->input),
                  input->number);
        return AOEI_BAD_ROW;
    }
    size_t len1 = (size_t)(tab - input->data), rest = input->len - len1 - 1;
    const char *more = memchr(tab + 1, '\t', rest); /* the second sentence ends at the next TAB; further columns contain
                                                       the source of the pair */
    size_t len2 = more ? (size_t)(more - tab - 1) : rest;
    return aoei_pairs_append(pairs, (aoe_text){input->data, len1}, (aoe_text){tab + 1, len2}, score, input->number,
                             err);
}

static int fail_counts(const reader *r, size_t gold, size_t input, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT,
                     "%s has %zu lines but %s has %zu; the files must match line by line, so download both again",
                     aoei_lines_name(r->input), input, aoei_lines_name(r->gold), gold);
}

/* Reads both files. If one file ends early, the other file is still read to its end, because the error message contains
 * the number of lines of both. */
static int read_pairs(aoei_senteval_subset *s, const reader *r, aoe_error *err) {
    size_t n_gold = 0, n_input = 0;
    for (;;) {
        aoei_line gold, input;
        int g = aoei_lines_next(r->gold, &gold, err);
        int i = g < 0 ? g : aoei_lines_next(r->input, &input, err);
        if (i < 0)
            return i;
        n_gold += g == 1;
        n_input += i == 1;
        if (!g && !i)
            return n_gold == n_input ? 0 : fail_counts(r, n_gold, n_input, err);
        if (n_gold != n_input)
            continue;
        if (gold.len == 0) {
            s->unscored++;
            continue;
        }
        int rc = add_pair(s->pairs, r, &gold, &input, err);
        if (rc == AOEI_BAD_ROW && !r->skip_bad_rows)
            return AOE_EFORMAT; /* err already contains the message */
        if (rc < 0)
            return rc;
        s->bad += rc == AOEI_BAD_ROW;
    }
}

static int load_subset(aoei_senteval_subset *s, const char *dir, int skip_bad_rows, aoe_error *err) {
    reader r = {.skip_bad_rows = skip_bad_rows};
    char *gold = file_of(dir, gold_prefix, s->name), *input = file_of(dir, input_prefix, s->name);
    int rc = gold && input ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc)
        rc = aoei_lines_open(&r.gold, gold, err);
    if (!rc)
        rc = aoei_lines_open(&r.input, input, err);
    if (!rc)
        rc = aoei_pairs_create(&s->pairs, input, err);
    if (!rc)
        rc = read_pairs(s, &r, err);
    if (!rc && aoe_pairs_count(s->pairs) == 0)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: no line has a score; download the gold file again", gold);
    aoei_lines_close(r.gold);
    aoei_lines_close(r.input);
    aoei_free(gold);
    aoei_free(input);
    return rc;
}

static int has_name(char *const *names, size_t n, const char *prefix, aoe_text subset) {
    for (size_t i = 0; i < n; i++) {
        aoe_text t = subset_of(names[i], prefix);
        if (t.len == subset.len && t.len && memcmp(t.data, subset.data, t.len) == 0)
            return 1;
    }
    return 0;
}

/* Finds the subsets in names[n], the file names of the folder, and sorts them by name. Counts the gold files that have
 * no input file. */
static int find_subsets(aoei_senteval *s, const char *dir, char *const *names, size_t n, aoe_error *err) {
    for (size_t i = 0; i < n; i++) {
        aoe_text gold = subset_of(names[i], gold_prefix), input = subset_of(names[i], input_prefix);
        s->without_input += gold.len && !has_name(names, n, input_prefix, gold);
        if (!input.len)
            continue;
        if (!has_name(names, n, gold_prefix, input))
            return aoei_fail(err, AOE_EFORMAT, "%s/%s: the gold file %s%.*s%s is missing; add it or remove the input",
                             dir, names[i], gold_prefix, (int)input.len, input.data, suffix);
        char *name = NULL;
        if (aoei_grow((void **)&s->subset, &s->capacity, s->n, sizeof *s->subset) ||
            !(name = aoei_strndup(input.data, input.len)))
            return aoei_fail_nomem(err, input.len);
        s->subset[s->n++] = (aoei_senteval_subset){.name = name};
    }
    if (s->n == 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: no SentEval files found; give a folder with %sSUBSET%s and %sSUBSET%s, or give tables",
                         dir, input_prefix, suffix, gold_prefix, suffix);
    qsort(s->subset, s->n, sizeof *s->subset, compare_subsets);
    return 0;
}

int aoei_senteval_load(aoei_senteval *s, const char *dir, int skip_bad_rows, aoe_error *err) {
    *s = (aoei_senteval){0};
    char **names;
    size_t n;
    int rc = aoei_list_dir(&names, &n, dir, err);
    if (rc)
        return rc;
    rc = find_subsets(s, dir, names, n, err);
    for (size_t i = 0; !rc && i < s->n; i++)
        rc = load_subset(&s->subset[i], dir, skip_bad_rows, err);
    aoei_list_free(names, n);
    if (rc)
        aoei_senteval_free(s);
    return rc;
}

void aoei_senteval_free(aoei_senteval *s) {
    for (size_t i = 0; i < s->n; i++) {
        aoei_free(s->subset[i].name);
        aoe_pairs_free(s->subset[i].pairs);
    }
    aoei_free(s->subset);
    *s = (aoei_senteval){0};
}
