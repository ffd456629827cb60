/* SPDX-License-Identifier: MIT
 * covers: collect/issues collect/issues_negatives
 * Tests how training pairs are formed from GitHub issues. A link states that one issue is a duplicate of another issue.
 * Linked issues are in one cluster, and some links also become pairs. No cluster may be used in two splits, and equal
 * inputs must give equal outputs. Other tests cover the three kinds of negatives and the set that stores the issues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_collect.h"
#include "base/random.h"
#include "collect/issues.h"
#include "collect/issues_pairs.h"

enum { SPLITS = 3 };
static const double ratios[SPLITS] = {8, 1, 1};

static uint32_t add(aoei_issues *s, uint32_t repo, uint64_t number, const char *title, const char *label) {
    const aoe_text labels[1] = {aoe_text_of(label ? label : "")};
    const aoei_issue_source source = {.issue = {.number = number,
                                                .repo = repo,
                                                .title = aoe_text_of(title),
                                                .text_hash = (uint64_t)repo << 40 | number,
                                                .closed = 1},
                                      .labels = labels,
                                      .n_labels = label ? 1 : 0};
    uint32_t index;
    assert_int_equal(aoei_issues_add(s, &source, &index, NULL), AOE_OK);
    return index;
}

static uint32_t repo_of(aoei_issues *s, const char *name) {
    uint32_t repo;
    assert_int_equal(aoei_issues_repo(s, aoe_text_of(name), &repo, NULL), AOE_OK);
    return repo;
}

static void link_issues(aoei_issues *s, uint32_t from, uint32_t to, int weak) {
    assert_int_equal(aoei_issues_link_add(s, from, to, weak, NULL), AOE_OK);
}

/* Adds n issues with random titles and labels, alternating between two repositories. Every fifth issue is a duplicate
 * of an earlier issue: the second or the fourth before it. */
static void fill(aoei_issues *s, uint32_t n) {
    static const char *const words[] = {"crash", "window", "menu", "font",   "slow", "network",
                                        "theme", "print",  "undo", "search", "tab"};
    static const char *const labels[] = {"bug", "ui", "docs"};
    aoei_rng rng;
    aoei_rng_init(&rng, 7, AOEI_STREAM_TEST, 0);
    repo_of(s, "a/one");
    repo_of(s, "a/two");
    for (uint32_t i = 0; i < n; i++) {
        char title[100];
        snprintf(title, sizeof title, "%s %s number%u", words[aoei_rng_below(&rng, 11)],
                 words[aoei_rng_below(&rng, 11)], i / 7);
        add(s, i % 2, i + 1, title, labels[aoei_rng_below(&rng, 3)]);
        if (i % 5 == 4)
            link_issues(s, i, i - 2 - 2 * aoei_rng_below(&rng, 2), 0);
    }
}

static int make(aoei_issue_pairs *p, const aoei_issues *s, aoe_issue_negatives kind, size_t negatives, uint64_t seed) {
    const aoei_issue_pair_options o = {
        .share = ratios, .n_splits = SPLITS, .negatives = negatives, .kind = kind, .seed = seed};
    aoe_error err;
    return aoei_issue_pairs_make(p, s, &o, &err);
}

/* Sets of[i] to the cluster of issue i, for all s->n issues. The number of a cluster is the lowest index of its issues.
 * This reference implementation is slow but simple. */
static void slow_clusters(const aoei_issues *s, uint32_t *of) {
    for (uint32_t i = 0; i < s->n; i++)
        of[i] = i;
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t k = 0; k < s->n_links; k++) {
            const uint32_t a = of[s->link[k].from], b = of[s->link[k].to], low = a < b ? a : b;
            changed |= a != b;
            of[s->link[k].from] = of[s->link[k].to] = low;
        }
    }
}

/* Checks the pairs. The two issues of a pair must be in one cluster. The negatives of a query must be distinct issues
 * of the query's repository that are in other clusters. No issue and no cluster may be used in two splits. */
static void check_pairs(const aoei_issues *s, const aoei_issue_pairs *p, size_t negatives) {
    enum { NONE = 9 };
    uint32_t *of = calloc(s->n, sizeof *of);
    unsigned char *split = malloc(s->n), *cluster_split = malloc(s->n);
    slow_clusters(s, of);
    memset(split, NONE, s->n);
    memset(cluster_split, NONE, s->n);
    for (size_t i = 0; i < p->n; i++) {
        const aoei_issue_pair *q = &p->pair[i];
        assert_true(q->split < SPLITS && q->n_negatives <= negatives);
        assert_int_equal(of[q->query], of[q->positive]);
        uint32_t used[16] = {q->query, q->positive};
        size_t n = 2;
        for (size_t k = 0; k < q->n_negatives; k++) {
            const uint32_t issue = p->negative[q->first_negative + k];
            for (size_t j = 2; j < n; j++)
                assert_int_not_equal(used[j], issue);
            used[n++] = issue;
            assert_int_not_equal(of[issue], of[q->query]);
            assert_int_equal(s->issue[issue].repo, s->issue[q->query].repo);
        }
        for (size_t k = 0; k < n; k++) {
            assert_true(split[used[k]] == NONE || split[used[k]] == q->split);
            assert_true(cluster_split[of[used[k]]] == NONE || cluster_split[of[used[k]]] == q->split);
            split[used[k]] = cluster_split[of[used[k]]] = (unsigned char)q->split;
        }
    }
    free(of);
    free(split);
    free(cluster_split);
}

