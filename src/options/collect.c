/* SPDX-License-Identifier: MIT
 * The option table of aoe_github_options.
 */
#include "options/collect.h"

#include <stddef.h>
#include <stdlib.h>

#include "aoe_collect.h"
#include "base/error.h"
#include "options/rows.h"
#include "options/table.h"

/* Parses the sizes of the training, validation and test sets in proportion to each other, such as "12,1,1". */
static int parse_shares(void *target, const char *text, aoe_error *err) {
    double *share = target;
    const char *at = text;
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++) {
        char *end;
        share[i] = strtod(at, &end);
        if (end == at || *end != (i + 1 < AOE_ISSUES_SPLITS ? ',' : 0))
            return aoei_fail(err, AOE_EARG, "expected three numbers, for train, validation and test, not '%s'", text);
        at = end + 1;
    }
    return 0;
}

#define GITHUB(field) AOEI_AT(aoe_github_options, field)

static const aoei_option github_source_rows[] = {
    {.name = "graphql",
     .kind = AOEI_OPTION_FLAG,
     GITHUB(graphql),
     .help = "use GitHub's GraphQL API instead of the REST API, and read the comments of all issues; the"
             " GraphQL API requires an access token"},
    {.name = "all-comments",
     .kind = AOEI_OPTION_FLAG,
     GITHUB(all_comments),
     .help = "REST API: read the comments of all issues, not only of issues that are marked as duplicates"},
    {.name = "limit",
     .kind = AOEI_OPTION_SIZE,
     GITHUB(limit),
     .max = 1e9,
     .help = "read only the oldest N issues of each repository",
     .fallback = "all"},
    {.name = "refresh",
     .kind = AOEI_OPTION_FLAG,
     GITHUB(refresh),
     .help = "ask the server whether cached issues have changed"},
    {.name = "offline",
     .kind = AOEI_OPTION_FLAG,
     GITHUB(offline),
     .excludes = "refresh",
     .help = "use only the cache; send no requests"},
    {.name = "api",
     .kind = AOEI_OPTION_TEXT,
     .value = "URL",
     GITHUB(api),
     .help = "URL of the API; for GitHub Enterprise https://HOST/api/v3",
     .fallback = "https://api.github.com"},
};

static const aoei_option github_output_rows[] = {
    {.name = "train",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     GITHUB(name[AOE_ISSUES_TRAIN]),
     .help = "output file of the training set: .tsv, .csv or .jsonl, optionally compressed (.gz or .zst)"},
    {.name = "validation",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     GITHUB(name[AOE_ISSUES_VALIDATION]),
     .help = "output file of the validation set; without this option there is no validation set"},
    {.name = "test",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     GITHUB(name[AOE_ISSUES_TEST]),
     .help = "output file of the test set; without this option there is no test set"},
    {.name = "form",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     GITHUB(kind),
     .parse = aoei_parse_output_form,
     .name_of = aoei_form_name,
     .choices = aoei_output_forms,
     .help = "columns of the output: pairs (text1, text2, label 1 or 0) or triplets (query, positive, negative)",
     .fallback = "pairs"},
    {.name = "ids",
     .kind = AOEI_OPTION_FLAG,
     GITHUB(ids),
     .help = "add columns that name the issues, for example owner/name#12"},
    {.name = "shares",
     .kind = AOEI_OPTION_NAMED,
     .value = "A,B,C",
     GITHUB(ratio),
     .parse = parse_shares,
     .help = "ratios of the sizes of the training, validation and test sets",
     .fallback = "12,1,1"},
};

static const aoei_option github_choice_rows[] = {
    {.name = "negatives",
     .letter = 'n',
     .kind = AOEI_OPTION_SIZE,
     GITHUB(negatives),
     .min = 1,
     .max = 1000,
     .help = "number of negatives per pair of duplicates"},
    {.name = "negatives-by",
     .kind = AOEI_OPTION_CHOICE,
     .value = "WAY",
     GITHUB(negatives_by),
     .choices = AOEI_CHOICES("random", "label", "near"),
     .noun = "selection of negatives",
     .help = "how negatives are selected: random, label (issues that share a label with the duplicate) or near (issues "
             "with the most similar titles)"},
    {.name = "clean",
     .kind = AOEI_OPTION_SET,
     .value = "PART,...",
     GITHUB(clean),
     .choices = AOEI_CHOICES("comments", "images", "templates"),
     .noun = "part",
     .help = "parts to remove from the texts of issues: comments (HTML comments), images, or templates"
             " (lines of issue templates)",
     .fallback = "none"},
};

const aoei_option_group aoei_github_source_rows = AOEI_GROUP("source", aoe_github_options, github_source_rows);
const aoei_option_group aoei_github_output_rows = AOEI_GROUP("output", aoe_github_options, github_output_rows);
const aoei_option_group aoei_github_choice_rows =
    AOEI_GROUP("negatives and text cleaning", aoe_github_options, github_choice_rows);
