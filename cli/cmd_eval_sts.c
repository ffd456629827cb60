/* SPDX-License-Identifier: MIT
 * aoe eval sts: correlation of the cosines with the gold scores of tables and
 * SentEval folders. Nothing is printed before every input was read and scored.
 */
#include "eval_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_eval_options eval;
    aoe_sts_options sts;
} options;

typedef struct row {
    aoe_sts_result result;
    char *name;            /* owned */
    const char *undefined; /* why it has no correlation; static; NULL: it has one */
} row;

typedef struct report {
    row *rows; /* [n] owned */
    size_t n;
} report;

static int all_equal(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i] < x[0] || x[i] > x[0])
            return 0;
    return 1;
}

static const char *why_undefined(const aoe_sts_result *r) {
    if (isfinite(r->spearman))
        return NULL;
    return r->pairs < 2                   ? "there is one pair alone"
           : all_equal(r->gold, r->pairs) ? "all gold scores are equal"
                                          : "all cosines are equal";
}

static void keep_row(void *user, const aoe_sts_result *result) {
    report *r = user;
    r->rows = cli_realloc(r->rows, (r->n + 1) * sizeof *r->rows);
    row *added = &r->rows[r->n++];
    added->result = *result;
    added->name = cli_strdup(result->name);
    added->undefined = why_undefined(result);
}

static void print_json(const report *r) {
    for (size_t i = 0; i < r->n; i++) {
        const aoe_sts_result *s = &r->rows[i].result;
        cli_print_json(json_pack("{s:o,s:I,s:o,s:o,s:I,s:I}", "name", cli_json_text(r->rows[i].name, strlen(r->rows[i].name)),
                                 "pairs", (json_int_t)s->pairs, "spearman", cli_json_real(s->spearman), "pearson",
                                 cli_json_real(s->pearson), "skipped", (json_int_t)s->skipped, "truncated",
                                 (json_int_t)s->truncated));
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
static void count_texts(const report *r, size_t *empty, size_t *truncated) {
    *empty = *truncated = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].result.row == AOE_STS_FILE || r->rows[i].result.row == AOE_STS_SUBSET) {
            *empty += r->rows[i].result.empty;
            *truncated += r->rows[i].result.truncated;
        }
}

static int run(cli_session *s, report *r, options *o, const cli_args *args) {
    aoe_error err;
    if (cli_session_open(s, &o->eval.general, &o->eval.model))
        return 1;
    cli_progress progress;
    size_t empty, truncated;
    cli_progress_begin(&progress, "evaluating", "pairs", 0);
    o->sts.progress = cli_eval_progress;
    o->sts.user = &progress;
    int failed = aoe_eval_sts_with(s->embedder, args->operand, args->n, &o->sts, keep_row, r, &err);
    cli_progress_end(&progress);
    if (failed)
        return cli_fail("%s", err.message);
    count_texts(r, &empty, &truncated);
    cli_eval_notes(s, &o->eval, empty, truncated);
    for (size_t i = 0; i < r->n; i++)
        if (r->rows[i].undefined)
            cli_warn("%s: the correlation is undefined: %s", r->rows[i].name, r->rows[i].undefined);
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
        CLI_GROUP("output", cli_eval_format_table, &o.eval),      CLI_GROUP("tables", cli_table_table, &o.sts.table),
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
