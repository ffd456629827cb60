/* SPDX-License-Identifier: MIT
 * aoe compare: several ways of training (arms), each with the same seeds, and what
 * their scores say: mean, sd, difference to one arm, Student's t test over the
 * seeds, bootstrap intervals over pairs and seeds. Runs, records and resuming are
 * experiment.h's, the statistics the library's.
 */
#include "aoe_eval.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct arm {
    char *name;      /* owned */
    cli_words words; /* beside the options all arms share */
    int untrained;
    size_t first, n; /* its trials; of an untrained arm one */
} arm;

typedef struct options {
    cli_texts arms;
    const char *methods;
    const char *against; /* NULL: the first arm */
    cli_texts tests;
    aoe_bootstrap_options bootstrap;
    int format; /* a cli_table_format, or -1: not given */
    cli_experiment e;
} options;

static const cli_option table[] = {
    {.name = "arm",
     .letter = 'a',
     .kind = CLI_TEXTS,
     .value = "'NAME: OPTIONS'...",
     .offset = offsetof(options, arms),
     .help = "a way of training: its name and what it adds to the options behind --; 'NAME:' adds nothing. NAME alone: "
             "untrained, which scores the start model, or a --method of aoe train",
     .fallback = ""},
    {.name = "methods",
     .kind = CLI_TEXT,
     .value = "NAME,...",
     .offset = offsetof(options, methods),
     .help = "an arm for each method, before those of --arm",
     .fallback = "none"},
    {.name = "test",
     .kind = CLI_TEXTS,
     .value = "FILE...",
     .offset = offsetof(options, tests),
     .help = "score by the Spearman correlation on these tables or SentEval folders, and on --dev",
     .fallback = ""},
    {.name = "against",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = offsetof(options, against),
     .help = "the arm that the others are compared with",
     .fallback = "the first"},
    {.name = "replicates",
     .kind = CLI_SIZE,
     .value = "N",
     .offset = offsetof(options, bootstrap.replicates),
     .min = 1,
     .max = 1e7,
     .help = "resamples of the bootstrap"},
    {.name = "bootstrap-seed",
     .kind = CLI_SEED,
     .value = "N",
     .offset = offsetof(options, bootstrap.seed),
     .help = "seed of the bootstrap"},
    {.name = "format",
     .kind = CLI_NAMED,
     .value = "NAME",
     .offset = offsetof(options, format),
     .parse = cli_parse_table_format,
     .help = "table, csv or markdown",
     .fallback = "table"},
};

typedef struct comparison {
    const options *o;
    cli_experiment *e;
    arm *arms; /* [n_arms] */
    size_t n_arms, against;
    uint64_t *seed; /* [n_seeds] */
    size_t n_seeds;
    const char **file; /* [e->n_files] */
} comparison;

/* ---- arms */

static arm *add_arm(comparison *c, const char *name, size_t length) {
    c->arms = cli_realloc(c->arms, (c->n_arms + 1) * sizeof *c->arms);
    arm *a = &c->arms[c->n_arms++];
    *a = (arm){.name = cli_format("%.*s", (int)length, name)};
    a->untrained = strcmp(a->name, "untrained") == 0;
    return a;
}

static int is_method(const char *name) {
    cli_words w = {0};
    char message[1024];
    cli_words_add(&w, "--method=%s", name);
    const int known = cli_experiment_accepts(&w, 1, message, sizeof message);
    cli_words_free(&w);
    return known;
}

/* "NAME: OPTIONS", or a name alone. CLI_GO, or the exit code after reporting. */
static int read_arm(comparison *c, const char *text) {
    const char *colon = strchr(text, ':'), *end = colon ? colon : text + strlen(text);
    const char *first = text + strspn(text, " \t");
    while (end > first && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end == first)
        return cli_usage("compare", "--arm '%s': write 'NAME: OPTIONS'", text);
    arm *a = add_arm(c, first, (size_t)(end - first));
    if (colon && cli_words_split(&a->words, colon + 1))
        return cli_usage("compare", "--arm '%s': a quote has no end", text);
    if (!colon && !a->untrained) {
        if (!is_method(a->name))
            return cli_usage("compare",
                             "--arm %s: that is no method of aoe train; write '%s: OPTIONS', or '%s:' for the "
                             "options behind -- as they are",
                             a->name, a->name, a->name);
        cli_words_add(&a->words, "--method=%s", a->name);
    }
    char *where = cli_format("in --arm '%s'", a->name);
    const int code = cli_experiment_check_words(c->e, &a->words, where, NULL);
    free(where);
    return code;
}

