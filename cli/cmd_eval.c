/* SPDX-License-Identifier: MIT
 * aoe eval sts: correlation of the cosines with the gold scores of tables and
 * SentEval folders. Nothing is printed before every input was read and scored.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_table_options table;
} options;

typedef struct row {
    aoe_sts_result result;
    char *name; /* owned */
} row;

typedef struct report {
    row *rows; /* [n] owned */
    size_t n;
    cli_progress progress;
} report;

static void keep_row(void *user, const aoe_sts_result *result) {
    report *r = user;
    r->rows = cli_realloc(r->rows, (r->n + 1) * sizeof *r->rows);
    row *added = &r->rows[r->n++];
    added->result = *result;
    added->name = cli_strdup(result->name);
    cli_progress_update(&r->progress, r->n, 0, NULL, -1, added->name);
}

static void print_json(const report *r) {
    for (size_t i = 0; i < r->n; i++) {
        const aoe_sts_result *s = &r->rows[i].result;
        cli_print_json(json_pack("{s:o,s:I,s:o,s:o,s:I}", "name", cli_json_text(r->rows[i].name, strlen(r->rows[i].name)),
                                 "pairs", (json_int_t)s->pairs, "spearman", cli_json_real(s->spearman), "pearson",
                                 cli_json_real(s->pearson), "skipped", (json_int_t)s->skipped));
    }
}

static void correlation_cell(cli_table *t, double r) {
    if (isfinite(r))
        cli_table_cell(t, "%.2f", 100 * r);
    else
        cli_table_cell(t, "undefined");
}

static void print_table(const report *r) {
    cli_table t;
    size_t skipped = 0;
    for (size_t i = 0; i < r->n; i++)
        skipped += r->rows[i].result.skipped;
    cli_table_begin(&t, skipped ? "lrrrr" : "lrrr");
    cli_table_cell(&t, "name");
    cli_table_cell(&t, "pairs");
    cli_table_cell(&t, "spearman");
    cli_table_cell(&t, "pearson");
    if (skipped)
        cli_table_cell(&t, "skipped");
    for (size_t i = 0; i < r->n; i++) {
        const aoe_sts_result *s = &r->rows[i].result;
        cli_table_cell(&t, "%s", r->rows[i].name);
        cli_table_cell(&t, "%zu", s->pairs);
        correlation_cell(&t, s->spearman);
        correlation_cell(&t, s->pearson);
        if (skipped)
            cli_table_cell(&t, "%zu", s->skipped);
    }
    cli_table_print(&t);
}

/* Rows of parts; totals repeat them. */
static void report_empty(const report *r, const aoe_model *m) {
    aoe_model_info info;
    aoe_model_get_info(m, &info);
    size_t empty = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].result.row == AOE_STS_FILE || r->rows[i].result.row == AOE_STS_SUBSET)
            empty += r->rows[i].result.empty;
    if (empty)
        cli_warn("%zu empty text%s: %s", empty, cli_plural(empty),
                 strcmp(info.architecture, "static") ? "special tokens only" : "the vector is zero");
}

static int run_sts(cli_session *s, report *r, options *o, const cli_args *args) {
    aoe_error err;
    if (cli_session_open(s, &o->general, &o->model))
        return 1;
    o->table.allow_empty = 1;
    cli_progress_begin(&r->progress, "evaluating", "results", 0);
    int failed = aoe_eval_sts(s->embedder, args->operand + 1, args->n - 1, &o->table, keep_row, r, &err);
    cli_progress_end(&r->progress);
    if (failed)
        return cli_fail("%s", err.message);
    report_empty(r, s->model);
    if (o->model.chunk == AOE_CHUNK_MEAN)
        cli_note("texts above the maximum length: the mean of the vectors of windows");
    if (o->general.json)
        print_json(r);
    else
        print_table(r);
    return 0;
}

static int check_operands(const cli_args *args) {
    if (strcmp(args->operand[0], "sts") != 0)
        return cli_usage("eval", "unknown evaluation '%s', there is: sts", args->operand[0]);
    return args->n < 2 ? cli_usage("eval", "it needs a table or SentEval folder: aoe eval sts FILE...") : CLI_GO;
}

int cli_eval(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("tables", cli_table_table, &o.table),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("long texts", cli_chunk_table, &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "eval",
        .operands = "sts FILE...",
        .about = "sts: semantic textual similarity. Spearman and Pearson correlation of the cosines with the gold\n"
                 "scores, times 100, for each table (text1, text2, label; .tsv .csv .jsonl, also .gz .zst) or SentEval\n"
                 "folder (STSxx-en-test: its subsets, then all pairs together), and over all when there are several.\n",
        .examples = "  aoe eval sts -m model examples/test.tsv\n",
        .groups = groups,
        .n_groups = 4,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_operands(&args);
    if (code == CLI_GO) {
        cli_session s = {0};
        report r = {0};
        cli_set_quiet(o.general.quiet);
        code = run_sts(&s, &r, &o, &args);
        cli_session_close(&s);
        for (size_t i = 0; i < r.n; i++)
            free(r.rows[i].name);
        free(r.rows);
    }
    cli_args_free(&args);
    return code;
}
