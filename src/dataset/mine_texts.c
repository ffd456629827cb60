/* SPDX-License-Identifier: MIT
 * Reads the files for mining hard negatives, groups their texts into classes, and builds an index that lists for each
 * class the rows that contain a text of the class. A class contains the texts with equal tokens (mine_texts.h).
 */
#include "dataset/mine_texts.h"

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "table/labels.h"

#include <math.h>
#include <string.h>

enum { QUERY = 0, POSITIVE = 1 }; /* text roles of a row */

/* Removes the empty texts of a corpus file. */
static void remove_empty(aoei_examples *e) {
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        if (!aoei_text_is_empty(e->text[i])) {
            e->text[n] = e->text[i];
            e->line[n++] = e->line[i];
        }
    for (size_t i = 0; i <= n; i++)
        e->first[i] = i;
    e->n = e->n_texts = n;
}

/* Replaces "options." in a message of the table reader by "options.corpus_table.", the options of the corpus. */
static void name_corpus_options(aoe_error *err) {
    static const char field[] = "options.", corpus[] = "options.corpus_table.";
    char message[sizeof err->message];
    size_t n = 0;
    if (!err)
        return;
    for (const char *s = err->message; *s && n + sizeof corpus < sizeof message;) {
        const int is_field = strncmp(s, field, sizeof field - 1) == 0;
        memcpy(message + n, is_field ? corpus : s, is_field ? sizeof corpus - 1 : 1);
        n += is_field ? sizeof corpus - 1 : 1;
        s += is_field ? sizeof field - 1 : 1;
    }
    message[n] = 0;
    memcpy(err->message, message, n + 1);
}

static int read_corpus(aoei_examples *e, const char *path, const aoe_mine_options *o, aoe_error *err) {
    aoe_table_options table = o->corpus_table;
    aoei_table *t;
    table.allow_empty = 1;
    int code = aoei_table_open(&t, path, &table, err);
    if (!code)
        code = aoei_examples_read(e, t, AOE_EXAMPLES_TEXTS, 0, &table, err);
    aoei_table_close(t);
    if (!code)
        remove_empty(e);
    else
        name_corpus_options(err);
    return code;
}

static int read_files(aoei_mine_texts *t, const aoe_mine_options *o, aoe_error *err) {
    aoe_table_options table = o->table;
    table.allow_empty = 0;
    t->file = aoei_calloc(o->n_files + o->n_corpus, sizeof *t->file);
    if (!t->file)
        return aoei_fail_nomem(err, (o->n_files + o->n_corpus) * sizeof *t->file);
    t->n_training = o->n_files;
    int code = AOE_OK;
    for (; t->n_files < o->n_files + o->n_corpus && !code; t->n_files++) {
        aoei_examples *e = &t->file[t->n_files];
        if (t->n_files < o->n_files) {
            code = aoei_examples_load(e, o->files[t->n_files], o->kind, &table, err);
            code = code ? code : aoei_examples_check_scores(e, err);
        } else {
            code = read_corpus(e, o->corpus[t->n_files - o->n_files], o, err);
        }
        t->n_texts += e->n_texts;
    }
    if (!code && t->n_texts > UINT32_MAX - 2)
        return aoei_fail(err, AOE_EFORMAT, "%zu texts are too many; use files with at most 2^32 - 3 texts in total",
                         t->n_texts);
    return code;
}

/* Returns the threshold for positives: a labeled pair is positive if its label is at least this value. */
static double threshold_of(const aoei_examples *e, double option) {
    double lowest = e->label[0], highest = e->label[0];
    for (size_t i = 1; i < e->n; i++) {
        lowest = e->label[i] < lowest ? e->label[i] : lowest;
        highest = e->label[i] > highest ? e->label[i] : highest;
    }
    return aoei_positive_threshold(option, lowest, highest);
}

static int find_rows(aoei_mine_texts *t, const aoe_mine_options *o, aoe_error *err) {
    const uint32_t *class_of = t->class_of;
    for (size_t f = 0; f < t->n_training; class_of += t->file[f++].n_texts) {
        const aoei_examples *e = &t->file[f];
        const double threshold = e->kind == AOE_EXAMPLES_PAIRS ? threshold_of(e, o->threshold) : -INFINITY;
        for (size_t i = 0; i < e->n; i++) {
            if (!(e->label[i] >= threshold)) {
                t->below++;
                continue;
            }
            if (aoei_grow((void **)&t->row, &t->row_capacity, t->n_rows, sizeof *t->row))
                return aoei_fail_nomem(err, (t->n_rows + 1) * sizeof *t->row);
            t->row[t->n_rows++] = (aoei_mine_row){e, i, class_of};
        }
    }
    if (t->n_rows)
        return AOE_OK;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: no label is at least options.threshold; reduce options.threshold or use a file with positive pairs",
        t->file[0].name);
}

