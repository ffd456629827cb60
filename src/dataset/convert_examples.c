/* SPDX-License-Identifier: MIT
 * Converts examples of one kind to another kind: labeled pairs, positives and triplets. All rows are kept in memory,
 * because the output for a row may depend on other rows. For example, a negative must not be a known positive of the
 * query in any row.
 */
#include "dataset/convert_examples.h"
#include "dataset/text_classes.h"

#include <math.h>
#include <stdlib.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "base/distinct.h"
#include "base/sort.h"
#include "table/examples.h"
#include "table/labels.h"
#include "table/table_write.h"

enum {
    NEGATIVE = 2,
    MAX_ROLES = 3,
    TRIES = 64 /* maximum random draws for one negative; after them, all candidates are tried in order */
};

/* State of aoei_convert_examples. */
typedef struct converter {
    const aoe_data_convert_options *o; /* options; borrowed */
    aoe_data_convert_result *result;   /* result of the call; borrowed */
    aoei_examples examples;            /* rows of the input; owned, like all fields below */
    aoei_table_writer out;             /* writer of the output file */
    aoei_distinct texts;               /* distinct texts of all rows */
    size_t *index;                     /* [examples.n_texts] for each text of the examples, its index in `texts` */
    size_t *first; /* [texts.n + 1] the entries of distinct text i in `next` are next[first[i], first[i + 1]) */
    size_t *next;  /* entries of distinct text i. If pairs are converted to triplets: the rows whose text1 is text i. If
                      positives are converted: the texts that occur in a row together with text i, ascending */
    size_t *candidate;   /* [n_candidates] indices in `texts` of the distinct positives, in the order of their first
                            occurrence */
    size_t n_candidates; /* number of candidates */
    /* If positives are converted: [options.negatives] indices of the negatives drawn for the current row. If pairs are
     * converted to triplets: [examples.n] drawn[k] is 1 if the k-th negative row of the current query is in a
     * triplet. */
    size_t *drawn;
    double threshold; /* threshold for positives: a pair is positive if its label is at least this value */
} converter;

/* ---- writing */

/* Returns the output cell for the text role `role` of a row. The cell contains a text, or a list if the row has
 * alternative texts for this role. */
static aoei_cell output_cell(const converter *f, size_t row, size_t role) {
    const size_t *first = f->examples.first + row * f->examples.roles + role;
    const size_t n = first[1] - first[0];
    return (aoei_cell){.text = f->examples.text[first[0]], .list = n > 1 ? f->examples.text + first[0] : NULL, .n = n};
}

static int write_row(converter *f, size_t row, aoei_cell a, aoei_cell b, aoei_cell c, aoe_error *err) {
    const aoei_cell cells[MAX_ROLES] = {a, b, c};
    f->result->written++;
    return aoei_table_writer_row(&f->out, cells, f->examples.name, f->examples.line[row], err);
}

static int write_pair(converter *f, size_t row, aoei_cell a, aoei_cell b, double label, aoe_error *err) {
    char text[AOEI_NUMBER_TEXT];
    const size_t len = aoei_number_text(text, label);
    return write_row(f, row, a, b, (aoei_cell){.text = {text, len}, .is_number = 1}, err);
}

/* ---- conversions that process each row independently */

static int write_rows(converter *f, aoe_error *err) {
    const aoei_examples *e = &f->examples;
    const aoe_example_kind to = f->o->to;
    int rc = 0;
    for (size_t i = 0; i < e->n && !rc; i++) {
        const aoei_cell query = output_cell(f, i, 0), positive = output_cell(f, i, 1);
        if (e->kind == AOE_EXAMPLES_PAIRS && to == AOE_EXAMPLES_POSITIVES && !(e->label[i] >= f->threshold)) {
            f->result->below++;
        } else if (to == AOE_EXAMPLES_PAIRS) {
            rc = write_pair(f, i, query, positive, e->kind == AOE_EXAMPLES_PAIRS ? e->label[i] : 1, err);
            for (size_t role = NEGATIVE; !rc && role < e->roles && e->kind == AOE_EXAMPLES_TRIPLETS; role++)
                rc = write_pair(f, i, query, output_cell(f, i, role), 0, err);
        } else if (to == AOE_EXAMPLES_TRIPLETS) {
            for (size_t role = NEGATIVE; !rc && role < e->roles; role++)
                rc = write_row(f, i, query, positive, output_cell(f, i, role), err);
        } else {
            rc = write_row(f, i, query, positive, positive, err);
        }
    }
    return rc;
}

/* ---- pairs to triplets */