static int read_arms(comparison *c) {
    const options *o = c->o;
    int code = CLI_GO;
    char *list = cli_strdup(o->methods ? o->methods : ""), *rest = o->methods ? list : NULL;
    for (const char *item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
        arm *a = add_arm(c, item, strlen(item));
        if (!a->untrained)
            cli_words_add(&a->words, "--method=%s", item);
    }
    free(list);
    for (size_t i = 0; code == CLI_GO && i < o->arms.n; i++)
        code = read_arm(c, o->arms.item[i]);
    if (code == CLI_GO && c->n_arms < 2)
        code = cli_usage("compare", "it needs two arms or more: --arm 'NAME: OPTIONS' or --methods NAME,NAME");
    if (code == CLI_GO && o->against) {
        while (c->against < c->n_arms && strcmp(c->arms[c->against].name, o->against) != 0)
            c->against++;
        if (c->against == c->n_arms)
            code = cli_usage("compare", "--against %s: no arm has that name", o->against);
    }
    return code;
}

static void add_trials(const comparison *c, arm *a) {
    a->first = c->e->n;
    a->n = a->untrained ? 1 : c->n_seeds;
    for (size_t s = 0; s < a->n; s++) {
        const unsigned long long seed = c->seed[s];
        cli_trial *t = a->untrained ? cli_experiment_add(c->e, cli_strdup(a->name), cli_strdup(a->name), c->seed[s])
                                    : cli_experiment_add(c->e, cli_format("%s_seed=%llu", a->name, seed),
                                                         cli_format("%s, seed %llu", a->name, seed), c->seed[s]);
        t->untrained = a->untrained;
        cli_words_append(&t->args, &c->e->base);
        cli_words_append(&t->args, &a->words);
        json_object_set_new(t->key, "arm", cli_json_text(a->name, strlen(a->name)));
        json_object_set_new(t->key, "seed", a->untrained ? json_null() : json_integer((json_int_t)c->seed[s]));
    }
}

static int add_files(comparison *c, const char *dev) {
    const cli_texts *tests = &c->o->tests;
    c->file = cli_realloc(NULL, (tests->n + 1) * sizeof *c->file);
    for (size_t i = 0; i < tests->n + (dev != NULL); i++) {
        const char *path = i < tests->n ? tests->item[i] : dev;
        int there = 0;
        for (size_t k = 0; k < c->e->n_files; k++)
            there |= strcmp(c->file[k], path) == 0;
        if (!there)
            c->file[c->e->n_files++] = path;
    }
    c->e->file = c->file;
    return c->e->n_files ? CLI_GO
                         : cli_usage("compare", "it needs something to score by: --test FILE, or behind -- a --dev FILE");
}

/* ---- what came out */

typedef struct judgement {
    size_t n;                     /* seeds with a score */
    aoe_t_test_result score;      /* over them */
    aoe_t_test_result difference; /* over seeds that both arms have a score for */
    aoe_interval mean, shift;     /* bootstrap intervals of the two means */
    const char *verdict;          /* "better", "worse", "open" or, of the arm that is compared with, "-" */
} judgement;

/* Trial of an arm for the s-th seed. */
static const cli_trial *trial_of(const comparison *c, const arm *a, size_t s) {
    return &c->e->trial[a->first + (a->untrained ? 0 : s)];
}

/* Scores by a file of the seeds that a, and b unless it is NULL, have one for: x, y: [n_seeds]; which[]: their numbers. */
static size_t paired_scores(const comparison *c, const arm *a, const arm *b, size_t file, double *x, double *y, size_t *which) {
    size_t n = 0;
    for (size_t s = 0; s < c->n_seeds; s++) {
        x[n] = cli_trial_score(trial_of(c, a, s), c->e, file);
        y[n] = b ? cli_trial_score(trial_of(c, b, s), c->e, file) : 0;
        which[n] = s;
        n += isnan(x[n]) || isnan(y[n]) ? 0 : 1;
    }
    return n;
}

