/* SPDX-License-Identifier: MIT
 * Implements aoe_data_dedup, which removes duplicate rows. Rows with equal texts have the same key. A row is compared
 * with the first row that has its key, and with earlier rows that have its key and its label.
 */
#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "table/compress.h"
#include "dataset/records.h"
#include "dataset/text_classes.h"

/* State of aoe_data_dedup. */
typedef struct dedup {
    const aoe_data_dedup_options *o;  /* options; borrowed */
    aoei_records records;             /* rows of the file; owned, like all fields below */
    aoei_names names;                 /* distinct texts and labels */
    aoei_distinct keys, labeled_keys; /* keys: distinct keys of rows; labeled_keys: distinct pairs (key, label) */
    size_t *class; /* [names.texts.n] class of each distinct text: the index of the first text that is equal to it */
    size_t *key;   /* [records.n] key of each row, an index in `keys` */
    size_t *first; /* [keys.n] first row with each key */
    char *has_conflict; /* [keys.n] 1: the rows with this key have different labels */
    aoe_text *text;     /* [capacity] texts of the row that is being reported */
    size_t capacity;    /* allocated elements of `text` */
} dedup;

AOEI_DEFAULTS(aoe_data_dedup_options) {
    *o = (aoe_data_dedup_options){
        .struct_size = sizeof *o, .equality = AOE_TEXT_EQUAL_EXACT, .conflicts = AOE_CONFLICTS_FIRST};
    aoe_table_options_defaults(&o->table);
}

static int find_keys(dedup *d, aoe_error *err) {
    const size_t n = d->records.n, texts = d->names.texts.n;
    d->class = aoei_malloc_array(texts, sizeof *d->class);
    d->key = aoei_malloc_array(n, sizeof *d->key);
    d->first = aoei_malloc_array(n, sizeof *d->first);
    d->has_conflict = aoei_calloc(n, 1);
    if (!d->class || !d->key || !d->first || !d->has_conflict)
        return aoei_fail_nomem(err, (n + texts) * sizeof *d->class);
    int rc = aoei_text_classes(&d->names.texts, d->o->equality, d->class, err);
    if (!rc)
        rc = aoei_records_keys(&d->records, d->class, d->o->ordered, &d->keys, d->key, err);
    if (rc)
        return rc;
    for (size_t i = n; i-- > 0;)
        d->first[d->key[i]] = i;
    for (size_t i = 0; i < n; i++)
        d->has_conflict[d->key[i]] |= d->records.label[i] != d->records.label[d->first[d->key[i]]];
    return 0;
}

static int report(dedup *d, size_t row, aoe_error *err) {
    const aoei_records *r = &d->records;
    const size_t first = d->first[d->key[row]], from = r->first[row * r->roles],
                 n = r->first[(row + 1) * r->roles] - from;
    if (!d->o->report)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (aoei_grow((void **)&d->text, &d->capacity, i, sizeof *d->text))
            return aoei_fail_nomem(err, n * sizeof *d->text);
        d->text[i] = d->names.texts.text[r->text[from + i]];
    }
    const aoe_data_conflict conflict = {.struct_size = sizeof(aoe_data_conflict),
                                        .first = r->line[first],
                                        .line = r->line[row],
                                        .first_label = d->names.labels.text[r->label[first]],
                                        .label = d->names.labels.text[r->label[row]],
                                        .text = d->text,
                                        .n = n};
    d->o->report(d->o->user, &conflict);
    return 0;
}

/* Sets *is_written to 1 if the row is written to the output, and to 0 if it is removed. Updates the counts in
 * *result. */
static int decide(dedup *d, size_t row, int *is_written, aoe_data_dedup_result *result, aoe_error *err) {
    const aoei_records *r = &d->records;
    const size_t key = d->key[row], pair[2] = {key, r->label[row]}, known_keys = d->labeled_keys.n;
    size_t number;
    int rc = aoei_distinct_add(&d->labeled_keys, (aoe_text){(const char *)pair, sizeof pair}, 0, &number, err);
    if (rc)
        return rc;
    const int is_duplicate = number < known_keys, has_other_label = r->label[row] != r->label[d->first[key]];
    if (has_other_label) {
        result->conflicts++;
        rc = report(d, row, err);
    }
    const int dropped = d->o->conflicts == AOE_CONFLICTS_DROP    ? d->has_conflict[key]
                        : d->o->conflicts == AOE_CONFLICTS_FIRST ? has_other_label
                                                                 : 0;
    *is_written = !dropped && !is_duplicate;
    result->dropped += (size_t)dropped;
    result->duplicates += !dropped && is_duplicate;
    result->kept += (size_t)*is_written;
    return rc;
}

static int write_rows(dedup *d, aoe_data_dedup_result *result, aoe_error *err) {
    aoei_compressor compressor;
    const aoei_records *r = &d->records;
    int rc = aoei_compress_open(&compressor, d->o->name ? aoei_codec_of(d->o->name) : AOEI_CODEC_PLAIN, d->o->write,
                                d->o->user, 0, err);
    if (!rc)
        rc = aoei_compress_write(&compressor, r->header.data, r->header.len, err);
    for (size_t i = 0; i < r->n && !rc; i++) {
        int is_written = 0;
        rc = decide(d, i, &is_written, result, err);
        if (!rc && is_written)
            rc = aoei_compress_write(&compressor, r->row[i].data, r->row[i].len, err);
    }
    if (!rc)
        rc = aoei_compress_end(&compressor, err);
    if (!rc && !result->kept)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: no rows are left: every row has a duplicate with a different label; correct the labels",
                       r->name);
    aoei_compress_free(&compressor);
    return rc;
}

static void dedup_free(dedup *d) {
    aoei_names_free(&d->names);
    aoei_records_free(&d->records);
    aoei_distinct_free(&d->keys);
    aoei_distinct_free(&d->labeled_keys);
    aoei_free(d->class);
    aoei_free(d->key);
    aoei_free(d->first);
    aoei_free(d->has_conflict);
    aoei_free(d->text);
}

int aoe_data_dedup(const char *path, const aoe_data_dedup_options *o, aoe_data_dedup_result *result, aoe_error *err) {
    AOEI_CHECK(err, path);
    AOEI_RESULT(aoe_data_dedup_result, result, err);
    AOEI_OPTIONS(aoe_data_dedup_options, o, err);
    if (!o->write)
        return aoei_fail(err, AOE_EARG, "options.write is missing");
    dedup d = {.o = o};
    const aoei_records_options read = {.table = &o->table, .keep_rows = 1};
    int rc = aoei_records_read(&d.records, &d.names, path, &read, err);
    if (!rc && !d.records.n)
        rc = aoei_records_fail_empty(&d.records, err);
    if (!rc)
        rc = find_keys(&d, err);
    if (!rc) {
        result->rows = d.records.n;
        result->skipped = d.records.skipped;
        rc = write_rows(&d, result, err);
    }
    dedup_free(&d);
    return rc;
}
