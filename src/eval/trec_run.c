/* SPDX-License-Identifier: MIT
 * Reads and writes run files. The lines of a run file may have any order; they are sorted by query and score.
 */
#include "eval/trec_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "table/labels.h"
#include "table/lines.h"

enum { FIELDS = 6 };

/* A line of a run file. */
typedef struct entry {
    size_t query;  /* index in aoei_retrieval_data.query */
    uint32_t text; /* index of the document */
    float score;   /* trec_eval compares scores in float32 */
    size_t line;   /* line number, counted from 1 */
} entry;

/* The entries of a run file, and what is needed to read them. */
typedef struct reader {
    const aoei_retrieval_data *d;
    aoei_name *texts, *queries; /* ids in ascending order; owned */
    size_t *position; /* [d->queries.n] index in d->query of each query of the file; d->n_queries: not evaluated */
    entry *item;      /* [n] owned */
    size_t n, capacity;
} reader;

/* Splits a line at spaces and tabs. Returns the number of fields, of which the first FIELDS are stored. */
static size_t split(aoe_text field[FIELDS], const aoei_line *line) {
    size_t n = 0, i = 0;
    for (;;) {
        while (i < line->len && (line->data[i] == ' ' || line->data[i] == '\t'))
            i++;
        const size_t start = i;
        while (i < line->len && line->data[i] != ' ' && line->data[i] != '\t')
            i++;
        if (i == start)
            return n;
        if (n++ < FIELDS)
            field[n - 1] = (aoe_text){line->data + start, i - start};
    }
}

static int bad_line(const aoei_lines *lines, const aoei_line *line, const char *what, aoe_text value, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    return aoei_fail(err, AOE_EFORMAT, "%s:%zu: %s%s%s; correct the line or set options.skip_bad_rows",
                     aoei_lines_name(lines), line->number, what, value.data ? " " : "",
                     value.data ? aoei_excerpt(excerpt, value) : "");
}

/* Stores a line of the run file. Returns AOE_EFORMAT for a bad line. */
static int add_line(reader *r, const aoei_lines *lines, const aoei_line *line, aoe_error *err) {
    aoe_text f[FIELDS];
    const aoe_text none = {NULL, 0};
    double score;
    const size_t n = split(f, line);
    if (!n)
        return 0;
    if (n != FIELDS)
        return bad_line(lines, line, "expected six fields: QUERY Q0 DOCUMENT RANK SCORE TAG", none, err);
    const uint32_t query = aoei_names_find(r->queries, r->d->queries.n, f[0]);
    if (query == AOEI_NO_TEXT)
        return bad_line(lines, line, "queries.jsonl does not contain the query", f[0], err);
    const uint32_t text = aoei_names_find(r->texts, r->d->texts.n, f[2]);
    if (text == AOEI_NO_TEXT)
        return bad_line(lines, line, "corpus.jsonl does not contain the document", f[2], err);
    if (aoei_number_of(f[4], &score) != AOEI_LABEL_VALUE)
        return bad_line(lines, line, "the score is not a number:", f[4], err);
    const size_t position = r->position[query];
    if (position == r->d->n_queries || r->d->query[position].own == text)
        return 0;
    if (aoei_grow((void **)&r->item, &r->capacity, r->n, sizeof *r->item))
        return aoei_fail_nomem(err, (r->n + 1) * sizeof *r->item);
    r->item[r->n++] = (entry){position, text, (float)score, line->number};
    return 0;
}

static int read_lines(reader *r, const char *path, int skip_bad_rows, size_t *skipped, aoe_error *err) {
    aoei_lines *lines;
    aoei_line line;
    int rc = aoei_lines_open(&lines, path, err), more = 0;
    while (!rc && (more = aoei_lines_next(lines, &line, err)) == 1) {
        rc = add_line(r, lines, &line, err);
        if (rc == AOE_EFORMAT && skip_bad_rows) {
            ++*skipped;
            rc = 0;
        }
    }
    aoei_lines_close(lines);
    return rc ? rc : more;
}