/* Cosines [n, *pairs] of the seeds which[n], and the gold scores [*pairs], both malloc'd. 0, or 1 after reporting. */
static int load_cosines(const comparison *c, const arm *a, size_t file, const size_t *which, size_t n, double **cosines,
                        double **gold, size_t *pairs) {
    *cosines = *gold = NULL;
    *pairs = 0;
    for (size_t i = 0; i < n; i++) {
        double *cosine, *same_gold;
        size_t count;
        const int failed = cli_trial_pairs(c->e, trial_of(c, a, which[i]), file, &cosine, &same_gold, &count);
        if (!failed && i && count != *pairs)
            cli_fail("%s has scores of %zu pairs, others of %zu; remove its directory, and the run is made again",
                     trial_of(c, a, which[i])->label, count, *pairs);
        if (failed || (i && count != *pairs)) {
            free(cosine);
            free(same_gold);
            return 1;
        }
        *pairs = count;
        *cosines = cli_realloc(*cosines, (i + 1) * count * sizeof **cosines);
        memcpy(*cosines + i * count, cosine, count * sizeof **cosines);
        free(cosine);
        free(*gold);
        *gold = same_gold;
    }
    return 0;
}

/* The interval of a's mean, or of its difference to b. 0, or 1 after reporting. */
static int resample(const comparison *c, const arm *a, const arm *b, size_t file, const size_t *which, size_t n,
                    aoe_interval *interval) {
    double *x = NULL, *y = NULL, *gold = NULL, *again = NULL;
    size_t pairs = 0, pairs_b = 0;
    aoe_error err;
    *interval = (aoe_interval){.low = NAN, .high = NAN};
    if (!n)
        return 0;
    int code = load_cosines(c, a, file, which, n, &x, &gold, &pairs);
    if (!code && b)
        code = load_cosines(c, b, file, which, n, &y, &again, &pairs_b);
    if (!code && b && pairs_b != pairs)
        code = cli_fail("%s was scored on %zu pairs, %s on %zu; use a new directory with -o", a->name, pairs, b->name, pairs_b);
    if (!code && aoe_bootstrap_spearman(gold, pairs, x, y, n, &c->o->bootstrap, interval, &err))
        code = cli_fail("%s", err.message);
    free(x);
    free(y);
    free(gold);
    free(again);
    return code;
}

/* Another arm is better or worse when t test and interval agree that it is. */
static const char *verdict_of(const judgement *j) {
    if (j->difference.p < 0.05 && j->shift.low > 0)
        return "better";
    return j->difference.p < 0.05 && j->shift.high < 0 ? "worse" : "open";
}

static int judge(const comparison *c, size_t which_arm, size_t file, judgement *j) {
    const arm *a = &c->arms[which_arm], *b = &c->arms[c->against];
    double *x = cli_realloc(NULL, 2 * c->n_seeds * sizeof *x), *y = x + c->n_seeds;
    size_t *which = cli_realloc(NULL, c->n_seeds * sizeof *which);
    *j = (judgement){.verdict = "-"};
    j->n = paired_scores(c, a, NULL, file, x, y, which);
    aoe_t_test(x, NULL, j->n, &j->score);
    int code = resample(c, a, NULL, file, which, a->untrained && j->n ? 1 : j->n, &j->mean);
    if (a->untrained) {
        j->n = j->n ? 1 : 0;
        j->score.sd = NAN;
    }
    aoe_t_test(x, y, 0, &j->difference);
    j->shift = (aoe_interval){.low = NAN, .high = NAN};
    if (!code && a != b) {
        const size_t n = paired_scores(c, a, b, file, x, y, which);
        aoe_t_test(x, y, n, &j->difference);
        code = resample(c, a, b, file, which, n, &j->shift);
        j->verdict = verdict_of(j);
    }
    free(x);
    free(which);
    return code;
}

