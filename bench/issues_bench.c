/* SPDX-License-Identifier: MIT
 * Measures the steps of `aoe data github-issues` after reading the cache and before writing the output files. The first
 * step extracts references from texts and stores the issues. The next steps compute clusters, splits and negatives,
 * once for each strategy of choosing negatives.
 *
 * The issues are generated and belong to 8 repositories. A title has 4 to 10 words, drawn from 20,000 words by Zipf's
 * law. An issue has 0 to 3 of 60 labels. About every sixth issue is a duplicate of an earlier issue. Some originals are
 * drawn by Zipf's law, so that clusters of all sizes occur.
 *
 *     issues_bench [ISSUES...]     default: 100000
 *
 * Prints the duration of each step in seconds. Each step runs once. The network and the cache are not used.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/random.h"
#include "collect/issues.h"
#include "collect/issues_pairs.h"
#include "collect/issues_refs.h"

enum { REPOS = 8, LABELS = 60, WORDS = 20000, DUPLICATE = 6 };

static double total; /* seconds of all steps for one number of issues */

/* Prints the row of a step that has just ended, and adds its duration to `total`. start: time in seconds at which the
 * step began. */
static void show(const char *step, size_t n, double start, const char *result) {
    const double seconds = aoei_now() - start;
    total += seconds;
    printf("%-34s %8zu %9.3f  %s\n", step, n, seconds, result);
}

/* Draws a rank from 1 to n by Zipf's law: the probability of rank r is proportional to 1 / r. */
static unsigned draw(aoei_rng *rng, unsigned n) {
    return (unsigned)exp(aoei_rng_uniform(rng) * log((double)n));
}

static void make_title(aoei_rng *rng, aoei_buffer *title) {
    const unsigned words = 4 + aoei_rng_below(rng, 7);
    aoei_buffer_clear(title);
    for (unsigned i = 0; i < words; i++)
        aoei_buffer_printf(title, "%sword%u", i ? " " : "", draw(rng, WORDS));
}

/* Writes a typical comment of issue `number` to `text`. If `earlier` is not 0, the comment says that the issue is a
 * duplicate of issue `earlier`. */
static void make_comment(aoei_rng *rng, uint64_t number, uint64_t earlier, aoei_buffer *text) {
    aoei_buffer_clear(text);
    for (unsigned i = 0; i < 5; i++)
        aoei_buffer_printf(text, "Some text with `code %u` and a link to #%u, as people write it.\n\n", i,
                           aoei_rng_below(rng, 1000));
    aoei_buffer_printf(text, "> quoted: duplicate of #%llu\n\n", (unsigned long long)number);
    if (earlier)
        aoei_buffer_printf(text, "Thanks! Closing as a duplicate of #%llu.\n", (unsigned long long)earlier);
}

/* Draws the original of issue `number`. Returns the number of an earlier issue, or 0 if issue `number` is not a
 * duplicate. Two of three originals are drawn uniformly, the others by Zipf's law, which prefers the first issues of a
 * repository. */
static uint64_t earlier_than(aoei_rng *rng, uint64_t number) {
    if (number < 50 || aoei_rng_below(rng, DUPLICATE))
        return 0;
    return 1 +
           (aoei_rng_below(rng, 3) ? aoei_rng_below(rng, (uint32_t)number - 1) : draw(rng, (uint32_t)number - 1) - 1);
}

static int add_issue(aoei_issues *s, aoei_rng *rng, const char *const *names, size_t i, aoei_buffer *text,
                     uint32_t *index) {
    aoe_text labels[3];
    uint32_t repo;
    make_title(rng, text);
    const unsigned n_labels = aoei_rng_below(rng, 4);
    for (unsigned k = 0; k < n_labels; k++)
        labels[k] = aoe_text_of(names[draw(rng, LABELS) - 1]);
    char name[32];
    snprintf(name, sizeof name, "owner/name%zu", i % REPOS);
    const aoei_issue_source source = {
        .issue = {.number = i / REPOS + 1, .text_hash = i + 1, .title = {text->data, text->len}, .closed = 1},
        .labels = labels,
        .n_labels = n_labels};
    aoei_issue_source copy = source;
    if (aoei_issues_repo(s, aoe_text_of(name), &repo, NULL))
        return -1;
    copy.issue.repo = repo;
    return aoei_issues_add(s, &copy, index, NULL);
}

/* Generates n issues with one comment each. Adds the issues and the links that are found in the comments to *s. */
static int fill(aoei_issues *s, size_t n, const char *const *names) {
    aoei_rng rng;
    aoei_buffer text = {0};
    aoei_issue_refs refs = {0};
    uint32_t index;
    int failed = 0;
    aoei_rng_init(&rng, 1, AOEI_STREAM_BENCH, 0);
    for (size_t i = 0; i < n && !failed; i++) {
        failed = add_issue(s, &rng, names, i, &text, &index);
        const uint64_t number = i / REPOS + 1;
        make_comment(&rng, number, earlier_than(&rng, number), &text);
        failed = failed || aoei_issue_refs_find(&refs, (aoe_text){text.data, text.len},
                                                (const char *const[]){"github.com", NULL}, NULL);
        for (size_t k = 0; k < refs.n && !failed; k++)
            failed =
                aoei_issues_link_add(s, index, aoei_issues_find(s, s->issue[index].repo, refs.ref[k].number), 0, NULL);
    }
    aoei_issue_refs_free(&refs);
    aoei_buffer_free(&text);
    return failed;
}

static int measure(size_t n, const char *const *names) {
    static const char *const kinds[] = {"split, negatives at random", "split, negatives by label",
                                        "split, negatives by title"};
    static const double share[3] = {12, 1, 1};
    aoei_issues s = {0};
    char result[100];
    total = 0;
    double start = aoei_now();
    int failed = fill(&s, n, names);
    snprintf(result, sizeof result, "%zu duplicates", s.n_links);
    show("texts, references and issues", n, start, result);
    for (int kind = 0; kind < 3 && !failed; kind++) {
        const aoei_issue_pair_options o = {
            .share = share, .n_splits = 3, .negatives = 1, .kind = (aoe_issue_negatives)kind, .seed = 42};
        aoei_issue_pairs p;
        start = aoei_now();
        failed = aoei_issue_pairs_make(&p, &s, &o, NULL);
        snprintf(result, sizeof result, "%zu pairs, %zu clusters, largest %zu, %zu easier", p.n, p.clusters, p.largest,
                 p.easier);
        show(kinds[kind], n, start, result);
        aoei_issue_pairs_free(&p);
    }
    printf("%-34s %8zu %9.3f\n", "total", n, total);
    aoei_issues_free(&s);
    return failed;
}

int main(int argc, char **argv) {
    static char text[LABELS][16];
    const char *names[LABELS];
    int failed = 0;
    for (int i = 0; i < LABELS; i++) {
        snprintf(text[i], sizeof text[i], "label %d", i);
        names[i] = text[i];
    }
    printf("%-34s %8s %9s\n", "step", "issues", "seconds");
    if (argc < 2)
        return measure(100000, names) != 0;
    for (int i = 1; i < argc && !failed; i++)
        failed = measure(strtoul(argv[i], NULL, 10), names);
    if (failed)
        fprintf(stderr, "issues_bench: out of memory\n");
    return failed;
}