static void test_random_sets(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        aoei_issues s = {0};
        fill(&s, 1000);
        for (int kind = 0; kind < 3; kind++) {
            aoei_issue_pairs p, again;
            assert_int_equal(make(&p, &s, (aoe_issue_negatives)kind, 1 + seed % 3, seed), AOE_OK);
            assert_int_equal(make(&again, &s, (aoe_issue_negatives)kind, 1 + seed % 3, seed), AOE_OK);
            assert_int_equal(p.n, 200);
            assert_int_equal(p.without, 0);
            assert_int_equal(p.n_negatives, 200 * (1 + seed % 3));
            check_pairs(&s, &p, 1 + seed % 3);
            assert_memory_equal(p.pair, again.pair, p.n * sizeof *p.pair);
            assert_memory_equal(p.negative, again.negative, p.n_negatives * sizeof *p.negative);
            size_t in_train = 0;
            for (size_t i = 0; i < p.n; i++)
                in_train += p.pair[i].split == 0;
            /* according to the ratios, the training split should contain 160 pairs; the number may differ because all
             * pairs of a cluster are in one split */
            assert_in_range(in_train, 150, 170);
            aoei_issue_pairs_free(&p);
            aoei_issue_pairs_free(&again);
        }
        aoei_issues_free(&s);
    }
}

static void test_hard_negatives(void **state) {
    aoei_issues s = {0};
    aoei_issue_pairs p;
    (void)state;
    fill(&s, 1000);
    assert_int_equal(make(&p, &s, AOE_ISSUE_NEGATIVES_LABEL, 1, 3), AOE_OK);
    assert_int_equal(p.easier, 0);
    for (size_t i = 0; i < p.n; i++)
        assert_int_equal(s.label[s.issue[p.pair[i].query].first_label],
                         s.label[s.issue[p.negative[p.pair[i].first_negative]].first_label]);
    aoei_issue_pairs_free(&p);
    aoei_issues_free(&s);

    s = (aoei_issues){0};
    const uint32_t repo = repo_of(&s, "a/b"), a = add(&s, repo, 1, "the printer prints upside down", NULL);
    const uint32_t b = add(&s, repo, 2, "Upside down pages", NULL),
                   near = add(&s, repo, 3, "Printer: page is UPSIDE down?", NULL);
    add(&s, repo, 4, "all the settings are lost after the update", NULL);
    add(&s, repo, 5, "fonts are too small", NULL);
    link_issues(&s, a, b, 0);
    const aoei_issue_pair_options o = {
        .share = ratios, .n_splits = 1, .negatives = 1, .kind = AOE_ISSUE_NEGATIVES_NEAR, .seed = 1};
    assert_int_equal(aoei_issue_pairs_make(&p, &s, &o, NULL), AOE_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.negative[0], near);
    aoei_issue_pairs_free(&p);
    aoei_issues_free(&s);
}

static void test_links_that_become_pairs(void **state) {
    aoei_issues s = {0};
    aoei_issue_pairs p;
    (void)state;
    const uint32_t repo = repo_of(&s, "a/b"), one = add(&s, repo, 1, "one", NULL), two = add(&s, repo, 2, "two", NULL);
    const uint32_t three = add(&s, repo, 3, "three", NULL), four = add(&s, repo, 4, "four", NULL);
    const uint32_t marked = add(&s, repo, 5, "five", "status: duplicate"), other = add(&s, repo, 6, "six", "bug");
    const uint32_t twin = add(&s, repo, 7, "seven", NULL), empty = add(&s, repo, 8, "", NULL);
    s.issue[twin].text_hash = s.issue[one].text_hash;
    s.issue[empty].empty = 1;
    link_issues(&s, one, two, 0);
    link_issues(&s, two, one, 0);   /* the previous link in the opposite direction */
    link_issues(&s, one, one, 0);   /* a link from an issue to itself */
    link_issues(&s, three, one, 1); /* a weak link: the text only guesses that the issue is a duplicate */
    link_issues(&s, twin, one, 0);  /* the two issues have equal texts */
    link_issues(&s, empty, one, 0);
    assert_int_equal(s.issue[marked].marked, 1);
    assert_int_equal(s.issue[marked].n_labels, 0);
    const aoei_issue_pair_options o = {.share = ratios, .n_splits = 1, .negatives = 5, .seed = 1};
    assert_int_equal(aoei_issue_pairs_make(&p, &s, &o, NULL), AOE_OK);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.pair[0].query, one);
    assert_int_equal(p.pair[0].positive, two);
    assert_int_equal(p.equal, 2);
    /* the issue `marked` is counted in p.unknown: its label says that it is a duplicate, but no link names the
     * original */
    assert_int_equal(p.unknown, 1);
    assert_int_equal(p.clusters, 1);
    assert_int_equal(p.clustered, 5); /* one, two, three, twin, empty */
    assert_int_equal(p.without, 1);
    assert_int_equal(p.pair[0].n_negatives, 2);
    assert_true(p.negative[0] == four || p.negative[0] == other);
    assert_true(p.negative[1] == four || p.negative[1] == other);
    aoei_issue_pairs_free(&p);
    aoei_issues_free(&s);
}