static int reserve(converter *f, size_t texts, size_t n_next, aoe_error *err) {
    size_t n_first;
    if (aoei_add_size(texts, 2, &n_first))
        return aoei_fail_nomem(err, texts);
    f->first = aoei_calloc(n_first, sizeof *f->first);
    f->next = aoei_malloc_array(n_next, sizeof *f->next);
    return f->first && f->next ? 0 : aoei_fail_nomem(err, (texts + n_next) * sizeof *f->first);
}

static int index_texts(converter *f, aoe_error *err) {
    const aoei_examples *e = &f->examples;
    f->index = aoei_malloc_array(e->n_texts, sizeof *f->index);
    int rc = f->index ? 0 : aoei_fail_nomem(err, e->n_texts * sizeof *f->index);
    for (size_t i = 0; i < e->n_texts && !rc; i++)
        rc = aoei_distinct_add(&f->texts, e->text[i], 1, &f->index[i], err);
    size_t *class = rc ? NULL : aoei_malloc_array(f->texts.n, sizeof *class);
    if (!rc)
        rc = class ? aoei_text_classes(&f->texts, f->o->equality, class, err)
                   : aoei_fail_nomem(err, f->texts.n * sizeof *class);
    for (size_t i = 0; i < e->n_texts && !rc; i++)
        f->index[i] = class[f->index[i]];
    aoei_free(class);
    return rc;
}

/* Groups the rows by text1 and stores the groups in f->first and f->next. The group of a text that is only a text2 is
 * empty. */
static int group_rows(converter *f, aoe_error *err) {
    const aoei_examples *e = &f->examples;
    int rc = index_texts(f, err);
    if (!rc)
        rc = reserve(f, f->texts.n, e->n, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < e->n; i++)
        f->first[f->index[2 * i] + 2]++;
    for (size_t t = 2; t <= f->texts.n; t++)
        f->first[t] += f->first[t - 1];
    for (size_t i = 0; i < e->n; i++)
        f->next[f->first[f->index[2 * i] + 1]++] = i;
    return 0;
}

/* Reorders row[n] so that the positive rows (label at least f->threshold) come before the negative rows. The order of
 * the positive rows does not change, and neither does the order of the negative rows. Returns the number of positive
 * rows. scratch: [n] workspace. */
static size_t partition_rows(const converter *f, size_t *row, size_t n, size_t *scratch) {
    size_t positives = 0, others = 0;
    for (size_t i = 0; i < n; i++)
        if (f->examples.label[row[i]] >= f->threshold)
            row[positives++] = row[i];
        else
            scratch[others++] = row[i];
    for (size_t i = 0; i < others; i++)
        row[positives + i] = scratch[i];
    return positives;
}

static int write_triplet(converter *f, size_t positive, size_t negative, aoe_error *err) {
    return write_row(f, positive, output_cell(f, positive, 0), output_cell(f, positive, 1), output_cell(f, negative, 1),
                     err);
}

/* Writes the triplets for one query. positive: [n_positive] rows whose text1 is the query and whose label is at least
 * the threshold. negative: [n_negative] rows whose text1 is the query and whose label is below the threshold. */
static int write_triplets_of(converter *f, const size_t *positive, size_t n_positive, const size_t *negative,
                             size_t n_negative, aoei_rng *rng, aoe_error *err) {
    int rc = 0;
    if (f->o->pairing == AOE_PAIRING_ZIP) {
        const size_t n = n_positive < n_negative ? n_positive : n_negative;
        for (size_t i = 0; i < n && !rc; i++)
            rc = write_triplet(f, positive[i], negative[i], err);
        f->result->unused += n_positive + n_negative - 2 * n;
        return rc;
    }
    for (size_t i = 0; i < n_positive && !rc; i++) {
        if (f->o->pairing == AOE_PAIRING_SAMPLE) {
            const size_t k = aoei_rng_below(rng, (uint32_t)n_negative);
            rc = write_triplet(f, positive[i], negative[k], err);
            f->drawn[k] = 1; /* marks the negative row as used */
        } else {
            for (size_t k = 0; k < n_negative && !rc; k++)
                rc = write_triplet(f, positive[i], negative[k], err);
        }
    }
    for (size_t k = 0; k < n_negative && f->o->pairing == AOE_PAIRING_SAMPLE; k++) {
        f->result->unused += !f->drawn[k];
        f->drawn[k] = 0;
    }
    return rc;
}

