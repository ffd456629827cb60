/* SPDX-License-Identifier: MIT
 * Reads data for retrieval evaluations. To find groups and ids, names are sorted. The results are stored in file order,
 * so they do not depend on the order of the names.
 */
#include "eval/retrieval_data.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/distinct.h"
#include "base/error.h"
#include "base/path.h"
#include "base/random.h"
#include "base/utf8.h"
#include "eval/trec_qrels.h"
#include "table/columns.h"
#include "table/labels.h"

static int compare_texts(aoe_text a, aoe_text b) {
    const size_t n = a.len < b.len ? a.len : b.len;
    const int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *pa, const void *pb) {
    const aoei_name *a = pa, *b = pb;
    const int order = compare_texts(a->name, b->name);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

aoei_name *aoei_names_sort(const aoei_examples *x, aoe_error *err) {
    aoei_name *sorted = aoei_malloc_array(x->n, sizeof *sorted);
    if (!sorted) {
        aoei_fail_nomem(err, x->n * sizeof *sorted);
        return NULL;
    }
    for (size_t i = 0; i < x->n; i++)
        sorted[i] = (aoei_name){x->text[x->first[i * x->roles]], (uint32_t)i};
    qsort(sorted, x->n, sizeof *sorted, by_name);
    return sorted;
}

static int check_count(const aoei_examples *x, aoe_error *err) {
    if (x->n < AOEI_NO_TEXT)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: %zu texts are not supported; give fewer than 2^32 - 1", x->name, x->n);
}

/* ------------------------------------------------------------------ groups */

/* A group. Its examples are sorted[first, first + n), where `sorted` contains the names of all examples in ascending
 * order. The examples of a group are in file order. */
typedef struct group {
    size_t first;        /* index in `sorted` of the first example of the group */
    size_t n;            /* number of examples */
    uint32_t first_text; /* index in the file of the first example of the group; it determines the order of groups */
} group;

static int by_first_text(const void *pa, const void *pb) {
    const group *a = pa, *b = pb;
    return (a->first_text > b->first_text) - (a->first_text < b->first_text);
}

/* Finds the groups of the n examples. groups: [n] receives the groups, in the file order of their first examples.
 * Returns the number of groups. */
static size_t find_groups(const aoei_name *sorted, size_t n, group *groups) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_texts(sorted[i].name, sorted[i - 1].name))
            groups[count++] = (group){i, 0, sorted[i].index};
        groups[count - 1].n++;
    }
    qsort(groups, count, sizeof *groups, by_first_text);
    return count;
}

/* Appends a query to d: the text with position `which` in group g. The other texts of the group are its relevant texts.
 * count_query: 1 if the query itself is also a relevant text. d->query and d->relevant must have enough capacity. */
static void add_group_query(aoei_retrieval_data *d, const aoei_name *sorted, const group *g, size_t which,
                            int count_query) {
    const uint32_t own = sorted[g->first + which].index;
    aoei_query *q = &d->query[d->n_queries++];
    *q = (aoei_query){.index = own, .own = own, .first = d->n_relevant};
    for (size_t i = 0; i < g->n; i++)
        if (i != which || count_query)
            d->relevant[d->n_relevant++] = (aoei_relevant){sorted[g->first + i].index, 1};
    q->n = d->n_relevant - q->first;
    d->largest = g->n > d->largest ? g->n : d->largest;
}

/* Returns how many texts of a group are used as queries. */
static size_t queries_of(const group *g, aoe_query_choice choice) {
    return g->n < 2 ? 0 : choice == AOE_QUERY_ALL ? g->n : 1;
}

