/* SPDX-License-Identifier: MIT
 * Implements `aoe data github-issues`: collects duplicate issues of GitHub repositories as training data. Statistics
 * are printed to stdout, and messages to stderr. The access token is read from an environment variable and cannot be
 * given as an argument, so that it does not appear in process lists.
 */
#include "aoe_collect.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/interrupt.h"
#include "cli/common/words.h"
#include "cli/data/data_tools.h"
#include "options/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct options {
    cli_general general;
    aoe_github_options g;
    const char *presets; /* names of predefined repository lists; NULL: none */
    const char *cache;   /* path of the cache; NULL: a file in the user's cache directory */
    /* name of the environment variable that contains the access token; NULL: GITHUB_TOKEN or, if it is not set,
     * GH_TOKEN */
    const char *token_env;
} options;

typedef struct job {
    options *o;
    const char **repository; /* [n] names of repositories; the array is owned, the strings are borrowed */
    size_t n;
    cli_file out[AOE_ISSUES_SPLITS]; /* output file of each split; zeroed for splits that are not written */
    cli_sink sink;                   /* sink for the files in `out` */
    cli_progress progress;
    char *missing; /* repositories that could not be read, such as "a/b (reason), c/d (reason)"; owned */
    size_t n_missing;
    /* repositories that could not be read, as a JSON array of objects with the keys "repository" and "why"; owned */
    json_t *missing_json;
} job;

static const char *const split_names[AOE_ISSUES_SPLITS] = {"train", "validation", "test"};

#define AT(field) .offset = offsetof(options, field)

static const aoei_option source_table[] = {
    {.name = "preset",
     .letter = 'p',
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(presets),
     .help = "add a predefined list of repositories: angle (the 55 repositories of the AnglE paper)",
     .fallback = "none"},
    {.name = "cache",
     .letter = 'c',
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     AT(cache),
     .help = "SQLite file that stores the downloaded issues",
     .fallback = "github.sqlite in $XDG_CACHE_HOME/aoe or ~/.cache/aoe"},
    {.name = "token-env",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(token_env),
     .help = "environment variable that holds the access token",
     .fallback = "GITHUB_TOKEN or GH_TOKEN, if one is set"},
};

/* ---- callbacks of the library */

static int write_part(void *user, size_t split, const char *data, size_t len) {
    job *j = user;
    return cli_sink_write(&j->sink, split, data, len);
}

static int show_progress(void *user, const aoe_github_progress *p) {
    job *j = user;
    char extra[200], quota[48] = "", seconds[32];
    if (p->quota >= 0)
        snprintf(quota, sizeof quota, "  quota %lld", (long long)p->quota);
    if (p->waiting > 0) {
        cli_format_seconds(seconds, p->waiting);
        snprintf(extra, sizeof extra, "waiting %s  %.120s", seconds, p->why);
    } else {
        snprintf(extra, sizeof extra, "%.60s  %llu requests  %llu from the cache%s", p->repository,
                 (unsigned long long)p->requests, (unsigned long long)p->stored, quota);
    }
    cli_progress_update(&j->progress, p->issues, 0, NULL, -1, extra);
    return cli_interrupted();
}

static int asked_to_stop(void *user) {
    (void)user;
    return cli_interrupted();
}

static void note_missing(void *user, const char *repository, const char *why) {
    job *j = user;
    const size_t old = j->missing ? strlen(j->missing) : 0, more = strlen(repository) + strlen(why) + 8;
    j->missing = cli_realloc(j->missing, old + more);
    snprintf(j->missing + old, more, "%s%s: %s", old ? "; " : "", repository, why);
    j->n_missing++;
    json_array_append_new(j->missing_json, json_pack("{s:s,s:s}", "repository", repository, "why", why));
}

/* ---- results */

static json_t *counts_json(const size_t *counts) {
    json_t *o = json_object();
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        json_object_set_new(o, split_names[i], json_integer((json_int_t)counts[i]));
    return o;
}