static void print_json(const comparison *c, const judgement *j, size_t file, size_t which_arm) {
    const arm *a = &c->arms[which_arm], *b = &c->arms[c->against];
    const char *path = c->e->file[file];
    json_t *seeds = json_array(), *scores = json_array(), *o = json_object();
    for (size_t s = 0; s < a->n; s++) {
        json_array_append_new(seeds, a->untrained ? json_null() : json_integer((json_int_t)c->seed[s]));
        json_array_append_new(scores, cli_json_real(cli_trial_score(trial_of(c, a, s), c->e, file)));
    }
    json_object_set_new(o, "file", cli_json_text(path, strlen(path)));
    json_object_set_new(o, "arm", cli_json_text(a->name, strlen(a->name)));
    json_object_set_new(o, "seeds", seeds);
    json_object_set_new(o, "scores", scores);
    json_object_set_new(o, "mean", cli_json_real(j->score.mean));
    json_object_set_new(o, "sd", cli_json_real(j->score.sd));
    json_object_set_new(o, "low", cli_json_real(j->mean.low));
    json_object_set_new(o, "high", cli_json_real(j->mean.high));
    if (a != b) {
        json_object_set_new(o, "against", cli_json_text(b->name, strlen(b->name)));
        json_object_set_new(o, "paired", json_integer((json_int_t)j->difference.n));
        json_object_set_new(o, "difference", cli_json_real(j->difference.mean));
        json_object_set_new(o, "difference_low", cli_json_real(j->shift.low));
        json_object_set_new(o, "difference_high", cli_json_real(j->shift.high));
        json_object_set_new(o, "t", cli_json_real(j->difference.t));
        json_object_set_new(o, "df", cli_json_real(j->difference.df));
        json_object_set_new(o, "p", cli_json_real(j->difference.p));
        json_object_set_new(o, "verdict", json_string(j->verdict));
    }
    cli_print_json(o);
}

static void real_cell(cli_table *t, int digits, double x) {
    if (isnan(x))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.*f", digits, x);
}

static cli_table_format format_of(const comparison *c) {
    return c->o->format == -1 ? CLI_TABLE_ALIGNED : (cli_table_format)c->o->format;
}

static void interval_cells(cli_table *t, cli_table_format format, const aoe_interval *i) {
    if (format == CLI_TABLE_CSV) {
        real_cell(t, 4, 100 * i->low);
        real_cell(t, 4, 100 * i->high);
    } else if (isnan(i->low)) {
        cli_table_cell(t, "-");
    } else {
        cli_table_cell(t, "%.2f to %.2f", 100 * i->low, 100 * i->high);
    }
}

static void heading(cli_table *t, cli_table_format format) {
    static const char *const plain[] = {"file",       "arm",          "seeds", "mean", "sd",     "95% interval",
                                        "difference", "95% interval", "t",     "p",    "verdict"};
    static const char *const csv[] = {"file", "arm",  "seeds",      "mean",           "sd",
                                      "low",  "high", "difference", "difference_low", "difference_high",
                                      "t",    "p",    "verdict"};
    const int is_csv = format == CLI_TABLE_CSV;
    cli_table_begin(t, is_csv ? "llrrrrrrrrrrl" : "llrrrrrrrrl");
    for (size_t i = 0; i < t->columns; i++)
        cli_table_cell(t, "%s", is_csv ? csv[i] : plain[i]);
}

static void add_row(cli_table *t, const comparison *c, const judgement *j, size_t file, size_t which_arm) {
    const cli_table_format format = format_of(c);
    const int digits = format == CLI_TABLE_CSV ? 4 : 2;
    const arm *a = &c->arms[which_arm];
    cli_table_cell(t, "%s", cli_file_label(c->e, file));
    cli_table_cell(t, "%s", a->name);
    if (j->n == a->n)
        cli_table_cell(t, "%zu", j->n);
    else
        cli_table_cell(t, "%zu of %zu", j->n, a->n);
    real_cell(t, digits, 100 * j->score.mean);
    real_cell(t, digits, 100 * j->score.sd);
    interval_cells(t, format, &j->mean);
    real_cell(t, digits, 100 * j->difference.mean);
    interval_cells(t, format, &j->shift);
    real_cell(t, digits, j->difference.t);
    if (isnan(j->difference.p))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, format == CLI_TABLE_CSV ? "%.6g" : "%.2g", j->difference.p);
    cli_table_cell(t, "%s", j->verdict);
}

