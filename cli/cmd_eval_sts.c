/* SPDX-License-Identifier: MIT
 * aoe eval sts: correlation of the cosines with the gold scores of tables and
 * SentEval folders. Nothing is printed before every input was read and scored.
 */
#include "eval_common.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_eval_options eval;
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

static void print_table(const report *r, const options *o) {
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
        cli_eval_percent(&t, s->spearman);
        cli_eval_percent(&t, s->pearson);
        if (skipped)
            cli_table_cell(&t, "%zu", s->skipped);
    }
    cli_eval_print(&t, &o->eval);
}

/* Rows of parts; totals repeat them. */
static size_t count_empty(const report *r) {
    size_t empty = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].result.row == AOE_STS_FILE || r->rows[i].result.row == AOE_STS_SUBSET)
            empty += r->rows[i].result.empty;
    return empty;
}

static int run(cli_session *s, report *r, options *o, const cli_args *args) {
    aoe_error err;
    if (cli_session_open(s, &o->eval.general, &o->eval.model))
        return 1;
    o->table.allow_empty = 1;
    cli_progress_begin(&r->progress, "evaluating", "results", 0);
    int failed = aoe_eval_sts(s->embedder, args->operand, args->n, &o->table, keep_row, r, &err);
    cli_progress_end(&r->progress);
    if (failed)
        return cli_fail("%s", err.message);
    cli_eval_notes(s, &o->eval, count_empty(r));
    if (o->eval.general.json)
        print_json(r);
    else
        print_table(r, o);
    return 0;
}

int cli_eval_sts(int argc, char **argv) {
    options o = {0};
    cli_eval_defaults(&o.eval);
    const cli_group groups[] = {
        CLI_GROUP("output", cli_eval_format_table, &o.eval),      CLI_GROUP("tables", cli_table_table, &o.table),
        CLI_GROUP("model", cli_model_table, &o.eval.model),       CLI_GROUP("long texts", cli_chunk_table, &o.eval.model),
        CLI_GROUP("general", cli_general_table, &o.eval.general),
    };
    const cli_syntax syntax = {
        .command = "eval sts",
        .operands = "FILE...",
        .about = "Semantic textual similarity: Spearman and Pearson correlation of cosines and gold scores, times\n"
                 "100, for each table (text1, text2, label; .tsv .csv .jsonl, also .gz .zst) or SentEval folder\n"
                 "(STSxx-en-test: its subsets, then all pairs together), and over all when there are several.\n",
        .examples = "  aoe eval sts -m model examples/test.tsv\n",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = cli_eval_check(&o.eval, syntax.command);
    if (code == CLI_GO) {
        cli_session s = {0};
        report r = {0};
        cli_set_quiet(o.eval.general.quiet);
        code = run(&s, &r, &o, &args);
        cli_session_close(&s);
        for (size_t i = 0; i < r.n; i++)
            free(r.rows[i].name);
        free(r.rows);
    }
    cli_args_free(&args);
    return code;
}