static void print_json(const job *j, const aoe_github_result *r) {
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"repositories", r->repositories},
        {"issues", r->issues},
        {"pull_requests", r->pull_requests},
        {"marked", r->marked},
        {"unknown", r->unknown},
        {"clusters", r->clusters},
        {"clustered", r->clustered},
        {"largest", r->largest},
        {"equal", r->equal},
        {"gone", r->gone},
        {"unread", r->unread},
        {"transferred", r->transferred},
        {"easier", r->easier},
        {"without", r->without},
        {"requests", r->requests},
        {"stored", r->stored},
        {"unchanged", r->unchanged},
        {"absent", r->absent},
    };
    json_t *o = json_pack("{s:o,s:o}", "positives", counts_json(r->positives), "negatives", counts_json(r->negatives));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(o, counts[i].key, json_integer((json_int_t)counts[i].value));
    json_object_set(o, "missing", j->missing_json);
    cli_print_json(o);
}

static void table_row(cli_table *t, const char *name, const size_t *counts) {
    size_t sum = 0;
    cli_table_cell(t, "%s", name);
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++) {
        cli_table_cell(t, "%zu", counts[i]);
        sum += counts[i];
    }
    cli_table_cell(t, "%zu", sum);
}

/* Prints the statistics in the form of table 1 of the AnglE paper. */
static void print_table(const aoe_github_result *r) {
    cli_table t;
    size_t total[AOE_ISSUES_SPLITS];
    cli_table_begin(&t, "lrrrr");
    cli_table_cell(&t, "split");
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++) {
        cli_table_cell(&t, "%s", split_names[i]);
        total[i] = r->positives[i] + r->negatives[i];
    }
    cli_table_cell(&t, "all");
    table_row(&t, "positives", r->positives);
    table_row(&t, "negatives", r->negatives);
    table_row(&t, "total", total);
    cli_table_print(&t);
    cli_table_free(&t);
}

static void report_counts(const aoe_github_result *r) {
    cli_note("%zu issue%s of %zu repositor%s; %zu clusters of duplicates with %zu issues, %zu in the largest",
             r->issues, cli_plural(r->issues), r->repositories, r->repositories == 1 ? "y" : "ies", r->clusters,
             r->clustered, r->largest);
    cli_note("%llu requests, %llu responses from the cache, %llu unchanged", (unsigned long long)r->requests,
             (unsigned long long)r->stored, (unsigned long long)r->unchanged);
    if (r->unknown)
        cli_note("skipped issues that are marked as duplicates but do not name the original issue: %zu of %zu",
                 r->unknown, r->marked);
    if (r->gone || r->transferred)
        cli_note("referenced issues: %zu moved, %zu deleted or pull requests", r->transferred, r->gone);
    if (r->equal)
        cli_note("skipped %zu duplicate%s with the same text as the original issue", r->equal, cli_plural(r->equal));
    if (r->easier)
        cli_note("%zu negative%s drawn at random because no hard negative was available", r->easier,
                 r->easier == 1 ? " was" : "s were");
    if (r->without)
        cli_warn("%zu duplicate%s fewer negatives than requested because the repository has no more issues in this set",
                 r->without, r->without == 1 ? " has" : "s have");
    if (r->unread)
        cli_warn("%zu list%s of comments or referenced issues could not be read completely; duplicates mentioned "
                 "there are missing",
                 r->unread, cli_plural(r->unread));
    if (r->absent)
        cli_warn("the result is incomplete: responses missing from the cache: %llu; run without --offline to "
                 "download them",
                 (unsigned long long)r->absent);
}

/* ---- the run */

static void add_repository(job *j, const char *name) {
    j->repository = cli_realloc(j->repository, (j->n + 1) * sizeof *j->repository);
    j->repository[j->n++] = name;
}