/* Sets candidate[i] to 1 if text i may be a negative, and to 0 otherwise. `candidate` has n_texts elements. */
static void mark_candidates(const aoei_mine_texts *t, const aoe_mine_options *o, uint8_t *candidate) {
    for (size_t f = 0; f < t->n_files; candidate += t->file[f++].n_texts) {
        const aoei_examples *e = &t->file[f];
        if (f >= t->n_training) {
            memset(candidate, 1, e->n_texts);
            continue;
        }
        for (size_t i = 0; i < e->n; i++) {
            const size_t *first = e->first + i * e->roles;
            memset(candidate + first[QUERY], o->from_queries != 0, first[POSITIVE] - first[QUERY]);
            memset(candidate + first[POSITIVE], o->n_corpus == 0, first[e->roles] - first[POSITIVE]);
        }
    }
}

/* Renumbers the classes that aoei_token_classes computed, so that the numbers are consecutive and classes that contain
 * a candidate text have the lowest numbers. number: [n_texts] workspace, which the caller fills with UINT32_MAX. */
static void number_classes(aoei_mine_texts *t, const uint8_t *candidate, uint32_t *number) {
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t i = 0; i < t->n_texts; i++) {
            if (candidate[i] != wanted || number[t->class_of[i]] != UINT32_MAX)
                continue;
            number[t->class_of[i]] = (uint32_t)t->n_classes;
            t->representative[t->n_classes++] = (uint32_t)i;
        }
        if (wanted)
            t->n_candidates = t->n_classes;
    }
    for (size_t i = 0; i < t->n_texts; i++)
        t->class_of[i] = number[t->class_of[i]];
}

/* Copies the tokens of each class's representative from `all` to t->tokens. */
static int keep_class_tokens(aoei_mine_texts *t, const aoei_token_lists *all, aoe_error *err) {
    aoei_token_lists *l = &t->tokens;
    size_t total = 0;
    for (size_t c = 0; c < t->n_classes; c++)
        total += aoei_token_count(all, t->representative[c]);
    l->ids = aoei_malloc_array(total ? total : 1, sizeof *l->ids);
    l->offsets = aoei_malloc_array(t->n_classes + 1, sizeof *l->offsets);
    l->truncated = aoei_malloc_array(t->n_classes, sizeof *l->truncated);
    l->skipped = all->skipped ? aoei_malloc_array(t->n_classes, sizeof *l->skipped) : NULL;
    if (!l->ids || !l->offsets || !l->truncated || (all->skipped && !l->skipped))
        return aoei_fail_nomem(err, total * sizeof *l->ids);
    l->n = t->n_classes;
    l->offsets[0] = 0;
    for (size_t c = 0; c < t->n_classes; c++) {
        const size_t i = t->representative[c], n = aoei_token_count(all, i);
        if (n)
            memcpy(l->ids + l->offsets[c], all->ids + all->offsets[i], n * sizeof *l->ids);
        l->offsets[c + 1] = l->offsets[c] + n;
        l->truncated[c] = all->truncated[i];
        if (l->skipped)
            l->skipped[c] = all->skipped[i];
        t->truncated += all->truncated[i];
    }
    return AOE_OK;
}

static int find_classes(aoei_mine_texts *t, const aoei_token_lists *all, const aoe_mine_options *o, aoe_error *err) {
    uint8_t *candidate = aoei_malloc(t->n_texts);
    uint32_t *number = aoei_malloc_array(t->n_texts, sizeof *number);
    int code = AOE_OK;
    if (!candidate || !number)
        code = aoei_fail_nomem(err, t->n_texts * sizeof *number);
    if (!code)
        code = aoei_token_classes(all, t->class_of, err);
    if (!code) {
        mark_candidates(t, o, candidate);
        memset(number, 0xFF, t->n_texts * sizeof *number);
        number_classes(t, candidate, number);
        if (!t->n_candidates)
            code = aoei_fail(err, AOE_EFORMAT, "%s: the corpus contains no texts; use a file with texts, or no corpus",
                             t->file[t->n_training].name);
    }
    if (!code)
        code = keep_class_tokens(t, all, err);
    aoei_free(candidate);
    aoei_free(number);
    return code;
}

static int tokenize(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err) {
    t->text = aoei_malloc_array(t->n_texts, sizeof *t->text);
    t->class_of = aoei_malloc_array(t->n_texts, sizeof *t->class_of);
    t->representative = aoei_malloc_array(t->n_texts, sizeof *t->representative);
    if (!t->text || !t->class_of || !t->representative)
        return aoei_fail_nomem(err, t->n_texts * sizeof *t->text);
    size_t n = 0, failed;
    for (size_t f = 0; f < t->n_files; n += t->file[f++].n_texts)
        if (t->file[f].n_texts)
            memcpy(t->text + n, t->file[f].text, t->file[f].n_texts * sizeof *t->text);
    aoei_token_lists all;
    int code = aoei_encode_for_inference(m->ctx, m, t->text, t->n_texts, NULL, 0, &all, &failed, err);
    if (code)
        return failed == (size_t)-1 ? code : aoei_mine_prefix_error(t, failed, code, err);
    code = find_classes(t, &all, o, err);
    aoei_token_lists_free(&all);
    return code;
}

