/* SPDX-License-Identifier: MIT
 * Implements `aoe data dedup`: removes rows that repeat earlier rows. The summary is printed to stdout, or to stderr if
 * the output rows are written to stdout.
 */
#include "aoe_data.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <string.h>

enum { EXCERPT = 60 };

typedef struct options {
    cli_general general;
    aoe_data_dedup_options d;
    const char *output; /* path of the output rows; NULL: stdout */
    size_t max;         /* maximum number of conflicts (equal texts with different labels) that are printed */
} options;

typedef struct job {
    const options *o;
    const char *input;
    cli_file out;
    cli_sink sink;
    size_t named;
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    CLI_OPTION_OUTPUT_FILE(AT(output), " in the format of the input, optionally compressed (.gz or .zst)"),
    {.name = "max", .kind = AOEI_OPTION_SIZE, AT(max), .help = "print at most N duplicates with different labels"},
};

static int write_part(void *user, size_t part, const char *data, size_t len) {
    job *j = user;
    return cli_sink_write(&j->sink, part, data, len);
}

static void name_conflict(void *user, const aoe_data_conflict *c) {
    job *j = user;
    char text[4 * EXCERPT + 4], label[4 * EXCERPT + 4], first[4 * EXCERPT + 4];
    if (j->named++ >= j->o->max)
        return;
    cli_excerpt(text, c->text[0], EXCERPT);
    cli_excerpt(label, c->label, EXCERPT);
    cli_excerpt(first, c->first_label, EXCERPT);
    cli_warn("%s:%zu: label '%s', but equal texts have label '%s' in line %zu: %s", j->input, c->line, label, first,
             c->first, text);
}

static void print_json(const job *j, const aoe_data_dedup_result *r) {
    const char *output = j->o->output;
    cli_print_json(json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I}", "file", cli_json_text(j->input, strlen(j->input)),
                             "output", cli_json_text(output, strlen(output)), "rows", (json_int_t)r->rows, "kept",
                             (json_int_t)r->kept, "duplicates", (json_int_t)r->duplicates, "conflicts",
                             (json_int_t)r->conflicts, "dropped", (json_int_t)r->dropped, "skipped",
                             (json_int_t)r->skipped));
}

static void print_summary(const job *j, const aoe_data_dedup_result *r) {
    char more[160] = "";
    if (r->conflicts)
        snprintf(more, sizeof more,
                 ", of which %zu with another label than the first row with equal texts (%zu dropped)", r->conflicts,
                 r->dropped);
    cli_summary(cli_is_stdout(j->o->output), "%zu of %zu rows kept; %zu duplicate%s%s", r->kept, r->rows, r->duplicates,
                cli_plural(r->duplicates), more);
}

static int run(job *j) {
    aoe_data_dedup_options d = j->o->d;
    aoe_data_dedup_result result = {.struct_size = sizeof result};
    aoe_error err;
    j->sink = (cli_sink){&j->out, 1};
    d.name = cli_is_stdout(j->o->output) ? NULL : j->o->output;
    d.write = write_part;
    d.report = name_conflict;
    d.user = j;
    if (cli_reject_input(j->o->output, &j->input, 1) || cli_file_open(&j->out, j->o->output))
        return 1;
    const int code = cli_sink_end(&j->sink, aoe_data_dedup(j->input, &d, &result, &err), &err);
    cli_file_abort(&j->out);
    if (code)
        return code;
    if (j->named > j->o->max && j->o->max)
        cli_warn("%zu more duplicates with different labels; print them with --max", j->named - j->o->max);
    cli_warn_skipped(NULL, result.skipped);
    if (j->o->general.json)
        print_json(j, &result);
    else
        print_summary(j, &result);
    return 0;
}

static int check_options(const options *o, const char *input) {
    if (!cli_is_stdout(o->output) && strcmp(input, "-") != 0 && !cli_same_format(input, o->output))
        return cli_usage("data dedup",
                         "the output has the format of the input: use the extension %s, or convert the input first "
                         "(aoe data convert)",
                         *cli_rows_end(input) ? cli_rows_end(input) : ".tsv, .csv, .jsonl or .txt");
    return cli_check_summary("data dedup", o->general.json, o->output, "rows");
}

static int run_command(int argc, char **argv) {
    options o = {.max = 10};
    cli_general_defaults(&o.general);
    aoe_data_dedup_options_defaults(&o.d);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_data_dedup_rows, &o.d),
        CLI_TABLE_INPUT_GROUP(&o.d.table),

        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data dedup",
        .operands = "FILE",
        .about = "Removes rows whose texts are equal to the texts of an earlier row. The order of the texts in a pair\n"
                 "does not matter (unless --ordered is given). If rows with equal texts have different labels, they\n"
                 "are reported, and --conflicts selects which of them are kept. Columns other than the texts and the\n"
                 "label are not compared. The remaining rows are written unchanged in their original order.\n",
        .examples = "  aoe data dedup pairs.tsv -o clean.tsv\n"
                    "  aoe data dedup nli.jsonl --same case --ordered --conflicts drop -o clean.jsonl.gz\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o, args.operand[0]);
    if (code == CLI_GO) {
        job j = {.o = &o, .input = args.operand[0]};
        cli_set_quiet(o.general.quiet);
        code = run(&j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_dedup_command = {
    .name = "dedup",
    .summary = "remove duplicate rows and report duplicates with different labels",
    .run = run_command,
};
