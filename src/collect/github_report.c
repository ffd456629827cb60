/* SPDX-License-Identifier: MIT
 * Writes the pairs of issues, with their texts, as tables. An issue is chosen if it is the query, the positive or a
 * negative of a pair. First the bodies of all chosen issues are loaded from the cache, one page after the other. Texts
 * can be cleaned only after all bodies have been loaded, because a line is considered a template line if many bodies
 * contain it. If two issues in different splits have equal texts after cleaning, the issue in the later split is
 * dropped.
 */
#include "collect/github_report.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/error.h"
#include "collect/issues_clean.h"
#include "table/table_write.h"

/* An issue that is the query, the positive or a negative of a pair. */
typedef struct chosen {
    uint32_t issue; /* index in aoei_issues.issue */
    char *body;     /* [len] body before cleaning, owned */
    size_t len;     /* length of the body in bytes */
    uint64_t hash;  /* hash of the cleaned text, as computed by aoei_collect_hash */
    uint32_t split; /* index of the split */
    int dropped;    /* 1: the issue is not written, because an earlier split contains an equal text */
} chosen;

enum { COLUMNS = 6 }; /* maximum number of columns in an output table */

typedef struct reporter {
    aoei_collection *c;
    const aoei_issue_pairs *p;
    chosen *chosen; /* [n] chosen issues, sorted by aoei_issue.page, then by index in aoei_issues.issue; owned */
    size_t n;
    uint32_t *place; /* [issues.n] index in `chosen` of each issue; undefined for issues that are not chosen; owned */
    /* [issues.n_repos] for each repository, the counts of the lines in the bodies; owned; NULL: template lines are not
     * removed */
    aoei_line_counts *counts;
    aoei_buffer text[3];      /* cleaned texts of the query, the positive and the negative */
    aoei_buffer id[3];        /* ids of the query, the positive and the negative, such as "owner/name#12" */
    aoei_table_writer writer; /* writer of the current split */
    size_t split;             /* index of the current split */
    int flat;                 /* 1: TABs and line ends are replaced by spaces */
} reporter;

static int by_page(const void *pa, const void *pb, void *user) {
    const reporter *r = user;
    const chosen *a = pa, *b = pb;
    const aoei_issue *x = &r->c->issues.issue[a->issue], *y = &r->c->issues.issue[b->issue];
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    return (a->issue > b->issue) - (a->issue < b->issue);
}

/* Sets r->chosen and r->place. The chosen issues are sorted by the page (API response) that contains them, so that each
 * page is loaded only once. */
static int list_chosen(reporter *r, aoe_error *err) {
    const size_t n = r->c->issues.n;
    unsigned char *in = aoei_calloc(n, 1);
    r->place = aoei_malloc_array(n, sizeof *r->place);
    if (!in || !r->place) {
        aoei_free(in);
        return aoei_fail_nomem(err, n * sizeof *r->place);
    }
    for (size_t i = 0; i < r->p->n; i++)
        in[r->p->pair[i].query] = in[r->p->pair[i].positive] = 1;
    for (size_t i = 0; i < r->p->n_negatives; i++)
        in[r->p->negative[i]] = 1;
    for (size_t i = 0; i < n; i++)
        r->n += in[i];
    r->chosen = aoei_calloc(r->n, sizeof *r->chosen);
    for (size_t i = 0, at = 0; i < n && r->chosen; i++)
        if (in[i])
            r->chosen[at++].issue = (uint32_t)i;
    aoei_free(in);
    if (!r->chosen)
        return aoei_fail_nomem(err, r->n * sizeof *r->chosen);
    qsort_r(r->chosen, r->n, sizeof *r->chosen, by_page, r);
    for (size_t i = 0; i < r->n; i++)
        r->place[r->chosen[i].issue] = (uint32_t)i;
    return AOE_OK;
}

/* Loads a page and copies the bodies of the issues chosen[first, end). All these issues must be on this page. */
static int read_page(reporter *r, size_t first, size_t end, aoe_error *err) {
    const aoei_issues *s = &r->c->issues;
    const uint32_t page = s->issue[r->chosen[first].issue].page;
    const json_t *item;
    json_t *root;
    size_t found = 0;
    int code = aoei_github_load(&r->c->api, r->c->page[page], &root, err);
    for (size_t i = 0; !code && (item = aoei_issue_json_at(root, i)) != NULL; i++) {
        aoei_issue_json json;
        if (aoei_issue_json_read(&json, item))
            continue;
        for (size_t k = first; k < end && !code; k++) {
            chosen *one = &r->chosen[k];
            if (s->issue[one->issue].number != json.number || one->body)
                continue;
            one->body = aoei_strndup(json.body.data, json.body.len);
            one->len = json.body.len;
            code = one->body ? AOE_OK : aoei_fail_nomem(err, json.body.len);
            found++;
        }
    }
    if (!code && found < end - first)
        code = aoei_fail(
            err, AOE_EFORMAT,
            "%s: responses changed while they were read; run again, and let only one run at a time use the cache",
            r->c->api.o->cache);
    json_decref(root);
    return code;
}

