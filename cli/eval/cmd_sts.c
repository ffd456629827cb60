/* SPDX-License-Identifier: MIT
 * aoe eval sts: correlation of cosines with the gold scores of tables and SentEval folders. Results are printed after
 * all inputs are evaluated.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"

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
    const char *undefined; /* reason why the correlation is undefined, static string; NULL if it is defined */
} row;

typedef struct report {
    options o;
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
    return r->pairs < 2                   ? "there is only one pair"
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

static void print_json(const void *found) {
    const report *r = found;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_sts_result *s = &r->rows[i].result;
        cli_print_json(json_pack("{s:o,s:I,s:o,s:o,s:I,s:I}", "name", cli_json_text(r->rows[i].name, strlen(r->rows[i].name)),
                                 "pairs", (json_int_t)s->pairs, "spearman", cli_json_real(s->spearman), "pearson",
                                 cli_json_real(s->pearson), "skipped", (json_int_t)s->skipped, "truncated",
                                 (json_int_t)s->truncated));
    }
}

static void print_table(const void *found) {
    const report *r = found;
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
    cli_eval_print(&t, &r->o.eval);
}

static int score(void *found, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err) {
    report *r = found;
    r->o.sts.progress = cli_eval_progress;
    r->o.sts.user = progress;
    return aoe_eval_sts(e, args->operand, args->n, &r->o.sts, keep_row, r, err);
}

/* Only files and subsets are counted, because totals contain their texts again. */
static void count(const void *found, size_t *empty, size_t *truncated) {
    const report *r = found;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_sts_result *s = &r->rows[i].result;
        if (s->row == AOE_STS_FILE || s->row == AOE_STS_SUBSET) {
            *empty += s->empty;
            *truncated += s->truncated;
        }
        if (r->rows[i].undefined)
            cli_warn("%s: the correlation is undefined: %s", r->rows[i].name, r->rows[i].undefined);
    }
}

static int run_command(int argc, char **argv) {
    report r = {0};
    cli_eval_defaults(&r.o.eval);
    aoe_sts_options_defaults(&r.o.sts);
    const cli_group groups[] = {
        CLI_GROUP("output", cli_eval_format_table, &r.o.eval),      CLI_GROUP("tables", cli_table_table, &r.o.sts.table),
        CLI_GROUP("input files", cli_input_table, &r.o.sts.table),

        CLI_GROUP("model", cli_model_table, &r.o.eval.model),       CLI_GROUP("long texts", cli_chunk_table, &r.o.eval.model),
        CLI_GROUP("general", cli_general_table, &r.o.eval.general),
    };
    const cli_syntax syntax = {
        .command = "eval sts",
        .operands = "FILE...",
        .about = "Evaluates semantic textual similarity: Spearman and Pearson correlation of cosines and gold scores,\n"
                 "times 100, for each table (text1, text2, label; .tsv, .csv or .jsonl, optionally .gz or .zst) or\n"
                 "SentEval folder (STSxx-en-test: its subsets, then all pairs together). With several tables or\n"
                 "folders it also prints the result for all pairs together.\n",
        .examples = "  aoe eval sts -m model examples/test.tsv\n",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    const cli_evaluation e = {
        .syntax = &syntax,
        .options = &r.o.eval,
        .doing = "evaluating",
        .unit = "pairs",
        .report = &r,
        .score = score,
        .count = count,
        .print_json = print_json,
        .print_table = print_table,
    };
    const int code = cli_evaluate(&e, argc, argv);
    for (size_t i = 0; i < r.n; i++)
        free(r.rows[i].name);
    free(r.rows);
    return code;
}

const cli_command cli_eval_sts_command = {
    .name = "sts",
    .summary = "semantic similarity: correlation of cosines with gold scores",
    .run = run_command,
};