static int list_repositories(job *j, const cli_args *args) {
    size_t n = 0;
    const char *const *preset = j->o->presets ? aoe_github_preset(j->o->presets, &n) : NULL;
    if (j->o->presets && !preset)
        return cli_usage("data github-issues", "unknown preset '%s'; choose angle", j->o->presets);
    for (size_t i = 0; i < n; i++)
        add_repository(j, preset[i]);
    for (size_t i = 0; i < args->n; i++)
        add_repository(j, args->operand[i]);
    if (!j->n)
        return cli_usage("data github-issues", "missing repositories: OWNER/NAME..., or --preset angle");
    return CLI_GO;
}

/* Reads the access token from an environment variable. If --token-env was given and its variable is not set or empty,
 * reports an error. Without --token-env, an empty variable is ignored; if no token is found, requests are sent without
 * a token. */
static int find_token(options *o) {
    static const char *const usual[] = {"GITHUB_TOKEN", "GH_TOKEN"};
    if (o->token_env) {
        o->g.token = getenv(o->token_env);
        if (!o->g.token || !*o->g.token)
            return cli_fail("environment variable %s is not set; set it to the token, or leave out --token-env",
                            cli_env_name_shown(o->token_env));
        return 0;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !o->g.token; i++) {
        const char *value = getenv(usual[i]);
        o->g.token = value && *value ? value : NULL;
    }
    return 0;
}

/* Returns the path of the cache in the user's cache directory. Creates the directory if necessary. The caller frees the
 * path with free(). Returns NULL after reporting an error. */
static char *user_cache(void) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const int has_xdg = xdg && *xdg == '/';
    if (!has_xdg && !(home && *home)) {
        cli_fail("no home directory for the cache; give a file with --cache");
        return NULL;
    }
    char *base = has_xdg ? cli_strdup(xdg) : cli_format("%s/.cache", home), *dir = cli_format("%s/aoe", base),
         *file = NULL;
    if ((mkdir(base, 0700) && errno != EEXIST) || (mkdir(dir, 0700) && errno != EEXIST))
        cli_fail("cannot create %s: %s; choose another file with --cache", dir, strerror(errno));
    else
        file = cli_format("%s/github.sqlite", dir);
    free(base);
    free(dir);
    return file;
}

static int open_outputs(job *j) {
    int code = 0;
    for (int i = 0; i < AOE_ISSUES_SPLITS && !code; i++) {
        const char *name = j->o->g.name[i];
        if (name && cli_is_same_file(name, j->o->cache))
            return cli_fail("%s is the cache and would be overwritten; choose another file for --%s", name,
                            split_names[i]);
        if (name)
            code = cli_file_open(&j->out[i], name);
    }
    return code;
}

static int report_failure(job *j, const aoe_github_result *r, int code, const aoe_error *err) {
    if (code != AOE_ECANCELLED || !cli_interrupted())
        return cli_sink_end(&j->sink, code, err);
    cli_message("aoe: stopped after %zu issue%s and %llu request%s; run the same command to continue", r->issues,
                cli_plural(r->issues), (unsigned long long)r->requests, cli_plural((size_t)r->requests));
    return 128 + cli_interrupted();
}

/* Returns the index of the first split that has an output file but no rows, or AOE_ISSUES_SPLITS if there is no such
 * split. */
static size_t find_empty(const options *o, const aoe_github_result *r) {
    size_t i = 0;
    while (i < AOE_ISSUES_SPLITS && (!o->g.name[i] || r->positives[i]))
        i++;
    return i;
}

static int report_empty(const job *j, const aoe_github_result *r, size_t split) {
    size_t pairs = 0;
    if (j->n_missing)
        cli_warn("not read: %s", j->missing);
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        pairs += r->positives[i];
    if (!pairs)
        return cli_fail("none of %zu issues is known to be a duplicate, so nothing was written; try --all-comments, "
                        "--graphql or other repositories",
                        r->issues);
    return cli_fail("%s would be empty, so nothing was written: duplicates stay together in clusters, and there are "
                    "only %zu clusters; give --%s a larger ratio with --shares, or leave it out",
                    j->o->g.name[split], r->clusters, split_names[split]);
}

