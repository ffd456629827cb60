/* SPDX-License-Identifier: MIT
 * Converts mentions of duplicates to links between issues. The mentions of an issue are processed in chronological
 * order by these rules:
 * - A denial or an "unmarked" event revokes the earlier mentions of its target. An event without a target revokes all
 *   earlier mentions.
 * - A statement in a closed issue gives a link.
 * - A guess in a closed issue gives a link if the issue is marked as a duplicate and has no other mention.
 * - All other mentions give weak links. The two issues of a weak link form neither a positive nor a negative pair.
 * Some issues are fetched only because another issue refers to them. All mentions in these issues give weak links.
 */
#include "collect/github_resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Maximum number of rounds in aoei_collect_resolve. The first round resolves the mentions in the issues of the
 * collection.
 * Each later round resolves the mentions in the issues that the previous round has fetched. */
enum { ROUNDS = 5 };

/* A mention and its position in chronological order. */
typedef struct ordered_mention {
    aoei_mention m;
    size_t order;
} ordered_mention;

static int by_issue(const void *pa, const void *pb) {
    const ordered_mention *a = pa, *b = pb;
    if (a->m.issue != b->m.issue)
        return a->m.issue < b->m.issue ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int is_same_target(const aoei_mention *a, const aoei_mention *b) {
    return a->repo == b->repo && a->number == b->number;
}

/* Removes the mentions that m revokes from s[0, n). Returns the number of mentions that remain. */
static size_t revoke(ordered_mention *s, size_t n, const aoei_mention *m) {
    const int all = m->kind == AOEI_MENTION_UNMARKED && !m->number;
    size_t left = 0;
    for (size_t k = 0; k < n; k++)
        if (!all && !is_same_target(&s[k].m, m))
            s[left++] = s[k];
    return left;
}

/* Selects the valid mentions of one issue. s: [n] all mentions of the issue, in chronological order. Removes revoked
 * mentions, denials, and repeated mentions of the same target from s. Returns the number of mentions that remain; their
 * kind is AOEI_MENTION_STATED, AOEI_MENTION_GUESS or AOEI_MENTION_HINT. Sets *marked to 1 if the issue is marked as a
 * duplicate on GitHub. */
static size_t keep_valid(ordered_mention *s, size_t n, int *marked) {
    size_t kept = 0;
    *marked = 0;
    for (size_t i = 0; i < n; i++) {
        ordered_mention one = s[i];
        if (one.m.kind == AOEI_MENTION_MARKED || one.m.kind == AOEI_MENTION_UNMARKED)
            *marked = one.m.kind == AOEI_MENTION_MARKED;
        if (one.m.kind == AOEI_MENTION_DENIED || one.m.kind == AOEI_MENTION_UNMARKED) {
            kept = revoke(s, kept, &one.m);
            continue;
        }
        if (!one.m.number)
            continue;
        one.m.kind = one.m.kind == AOEI_MENTION_MARKED ? AOEI_MENTION_STATED : one.m.kind;
        size_t k = 0;
        while (k < kept && !is_same_target(&s[k].m, &one.m))
            k++;
        if (k == kept)
            s[kept++] = one;
        else if (one.m.kind < s[k].m.kind) /* the kind with the smaller value is stronger and is kept */
            s[k].m.kind = one.m.kind;
    }
    return kept;
}

/* Finds the issue that a mention refers to, and fetches it from the API if necessary. Sets *target to the index of the
 * issue, or to AOEI_NO_ISSUE if the issue is not available. */
static int find_target(aoei_collection *c, const aoei_mention *m, uint32_t *target, aoe_error *err) {
    aoei_github_response a = {0};
    aoei_buffer url = {0};
    aoei_issue_json json;
    uint32_t page, repo = m->repo;
    *target = aoei_issues_find(&c->issues, m->repo, m->number);
    if (*target != AOEI_NO_ISSUE)
        return AOE_OK;
    int code = aoei_github_report_progress(&c->api, err);
    if (!code && aoei_buffer_printf(&url, "%s/repos/%s/issues/%llu", c->api.root, c->issues.repo[m->repo],
                                    (unsigned long long)m->number))
        code = aoei_fail_nomem(err, url.len);
    if (!code)
        code = aoei_github_get(&c->api, url.data, 0, &a, err);
    const int exists = !code && a.status == 200 && aoei_issue_json_read(&json, a.json) == 0;
    const int failed = a.status == AOEI_GITHUB_FAILED || (a.status > 0 && a.status != 200 && a.status != 403 &&
                                                          a.status != 404 && a.status != 410 && a.status != 451);
    if (!code && a.status != 0 && (!exists || json.pull_request)) {
        c->result->gone += failed == 0;
        c->result->unread += failed != 0;
    }
    if (exists && !json.pull_request) {
        if (json.repo.len)
            code = aoei_collect_repo(c, json.repo, &repo, err);
        if (!code)
            *target = aoei_issues_find(&c->issues, repo, json.number);
        if (!code && *target == AOEI_NO_ISSUE)
            code = aoei_collect_page(c, &a, &page, err);
        if (!code && *target == AOEI_NO_ISSUE)
            code = aoei_collect_issue(c, &json, repo, page, target, err);
        if (!code && (repo != m->repo || json.number != m->number)) {
            c->result->transferred++;
            code = aoei_issues_alias(&c->issues, m->repo, m->number, *target, err);
        }
    }
    aoei_buffer_free(&url);
    aoei_github_response_free(&a);
    return code;
}

/* Adds the links of one issue. s: [n] valid mentions of the issue, as selected by keep_valid; marked: 1 if the issue is
 * marked as a duplicate; weak: 1 if all links are weak. */
static int link_issue(aoei_collection *c, const ordered_mention *s, size_t n, int marked, int weak, aoe_error *err) {
    const uint32_t from = s[0].m.issue;
    const int closed = c->issues.issue[from].closed;
    int code = AOE_OK;
    marked |= c->issues.issue[from].marked;
    weak |= c->repository[c->issues.issue[from].repo].incomplete;
    for (size_t i = 0; i < n && !code; i++) {
        const int is_stated = s[i].m.kind == AOEI_MENTION_STATED;
        const int is_likely = s[i].m.kind == AOEI_MENTION_GUESS && marked && n == 1,
                  holds = closed && (is_stated || is_likely);
        uint32_t target = aoei_issues_find(&c->issues, s[i].m.repo, s[i].m.number);
        if (holds)
            code = find_target(c, &s[i].m, &target, err);
        if (!code && target != AOEI_NO_ISSUE && target != from)
            code = aoei_issues_link_add(&c->issues, from, target, weak || !holds, err);
    }
    return code;
}

/* Converts the mentions from index `begin` of c->mention to links. If weak is 1, all these links are weak. */
static int resolve(aoei_collection *c, size_t begin, int weak, aoe_error *err) {
    const size_t n = c->n_mentions - begin;
    ordered_mention *s = aoei_malloc_array(n, sizeof *s);
    int code = s ? AOE_OK : aoei_fail_nomem(err, n * sizeof *s);
    for (size_t i = 0; i < n && !code; i++) {
        s[i] = (ordered_mention){c->mention[begin + i], i};
        code = aoei_collect_repo(c, aoe_text_of(c->issues.repo[s[i].m.repo]), &s[i].m.repo,
                                 /* replaces the index of an old name of the repository by the index of its current
                                  * name */
                                 err);
    }
    if (!code)
        qsort(s, n, sizeof *s, by_issue);
    for (size_t first = 0, end; first < n && !code; first = end) {
        int marked;
        for (end = first + 1; end < n && s[end].m.issue == s[first].m.issue;)
            end++;
        const size_t kept = keep_valid(s + first, end - first, &marked);
        const uint32_t issue = s[first].m.issue;
        c->issues.issue[issue].marked |= (unsigned char)marked;
        if (kept)
            code = link_issue(c, s + first, kept, marked, weak, err);
    }
    aoei_free(s);
    return code;
}

int aoei_collect_resolve(aoei_collection *c, aoe_error *err) {
    int code = AOE_OK;
    for (size_t round = 0, first = 0, end; round < ROUNDS && first < c->n_mentions && !code; round++, first = end) {
        end = c->n_mentions; /* resolve may fetch issues and append their mentions */
        code = resolve(c, first, round > 0, err);
    }
    return code;
}