static int choose_queries(aoei_retrieval_data *d, const aoei_name *sorted, const group *groups, size_t n,
                          const aoe_retrieval_options *o, aoe_error *err) {
    size_t queries = 0, relevant = 0, more;
    aoei_rng rng;
    for (size_t i = 0; i < n; i++) {
        d->without += groups[i].n < 2;
        queries += queries_of(&groups[i], o->query);
        if (aoei_mul_size(queries_of(&groups[i], o->query), groups[i].n, &more) ||
            aoei_add_size(relevant, more, &relevant))
            return aoei_fail_nomem(err, SIZE_MAX);
    }
    if (!queries)
        return aoei_fail(err, AOE_EFORMAT, "%s: no group has two texts; set options.columns to the column of the group",
                         d->texts.name);
    d->query = aoei_malloc_array(queries, sizeof *d->query);
    d->relevant = aoei_malloc_array(relevant, sizeof *d->relevant);
    if (!d->query || !d->relevant)
        return aoei_fail_nomem(err, relevant * sizeof *d->relevant);
    aoei_rng_init(&rng, o->seed, AOEI_STREAM_QUERIES, 0);
    for (size_t i = 0; i < n; i++) {
        const size_t count = queries_of(&groups[i], o->query);
        const size_t first =
            count == 1 && o->query == AOE_QUERY_RANDOM ? aoei_rng_below(&rng, (uint32_t)groups[i].n) : 0;
        for (size_t k = 0; k < count; k++)
            add_group_query(d, sorted, &groups[i], first + k, o->count_query);
    }
    return 0;
}

static int read_groups(aoei_retrieval_data *d, const char *path, const aoe_retrieval_options *o, aoe_error *err) {
    aoe_table_options table = o->table;
    table.allow_empty = 1;
    aoei_table *t = NULL;
    d->grouped = 1;
    int rc = aoei_table_open(&t, path, &table, err);
    if (!rc)
        rc = aoei_columns_select(t, AOE_EXAMPLES_GROUPS, table.columns, err);
    if (rc) {
        aoei_table_close(t);
        return aoei_trec_qrels_explain(rc, path, err);
    }
    rc = aoei_examples_read(&d->texts, t, AOE_EXAMPLES_GROUPS, 0, &table, err);
    aoei_table_close(t);
    d->skipped = d->texts.skipped;
    if (!rc)
        rc = check_count(&d->texts, err);
    for (size_t i = 0; !rc && i < d->texts.n; i++)
        if (aoei_text_is_empty(d->texts.text[d->texts.first[i * d->texts.roles]]))
            rc = aoei_fail(err, AOE_EFORMAT, "%s:%zu: the group is empty; correct or remove the row", d->texts.name,
                           d->texts.line[i]);
    if (rc)
        return rc;
    aoei_name *sorted = aoei_names_sort(&d->texts, err);
    group *groups = aoei_malloc_array(d->texts.n, sizeof *groups);
    if (!sorted || !groups)
        rc = aoei_fail_nomem(err, d->texts.n * sizeof *groups);
    else
        rc = choose_queries(d, sorted, groups, find_groups(sorted, d->texts.n, groups), o, err);
    aoei_free(sorted);
    aoei_free(groups);
    return rc;
}

/* ------------------------------------------------------------- BEIR folders */

/* Sets *path to the first of the files DIR/NAME, DIR/NAME.gz and DIR/NAME.zst that exists. The caller frees *path. */
static int find_file(char **path, const char *dir, const char *name, aoe_error *err) {
    static const char *const ends[] = {"", ".gz", ".zst"};
    for (size_t i = 0; i < 3; i++) {
        aoei_buffer b = {0};
        aoei_buffer_printf(&b, "%s/%s%s", dir, name, ends[i]);
        if (b.failed) {
            aoei_buffer_free(&b);
            return aoei_fail_nomem(err, strlen(dir));
        }
        *path = b.data;
        if (aoei_exists(b.data))
            return 0;
        aoei_buffer_free(&b);
        *path = NULL;
    }
    return aoei_fail(err, AOE_ENOENT,
                     "%s/%s: no such file; a folder for retrieval contains corpus.jsonl, queries.jsonl and qrels", dir,
                     name);
}

/* Selects the columns names[0] to names[n - 1]. */
static int select_columns(aoei_table *t, const char *const *names, size_t n, aoe_error *err) {
    size_t column[3];
    for (size_t i = 0; i < n; i++) {
        const aoe_text wanted = aoe_text_of(names[i]);
        column[i] = 0;
        while (column[i] < aoei_table_columns(t) && compare_texts(aoei_table_column(t, column[i]), wanted))
            column[i]++;
        if (column[i] == aoei_table_columns(t))
            return aoei_fail(err, AOE_EFORMAT, "%s: column '%s' is missing; the file must have the columns %s, %s%s%s",
                             aoei_table_name(t), names[i], names[0], names[1], n > 2 ? ", " : "",
                             n > 2 ? names[2] : "");
    }
    return aoei_table_select(t, column, n, err);
}

