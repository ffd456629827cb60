/* SPDX-License-Identifier: MIT
 * Implements `aoe data split`: divides rows into parts such that no text is in two parts. If an error occurs, no part
 * is written.
 */
#include "aoe_data.h"
#include "base/dir.h"
#include "base/path.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PARTS = 16, NAME_SIZE = 64 };

typedef struct parts {
    char name[MAX_PARTS][NAME_SIZE];
    double share[MAX_PARTS];
    size_t n;
} parts;

typedef struct options {
    cli_general general;
    aoe_data_split_options s;
    parts parts;
    const char *output;      /* output directory */
    cli_table_format format; /* format of the summary */
} options;

typedef struct job {
    const options *o;
    const char *input;
    char *path[MAX_PARTS]; /* paths of the output files, owned; the fields below are also owned */
    cli_file file[MAX_PARTS];
    aoe_data_split_part part[MAX_PARTS];
    aoe_data_split_result result;
    int made_dir;
} job;

/* Parses the value of --shares, the names and ratios of the parts, such as "train=80,dev=10,test=10". */
static int parse_shares(void *target, const char *text, aoe_error *err) {
    parts *p = target;
    parts read = {.n = 0};
    for (const char *s = text; *s;) {
        const size_t len = strcspn(s, ","), name = strcspn(s, "=,");
        char *end = NULL;
        const double share = name < len ? strtod(s + name + 1, &end) : 0;
        int bad = read.n == MAX_PARTS || name == 0 || name >= NAME_SIZE || name >= len || end != s + len ||
                  !(share > 0) || !isfinite(share) || memchr(s, '/', name) || *s == '.';
        for (size_t i = 0; !bad && i < read.n; i++)
            bad = strlen(read.name[i]) == name && !memcmp(read.name[i], s, name);
        if (bad) {
            err->code = AOE_EARG;
            snprintf(err->message, sizeof err->message,
                     "expected up to %d distinct names with positive ratios, for example train=80,dev=10,test=10, not "
                     "'%.100s'",
                     MAX_PARTS, text);
            return err->code;
        }
        memcpy(read.name[read.n], s, name);
        read.share[read.n++] = share;
        s += len;
        s += *s == ',';
    }
    if (!read.n) {
        err->code = AOE_EARG;
        snprintf(err->message, sizeof err->message, "expected names with ratios, for example train=80,test=20");
        return err->code;
    }
    *p = read;
    return 0;
}

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    AOEI_ROW_OUTPUT(
        AT(output), "DIR",
        "output directory; each split is written to a file in DIR with its name in --shares and the extension of the "
        "input. If an error occurs, no split is written"),
    {.name = "shares",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME=N,...",
     AT(parts),
     .parse = parse_shares,
     .help = "names of the splits and their relative sizes in rows",
     .fallback = "train=80,dev=10,test=10"},
    CLI_OPTION_TABLE_FORMAT(AT(format), "format in which the sizes of the splits are printed: table, csv or markdown"),
};

static double target(const job *j, size_t p) {
    double sum = 0;
    for (size_t i = 0; i < j->o->parts.n; i++)
        sum += j->o->parts.share[i];
    return j->o->parts.share[p] / sum * (double)j->result.rows;
}

/* Warns if a cluster (rows that must be in the same part) is too large for the split ratios. */
static void report_giant(const job *j) {
    double worst = 0;
    const double rows = (double)j->result.rows;
    for (size_t p = 0; p < j->o->parts.n; p++)
        worst = fmax(worst, fabs((double)j->part[p].rows - target(j, p)));
    if (worst <= 0.01 * rows + 1)
        return;
    cli_warn("the split ratios are off by up to %.1f%% of the rows: %zu of %zu rows (%.1f%%) form one cluster "
             "connected by shared texts, which begins in line %zu",
             100 * worst / rows, j->result.largest, j->result.rows, 100 * (double)j->result.largest / rows,
             j->result.largest_line);
}

static void print_table(const job *j) {
    cli_table t;
    cli_table_begin(&t, "lrrrrl");
    static const char *const heading[] = {"split", "rows", "fraction", "texts", "clusters", "file"};
    cli_table_cells(&t, heading, 6);
    for (size_t p = 0; p < j->o->parts.n; p++) {
        cli_table_cell(&t, "%s", j->o->parts.name[p]);
        cli_table_cell(&t, "%zu", j->part[p].rows);
        cli_table_cell(&t, "%.2f%%", 100 * (double)j->part[p].rows / (double)j->result.rows);
        cli_table_cell(&t, "%zu", j->part[p].texts);
        cli_table_cell(&t, "%zu", j->part[p].clusters);
        cli_table_cell(&t, "%s", j->path[p]);
    }
    cli_table_print_as(&t, j->o->format);
}