/* Builds t->member in two calls. In the first call, t->member is NULL, and the function counts the entries of each
 * class: next[class] is incremented for each query or positive of the class. In the second call, next[class] is the
 * index in t->member of the next entry of the class; the function stores the row there and increments next[class]. */
static void add_members(aoei_mine_texts *t, size_t *next) {
    for (size_t r = 0; r < t->n_rows; r++) {
        const aoei_mine_row *row = &t->row[r];
        for (size_t i = aoei_mine_role(row, QUERY); i < aoei_mine_role(row, POSITIVE + 1); i++) {
            size_t *place = &next[row->class_of[i]];
            if (t->member)
                t->member[*place] = (uint32_t)r;
            ++*place;
        }
    }
}

static int index_members(aoei_mine_texts *t, aoe_error *err) {
    size_t *next = aoei_calloc(t->n_classes + 1, sizeof *next), sum = 0;
    t->member_first = aoei_malloc_array(t->n_classes + 1, sizeof *t->member_first);
    int code = next && t->member_first ? AOE_OK : aoei_fail_nomem(err, (t->n_classes + 1) * sizeof *next);
    if (!code) {
        add_members(t, next);
        for (size_t c = 0; c <= t->n_classes; c++) {
            const size_t count = next[c];
            next[c] = t->member_first[c] = sum;
            sum += count;
        }
        t->member = aoei_malloc_array(sum, sizeof *t->member);
        if (t->member)
            add_members(t, next);
        else
            code = aoei_fail_nomem(err, sum * sizeof *t->member);
    }
    aoei_free(next);
    return code;
}

/* Checks that a .tsv file can represent all texts. If it cannot, the error is reported before any output is written. */
static int check_for_tsv(const aoei_mine_texts *t, aoe_error *err) {
    static const char remedy[] = "which .tsv cannot represent; use .jsonl for the output";
    for (size_t r = 0; r < t->n_rows; r++)
        if (aoei_mine_role(&t->row[r], POSITIVE + 1) - aoei_mine_role(&t->row[r], QUERY) > 2)
            return aoei_fail(err, AOE_EFORMAT, "%s:%zu: the row contains a list of alternatives, %s",
                             t->row[r].file->name, t->row[r].file->line[t->row[r].example], remedy);
    for (size_t i = 0; i < t->n_texts; i++)
        for (size_t k = 0; k < t->text[i].len; k++)
            if (t->text[i].data[k] == '\t' || t->text[i].data[k] == '\n' || t->text[i].data[k] == '\r')
                return aoei_mine_prefix_error(
                    t, i, aoei_fail(err, AOE_EFORMAT, "the text contains a TAB or a line end, %s", remedy), err);
    return AOE_OK;
}

int aoei_mine_texts_read(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err) {
    *t = (aoei_mine_texts){0};
    int code = read_files(t, o, err);
    if (!code)
        code = tokenize(t, m, o, err);
    if (!code)
        code = find_rows(t, o, err);
    if (!code && o->for_tsv)
        code = check_for_tsv(t, err);
    if (!code)
        code = index_members(t, err);
    return code;
}

void aoei_mine_texts_drop_tokens(aoei_mine_texts *t) {
    aoei_token_lists_free(&t->tokens);
}

void aoei_mine_texts_free(aoei_mine_texts *t) {
    for (size_t f = 0; t->file && f < t->n_files; f++)
        aoei_examples_free(&t->file[f]);
    aoei_free(t->file);
    aoei_free(t->text);
    aoei_free(t->class_of);
    aoei_free(t->representative);
    aoei_token_lists_free(&t->tokens);
    aoei_free(t->row);
    aoei_free(t->member_first);
    aoei_free(t->member);
    *t = (aoei_mine_texts){0};
}

static int contains(const uint32_t *row, size_t n, uint32_t wanted) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (row[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && row[low] == wanted;
}

int aoei_mine_related(const aoei_mine_texts *t, uint32_t a, uint32_t b) {
    const uint32_t *rows_a = t->member + t->member_first[a], *rows_b = t->member + t->member_first[b];
    const size_t n_a = t->member_first[a + 1] - t->member_first[a], n_b = t->member_first[b + 1] - t->member_first[b];
    if (n_a > n_b)
        return aoei_mine_related(t, b, a);
    for (size_t i = 0; i < n_a; i++)
        if (contains(rows_b, n_b, rows_a[i]))
            return 1;
    return 0;
}

int aoei_mine_prefix_error(const aoei_mine_texts *t, size_t i, int code, aoe_error *err) {
    size_t f = 0;
    for (; i >= t->file[f].n_texts; f++)
        i -= t->file[f].n_texts;
    aoei_error_prefix(err, "%s:%zu", t->file[f].name, aoei_examples_line(&t->file[f], i));
    return code;
}