static int run_job(job *j) {
    options *o = j->o;
    aoe_github_result result = {.struct_size = sizeof result};
    aoe_error err;
    o->g.repositories = j->repository;
    o->g.n_repositories = j->n;
    o->g.cache = o->cache;
    o->g.seed = o->general.seed;
    o->g.write = write_part;
    o->g.progress = show_progress;
    o->g.stop = asked_to_stop;
    o->g.missing = note_missing;
    o->g.user = j;
    cli_watch_interrupts();
    if (open_outputs(j))
        return 1;
    cli_progress_begin(&j->progress, "collecting", "issues", 0);
    const int code = aoe_github_issues(&o->g, &result, &err);
    cli_progress_end(&j->progress);
    if (code)
        return report_failure(j, &result, code, &err);
    report_counts(&result);
    const size_t empty = find_empty(o, &result);
    if (empty < AOE_ISSUES_SPLITS)
        return report_empty(j, &result, empty);
    if (cli_sink_end(&j->sink, 0, NULL))
        return 1;
    if (o->general.json)
        print_json(j, &result);
    else
        print_table(&result);
    if (!j->n_missing)
        return 0;
    return cli_fail("%zu of %zu repositories could not be read and are missing from the result: %s", j->n_missing, j->n,
                    j->missing);
}

static int check_options(const options *o) {
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++) {
        if (o->g.name[i] && strcmp(o->g.name[i], "-") == 0)
            return cli_usage("data github-issues", "stdout receives the statistics; give a file with --%s",
                             split_names[i]);
        for (int k = 0; k < i; k++)
            if (o->g.name[i] && o->g.name[k] && cli_is_same_file(o->g.name[i], o->g.name[k]))
                return cli_usage("data github-issues", "--%s and --%s are the same file; give different files",
                                 split_names[k], split_names[i]);
    }
    if (o->g.graphql && o->g.all_comments)
        return cli_usage("data github-issues", "--graphql always reads all comments; leave out --all-comments");
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_github_options_defaults(&o.g);
    const cli_group groups[] = {
        CLI_GROUP("source", source_table, &o),
        CLI_LIBRARY_GROUP(&aoei_github_source_rows, &o.g),
        CLI_LIBRARY_GROUP(&aoei_github_output_rows, &o.g),
        CLI_LIBRARY_GROUP(&aoei_github_choice_rows, &o.g),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data github-issues",
        .operands = "[OWNER/NAME...]",
        .about =
            "Creates training data from GitHub issues, as the AnglE paper did for its long-text data set. The\n"
            "queries are issues that were closed as duplicates. The positive of a query is the original issue,\n"
            "and the negatives are other issues of the repository. Each issue, with all its duplicates, is in\n"
            "only one of the training, validation and test sets. Downloaded issues are stored in a cache\n"
            "(--cache). To continue an interrupted run, run the command again. Repeating a complete run downloads\n"
            "nothing.\n",
        .examples =
            "  GITHUB_TOKEN=... aoe data github-issues --preset angle --train train.tsv \\\n"
            "      --validation dev.tsv --test test.tsv\n"
            "  aoe data github-issues psf/requests pallets/flask --train issues.jsonl --ids\n"
            "  aoe data github-issues psf/requests --offline --form triplets --negatives-by near --train hard.csv\n",
        CLI_GROUPS(groups),
        .min_operands = 0,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    job j = {.o = &o, .missing_json = json_array()};
    j.sink = (cli_sink){j.out, AOE_ISSUES_SPLITS};
    char *cache = NULL;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO)
        code = list_repositories(&j, &args);
    if (code == CLI_GO) {
        cli_set_quiet(o.general.quiet);
        code = find_token(&o);
        if (!code && !o.cache)
            o.cache = cache = user_cache();
        code = code || !o.cache ? 1 : run_job(&j);
        cli_progress_end(&j.progress);
        for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
            cli_file_abort(&j.out[i]);
    }
    json_decref(j.missing_json);
    free(j.repository);
    free(j.missing);
    free(cache);
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_github_issues_command = {
    .name = "github-issues",
    .summary = "collect pairs of duplicate issues from GitHub repositories",
    .run = run_command,
};
