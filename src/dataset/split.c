/* SPDX-License-Identifier: MIT
 * Implements aoe_data_split, which divides the rows of a file into parts. Rows are joined to clusters, and all rows of
 * a cluster are assigned to one part. A row is joined with the first row that contains one of its texts, with the first
 * row that has an equal value in the column options.group, and with the first row that contains a near duplicate of one
 * of its texts.
 */

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "dataset/clusters.h"
#include "dataset/near_duplicates.h"
#include "table/compress.h"
#include "dataset/records.h"
#include "dataset/text_classes.h"

/* State of aoe_data_split. */
typedef struct split {
    const aoe_data_split_options *o; /* options; borrowed */
    aoei_records records;            /* rows of the file; owned, like all fields below */
    aoei_names names;                /* distinct texts, labels and groups of the file */
    aoei_clusters rows;              /* clusters of rows */
    size_t *class; /* [names.texts.n] class of each distinct text: the index of the first text that is equal to it */
    size_t *first_row; /* [names.texts.n] for each class, the first row that contains a text of the class */
    size_t *cluster;   /* [records.n] number of the cluster that contains each row */
    size_t *weight;    /* [n_clusters] number of rows in each cluster */
    size_t *part;      /* [n_clusters] index of the part to which each cluster is assigned */
    size_t n_clusters; /* number of clusters */
} split;

AOEI_DEFAULTS(aoe_data_split_options) {
    static const double ratios[] = {0.8, 0.1, 0.1};
    *o = (aoe_data_split_options){
        .struct_size = sizeof *o, .equality = AOE_TEXT_EQUAL_CASE, .ratios = ratios, .parts = 3, .seed = 42};
    aoe_table_options_defaults(&o->table);
}

static int reserve(split *s, aoe_error *err) {
    const size_t n = s->records.n, texts = s->names.texts.n;
    s->class = aoei_malloc_array(texts, sizeof *s->class);
    s->first_row = aoei_malloc_array(texts, sizeof *s->first_row);
    s->cluster = aoei_malloc_array(n, sizeof *s->cluster);
    s->weight = aoei_calloc(n, sizeof *s->weight);
    s->part = aoei_calloc(n, sizeof *s->part);
    if (!s->class || !s->first_row || !s->cluster || !s->weight || !s->part)
        return aoei_fail_nomem(err, (texts + n) * sizeof *s->class);
    return aoei_clusters_create(&s->rows, n, err);
}

/* For each text of row i, joins row i with the first row that contains the text. */
static void join_texts(split *s, size_t i) {
    const aoei_records *r = &s->records;
    for (size_t k = r->first[i * r->roles]; k < r->first[(i + 1) * r->roles]; k++) {
        size_t *first_row = &s->first_row[s->class[r->text[k]]];
        if (*first_row == SIZE_MAX)
            *first_row = i;
        aoei_clusters_join(&s->rows, *first_row, i);
    }
}

static int join_groups(split *s, aoe_error *err) {
    const size_t groups = s->names.groups.n;
    size_t *first_row = aoei_malloc_array(groups, sizeof *first_row);
    if (!first_row)
        return aoei_fail_nomem(err, groups * sizeof *first_row);
    for (size_t g = 0; g < groups; g++)
        first_row[g] = SIZE_MAX;
    for (size_t i = 0; i < s->records.n; i++) {
        size_t *first = &first_row[s->records.group[i]];
        if (*first == SIZE_MAX)
            *first = i;
        aoei_clusters_join(&s->rows, *first, i);
    }
    aoei_free(first_row);
    return 0;
}

/* Joins rows that share a text, a group, or near duplicates into clusters, and counts the rows of each cluster. */
static int cluster_rows(split *s, size_t *near_pairs, aoe_error *err) {
    int rc = aoei_text_classes(&s->names.texts, s->o->equality, s->class, err);
    for (size_t i = 0; i < s->names.texts.n && !rc; i++)
        s->first_row[i] = SIZE_MAX;
    for (size_t i = 0; i < s->records.n && !rc; i++)
        join_texts(s, i);
    if (!rc && s->o->group)
        rc = join_groups(s, err);
    if (!rc && s->o->near_duplicates != 0)
        rc = aoei_near_duplicates_join(&s->rows, &s->names.texts, s->class, s->first_row, s->o->near_duplicates,
                                       near_pairs, err);
    if (rc)
        return rc;
    s->n_clusters = aoei_clusters_number(&s->rows, s->cluster);
    for (size_t i = 0; i < s->records.n; i++)
        s->weight[s->cluster[i]]++;
    return 0;
}