static int write_from_pairs(converter *f, aoe_error *err) {
    aoei_rng rng;
    aoei_rng_init(&rng, f->o->seed, AOEI_STREAM_SPLIT, 1);
    int rc = f->examples.n > UINT32_MAX
                 ? aoei_fail(err, AOE_EARG, "%s: the file has 2^32 rows or more; split it", f->examples.name)
                 : group_rows(f, err);
    size_t *scratch = rc ? NULL : aoei_malloc_array(f->examples.n, sizeof *scratch);
    f->drawn = rc ? NULL : aoei_calloc(f->examples.n, sizeof *f->drawn);
    if (!rc && (!scratch || !f->drawn))
        rc = aoei_fail_nomem(err, f->examples.n * sizeof *scratch);
    for (size_t t = 0; !rc && t < f->texts.n; t++) {
        size_t *row = f->next + f->first[t];
        const size_t n = f->first[t + 1] - f->first[t];
        if (!n)
            continue;
        const size_t positives = partition_rows(f, row, n, scratch);
        f->result->texts++;
        if (positives == 0 || positives == n) {
            f->result->without++;
            f->result->unused += n;
        } else {
            rc = write_triplets_of(f, row, positives, row + positives, n - positives, &rng, err);
        }
    }
    aoei_free(scratch);
    return rc;
}

/* ---- positives with random negatives */

/* Finds the candidates for negatives and the neighbors of each text. Two texts are neighbors if they occur in one
 * row. */
static int link_texts(converter *f, aoe_error *err) {
    const aoei_examples *e = &f->examples;
    size_t n_next;
    int rc = index_texts(f, err);
    if (!rc)
        rc = aoei_mul_size(e->n, 2, &n_next) ? aoei_fail_nomem(err, e->n) : reserve(f, f->texts.n, n_next, err);
    if (rc)
        return rc;
    char *is_candidate = aoei_calloc(f->texts.n, 1);
    f->candidate = aoei_malloc_array(f->texts.n, sizeof *f->candidate);
    if (!is_candidate || !f->candidate) {
        aoei_free(is_candidate);
        return aoei_fail_nomem(err, f->texts.n * sizeof *f->candidate);
    }
    for (size_t i = 0; i < 2 * e->n; i++)
        f->first[f->index[i] + 2]++;
    for (size_t t = 2; t <= f->texts.n; t++)
        f->first[t] += f->first[t - 1];
    for (size_t i = 0; i < 2 * e->n; i++)
        f->next[f->first[f->index[i] + 1]++] = f->index[i ^ 1];
    for (size_t t = 0; t < f->texts.n; t++)
        qsort(f->next + f->first[t], f->first[t + 1] - f->first[t], sizeof *f->next, aoei_compare_sizes);
    for (size_t i = 0; i < e->n; i++) {
        const size_t positive = f->index[2 * i + 1];
        if (!is_candidate[positive])
            f->candidate[f->n_candidates++] = positive;
        is_candidate[positive] = 1;
    }
    aoei_free(is_candidate);
    return 0;
}

/* Returns 1 if `text` can be a negative of `query`. It must not be the query, a neighbor of the query, or one of the n
 * negatives that were already drawn for the row. */
static int can_be_negative(const converter *f, size_t query, size_t text, size_t n) {
    const size_t *next = f->next + f->first[query];
    if (text == query || bsearch(&text, next, f->first[query + 1] - f->first[query], sizeof *next, aoei_compare_sizes))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (f->drawn[i] == text)
            return 0;
    return 1;
}

/* Draws up to options.negatives negatives for a query and stores their indices in f->drawn. Returns the number of
 * negatives. */
static size_t draw(converter *f, size_t query, aoei_rng *rng) {
    size_t n = 0;
    while (n < f->o->negatives) {
        size_t text = query, tries = 0;
        while (tries < TRIES && !can_be_negative(f, query, text, n)) {
            text = f->candidate[aoei_rng_below(rng, (uint32_t)f->n_candidates)];
            tries++;
        }
        const size_t start = aoei_rng_below(rng, (uint32_t)f->n_candidates);
        for (size_t i = 0; i < f->n_candidates && !can_be_negative(f, query, text, n); i++)
            text = f->candidate[(start + i) % f->n_candidates];
        if (!can_be_negative(f, query, text, n))
            break;
        f->drawn[n++] = text;
    }
    return n;
}

static int write_with_negatives(converter *f, aoe_error *err) {
    const aoei_examples *e = &f->examples;
    aoei_rng rng;
    aoei_rng_init(&rng, f->o->seed, AOEI_STREAM_SPLIT, 2);
    int rc = e->n > UINT32_MAX ? aoei_fail(err, AOE_EARG, "%s: the file has 2^32 rows or more; split it", e->name)
                               : link_texts(f, err);
    f->drawn = rc ? NULL : aoei_malloc_array(f->o->negatives, sizeof *f->drawn);
    if (!rc && !f->drawn)
        rc = aoei_fail_nomem(err, f->o->negatives * sizeof *f->drawn);
    for (size_t i = 0; i < e->n && !rc; i++) {
        const aoei_cell query = output_cell(f, i, 0), positive = output_cell(f, i, 1);
        const size_t n = draw(f, f->index[2 * i], &rng);
        f->result->without += n == 0;
        if (f->o->to == AOE_EXAMPLES_PAIRS)
            rc = write_pair(f, i, query, positive, 1, err);
        for (size_t k = 0; k < n && !rc; k++) {
            const aoei_cell negative = {.text = f->texts.text[f->drawn[k]]};
            rc = f->o->to == AOE_EXAMPLES_PAIRS ? write_pair(f, i, query, negative, 0, err)
                                                : write_row(f, i, query, positive, negative, err);
        }
    }
    return rc;
}

