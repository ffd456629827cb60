/* SPDX-License-Identifier: MIT
 * Printing and progress of the evaluations.
 */
#include "eval_common.h"

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

int cli_eval_check(const cli_eval_options *o, const char *command) {
    if (o->general.json && o->format != -1)
        return cli_usage(command, "--json and --format are two ways of printing; leave one out");
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

void cli_eval_notes(const cli_session *s, const cli_eval_options *o, size_t empty, size_t truncated) {
    aoe_model_info info;
    aoe_model_get_info(s->model, &info);
    if (empty)
        cli_warn("%zu empty text%s: %s", empty, cli_plural(empty),
                 strcmp(info.architecture, "static") ? "special tokens only" : "the vector is zero");
    if (truncated)
        cli_warn("%zu text%s cut to the maximum length, %zu tokens; --max-length sets it, --chunk mean reads all of it",
                 truncated, truncated == 1 ? " was" : "s were", info.max_length);
    if (o->model.chunk == AOE_CHUNK_MEAN)
        cli_note("texts above the maximum length: the mean of the vectors of windows");
}

int cli_eval_progress(void *user, size_t done, size_t total) {
    cli_progress_update(user, done, total, NULL, -1, NULL);
    return 0;
}
