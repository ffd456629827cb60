/* SPDX-License-Identifier: MIT
 * Implements aoe_data_stats, which computes statistics of the texts and labels of a file. The length of each distinct
 * text is computed once. In the statistics, each occurrence of the text counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "dataset/records.h"
#include "dataset/text_classes.h"
#include "dataset/text_equality.h"
#include "table/labels.h"

enum {
    MAX_LABELS = 20 /* maximum number of distinct numeric labels that are listed one by one; if there are more, they are
                       counted in bins */
};

static const double quantiles[AOE_QUANTILES] = {0, 0.25, 0.5, 0.75, 0.9, 0.99, 1};

/* State of aoe_data_stats. */
typedef struct stats {
    const aoe_data_stats_options *o; /* options; borrowed */
    aoe_data_stats_result *result;   /* result of the call; borrowed */
    aoei_records records;            /* rows of the file; owned, like all fields below */
    aoei_names names;                /* distinct texts and labels */
    aoei_labels map;                 /* label map (options.table.label_map) */
    size_t *rows;                    /* [names.labels.n] number of rows with each label */
    size_t *length; /* [names.texts.n] length of each distinct text in the unit that is being processed: characters,
                       words or tokens */
    size_t *sorted; /* [records.n_texts] length of each text of the file, sorted ascending */
} stats;

AOEI_DEFAULTS(aoe_data_stats_options) {
    *o = (aoe_data_stats_options){
        .struct_size = sizeof *o, .equality = AOE_TEXT_EQUAL_EXACT, .threshold = AOE_AUTO, .bins = 10};
    aoe_table_options_defaults(&o->table);
}

/* ---- lengths */

/* Returns the quantile q of sorted[n] with linear interpolation. n must be positive. */
static double quantile(const size_t *sorted, size_t n, double q) {
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at, next = i + 1 < n ? i + 1 : i;
    return (double)sorted[i] + (at - (double)i) * ((double)sorted[next] - (double)sorted[i]);
}

static void summarize(stats *s, aoe_data_lengths *l) {
    const size_t n = s->records.n_texts;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        s->sorted[i] = s->length[s->records.text[i]];
        sum += (double)s->sorted[i];
        l->longer += s->o->longer && s->sorted[i] > s->o->longer;
    }
    l->mean = sum / (double)n;
    qsort(s->sorted, n, sizeof *s->sorted, aoei_compare_sizes);
    for (int q = 0; q < AOE_QUANTILES; q++)
        l->quantile[q] = quantile(s->sorted, n, quantiles[q]);
}

static size_t words(aoe_text t) {
    size_t n = 0;
    int inside = 0;
    for (size_t i = 0, step; i < t.len; i += step) {
        uint32_t cp = (unsigned char)t.data[i];
        step = cp < 0x80 ? 1 : aoei_utf8_decode(t.data + i, t.len - i, &cp);
        const int space = aoei_is_space((int32_t)cp);
        n += !space && !inside;
        inside = !space;
    }
    return n;
}

static int compute_lengths(stats *s, aoe_error *err) {
    const size_t n = s->names.texts.n;
    s->length = aoei_malloc_array(n, sizeof *s->length);
    s->sorted = aoei_malloc_array(s->records.n_texts, sizeof *s->sorted);
    if (!s->length || !s->sorted)
        return aoei_fail_nomem(err, s->records.n_texts * sizeof *s->sorted);
    for (size_t i = 0; i < n; i++)
        s->length[i] = aoei_utf8_chars(s->names.texts.text[i].data, s->names.texts.text[i].len);
    summarize(s, &s->result->characters);
    for (size_t i = 0; i < n; i++)
        s->length[i] = words(s->names.texts.text[i]);
    summarize(s, &s->result->words);
    if (!s->o->tokens)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const int rc = s->o->tokens(s->o->user, s->names.texts.text[i], &s->length[i], err);
        if (rc)
            return rc;
    }
    s->result->has_tokens = 1;
    summarize(s, &s->result->tokens);
    return 0;
}

static int count_distinct(stats *s, aoe_error *err) {
    const size_t n = s->names.texts.n;
    size_t *class = aoei_malloc_array(n, sizeof *class);
    const int rc = class ? aoei_text_classes(&s->names.texts, s->o->equality, class, err)
                         : aoei_fail_nomem(err, n * sizeof *class);
    for (size_t i = 0; i < n && !rc; i++)
        s->result->distinct += class[i] == i;
    aoei_free(class);
    return rc;
}

/* ---- labels */

/* Counts the rows with positive, negative, dropped and unknown labels. A label is positive if it is at least the
 * threshold. */
static int count_by_threshold(stats *s, aoe_error *err) {
    const size_t n = s->names.labels.n;
    aoe_data_stats_result *r = s->result;
    double *value = aoei_malloc_array(n, sizeof *value), lowest = INFINITY, highest = -INFINITY;
    s->rows = aoei_calloc(n, sizeof *s->rows);
    if (!value || !s->rows) {
        aoei_free(value);
        return aoei_fail_nomem(err, n * sizeof *value);
    }
    for (size_t i = 0; i < s->records.n; i++)
        s->rows[s->records.label[i]]++;
    for (size_t i = 0; i < n; i++) {
        const aoei_label kind = aoei_records_label(&s->records, &s->names, &s->map, i, &value[i]);
        if (kind == AOEI_LABEL_VALUE) {
            lowest = fmin(lowest, value[i]);
            highest = fmax(highest, value[i]);
            continue;
        }
        value[i] = NAN;
        *(kind == AOEI_LABEL_DROP ? &r->dropped : &r->unknown) += s->rows[i];
    }
    if (lowest <= highest)
        r->threshold = aoei_positive_threshold(s->o->threshold, lowest, highest);
    for (size_t i = 0; i < n; i++)
        if (!isnan(value[i]))
            *(value[i] >= r->threshold ? &r->positive : &r->negative) += s->rows[i];
    aoei_free(value);
    return 0;
}

