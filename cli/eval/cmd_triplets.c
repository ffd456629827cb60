/* SPDX-License-Identifier: MIT
 * aoe eval triplets: the fraction of triplets whose positive is closer to the query than the negative.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/eval/eval_common.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_eval_options eval;
    aoe_triplet_options t;
} options;

typedef struct row {
    aoe_triplet_result result;
    char *name; /* owned */
} row;

typedef struct report {
    options o;
    row *rows; /* [n] owned */
    size_t n;
    size_t empty, truncated;
} report;

static void keep_row(void *user, const aoe_triplet_result *result) {
    report *r = user;
    r->rows = cli_realloc(r->rows, (r->n + 1) * sizeof *r->rows);
    r->rows[r->n++] = (row){*result, cli_strdup(result->name)};
    r->empty += result->empty;
    r->truncated += result->truncated;
}

static void print_json(const void *found) {
    const report *r = found;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_triplet_result *s = &r->rows[i].result;
        const char *name = r->rows[i].name;
        cli_print_json(json_pack("{s:o,s:I,s:o,s:o,s:o,s:o,s:I,s:I}", "name", cli_json_text(name, strlen(name)), "triplets",
                                 (json_int_t)s->triplets, "accuracy", cli_json_real(s->accuracy), "ties",
                                 cli_json_real(s->ties), "positive_score", cli_json_real(s->positive_score), "negative_score",
                                 cli_json_real(s->negative_score), "skipped", (json_int_t)s->skipped, "truncated",
                                 (json_int_t)s->truncated));
    }
}

static void print_table(const void *found) {
    const report *r = found;
    static const char *const heads[] = {"name", "triplets", "accuracy", "ties", "positive", "negative", "skipped"};
    cli_table t;
    size_t skipped = 0;
    for (size_t i = 0; i < r->n; i++)
        skipped += r->rows[i].result.skipped;
    cli_table_begin(&t, skipped ? "lrrrrrr" : "lrrrrr");
    for (size_t i = 0; i < t.columns; i++)
        cli_table_cell(&t, "%s", heads[i]);
    for (size_t i = 0; i < r->n; i++) {
        const aoe_triplet_result *s = &r->rows[i].result;
        cli_table_cell(&t, "%s", r->rows[i].name);
        cli_table_cell(&t, "%zu", s->triplets);
        cli_eval_percent(&t, s->accuracy);
        cli_eval_percent(&t, s->ties);
        cli_eval_number(&t, s->positive_score);
        cli_eval_number(&t, s->negative_score);
        if (skipped)
            cli_table_cell(&t, "%zu", s->skipped);
    }
    cli_eval_print(&t, &r->o.eval);
}

static int score(void *found, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err) {
    report *r = found;
    r->o.t.progress = cli_eval_progress;
    r->o.t.user = progress;
    return aoe_eval_triplets(e, args->operand, args->n, &r->o.t, keep_row, r, err);
}

static void count(const void *found, size_t *empty, size_t *truncated) {
    const report *r = found;
    *empty = r->empty;
    *truncated = r->truncated;
}

static int run_command(int argc, char **argv) {
    report r = {0};
    cli_eval_defaults(&r.o.eval);
    aoe_triplet_options_defaults(&r.o.t);
    /* the table options that apply to triplets, which have no label */
    static const cli_option tables[] = {
        {.name = "columns",
         .kind = CLI_TEXT,
         .value = "ROLE=NAME,...",
         .offset = offsetof(options, t.table.columns),
         .help = "columns to read, for example query=a,positive=b,negative=c",
         .fallback = "recognised names"},
        CLI_OPTION_SKIP_BAD_ROWS(.offset = offsetof(options, t.table.skip_bad_rows)),
    };
    const cli_group groups[] = {
        CLI_GROUP("output", cli_eval_format_table, &r.o.eval),      CLI_GROUP("tables", tables, &r.o),
        CLI_GROUP("input files", cli_input_table, &r.o.t.table),

        CLI_GROUP("model", cli_model_table, &r.o.eval.model),       CLI_GROUP("long texts", cli_chunk_table, &r.o.eval.model),
        CLI_GROUP("general", cli_general_table, &r.o.eval.general),
    };
    const cli_syntax syntax = {
        .command = "eval triplets",
        .operands = "FILE...",
        .about = "Evaluates triplets (query, positive, negative; or premise, entailment, contradiction). Prints, times\n"
                 "100, the fraction with a higher cosine of query and positive than of query and negative (accuracy)\n"
                 "and the fraction with equal cosines (ties, not counted as correct), and the mean of both cosines.\n",
        .examples = "  aoe eval triplets -m model triplets.tsv\n",
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

const cli_command cli_eval_triplets_command = {
    .name = "triplets",
    .summary = "how often the positive is closer to the query than the negative",
    .run = run_command,
};