static int report(const comparison *c) {
    cli_table t = {0};
    int code = 0;
    heading(&t, format_of(c));
    for (size_t f = 0; !code && f < c->e->n_files; f++) {
        for (size_t i = 0; !code && i < c->n_arms; i++) {
            judgement j;
            code = judge(c, i, f, &j);
            if (!code && c->e->o.json)
                print_json(c, &j, f, i);
            else if (!code)
                add_row(&t, c, &j, f, i);
        }
    }
    if (code || c->e->o.json) {
        cli_table_free(&t);
        return code;
    }
    cli_table_print_as(&t, format_of(c));
    cli_note("differences to %s, paired over seeds; p: two-sided t test; intervals: bootstrap over pairs and seeds; better and "
             "worse: p below 0.05 and the interval on one side of 0",
             c->arms[c->against].name);
    return 0;
}

/* ---- the command */

static void free_comparison(comparison *c) {
    for (size_t i = 0; i < c->n_arms; i++) {
        free(c->arms[i].name);
        cli_words_free(&c->arms[i].words);
    }
    free(c->arms);
    free(c->seed);
    free((void *)c->file);
}

static int run_compare(options *o, const cli_args *args) {
    comparison c = {.o = o, .e = &o->e};
    const char *dev = NULL;
    int code = o->e.o.json && o->format != -1
                   ? cli_usage("compare", "--json and --format are two ways of printing; leave one out")
                   : CLI_GO;
    if (code == CLI_GO)
        code = cli_experiment_begin(c.e, "compare", args->operand, args->n, &dev);
    if (code == CLI_GO)
        code = add_files(&c, dev);
    if (code == CLI_GO)
        code = cli_experiment_seeds(c.e, &c.seed, &c.n_seeds);
    if (code == CLI_GO)
        code = read_arms(&c);
    if (code == CLI_GO) {
        json_t *arms = json_object();
        for (size_t i = 0; i < c.n_arms; i++) {
            add_trials(&c, &c.arms[i]);
            json_object_set_new(arms, c.arms[i].name, cli_words_json(&c.arms[i].words));
        }
        json_object_set_new(c.e->settings, "arms", arms);
        code = cli_experiment_check(c.e);
    }
    if (code == CLI_GO)
        code = cli_experiment_open(c.e) ? 1 : CLI_GO;
    if (code == CLI_GO) {
        code = cli_experiment_run(c.e);
        if (code <= 1 && c.e->finished && report(&c))
            code = 1;
    }
    free_comparison(&c);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {.format = -1};
    o.e.o = (cli_experiment_options){.seeds = "5", .jobs = 1, .keep = CLI_KEEP_NONE};
    aoe_bootstrap_options_defaults(&o.bootstrap);
    const cli_group groups[] = {
        CLI_GROUP("comparison", table, &o),
        CLI_GROUP("runs", cli_experiment_table, &o.e.o),
    };
    const cli_syntax syntax = {
        .command = "compare",
        .operands = "-- OPTIONS OF aoe train",
        .about = "Trains each arm with every seed, scores the models, and judges the arms against the first: mean and\n"
                 "sd over the seeds, the difference paired by seed with its t test, bootstrap intervals over pairs and\n"
                 "seeds. What stands behind -- is given to each aoe train, also as @FILE; seeds, threads and output\n"
                 "directories are set by this command. The same command again goes on where it was stopped and runs\n"
                 "no finished run again; more arms and seeds may be given then. DIR/results.jsonl has a line a run.\n",
        .examples = "  aoe compare -o c --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' --test test.tsv -- \\\n"
                    "    -m start -d train.tsv --dev dev.tsv --epochs 3\n"
                    "  aoe compare -o c -a 'cls: --pooling cls' 'avg: --pooling last-avg' --format csv -- @recipe.args\n",
        .unknown_note = "options of aoe train come after --",
        .groups = groups,
        .n_groups = 2,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(o.e.o.quiet);
        code = run_compare(&o, &args);
    }
    cli_experiment_free(&o.e);
    cli_args_free(&args);
    return code;
}

const cli_command cli_compare_command = {
    .name = "compare",
    .summary = "train several configurations with several seeds, test the differences",
    .run = run_command,
};