static int by_value(const void *a, const void *b) {
    const aoe_data_label *x = a, *y = b;
    if (isnan(x->low) != isnan(y->low))
        return isnan(x->low) ? 1 : -1;
    if (!isnan(x->low))
        return (x->low > y->low) - (x->low < y->low);
    const size_t n = x->label.len < y->label.len ? x->label.len : y->label.len;
    const int c = n ? memcmp(x->label.data, y->label.data, n) : 0;
    return c ? c : (x->label.len > y->label.len) - (x->label.len < y->label.len);
}

/* Replaces numeric labels by bins of equal width. numbers: number of numeric labels, which are the first elements of
 * r->label. bins: number of bins. */
static int bin_labels(aoe_data_stats_result *r, size_t numbers, size_t bins, aoe_error *err) {
    const size_t n_names = r->labels - numbers;
    const double low = r->label[0].low, high = r->label[numbers - 1].low, width = (high - low) / (double)bins;
    size_t n_binned, at = 0;
    aoe_data_label *binned = aoei_add_size(bins, n_names, &n_binned) ? NULL : aoei_calloc(n_binned, sizeof *binned);
    if (!binned)
        return aoei_fail_nomem(err, bins * sizeof *binned);
    for (size_t b = 0; b < bins; b++) {
        const double to = b + 1 < bins ? low + width * (double)(b + 1) : high;
        binned[b] = (aoe_data_label){{"", 0}, low + width * (double)b, to, 0};
        while (at < numbers && (b + 1 == bins || r->label[at].low < to))
            binned[b].rows += r->label[at++].rows;
    }
    for (size_t i = 0; i < n_names; i++)
        binned[bins + i] = r->label[numbers + i];
    aoei_free(r->label);
    r->label = binned;
    r->labels = n_binned;
    return 0;
}

/* Sets r->label to all distinct labels with their number of rows. The bytes of the labels are copied to r->bytes. */
static int list_labels(stats *s, aoe_error *err) {
    const aoei_distinct *d = &s->names.labels;
    aoe_data_stats_result *r = s->result;
    size_t bytes = 1, numbers = 0;
    for (size_t i = 0; i < d->n; i++)
        bytes += d->text[i].len;
    r->label = aoei_calloc(d->n, sizeof *r->label);
    r->bytes = aoei_malloc(bytes);
    if (!r->label || !r->bytes)
        return aoei_fail_nomem(err, bytes);
    char *to = r->bytes;
    for (size_t i = 0; i < d->n; i++) {
        const aoe_text t = d->text[i];
        double x = NAN;
        numbers += aoei_number_of(t, &x) == AOEI_LABEL_VALUE;
        if (t.len)
            memcpy(to, t.data, t.len);
        r->label[i] = (aoe_data_label){{to, t.len}, x, x, s->rows[i]};
        to += t.len;
    }
    r->labels = d->n;
    qsort(r->label, r->labels, sizeof *r->label, by_value);
    return numbers > MAX_LABELS ? bin_labels(r, numbers, s->o->bins, err) : 0;
}

static int count_labels(stats *s, aoe_error *err) {
    s->result->has_labels = s->records.has_labels;
    if (!s->records.has_labels)
        return 0;
    int rc = aoei_labels_create(&s->map, &s->o->table, err);
    if (!rc)
        rc = count_by_threshold(s, err);
    return rc ? rc : list_labels(s, err);
}

int aoe_data_stats(const char *path, const aoe_data_stats_options *o, aoe_data_stats_result *result, aoe_error *err) {
    AOEI_CHECK(err, path, result);
    AOEI_RESULT(aoe_data_stats_result, result, err);
    AOEI_OPTIONS(aoe_data_stats_options, o, err);
    stats s = {.o = o, .result = result};
    const aoei_records_options read = {.table = &o->table};
    *result = (aoe_data_stats_result){.threshold = NAN};
    if (aoei_check_option("options.threshold", o->threshold, err))
        return AOE_EARG;
    int rc = o->bins ? aoei_records_read(&s.records, &s.names, path, &read, err)
                     : aoei_fail(err, AOE_EARG, "options.bins must be at least 1");
    if (!rc && !s.records.n)
        rc = aoei_records_fail_empty(&s.records, err);
    if (!rc) {
        result->rows = s.records.n;
        result->skipped = s.records.skipped;
        result->texts = s.records.n_texts;
        rc = count_labels(&s, err);
    }
    if (!rc)
        rc = count_distinct(&s, err);
    if (!rc)
        rc = compute_lengths(&s, err);
    aoei_labels_free(&s.map);
    aoei_names_free(&s.names);
    aoei_records_free(&s.records);
    aoei_free(s.rows);
    aoei_free(s.length);
    aoei_free(s.sorted);
    return rc;
}

void aoe_data_stats_free(aoe_data_stats_result *result) {
    aoe_data_stats_result full = {0};
    if (!result || aoei_struct_check(result, &aoei_layout_aoe_data_stats_result, __func__, NULL))
        return;
    aoei_struct_read(&full, result, &aoei_layout_aoe_data_stats_result);
    aoei_free(full.label);
    aoei_free(full.bytes);
    full.label = NULL;
    full.bytes = NULL;
    full.labels = 0;
    aoei_struct_write(result, &full, &aoei_layout_aoe_data_stats_result);
}