/* Counts the clusters, rows and texts of each part. A text is counted once, in the part of its first row. Fails if a
 * part has no rows. */
static int count_parts(split *s, aoe_data_split_part *part, aoe_data_split_result *result, aoe_error *err) {
    for (size_t p = 0; p < s->o->parts; p++)
        part[p] = (aoe_data_split_part){0};
    size_t largest = 0;
    for (size_t i = 0; i < s->n_clusters; i++) {
        part[s->part[i]].clusters++;
        part[s->part[i]].rows += s->weight[i];
        largest = s->weight[i] > s->weight[largest] ? i : largest;
    }
    for (size_t i = 0; i < s->names.texts.n; i++)
        if (s->class[i] == i) {
            part[s->part[s->cluster[s->first_row[i]]]].texts++;
            result->texts++;
        }
    result->rows = s->records.n;
    result->skipped = s->records.skipped;
    result->clusters = s->n_clusters;
    result->largest = s->weight[largest];
    size_t row = 0;
    while (s->cluster[row] != largest)
        row++;
    result->largest_line = s->records.line[row];
    for (size_t p = 0; p < s->o->parts; p++)
        if (!part[p].rows)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: split %zu of %zu would have no rows, because rows that share a text are in one split (number of "
                "clusters of such rows: %zu; largest cluster: %zu of %zu rows, from line %zu); use fewer splits, other "
                "ratios, or more data",
                s->records.name, p + 1, s->o->parts, s->n_clusters, result->largest, s->records.n,
                result->largest_line);
    return 0;
}

/* Writes the rows of each part in the order of the input, after the header. */
static int write_parts(split *s, aoe_error *err) {
    const size_t parts = s->o->parts;
    const aoei_codec codec = s->o->name ? aoei_codec_of(s->o->name) : AOEI_CODEC_PLAIN;
    aoei_compressor *compressor = aoei_calloc(parts, sizeof *compressor);
    int rc = compressor ? 0 : aoei_fail_nomem(err, parts * sizeof *compressor);
    for (size_t p = 0; p < parts && !rc; p++) {
        rc = aoei_compress_open(&compressor[p], codec, s->o->write, s->o->user, p, err);
        if (!rc)
            rc = aoei_compress_write(&compressor[p], s->records.header.data, s->records.header.len, err);
    }
    for (size_t i = 0; i < s->records.n && !rc; i++)
        rc = aoei_compress_write(&compressor[s->part[s->cluster[i]]], s->records.row[i].data, s->records.row[i].len,
                                 err);
    for (size_t p = 0; p < parts && !rc; p++)
        rc = aoei_compress_end(&compressor[p], err);
    for (size_t p = 0; p < parts && compressor; p++)
        aoei_compress_free(&compressor[p]);
    aoei_free(compressor);
    return rc;
}

static void split_free(split *s) {
    aoei_names_free(&s->names);
    aoei_records_free(&s->records);
    aoei_clusters_free(&s->rows);
    aoei_free(s->class);
    aoei_free(s->first_row);
    aoei_free(s->cluster);
    aoei_free(s->weight);
    aoei_free(s->part);
}

int aoe_data_split(const char *path, const aoe_data_split_options *o, aoe_data_split_part *part,
                   aoe_data_split_result *result, aoe_error *err) {
    AOEI_CHECK(err, path, part);
    AOEI_RESULT(aoe_data_split_result, result, err);
    AOEI_OPTIONS(aoe_data_split_options, o, err);
    if (!o->ratios || !o->parts || !o->write)
        return aoei_fail(err, AOE_EARG, "options.%s is missing", o->ratios && o->parts ? "write" : "ratios");
    split s = {.o = o};
    for (size_t p = 0; p < o->parts; p++)
        if (!(o->ratios[p] > 0))
            return aoei_fail(err, AOE_EARG, "options.ratios[%zu] is %g; split ratios must be positive", p,
                             o->ratios[p]);
    const aoei_records_options read = {.table = &o->table, .group = o->group, .keep_rows = 1};
    int rc = aoei_records_read(&s.records, &s.names, path, &read, err);
    if (!rc && !s.records.n)
        rc = aoei_records_fail_empty(&s.records, err);
    if (!rc)
        rc = reserve(&s, err);
    if (!rc)
        rc = cluster_rows(&s, &result->near_pairs, err);
    if (!rc)
        rc = aoei_clusters_split(s.part, s.weight, s.n_clusters, o->ratios, o->parts, o->seed, err);
    if (!rc)
        rc = count_parts(&s, part, result, err);
    if (!rc)
        rc = write_parts(&s, err);
    split_free(&s);
    return rc;
}