static void print_json(const job *j) {
    for (size_t p = 0; p < j->o->parts.n; p++)
        cli_print_json(json_pack("{s:s,s:o,s:I,s:f,s:I,s:I}", "part", j->o->parts.name[p], "file",
                                 cli_json_text(j->path[p], strlen(j->path[p])), "rows", (json_int_t)j->part[p].rows,
                                 "share", (double)j->part[p].rows / (double)j->result.rows, "texts",
                                 (json_int_t)j->part[p].texts, "clusters", (json_int_t)j->part[p].clusters));
    cli_print_json(json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "file", cli_json_text(j->input, strlen(j->input)),
                             "rows", (json_int_t)j->result.rows, "skipped", (json_int_t)j->result.skipped, "texts",
                             (json_int_t)j->result.texts, "clusters", (json_int_t)j->result.clusters, "largest_cluster",
                             (json_int_t)j->result.largest, "largest_cluster_line", (json_int_t)j->result.largest_line,
                             "near_pairs", (json_int_t)j->result.near_pairs));
}

static int open_outputs(job *j) {
    const options *o = j->o;
    const char *end = strcmp(j->input, "-") ? cli_rows_end(j->input) : ".txt";
    aoe_error err;
    j->made_dir = !aoei_exists(o->output);
    if (aoei_make_dir(o->output, &err))
        return cli_fail("%s", err.message);
    for (size_t p = 0; p < o->parts.n; p++) {
        const size_t size = strlen(o->output) + strlen(o->parts.name[p]) + strlen(end) + 2;
        j->path[p] = cli_realloc(NULL, size);
        snprintf(j->path[p], size, "%s/%s%s", o->output, o->parts.name[p], end);
        if (cli_is_same_file(j->path[p], j->input))
            return cli_fail("%s is the input and would be overwritten; choose another directory with -o", j->path[p]);
        if (cli_file_open(&j->file[p], j->path[p]))
            return 1;
    }
    return 0;
}

static int run(job *j) {
    aoe_data_split_options s = j->o->s;
    cli_sink sink = {j->file, j->o->parts.n};
    aoe_error err;
    s.ratios = j->o->parts.share;
    s.parts = j->o->parts.n;
    s.seed = j->o->general.seed;
    s.name = j->input;
    s.write = cli_sink_write;
    s.user = &sink;
    if (!j->o->output)
        return cli_usage("data split", "missing output directory: -o DIR");
    if (open_outputs(j))
        return 1;
    j->result.struct_size = sizeof j->result;
    if (cli_sink_end(&sink, aoe_data_split(j->input, &s, j->part, &j->result, &err), &err))
        return 1;
    if (j->o->general.json)
        print_json(j);
    else
        print_table(j);
    cli_warn_skipped(NULL, j->result.skipped);
    report_giant(j);
    return 0;
}

static void release(job *j, int failed) {
    for (size_t p = 0; p < j->o->parts.n; p++) {
        cli_file_abort(&j->file[p]);
        free(j->path[p]);
    }
    if (failed && j->made_dir)
        rmdir(j->o->output);
}

static int run_command(int argc, char **argv) {
    options o = {.parts = {{"train", "dev", "test"}, {80, 10, 10}, 3}};
    cli_general_defaults(&o.general);
    aoe_data_split_options_defaults(&o.s);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_data_split_rows, &o.s),
        CLI_TABLE_INPUT_GROUP(&o.s.table),

        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data split",
        .operands = "FILE",
        .about = "Divides the rows of a table into splits, such as train, dev and test, that have no text in common.\n"
                 "Rows that share a text, directly or through other rows, are written to one split. The rows of a\n"
                 "split are unchanged and in their original order. The same --seed always gives the same splits. A\n"
                 "warning is printed if the ratios of --shares cannot be met because too many rows are connected by\n"
                 "shared texts.\n",
        .examples =
            "  aoe data split pairs.tsv -o parts\n"
            "  aoe data split issues.jsonl.zst --shares train=90,test=10 --near 0.8 --group repository -o parts\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        job j = {.o = &o, .input = args.operand[0]};
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        code = run(&j);
        release(&j, code);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_split_command = {
    .name = "split",
    .summary = "split rows into train, dev and test sets that share no text",
    .run = run_command,
};
