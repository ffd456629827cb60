/* SPDX-License-Identifier: MIT
 * The common steps of all evaluations: parsing, opening the model, progress, and printing the results.
 */
#include "cli/eval/eval_common.h"

#include <math.h>
#include <string.h>

const cli_option cli_eval_format_table[CLI_EVAL_FORMAT_COUNT] = {
    {.name = "format",
     .letter = 'f',
     .kind = CLI_NAMED,
     .value = "NAME",
     .offset = offsetof(cli_eval_options, format),
     .parse = cli_parse_table_format,
     .help = "table, csv or markdown",
     .fallback = "table"},
};

void cli_eval_defaults(cli_eval_options *o) {
    cli_general_defaults(&o->general);
    cli_model_defaults(&o->model);
    o->format = -1;
}

static int check(const cli_eval_options *o, const char *command) {
    if (o->general.json && o->format != -1)
        return cli_usage(command, "--json and --format exclude each other; give only one of them");
    return CLI_GO;
}

void cli_eval_print(cli_table *t, const cli_eval_options *o) {
    cli_table_print_as(t, o->format == -1 ? CLI_TABLE_ALIGNED : (cli_table_format)o->format);
}

void cli_eval_percent(cli_table *t, double x) {
    if (isfinite(x))
        cli_table_cell(t, "%.2f", 100 * x);
    else
        cli_table_cell(t, "undefined");
}

void cli_eval_number(cli_table *t, double x) {
    if (isfinite(x))
        cli_table_cell(t, "%.4f", x);
    else
        cli_table_cell(t, "-");
}

/* Warns about empty and truncated texts and says how long texts are embedded. */
static void note_texts(const cli_session *s, const cli_eval_options *o, size_t empty, size_t truncated) {
    aoe_model_info info;
    aoe_model_get_info(s->model, &info);
    if (empty)
        cli_warn("%zu empty text%s: %s", empty, cli_plural(empty),
                 strcmp(info.architecture, "static") ? "only special tokens are embedded" : "the embedding is zero");
    cli_warn_truncated(truncated, 0, 1);
    if (o->model.chunk == AOE_CHUNK_MEAN)
        cli_note("texts longer than the maximum sequence length: the embedding is the mean over all chunks");
}

int cli_eval_progress(void *user, size_t done, size_t total) {
    cli_progress_update(user, done, total, NULL, -1, NULL);
    return 0;
}

static int run(const cli_evaluation *e, cli_session *s, const cli_args *args) {
    cli_progress progress;
    aoe_error err;
    size_t empty = 0, truncated = 0;
    if (cli_session_open(s, &e->options->general, &e->options->model) || (e->open && e->open(e->report)))
        return 1;
    cli_session_describe(s);
    cli_progress_begin(&progress, e->doing, e->unit, 0);
    const int failed = e->score(e->report, s->embedder, args, &progress, &err);
    cli_progress_end(&progress);
    if (failed)
        return cli_fail("%s", err.message);
    e->count(e->report, &empty, &truncated);
    note_texts(s, e->options, empty, truncated);
    if (e->options->general.json)
        e->print_json(e->report);
    else
        e->print_table(e->report);
    return 0;
}

int cli_evaluate(const cli_evaluation *e, int argc, char **argv) {
    cli_args args;
    int code = cli_parse(&args, e->syntax, argc, argv);
    if (code == CLI_GO)
        code = check(e->options, e->syntax->command);
    if (code == CLI_GO) {
        cli_session s = {0};
        cli_set_quiet(e->options->general.quiet);
        code = run(e, &s, &args);
        cli_session_close(&s);
    }
    cli_args_free(&args);
    return code;
}