/* ---- the conversion */

static int makes_triplets_from_pairs(const converter *f) {
    return f->examples.kind == AOE_EXAMPLES_PAIRS && f->o->to == AOE_EXAMPLES_TRIPLETS;
}

static int draws_negatives(const converter *f) {
    return f->examples.kind == AOE_EXAMPLES_POSITIVES && f->o->to != AOE_EXAMPLES_POSITIVES && f->o->negatives;
}

static int read_examples(converter *f, const char *path, aoe_error *err) {
    aoe_table_options table = f->o->table;
    aoei_table *t;
    table.allow_empty = 1;
    int rc = aoei_table_open(&t, path, &table, err);
    if (rc)
        return rc;
    f->examples.kind = f->o->from;
    if (f->o->from == AOE_EXAMPLES_AUTO)
        rc = aoei_columns_detect_used(&f->examples.kind, t, table.columns, err);
    if (!rc) {
        const int lists = !makes_triplets_from_pairs(f) && !draws_negatives(f); /* if texts of different rows are
                                                                                   compared, rows must not contain lists
                                                                                   of alternatives */
        rc = aoei_examples_read(&f->examples, t, f->examples.kind, lists, &table, err);
    }
    if (!rc && f->o->to != AOE_EXAMPLES_PAIRS)
        rc = aoei_examples_check_scores(&f->examples, err);
    aoei_table_close(t);
    f->result->rows = f->examples.n;
    f->result->skipped = f->examples.skipped;
    f->result->dropped = f->examples.dropped;
    return rc;
}

static void find_threshold(converter *f) {
    const aoei_examples *e = &f->examples;
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t i = 0; i < e->n; i++) {
        lowest = fmin(lowest, e->label[i]);
        highest = fmax(highest, e->label[i]);
    }
    f->threshold = aoei_positive_threshold(f->o->threshold, lowest, highest);
}

static int open_output(converter *f, aoe_error *err) {
    static const char *const columns[][MAX_ROLES] = {[AOE_EXAMPLES_PAIRS] = {"text1", "text2", "label"},
                                                     [AOE_EXAMPLES_POSITIVES] = {"query", "positive", NULL},
                                                     [AOE_EXAMPLES_TRIPLETS] = {"query", "positive", "negative"}};
    aoe_text name[MAX_ROLES];
    size_t n = 0;
    for (; n < MAX_ROLES && columns[f->o->to][n]; n++)
        name[n] = aoe_text_of(columns[f->o->to][n]);
    return aoei_table_writer_open(&f->out, f->o->name, name, n, f->o->keep, f->o->rename, f->o->write, f->o->user, err);
}

static int write_all(converter *f, aoe_error *err) {
    if (f->examples.kind == AOE_EXAMPLES_POSITIVES && f->o->to == AOE_EXAMPLES_TRIPLETS && !f->o->negatives)
        return aoei_fail(err, AOE_EARG,
                         "triplets need a negative; set options.negatives to at least 1, or mine negatives");
    int rc = open_output(f, err);
    if (!rc)
        rc = makes_triplets_from_pairs(f) ? write_from_pairs(f, err)
             : draws_negatives(f)         ? write_with_negatives(f, err)
                                          : write_rows(f, err);
    if (!rc && !f->result->written)
        rc = aoei_fail(
            err, AOE_EFORMAT,
            "%s: none of the %zu rows can be converted: %s; change options.threshold or options.label_map, or use "
            "other data",
            f->examples.name, f->examples.n,
            makes_triplets_from_pairs(f) ? "no text1 has both a positive and a negative pair"
            : draws_negatives(f)         ? "every text already occurs with every other text"
                                         : "no label is at least the threshold");
    return rc ? rc : aoei_table_writer_end(&f->out, err);
}

int aoei_convert_examples(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result,
                          aoe_error *err) {
    converter f = {.o = o, .result = result};
    int rc = read_examples(&f, path, err);
    if (!rc) {
        find_threshold(&f);
        rc = write_all(&f, err);
    }
    aoei_table_writer_free(&f.out);
    aoei_distinct_free(&f.texts);
    aoei_examples_free(&f.examples);
    aoei_free(f.index);
    aoei_free(f.first);
    aoei_free(f.next);
    aoei_free(f.candidate);
    aoei_free(f.drawn);
    return rc;
}