/* Tests a pair (third, marked) whose original, `marked`, has the label "duplicate". It is not known of which issue
 * `marked` is a duplicate, so it may be a duplicate of any other original. Its cluster must therefore not be used for
 * negatives. */
static void test_marked_target(void **state) {
    aoei_issues s = {0};
    aoei_issue_pairs p;
    (void)state;
    const uint32_t repo = repo_of(&s, "a/b"), original = add(&s, repo, 1, "one", NULL);
    const uint32_t marked = add(&s, repo, 2, "two", "duplicate"), third = add(&s, repo, 3, "three", NULL);
    const uint32_t fourth = add(&s, repo, 4, "four", NULL), known = add(&s, repo, 5, "five", "duplicate");
    link_issues(&s, third, marked, 0);
    link_issues(&s, fourth, original, 0);
    link_issues(&s, known, add(&s, repo, 6, "six", NULL), 0);
    const aoei_issue_pair_options o = {.share = ratios, .n_splits = 1, .negatives = 5, .seed = 1};
    assert_int_equal(aoei_issue_pairs_make(&p, &s, &o, NULL), AOE_OK);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.unknown, 1);
    for (size_t i = 0; i < p.n_negatives; i++)
        assert_true(p.negative[i] != marked && p.negative[i] != third);
    for (size_t i = 0; i < p.n; i++)
        assert_int_equal(p.pair[i].n_negatives, p.pair[i].query == third ? 4 : 2);
    aoei_issue_pairs_free(&p);
    aoei_issues_free(&s);
}

static void test_issue_set(void **state) {
    aoei_issues s = {0};
    (void)state;
    const uint32_t repo = repo_of(&s, "Owner/Name"), other = repo_of(&s, "owner/names");
    assert_int_equal(repo_of(&s, "owner/name"), repo);
    assert_int_not_equal(repo, other);
    const uint32_t a = add(&s, repo, 12, "first", "Bug");
    assert_int_equal(add(&s, repo, 12, "second", "ui"), a);
    assert_int_equal(s.n, 1);
    assert_memory_equal(s.issue[a].title.data, "first", 5);
    assert_int_equal(aoei_issues_find(&s, repo, 12), a);
    assert_int_equal(aoei_issues_find(&s, other, 12), AOEI_NO_ISSUE);
    assert_int_equal(aoei_issues_alias(&s, other, 99, a, NULL), AOE_OK);
    assert_int_equal(aoei_issues_find(&s, other, 99), a);
    const uint32_t b = add(&s, other, 1, "x", "bUG");
    assert_int_equal(s.label[s.issue[a].first_label], s.label[s.issue[b].first_label]);
    for (uint64_t i = 1000; i < 5000; i++)
        add(&s, repo, i, "more", "bug");
    for (uint64_t i = 1000; i < 5000; i++)
        assert_int_equal(s.issue[aoei_issues_find(&s, repo, i)].number, i);
    assert_int_equal(aoei_issues_find(&s, other, 99), a);
    aoei_issues_free(&s);
}

static void test_nothing(void **state) {
    aoei_issues s = {0};
    aoei_issue_pairs p;
    (void)state;
    assert_int_equal(make(&p, &s, AOE_ISSUE_NEGATIVES_NEAR, 1, 1), AOE_OK);
    assert_int_equal(p.n, 0);
    aoei_issue_pairs_free(&p);
}

static int make_again(void *arg) {
    aoei_issues s = {0};
    aoei_issue_pairs p = {0};
    uint32_t index, repo;
    aoe_error err;
    int code = aoei_issues_repo(&s, aoe_text_of("a/b"), &repo, &err);
    for (uint64_t i = 0; i < 40 && !code; i++) {
        const aoe_text label = aoe_text_of("bug");
        const aoei_issue_source source = {
            .issue = {.number = i + 1, .repo = repo, .title = aoe_text_of("a title"), .text_hash = i},
            .labels = &label,
            .n_labels = 1};
        code = aoei_issues_add(&s, &source, &index, &err);
        if (!code && i % 4 == 3)
            code = aoei_issues_link_add(&s, index, index - 1, 0, &err);
    }
    if (!code)
        code = make(&p, &s, *(aoe_issue_negatives *)arg, 1, 5);
    aoei_issue_pairs_free(&p);
    aoei_issues_free(&s);
    return code;
}

static void test_no_memory(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        test_alloc_failures(make_again, &(aoe_issue_negatives){(aoe_issue_negatives)kind}, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sets),
        cmocka_unit_test(test_hard_negatives),
        cmocka_unit_test(test_links_that_become_pairs),
        cmocka_unit_test(test_marked_target),
        cmocka_unit_test(test_issue_set),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
