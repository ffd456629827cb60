/* SPDX-License-Identifier: MIT
 * Implements aoe_github_issues: reads the issues of repositories, finds duplicates, and writes pairs of duplicates as
 * training data. If a repository cannot be read, the run continues with the other repositories.
 */
#include <math.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "collect/github_graphql.h"
#include "collect/github_report.h"
#include "collect/github_resolve.h"
#include "collect/github_rest.h"
#include "collect/issues_pairs.h"
#include "options/collect.h"
#include "table/table.h"

static const char *const angle[] = {
#include "collect/github_preset.inc"
};

const char *const *aoe_github_preset(const char *name, size_t *n) {
    if (!name || !n)
        return NULL;
    const int known = strcmp(name, "angle") == 0;
    *n = known ? sizeof angle / sizeof *angle : 0;
    return known ? angle : NULL;
}

AOEI_DEFAULTS(aoe_github_options) {
    *o = (aoe_github_options){
        .struct_size = sizeof *o, .ratio = {12, 1, 1}, .kind = AOE_EXAMPLES_PAIRS, .negatives = 1, .seed = 42};
}

/* Sets `ratio` to options.ratio, with 0 for splits that have no output name. If no split has an output name, all ratios
 * are used. */
static void ratios_of(const aoe_github_options *o, double ratio[AOE_ISSUES_SPLITS]) {
    int named = 0;
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        named |= o->name[i] != NULL;
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        ratio[i] = o->name[i] || !named ? o->ratio[i] : 0;
}

static int check_splits(const aoe_github_options *o, aoe_error *err) {
    double ratio[AOE_ISSUES_SPLITS], sum = 0;
    int code = AOE_OK;
    ratios_of(o, ratio);
    for (int i = 0; i < AOE_ISSUES_SPLITS && !code; i++) {
        aoe_table_format format;
        if (!(o->ratio[i] >= 0) || !isfinite(o->ratio[i]))
            return aoei_fail(err, AOE_EARG, "options.ratio: %g is not a split ratio; use non-negative numbers",
                             o->ratio[i]);
        sum += ratio[i];
        if (o->name[i])
            code = aoei_table_format_of(&format, o->name[i], err);
        if (o->name[i] && !code && format == AOE_TABLE_TXT)
            code =
                aoei_fail(err, AOE_EARG,
                          "%s: a .txt file cannot contain pairs; use .tsv, .csv or .jsonl for the output", o->name[i]);
    }
    if (!code && (!(sum > 0) || !isfinite(sum)))
        code =
            aoei_fail(err, AOE_EARG,
                      "options.ratio: the ratios of the written splits are 0; set at least one to a positive number");
    return code;
}

static int check(const aoe_github_options *o, aoe_error *err) {
    if (!o->cache)
        return aoei_fail(err, AOE_EARG, "options.cache is missing; set it to an SQLite file for the responses");
    if (!o->n_repositories)
        return aoei_fail(err, AOE_EARG, "options.repositories is empty; use names such as owner/name");
    for (size_t i = 0; i < o->n_repositories; i++) {
        const size_t len = strlen(o->repositories[i]);
        if (!len || aoei_repository_name(o->repositories[i], len) != len)
            return aoei_fail(err, AOE_EARG, "'%s' is not the name of a repository; use owner/name", o->repositories[i]);
    }
    const int code = aoei_option_group_check(&aoei_github_choice_rows, o, AOEI_ALL_METHODS, err);
    if (code)
        return code;
    if (o->kind != AOE_EXAMPLES_PAIRS && o->kind != AOE_EXAMPLES_TRIPLETS)
        return aoei_fail(err, AOE_EARG, "options.kind must be pairs or triplets");
    if (o->graphql && !o->token && !o->offline)
        return aoei_fail(err, AOE_EARG, "GraphQL requires a token; set options.token, or use REST");
    if (o->offline && o->refresh)
        return aoei_fail(err, AOE_EARG, "options.offline and options.refresh cannot be combined; remove one");
    return check_splits(o, err);
}

static int read_repositories(aoei_collection *c, aoe_error *err) {
    const aoe_github_options *o = c->api.o;
    char buffer[AOEI_WHY];
    const char *why;
    int code = AOE_OK;
    for (size_t i = 0; i < o->n_repositories && !code; i++) {
        c->api.progress.repository = o->repositories[i];
        c->api.progress.done = i;
        code = aoei_github_report_progress(&c->api, err);
        if (!code)
            code = o->graphql ? aoei_collect_graphql(c, o->repositories[i], buffer, &why, err)
                              : aoei_collect_rest(c, o->repositories[i], buffer, &why, err);
        if (code)
            break;
        c->result->repositories += why == NULL;
        c->result->missing += why != NULL;
        if (why && o->missing)
            o->missing(o->user, o->repositories[i], why);
    }
    c->api.progress.repository = "";
    c->api.progress.done = o->n_repositories;
    return code;
}

static void set_counts(const aoei_collection *c, const aoei_issue_pairs *p) {
    aoe_github_result *r = c->result;
    const aoei_fetch_counts rest = aoei_fetch_count(c->api.rest_fetch),
                            graphql = aoei_fetch_count(c->api.graphql_fetch);
    for (size_t i = 0; i < c->issues.n; i++)
        r->marked += c->issues.issue[i].marked;
    r->unknown = p->unknown;
    r->clusters = p->clusters;
    r->clustered = p->clustered;
    r->largest = p->largest;
    r->equal += p->equal;
    r->easier = p->easier;
    r->without += p->without;
    r->requests = rest.requests + graphql.requests;
    r->stored = c->api.o->offline ? c->api.progress.stored : rest.stored + graphql.stored;
    r->unchanged = rest.unchanged + graphql.unchanged;
    r->absent = c->api.absent;
}

int aoe_github_issues(const aoe_github_options *o, aoe_github_result *result, aoe_error *err) {
    AOEI_CHECK(err, result);
    AOEI_RESULT(aoe_github_result, result, err);
    AOEI_OPTIONS(aoe_github_options, o, err);
    aoei_collection c = {.result = result};
    aoei_issue_pairs p = {0};
    int code = check(o, err);
    if (!code)
        code = aoei_github_open(&c.api, o, err);
    if (!code)
        code = read_repositories(&c, err);
    if (!code)
        code = aoei_collect_resolve(&c, err);
    if (!code) {
        double ratio[AOE_ISSUES_SPLITS];
        ratios_of(o, ratio);
        const aoei_issue_pair_options options = {.share = ratio,
                                                 .n_splits = AOE_ISSUES_SPLITS,
                                                 .negatives = o->negatives,
                                                 .kind = o->negatives_by,
                                                 .seed = o->seed};
        code = aoei_issue_pairs_make(&p, &c.issues, &options, err);
    }
    if (!code)
        code = aoei_collect_report(&c, &p, err);
    if (c.api.graphql_fetch)
        set_counts(&c, &p);
    aoei_issue_pairs_free(&p);
    aoei_collection_free(&c);
    return code;
}
