/* SPDX-License-Identifier: MIT
 * Pairs with their texts: the bodies of the issues chosen are read from the cache again,
 * a page at a time, cleaned, and reported. Lines of templates are those that many of the chosen issues
 * of a repository have.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "data/github_collect.h"
#include "data/issues_clean.h"

/* An issue that is in a pair. */
typedef struct chosen {
    uint32_t issue;
    char *body; /* owned [len] */
    size_t len;
} chosen;

typedef struct reporter {
    aoei_collection *c;
    const aoei_issue_pairs *p;
    chosen *chosen; /* owned [n] by page, then issue */
    size_t n;
    uint32_t *place;           /* owned [issues.n] in chosen; of issues that are in it */
    aoei_line_counts *counts;  /* owned [issues.n_repos] for templates; NULL: not asked for */
    aoei_buffer text;          /* of all issues of an example */
    aoe_issue_text *negatives; /* owned [asked for] */
} reporter;

static int by_page(const void *pa, const void *pb, void *user) {
    const reporter *r = user;
    const chosen *a = pa, *b = pb;
    const aoei_issue *x = &r->c->issues.issue[a->issue], *y = &r->c->issues.issue[b->issue];
    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    return (a->issue > b->issue) - (a->issue < b->issue);
}

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

/* Copies the bodies of chosen[first, end), which are on one page. */
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
        code = aoei_fail(err, AOE_EFORMAT, "%s: answers changed while they were read; let one run at a time use it, and run again",
                         r->c->api.o->cache);
    json_decref(root);
    return code;
}

static int read_bodies(reporter *r, aoe_error *err) {
    const aoei_issues *s = &r->c->issues;
    int code = AOE_OK;
    for (size_t first = 0, end; first < r->n && !code; first = end) {
        for (end = first + 1; end < r->n && s->issue[r->chosen[end].issue].page == s->issue[r->chosen[first].issue].page;)
            end++;
        code = read_page(r, first, end, err);
        if (!code)
            code = aoei_github_tell(&r->c->api, err);
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
        code = aoei_line_counts_add(&r->counts[r->c->issues.issue[one->issue].repo], (aoe_text){one->body, one->len}, err);
    }
    return code;
}

/* Appends the text of an issue to r->text; *out has its place there in `len`, for take_text. */
static int put_text(reporter *r, uint32_t issue, aoe_issue_text *out, aoe_error *err) {
    const aoei_issue *i = &r->c->issues.issue[issue];
    const chosen *one = &r->chosen[r->place[issue]];
    const size_t before = r->text.len;
    const int code = aoei_issue_text(&r->text, i->title, (aoe_text){one->body, one->len}, r->c->api.o->clean,
                                     r->counts ? &r->counts[i->repo] : NULL, err);
    *out = (aoe_issue_text){.repository = r->c->issues.repo[i->repo], .number = i->number, .text = {NULL, r->text.len - before}};
    return code;
}

static const char *take_text(aoe_issue_text *out, const char *at) {
    out->text.data = at;
    return at + out->text.len;
}

static int report_pair(reporter *r, const aoei_issue_pair *p, aoe_error *err) {
    aoe_issue_example e = {.split = (int)p->split, .negatives = r->negatives, .n_negatives = p->n_negatives};
    aoei_buffer_clear(&r->text);
    int code = put_text(r, p->query, &e.query, err);
    if (!code)
        code = put_text(r, p->positive, &e.positive, err);
    for (size_t i = 0; i < p->n_negatives && !code; i++)
        code = put_text(r, r->p->negative[p->first_negative + i], &r->negatives[i], err);
    if (code)
        return code;
    const char *at = take_text(&e.positive, take_text(&e.query, r->text.data));
    for (size_t i = 0; i < p->n_negatives; i++)
        at = take_text(&r->negatives[i], at);
    r->c->result->positives[p->split]++;
    r->c->result->negatives[p->split] += p->n_negatives;
    if (r->c->api.o->report && r->c->api.o->report(r->c->api.o->user, &e))
        return aoei_fail(err, AOE_ECANCELLED, "collecting was stopped; run again to go on where it was");
    return AOE_OK;
}

int aoei_collect_report(aoei_collection *c, const aoei_issue_pairs *p, aoe_error *err) {
    reporter r = {.c = c, .p = p};
    int code = list_chosen(&r, err);
    if (!code)
        code = read_bodies(&r, err);
    if (!code)
        code = count_lines(&r, err);
    if (!code && !(r.negatives = aoei_malloc_array(c->api.o->negatives, sizeof *r.negatives)))
        code = aoei_fail_nomem(err, c->api.o->negatives * sizeof *r.negatives);
    for (size_t i = 0; i < p->n && !code; i++)
        code = report_pair(&r, &p->pair[i], err);
    for (size_t i = 0; r.chosen && i < r.n; i++)
        aoei_free(r.chosen[i].body);
    for (size_t i = 0; r.counts && i < c->issues.n_repos; i++)
        aoei_line_counts_free(&r.counts[i]);
    aoei_free(r.chosen);
    aoei_free(r.place);
    aoei_free(r.counts);
    aoei_free(r.negatives);
    aoei_buffer_free(&r.text);
    return code;
}