static int read_bodies(reporter *r, aoe_error *err) {
    const aoei_issues *s = &r->c->issues;
    int code = AOE_OK;
    for (size_t first = 0, end; first < r->n && !code; first = end) {
        for (end = first + 1;
             end < r->n && s->issue[r->chosen[end].issue].page == s->issue[r->chosen[first].issue].page;)
            end++;
        code = read_page(r, first, end, err);
        if (!code)
            code = aoei_github_report_progress(&r->c->api, err);
    }
    return code;
}

static int count_lines(reporter *r, aoe_error *err) {
    if (!(r->c->api.o->clean & AOE_ISSUE_CLEAN_TEMPLATES))
        return AOE_OK;
    r->counts = aoei_calloc(r->c->issues.n_repos, sizeof *r->counts);
    if (!r->counts)
        return aoei_fail_nomem(err, r->c->issues.n_repos * sizeof *r->counts);
    int code = AOE_OK;
    for (size_t i = 0; i < r->n && !code; i++) {
        const chosen *one = &r->chosen[i];
        code =
            aoei_line_counts_add(&r->counts[r->c->issues.issue[one->issue].repo], (aoe_text){one->body, one->len}, err);
    }
    return code;
}

/* Replaces TABs and line ends by spaces. */
static void flatten(char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] == '\t' || s[i] == '\n' || s[i] == '\r')
            s[i] = ' ';
}

/* Stores the cleaned text of an issue in r->text[part] and its id in r->id[part]. part: 0 for the query, 1 for the
 * positive, 2 for the negative. */
static int put_text(reporter *r, uint32_t issue, int part, aoe_error *err) {
    const aoei_issue *i = &r->c->issues.issue[issue];
    const chosen *one = &r->chosen[r->place[issue]];
    aoei_buffer *text = &r->text[part], *id = &r->id[part];
    aoei_buffer_clear(text);
    aoei_buffer_clear(id);
    if (aoei_buffer_printf(id, "%s#%llu", r->c->issues.repo[i->repo], (unsigned long long)i->number))
        return aoei_fail_nomem(err, id->len);
    const int code = aoei_issue_text(text, i->title, (aoe_text){one->body, one->len}, r->c->api.o->clean,
                                     r->counts ? &r->counts[i->repo] : NULL, err);
    if (!code && r->flat)
        flatten(text->data, text->len);
    return code;
}

static int by_text(const void *pa, const void *pb, void *user) {
    const reporter *r = user;
    const chosen *a = &r->chosen[*(const uint32_t *)pa], *b = &r->chosen[*(const uint32_t *)pb];
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->split > b->split) - (a->split < b->split);
}

/* Sets `hash`, `split` and `dropped` of every chosen issue. Does nothing if template lines are not removed, because
 * issues with equal texts are then already in the same split. */
static int find_dropped(reporter *r, aoe_error *err) {
    int empty, code = AOE_OK;
    if (!r->counts)
        return AOE_OK;
    uint32_t *order = aoei_malloc_array(r->n, sizeof *order);
    if (!order)
        return aoei_fail_nomem(err, r->n * sizeof *order);
    for (size_t i = 0; i < r->p->n; i++) {
        const aoei_issue_pair *p = &r->p->pair[i];
        r->chosen[r->place[p->query]].split = r->chosen[r->place[p->positive]].split = p->split;
        for (size_t k = 0; k < p->n_negatives; k++)
            r->chosen[r->place[r->p->negative[p->first_negative + k]]].split = p->split;
    }
    for (size_t i = 0; i < r->n && !code; i++) {
        order[i] = (uint32_t)i;
        code = put_text(r, r->chosen[i].issue, 0, err);
        if (!code)
            code = aoei_collect_hash(r->c, &r->text[0], &r->chosen[i].hash, &empty, err);
    }
    if (!code)
        qsort_r(order, r->n, sizeof *order, by_text, r);
    for (size_t i = 1, first = 0; i < r->n && !code; i++) {
        const chosen *one = &r->chosen[order[first]];
        if (r->chosen[order[i]].hash != one->hash)
            first = i;
        else
            r->chosen[order[i]].dropped = r->chosen[order[i]].split != one->split;
    }
    aoei_free(order);
    return code;
}

/* Returns 1 if the issues a and b may be in one row: neither is dropped, and their cleaned texts differ. */
static int is_row(const reporter *r, uint32_t a, uint32_t b) {
    const chosen *x = &r->chosen[r->place[a]], *y = &r->chosen[r->place[b]];
    return !r->counts || (!x->dropped && !y->dropped && x->hash != y->hash);
}

static int is_negative(const reporter *r, const aoei_issue_pair *p, uint32_t issue) {
    return is_row(r, p->query, issue) && is_row(r, p->positive, issue);
}

static aoei_cell cell_of(const aoei_buffer *b) {
    return (aoei_cell){.text = {b->data ? b->data : "", b->len}};
}

/* Writes a row with the texts and, if requested, the ids of n parts. part: [n] indices of the parts in r->text and
 * r->id; label: text of the column "label", or NULL if the table has no such column. */
