/* SPDX-License-Identifier: MIT
 * Implements `aoe data convert`: converts a table to another format or to another kind of examples. The summary is
 * printed to stdout, or to stderr if the output rows are written to stdout.
 */
#include "aoe_data.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <string.h>

typedef struct options {
    cli_general general;
    aoe_data_convert_options c;
    const char *output; /* path of the output rows; NULL: stdout */
    /* file name whose extension determines the output format; NULL: the extension of `output` determines it */
    const char *format;
} options;

static int parse_format(void *target, const char *text, aoe_error *err) {
    static const char *const names[] = {"tsv", "csv", "jsonl", "txt", NULL};
    static const char *const paths[] = {"output.tsv", "output.csv", "output.jsonl", "output.txt"};
    const size_t i = aoei_choose(names, text, "format", err);
    if (!names[i])
        return err->code;
    *(const char **)target = paths[i];
    return 0;
}

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    CLI_OPTION_OUTPUT_FILE(AT(output), " (.tsv, .csv, .jsonl or .txt, optionally compressed as .gz or .zst)"),
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     AT(format),
     .parse = parse_format,
     .help = "format of the rows on stdout, if there is no --output: tsv, csv, jsonl or txt",
     .fallback = "none; required if there is no --output"},
};

static void print_json(const options *o, const char *path, const aoe_data_convert_result *r) {
    cli_print_json(json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "file", cli_json_text(path, strlen(path)),
                             "output", cli_json_text(o->output, strlen(o->output)), "rows", (json_int_t)r->rows,
                             "written", (json_int_t)r->written, "skipped", (json_int_t)r->skipped, "dropped",
                             (json_int_t)r->dropped, "below_threshold", (json_int_t)r->below, "texts",
                             (json_int_t)r->texts, "without", (json_int_t)r->without, "unused", (json_int_t)r->unused));
}

static void print_summary(const options *o, const aoe_data_convert_result *r) {
    const int on_stdout = cli_is_stdout(o->output);
    char more[512] = "";
    int at = r->dropped ? snprintf(more, sizeof more, "; rows dropped by --label-map: %zu", r->dropped) : 0;
    if (r->below)
        at += snprintf(more + at, sizeof more - (size_t)at, "; rows below the threshold: %zu", r->below);
    if (r->texts)
        snprintf(more + at, sizeof more - (size_t)at,
                 "; distinct text1 without a positive or a negative: %zu of %zu; rows in no triplet: %zu", r->without,
                 r->texts, r->unused);
    else if (r->without)
        snprintf(more + at, sizeof more - (size_t)at, "; rows without an available negative: %zu", r->without);
    cli_summary(on_stdout, "%zu row%s from %zu%s", r->written, cli_plural(r->written), r->rows, more);
    cli_warn_skipped(NULL, r->skipped);
}

static int run(const options *o, const char *path) {
    aoe_data_convert_options c = o->c;
    cli_file out;
    cli_sink sink = {&out, 1};
    aoe_data_convert_result result = {.struct_size = sizeof result};
    aoe_error err;
    c.name = o->format ? o->format : o->output;
    c.seed = o->general.seed;
    c.write = cli_sink_write;
    c.user = &sink;
    if (cli_reject_input(o->output, &path, 1) || cli_file_open(&out, o->output))
        return 1;
    const int code = cli_sink_end(&sink, aoe_data_convert(path, &c, &result, &err), &err);
    cli_file_abort(&out);
    if (!code && o->general.json)
        print_json(o, path, &result);
    else if (!code)
        print_summary(o, &result);
    return code;
}

static int check_options(const options *o) {
    const aoe_data_convert_options *c = &o->c;
    if (cli_is_stdout(o->output) && !o->format)
        return cli_usage("data convert", "missing output: -o FILE, or --format NAME to write to stdout");
    if (!cli_is_stdout(o->output) && o->format)
        return cli_usage("data convert", "--format applies to stdout only; the extension of %s selects the format",
                         o->output);
    if (!cli_is_stdout(o->output) && !*cli_table_end(o->output))
        return cli_usage("data convert",
                         "%s: unknown extension; use .tsv, .csv, .jsonl or .txt, optionally followed by .gz or .zst",
                         o->output);
    if (c->to == AOE_EXAMPLES_AUTO &&
        (c->table.columns || c->table.label_map || c->from != AOE_EXAMPLES_AUTO || c->threshold != AOE_AUTO))
        return cli_usage("data convert", "--from, --columns, --label-map and --threshold require --to FORM; "
                                         "select columns with --keep and --rename");
    return cli_check_summary("data convert", o->general.json, o->output, "rows");
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_data_convert_options_defaults(&o.c);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_data_convert_output_rows, &o.c),
        CLI_LIBRARY_GROUP(&aoei_data_convert_form_rows, &o.c),
        CLI_TABLE_INPUT_GROUP(&o.c.table),

        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data convert",
        .operands = "FILE",
        .about = "Converts a table to another file format: .tsv, .csv, .jsonl or .txt, optionally compressed (.gz or\n"
                 ".zst). All columns are copied. With --to, also converts the rows between labeled pairs (text1,\n"
                 "text2, label), positives (query, positive) and triplets (query, positive, negative), and leaves out\n"
                 "other columns. For example, labeled NLI pairs (premise, hypothesis, label) become the triplets of\n"
                 "supervised SimCSE: a premise, an entailment and a contradiction. Premises without an entailment or\n"
                 "without a contradiction are skipped, and their number is reported.\n",
        .examples = "  aoe data convert examples/train.tsv -o train.jsonl\n"
                    "  aoe data convert nli.tsv.gz --to triplets -o triplets.tsv\n"
                    "  aoe data convert sts.tsv --to positives --threshold 4 -o positives.jsonl.zst\n"
                    "  aoe data convert table.csv --keep a,b,score --rename a=text1,b=text2 -o pairs.tsv\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO) {
        cli_set_quiet(o.general.quiet);
        code = run(&o, args.operand[0]);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_convert_command = {
    .name = "convert",
    .summary = "convert a table to another file format, or pairs to triplets",
    .run = run_command,
};