/* Comparison function for qsort: sorts entries by query, then by document, then by line. */
static int by_text(const void *pa, const void *pb) {
    const entry *a = pa, *b = pb;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Comparison function for qsort: sorts entries by query, then by descending score, then by descending id (the order of
 * the texts), as trec_eval does. */
static int by_score(const void *pa, const void *pb) {
    const entry *a = pa, *b = pb;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

/* Fails if a document occurs twice in the list of a query. */
static int check_repeated(reader *r, const char *path, aoe_error *err) {
    if (r->n)
        qsort(r->item, r->n, sizeof *r->item, by_text);
    for (size_t i = 1; i < r->n; i++)
        if (r->item[i].query == r->item[i - 1].query && r->item[i].text == r->item[i - 1].text)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu: the document is already in line %zu for this query; remove one line", path,
                             r->item[i].line, r->item[i - 1].line);
    return 0;
}

/* Reads the ids, and finds the evaluated queries. */
static int open_ids(reader *r, aoe_error *err) {
    r->texts = aoei_names_sort(&r->d->texts, err);
    r->queries = r->texts ? aoei_names_sort(&r->d->queries, err) : NULL;
    if (!r->queries)
        return AOE_ENOMEM;
    r->position = aoei_malloc_array(r->d->queries.n, sizeof *r->position);
    if (!r->position)
        return aoei_fail_nomem(err, r->d->queries.n * sizeof *r->position);
    for (size_t i = 0; i < r->d->queries.n; i++)
        r->position[i] = r->d->n_queries;
    for (size_t i = 0; i < r->d->n_queries; i++)
        r->position[r->d->query[i].index] = i;
    return 0;
}

int aoei_trec_run_read(uint32_t *text, const aoei_retrieval_data *d, size_t k, const char *path, int skip_bad_rows,
                       size_t *skipped, aoe_error *err) {
    reader r = {.d = d};
    int rc = open_ids(&r, err);
    if (!rc)
        rc = read_lines(&r, path, skip_bad_rows, skipped, err);
    if (!rc)
        rc = check_repeated(&r, path, err);
    if (!rc && r.n)
        qsort(r.item, r.n, sizeof *r.item, by_score);
    for (size_t i = 0; !rc && i < d->n_queries * k; i++)
        text[i] = AOEI_NO_TEXT;
    size_t rank = 0;
    for (size_t i = 0; !rc && i < r.n; i++) {
        rank = i && r.item[i].query == r.item[i - 1].query ? rank + 1 : 0;
        if (rank < k)
            text[r.item[i].query * k + rank] = r.item[i].text;
    }
    aoei_free(r.texts);
    aoei_free(r.queries);
    aoei_free(r.position);
    aoei_free(r.item);
    return rc;
}

static int check_id(aoe_text id, const char *file, size_t line, aoe_error *err) {
    for (size_t i = 0; i < id.len; i++)
        if ((unsigned char)id.data[i] <= ' ')
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu: the id contains white space, which a run file cannot represent; change the id",
                             file, line);
    return 0;
}

int aoei_trec_run_append(aoei_buffer *b, const aoei_retrieval_data *d, size_t query, uint32_t text, size_t rank,
                         double score, aoe_error *err) {
    const uint32_t index = d->query[query].index;
    const aoe_text q = d->queries.text[d->queries.first[index * d->queries.roles]],
                   t = d->texts.text[d->texts.first[text * d->texts.roles]];
    int rc = check_id(q, d->queries.name, d->queries.line[index], err);
    if (rc || (rc = check_id(t, d->texts.name, d->texts.line[text], err)))
        return rc;
    aoei_buffer_append(b, q.data, q.len);
    aoei_buffer_append(b, " Q0 ", 4);
    aoei_buffer_append(b, t.data, t.len);
    aoei_buffer_printf(b, " %zu %.9g aoe\n", rank, score);
    return b->failed ? aoei_fail_nomem(err, b->len) : 0;
}