static int write_row(reporter *r, const int *part, size_t n, const char *label, aoe_error *err) {
    aoei_cell cell[COLUMNS];
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        cell[k++] = cell_of(&r->text[part[i]]);
    if (label)
        cell[k++] = (aoei_cell){.text = aoe_text_of(label), .is_number = 1};
    for (size_t i = 0; i < n && r->c->api.o->ids; i++)
        cell[k++] = cell_of(&r->id[part[i]]);
    return aoei_table_writer_row(&r->writer, cell, r->c->api.o->cache, 0, err);
}

static int write_pair(reporter *r, const aoei_issue_pair *p, aoe_error *err) {
    static const int positive[] = {0, 1}, negative[] = {0, 2}, triplet[] = {0, 1, 2};
    const int triplets = r->c->api.o->kind == AOE_EXAMPLES_TRIPLETS;
    int code = put_text(r, p->query, 0, err);
    if (!code)
        code = put_text(r, p->positive, 1, err);
    if (!code && !triplets)
        code = write_row(r, positive, 2, "1", err);
    for (size_t i = 0; i < p->n_negatives && !code; i++) {
        const uint32_t issue = r->p->negative[p->first_negative + i];
        if (!is_negative(r, p, issue))
            continue;
        code = put_text(r, issue, 2, err);
        if (!code)
            code = triplets ? write_row(r, triplet, 3, NULL, err) : write_row(r, negative, 2, "0", err);
    }
    return code;
}

static int write_output(void *user, size_t part, const char *data, size_t len) {
    const reporter *r = user;
    (void)part;
    return r->c->api.o->write(r->c->api.o->user, r->split, data, len);
}

static int open_split(reporter *r, aoe_error *err) {
    static const char *const pairs[] = {"text1", "text2", "label", "id1", "id2"};
    static const char *const triplets[] = {"query", "positive", "negative", "query_id", "positive_id", "negative_id"};
    const aoe_github_options *o = r->c->api.o;
    const int is_triplets = o->kind == AOE_EXAMPLES_TRIPLETS;
    const size_t n = is_triplets ? (o->ids ? 6 : 3) : (o->ids ? 5 : 3);
    aoe_text name[COLUMNS];
    aoe_table_format format;
    for (size_t i = 0; i < n; i++)
        name[i] = aoe_text_of(is_triplets ? triplets[i] : pairs[i]);
    const int code = aoei_table_format_of(&format, o->name[r->split], err);
    r->flat = format == AOE_TABLE_TSV;
    return code ? code
                : aoei_table_writer_open(&r->writer, o->name[r->split], name, n, NULL, NULL, write_output, r, err);
}

static size_t count_negatives(const reporter *r, const aoei_issue_pair *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_negatives; i++)
        n += is_negative(r, p, r->p->negative[p->first_negative + i]) != 0;
    return n;
}

/* Counts the pairs of a split and writes them as a table. If the split has no output name, no table is written. */
static int write_split(reporter *r, size_t split, aoe_error *err) {
    const aoe_github_options *o = r->c->api.o;
    aoe_github_result *result = r->c->result;
    const int written = o->write && o->name[split];
    r->split = split;
    int code = written ? open_split(r, err) : AOE_OK;
    for (size_t i = 0; i < r->p->n && !code; i++) {
        const aoei_issue_pair *p = &r->p->pair[i];
        if (p->split != split)
            continue;
        if (!is_row(r, p->query, p->positive)) {
            result->equal++;
            continue;
        }
        const size_t negatives = count_negatives(r, p);
        result->positives[split]++;
        result->negatives[split] += negatives;
        result->without += negatives < p->n_negatives &&
                           /* aoei_issue_pairs.without already includes pairs for which too few candidates were found */
                           p->n_negatives == o->negatives;
        code = written ? write_pair(r, p, err) : AOE_OK;
    }
    if (!code && written)
        code = aoei_table_writer_end(&r->writer, err);
    aoei_table_writer_free(&r->writer);
    r->writer = (aoei_table_writer){0};
    return code;
}

int aoei_collect_report(aoei_collection *c, const aoei_issue_pairs *p, aoe_error *err) {
    reporter r = {.c = c, .p = p};
    int code = list_chosen(&r, err);
    if (!code && c->api.o->write)
        code = read_bodies(&r, err);
    if (!code && c->api.o->write)
        code = count_lines(&r, err);
    if (!code)
        code = find_dropped(&r, err);
    for (size_t split = 0; split < AOE_ISSUES_SPLITS && !code; split++)
        code = write_split(&r, split, err);
    for (size_t i = 0; r.chosen && i < r.n; i++)
        aoei_free(r.chosen[i].body);
    for (size_t i = 0; r.counts && i < c->issues.n_repos; i++)
        aoei_line_counts_free(&r.counts[i]);
    aoei_free(r.chosen);
    aoei_free(r.place);
    aoei_free(r.counts);
    for (int i = 0; i < 3; i++) {
        aoei_buffer_free(&r.text[i]);
        aoei_buffer_free(&r.id[i]);
    }
    return code;
}
