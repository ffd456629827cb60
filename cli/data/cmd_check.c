/* SPDX-License-Identifier: MIT
 * Implements `aoe data check`: finds problems in tables, prints one line per problem, and counts the problems. The exit
 * code is 1 if a problem was found.
 */
#include "aoe_data.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <stdlib.h>
#include <string.h>

enum { EXCERPT = 60, LINE = 4 * EXCERPT + 4 };

typedef struct options {
    cli_general general;
    aoe_data_check_options c;
    size_t max;
    cli_table_format format;
} options;

typedef struct job {
    const options *o;
    size_t named[AOE_FINDING_COUNT];
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    {.name = "max",
     .kind = AOEI_OPTION_SIZE,
     AT(max),
     .help = "print at most N problems of each kind; all problems are counted"},
    CLI_OPTION_TABLE_FORMAT(AT(format), "format in which the numbers of problems are printed: table, csv or markdown"),
};

/* Writes the description of a problem, without its file and line, to out[size]. */
static void describe(const aoe_finding *f, char *out, size_t size) {
    char text[LINE], label[LINE];
    cli_excerpt(text, f->text, EXCERPT);
    cli_excerpt(label, f->other_label, EXCERPT);
    switch (f->kind) {
    case AOE_FINDING_INVALID:
        snprintf(out, size, "unreadable: %.*s", (int)f->text.len, f->text.data);
        break;
    case AOE_FINDING_LABEL:
        snprintf(out, size, "label '%s' is neither a number nor a known label name", text);
        break;
    case AOE_FINDING_RANGE:
        snprintf(out, size, "label %s is out of range", text);
        break;
    case AOE_FINDING_CLASS:
        snprintf(out, size, "all labels are '%s'", text);
        break;
    case AOE_FINDING_EMPTY:
        snprintf(out, size, "empty text");
        break;
    case AOE_FINDING_LONG:
        snprintf(out, size, "text of %zu characters: %s", f->length, text);
        break;
    case AOE_FINDING_DUPLICATE:
        snprintf(out, size, "duplicate of %s:%zu", f->other_file, f->other_line);
        break;
    case AOE_FINDING_CONFLICT:
        snprintf(out, size, "label '%s', but equal texts have label '%s' in %s:%zu", text, label, f->other_file,
                 f->other_line);
        break;
    case AOE_FINDING_LEAK:
        snprintf(out, size, "also in %s:%zu", f->other_file, f->other_line);
        break;
    case AOE_FINDING_SHARED:
        snprintf(out, size, "text is also in %s:%zu: %s", f->other_file, f->other_line, text);
        break;
    case AOE_FINDING_COUNT:
        break;
    }
}

static void print_finding_json(const aoe_finding *f) {
    json_t *o = json_pack("{s:s,s:o,s:I}", "kind", aoe_finding_name(f->kind), "file",
                          cli_json_text(f->file, strlen(f->file)), "line", (json_int_t)f->line);
    if (f->other_file) {
        json_object_set_new(o, "other_file", cli_json_text(f->other_file, strlen(f->other_file)));
        json_object_set_new(o, "other_line", json_integer((json_int_t)f->other_line));
    }
    if (f->text.len)
        json_object_set_new(o, "text", cli_json_text(f->text.data, f->text.len));
    if (f->other_label.len)
        json_object_set_new(o, "other_label", cli_json_text(f->other_label.data, f->other_label.len));
    cli_print_json(o);
}

static void report(void *user, const aoe_finding *f) {
    job *j = user;
    char what[LINE * 2 + 4300];
    if (j->named[f->kind]++ >= j->o->max)
        return;
    if (j->o->general.json) {
        print_finding_json(f);
        return;
    }
    describe(f, what, sizeof what);
    if (f->line)
        printf("%s:%zu: %s: %s\n", f->file, f->line, aoe_finding_name(f->kind), what);
    else
        printf("%s: %s: %s\n", f->file, aoe_finding_name(f->kind), what);
}

static void print_counts(const job *j, const aoe_data_check_result *r) {
    cli_table t;
    cli_table_begin(&t, "lrl");
    cli_table_cell(&t, "found");
    cli_table_cell(&t, "rows");
    cli_table_cell(&t, "what");
    for (int k = 0; k < AOE_FINDING_COUNT; k++) {
        if (!r->found[k])
            continue;
        const aoe_finding_kind kind = (aoe_finding_kind)k;
        cli_table_cell(&t, "%s", aoe_finding_name(kind));
        cli_table_cell(&t, "%zu", r->found[k]);
        if (r->found[k] > j->o->max)
            cli_table_cell(&t, "%s (%zu more; print them with --max)", aoe_finding_text(kind), r->found[k] - j->o->max);
        else
            cli_table_cell(&t, "%s", aoe_finding_text(kind));
    }
    putchar('\n');
    cli_table_print_as(&t, j->o->format);
}

static void print_json(const aoe_data_check_result *r) {
    json_t *o = json_pack("{s:I,s:I}", "rows", (json_int_t)r->rows, "found", (json_int_t)r->total);
    for (int k = 0; k < AOE_FINDING_COUNT; k++)
        json_object_set_new(o, aoe_finding_name((aoe_finding_kind)k), json_integer((json_int_t)r->found[k]));
    cli_print_json(o);
}

static int run(job *j, aoe_data_check_options *c, const cli_args *args) {
    aoe_data_check_result result = {.struct_size = sizeof result};
    aoe_error err;
    c->report = report;
    c->user = j;
    if (aoe_data_check(args->operand, args->n, c, &result, &err))
        return cli_fail("%s", err.message);
    if (j->o->general.json)
        print_json(&result);
    else if (result.total)
        print_counts(j, &result);
    else
        printf("%zu row%s in %zu file%s: no problems found\n", result.rows, cli_plural(result.rows), args->n,
               cli_plural(args->n));
    return result.total > 0;
}

static int run_command(int argc, char **argv) {
    options o = {.max = 10};
    cli_general_defaults(&o.general);
    aoe_data_check_options_defaults(&o.c);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_data_check_rows, &o.c),
        CLI_TABLE_INPUT_GROUP(&o.c.table),

        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data check",
        .operands = "FILE...",
        .about =
            "Finds problems in tables and prints the file and the line of each problem. The problems are\n"
            "unreadable rows, labels that are unknown or out of range, files in which all labels are equal, empty\n"
            "or very long texts, duplicate rows, and equal texts with different labels. Each file is also\n"
            "compared with all files before it on the command line. To find rows and texts of the training data\n"
            "in the test data, give the training data first. The exit code is 1 if a problem is found.\n",
        .examples = "  aoe data check train.tsv dev.tsv test.tsv --range 0,5\n"
                    "  aoe data check train.tsv test.tsv --ignore duplicate,shared --same letters --max 100\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        job j = {.o = &o};
        cli_set_quiet(o.general.quiet);
        code = run(&j, &o.c, &args);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_check_command = {
    .name = "check",
    .summary = "report bad rows, duplicates and texts shared between files",
    .run = run_command,
};