static int bad_row(const aoei_table *t, const aoei_row *row, size_t i, const char *what, aoe_error *err) {
    const aoe_text column = aoei_table_selected(t, i);
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: '%.*s': %s; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line, (int)column.len,
              column.data, what);
    return AOEI_BAD_ROW;
}

/* Callback that stores one row of a table. Returns 0, AOEI_BAD_ROW or an error. */
typedef int (*row_fn)(void *user, const aoei_table *t, const aoei_row *row, aoe_error *err);

/* Reads all rows of a table. names: [n] columns, at most 3. */
static int read_rows(aoei_retrieval_data *d, const char *path, const char *const *names, size_t n, row_fn fn,
                     void *user, int skip_bad_rows, aoe_error *err) {
    aoei_table *t;
    aoei_row row;
    int rc = aoei_table_open(&t, path, NULL, err);
    if (rc)
        return rc;
    rc = select_columns(t, names, n, err);
    rc = rc ? aoei_trec_qrels_explain(rc, path, err) : 0;
    while (!rc) {
        rc = aoei_table_next(t, &row, err);
        if (rc == 0)
            break;
        if (rc == 1)
            rc = fn(user, t, &row, err);
        if (rc == AOEI_BAD_ROW) {
            d->skipped++;
            rc = skip_bad_rows ? 0 : AOE_EFORMAT; /* err already contains the message */
        }
    }
    aoei_table_close(t);
    return rc;
}

/* Returns the text without white space at both ends, as BEIR and MTEB embed documents. */
static aoe_text strip(aoe_text text) {
    uint32_t cp;
    for (size_t n; text.len && (n = aoei_utf8_decode(text.data, text.len, &cp)) && aoei_utf8_is_space(cp);
         text.len -= n)
        text.data += n;
    while (text.len) {
        size_t start = text.len - 1;
        while (start > 0 && ((unsigned char)text.data[start] & 0xc0) == 0x80)
            start--;
        if (!aoei_utf8_decode(text.data + start, text.len - start, &cp) || !aoei_utf8_is_space(cp))
            break;
        text.len = start;
    }
    return text;
}

/* First argument of add_entry. */
typedef struct entries {
    aoei_examples *x; /* examples to which add_entry appends; borrowed */
    int is_corpus;    /* 1: the entries are documents, which may have titles; 0: they are queries */
    aoei_buffer text; /* workspace for the title and the text of a row; owned */
} entries;

/* Sets *title to the value of the key "title" of a row. The title of a row without this key, or with the value null, is
 * empty.
 */
static int read_title(aoe_text *title, const aoei_table *t, const aoei_row *row, aoe_error *err) {
    const json_t *value = json_object_get(aoei_table_object(t), "title");
    *title = (aoe_text){"", 0};
    if (json_is_string(value))
        *title = (aoe_text){json_string_value(value), json_string_length(value)};
    if (!value || json_is_null(value) || json_is_string(value))
        return 0;
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: 'title': the value is not a JSON string; " AOEI_ROW_REMEDY, aoei_table_name(t),
              row->line);
    return AOEI_BAD_ROW;
}

/* Appends an example with the id and the text of a row. If a document has a title, the text of the example is "TITLE
 * TEXT", as in BEIR. */
static int add_entry(void *user, const aoei_table *t, const aoei_row *row, aoe_error *err) {
    entries *e = user;
    aoe_text title, text = row->field[1].text;
    for (size_t i = 0; i < 2; i++)
        if (row->field[i].kind != AOEI_FIELD_TEXT)
            return bad_row(t, row, i, "the value is not a JSON string", err);
    if (aoei_text_is_empty(row->field[0].text))
        return bad_row(t, row, 0, "the id is empty", err);
    const int rc = read_title(&title, t, row, err);
    if (rc)
        return rc;
    if (title.len && e->is_corpus) {
        aoei_buffer_clear(&e->text);
        aoei_buffer_append(&e->text, title.data, title.len);
        aoei_buffer_putc(&e->text, ' ');
        aoei_buffer_append(&e->text, text.data, text.len);
        if (e->text.failed)
            return aoei_fail_nomem(err, title.len + text.len);
        text = (aoe_text){e->text.data, e->text.len};
    }
    if (e->is_corpus)
        text = strip(text);
    return aoei_examples_append(e->x, (const aoe_text[2]){row->field[0].text, text}, (const size_t[2]){1, 1}, 0,
                                row->line, err);
}

/* Keeps the n examples order[0] to order[n - 1] of x, in this order. x: examples with an id and a text. */
static int keep_examples(aoei_examples *x, const uint32_t *order, size_t n, aoe_error *err) {
    aoe_text *text = aoei_malloc_array(n * 2, sizeof *text);
    size_t *line = aoei_malloc_array(n, sizeof *line);
    const int failed = !text || !line;
    for (size_t i = 0; i < n && !failed; i++) {
        memcpy(text + 2 * i, x->text + 2 * (size_t)order[i], 2 * sizeof *text);
        line[i] = x->line[order[i]];
    }
    if (!failed) {
        memcpy(x->text, text, 2 * n * sizeof *text);
        memcpy(x->line, line, n * sizeof *line);
        x->n = n;
        x->n_texts = 2 * n;
    }
    aoei_free(text);
    aoei_free(line);
    return failed ? aoei_fail_nomem(err, n * 2 * sizeof *text) : 0;
}

static int by_index(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* If an id occurs more than once, keeps only its last entry, as BEIR does. Sorts documents by descending id: a search
 * ranks the first of several texts with equal scores higher, and trec_eval ranks the text with the largest id highest.
 * Queries keep the order of the file. *sorted: the ids, which are sorted again. */
static int order_entries(aoei_retrieval_data *d, aoei_examples *x, aoei_name **sorted, int is_corpus, aoe_error *err) {
    uint32_t *order = aoei_malloc_array(x->n, sizeof *order);
    size_t n = 0;
    if (!order)
        return aoei_fail_nomem(err, x->n * sizeof *order);
    for (size_t i = x->n; i > 0; i--)
        if (i == x->n || compare_texts((*sorted)[i - 1].name, (*sorted)[i].name))
            order[n++] = (*sorted)[i - 1].index;
    if (!is_corpus)
        qsort(order, n, sizeof *order, by_index);
    d->duplicates += x->n - n;
    int rc = keep_examples(x, order, n, err);
    aoei_free(order);
    aoei_free(*sorted);
    *sorted = rc ? NULL : aoei_names_sort(x, err);
    return rc || *sorted ? rc : AOE_ENOMEM;
}

/* Reads the file DIR/corpus.jsonl into d->texts, or DIR/queries.jsonl into d->queries. *sorted is set to the ids of the
 * entries in ascending order, in an array that the caller frees. */
static int read_entries(aoei_retrieval_data *d, aoei_name **sorted, const char *dir, int is_corpus, int skip_bad_rows,
                        aoe_error *err) {
    static const char *const columns[] = {"_id", "text"};
    aoei_examples *x = is_corpus ? &d->texts : &d->queries;
    char *path = NULL;
    entries e = {.x = x, .is_corpus = is_corpus};
    int rc = find_file(&path, dir, is_corpus ? "corpus.jsonl" : "queries.jsonl", err);
    if (!rc)
        rc = aoei_examples_create(x, path, AOE_EXAMPLES_GROUPS, err);
    if (!rc)
        rc = read_rows(d, path, columns, 2, add_entry, &e, skip_bad_rows, err);
    if (!rc && !x->n)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: the file contains no text; download it again", path);
    if (!rc)
        rc = check_count(x, err);
    if (!rc && !(*sorted = aoei_names_sort(x, err)))
        rc = AOE_ENOMEM;
    if (!rc)
        rc = order_entries(d, x, sorted, is_corpus, err);
    aoei_buffer_free(&e.text);
    aoei_free(path);
    return rc;
}

uint32_t aoei_names_find(const aoei_name *sorted, size_t n, aoe_text name) {
    size_t low = 0;
    while (n > 0) {
        const size_t half = n / 2;
        const int order = compare_texts(sorted[low + half].name, name);
        if (order == 0)
            return sorted[low + half].index;
        if (order < 0) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return AOEI_NO_TEXT;
}

/* The relevance of one text to one query. */
typedef struct judgment {
    uint32_t query; /* index of the query in aoei_retrieval_data.queries */
    size_t text;    /* index of the text in aoei_retrieval_data.texts; larger indices: a text that the corpus does not
                       contain */
    double gain;    /* the text is not relevant if the gain is 0 or negative */
    size_t order;   /* position of the judgment in the file */
} judgment;

/* First argument of add_judgment. */
typedef struct judgments {
    aoei_retrieval_data *d;           /* texts and queries; borrowed */
    aoei_distinct missing;            /* ids of judged texts that the corpus does not contain; owned */
    const aoei_name *texts, *queries; /* ids of the texts, and ids of the queries, each in ascending order; borrowed */
    judgment *item;                   /* [n] judgments; owned */
    size_t n, capacity;               /* used and allocated elements of `item` */
} judgments;

static int add_judgment(void *user, const aoei_table *t, const aoei_row *row, aoe_error *err) {
    judgments *j = user;
    double gain = 0;
    const size_t n = j->d->texts.n;
    const uint32_t query = aoei_names_find(j->queries, j->d->queries.n, row->field[0].text),
                   text = aoei_names_find(j->texts, n, row->field[1].text);
    size_t missing = 0;
    if (aoei_number_of(row->field[2].text, &gain) != AOEI_LABEL_VALUE)
        return bad_row(t, row, 2, "the value is not a number", err);
    if (query == AOEI_NO_TEXT) {
        j->d->unknown_queries++;
        return 0;
    }
    if (text == AOEI_NO_TEXT && aoei_distinct_add(&j->missing, row->field[1].text, 0, &missing, err))
        return AOE_ENOMEM;
    if (aoei_grow((void **)&j->item, &j->capacity, j->n, sizeof *j->item))
        return aoei_fail_nomem(err, (j->n + 1) * sizeof *j->item);
    j->item[j->n] = (judgment){query, text == AOEI_NO_TEXT ? n + missing : text, gain, j->n};
    j->n++;
    return 0;
}

/* Comparison function for qsort: sorts judgments by query, then by descending gain, then by text. */
static int by_query(const void *pa, const void *pb) {
    const judgment *a = pa, *b = pb;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    if (a->gain < b->gain || a->gain > b->gain)
        return a->gain > b->gain ? -1 : 1;
    return (a->text > b->text) - (a->text < b->text);
}

/* Comparison function for qsort: sorts judgments by query, then by text, then by descending position in the file. */
static int by_text(const void *pa, const void *pb) {
    const judgment *a = pa, *b = pb;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return (a->order < b->order) - (a->order > b->order);
}

/* Removes repeated judgments: for each pair of query and text, only the last judgment in the file remains, as in
 * BEIR. */
static void remove_repeated(judgments *j) {
    size_t kept = 0;
    if (!j->n)
        return;
    qsort(j->item, j->n, sizeof *j->item, by_text);
    for (size_t i = 0; i < j->n; i++)
        if (!kept || j->item[i].query != j->item[kept - 1].query || j->item[i].text != j->item[kept - 1].text)
            j->item[kept++] = j->item[i];
    j->n = kept;
}

/* Appends the judged queries and their relevant texts to d, in the order of the query file. */
static int add_judged_queries(aoei_retrieval_data *d, judgments *j, const char *path, aoe_error *err) {
    remove_repeated(j);
    if (j->n)
        qsort(j->item, j->n, sizeof *j->item, by_query);
    d->query = aoei_malloc_array(j->n ? j->n : 1, sizeof *d->query);
    d->relevant = aoei_malloc_array(j->n ? j->n : 1, sizeof *d->relevant);
    if (!d->query || !d->relevant)
        return aoei_fail_nomem(err, j->n * sizeof *d->relevant);
    for (size_t first = 0, end; first < j->n; first = end) {
        aoei_query q = {.index = j->item[first].query, .own = AOEI_NO_TEXT, .first = d->n_relevant};
        for (end = first; end < j->n && j->item[end].query == q.index; end++) {
            const judgment *one = &j->item[end];
            const int is_missing = one->text >= d->texts.n;
            d->missing += (size_t)is_missing;
            if (one->gain > 0)
                d->relevant[d->n_relevant++] =
                    (aoei_relevant){is_missing ? AOEI_NO_TEXT : (uint32_t)one->text, one->gain};
        }
        q.n = d->n_relevant - q.first;
        d->without += q.n == 0;
        q.own = aoei_names_find(j->texts, d->texts.n, d->queries.text[d->queries.first[q.index * d->queries.roles]]);
        d->query[d->n_queries++] = q;
    }
    if (d->n_relevant)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "%s: no text is relevant to any query; choose another split with options.split",
                     path);
}

/* Appends the names of the splits in DIR/qrels to `list`, separated by commas. */
static void list_splits(aoei_buffer *list, const char *dir) {
    char *folder = aoei_path_join(dir, "qrels"), **names;
    size_t n;
    if (folder && !aoei_list_dir(&names, &n, folder, NULL)) {
        for (size_t i = 0; i < n; i++) {
            const char *end = strstr(names[i], ".tsv");
            if (end && (!end[4] || strcmp(end + 4, ".gz") == 0 || strcmp(end + 4, ".zst") == 0))
                aoei_buffer_printf(list, "%s%.*s", list->len ? ", " : "", (int)(end - names[i]), names[i]);
        }
        aoei_list_free(names, n);
    }
    aoei_free(folder);
}

/* Sets *path to the file that contains the judgments of a split. The caller frees *path. */
static int find_qrels(char **path, const char *dir, const char *split, aoe_error *err) {
    aoei_buffer name = {0}, splits = {0};
    aoei_buffer_printf(&name, "qrels/%s.tsv", split);
    int rc = name.failed ? aoei_fail_nomem(err, 1) : find_file(path, dir, name.data, err);
    if (rc == AOE_ENOENT) {
        list_splits(&splits, dir);
        if (splits.failed)
            rc = aoei_fail_nomem(err, splits.len);
        else if (splits.len)
            rc = aoei_fail(err, AOE_ENOENT, "%s/%s: no such file; set options.split to a split that exists: %s", dir,
                           name.data, splits.data);
    }
    aoei_buffer_free(&name);
    aoei_buffer_free(&splits);
    return rc;
}

static int read_qrels(aoei_retrieval_data *d, judgments *j, const char *dir, const aoe_retrieval_options *o,
                      aoe_error *err) {
    static const char *const columns[] = {"query-id", "corpus-id", "score"};
    char *path = NULL;
    int rc = find_qrels(&path, dir, o->split ? o->split : "test", err);
    if (!rc)
        rc = read_rows(d, path, columns, 3, add_judgment, j, o->table.skip_bad_rows, err);
    if (!rc)
        rc = add_judged_queries(d, j, path, err);
    aoei_free(path);
    return rc;
}

static int read_beir(aoei_retrieval_data *d, const char *dir, const aoe_retrieval_options *o, aoe_error *err) {
    aoei_name *texts = NULL, *queries = NULL;
    aoei_table_warn_options(&o->table, dir, AOEI_FOLDER_FORMATS);
    int rc = read_entries(d, &texts, dir, 1, o->table.skip_bad_rows, err);
    if (!rc)
        rc = read_entries(d, &queries, dir, 0, o->table.skip_bad_rows, err);
    judgments j = {.d = d, .texts = texts, .queries = queries};
    if (!rc)
        rc = read_qrels(d, &j, dir, o, err);
    aoei_distinct_free(&j.missing);
    aoei_free(j.item);
    aoei_free(texts);
    aoei_free(queries);
    return rc;
}

int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i,
                        const aoe_retrieval_options *o, aoe_error *err) {
    const char *path = paths[i];
    *d = (aoei_retrieval_data){.name = aoei_path_label(paths, n, i)};
    if (!d->name)
        return aoei_fail_nomem(err, strlen(path));
    return aoei_is_dir(path) ? read_beir(d, path, o, err) : read_groups(d, path, o, err);
}

void aoei_retrieval_free(aoei_retrieval_data *d) {
    aoei_free(d->name);
    aoei_examples_free(&d->texts);
    aoei_examples_free(&d->queries);
    aoei_free(d->query);
    aoei_free(d->relevant);
    *d = (aoei_retrieval_data){0};
}
