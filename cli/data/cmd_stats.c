/* SPDX-License-Identifier: MIT
 * Implements `aoe data stats`: counts the rows and texts of tables as in table 1 of the AnglE paper, and summarizes
 * text lengths and labels. To compute lengths in tokens, only the tokenizer of a model is opened.
 */
#include "aoe_data.h"
#include "aoe_tokenizer.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum view { VIEW_ROWS, VIEW_LENGTHS, VIEW_LABELS, VIEW_ALL } view;

typedef struct options {
    cli_general general;
    aoe_data_stats_options s;
    const char *model;
    cli_table_format format;
    view only;
} options;

typedef struct job {
    const options *o;
    const char *const *path; /* [n] input files, borrowed */
    size_t n;
    aoe_data_stats_result *result; /* [n] results, owned; the fields below are also owned */
    aoe_tokenizer *tokenizer;
    aoe_encode_options encode;
    aoe_ids ids;
    cli_progress progress;
    size_t texts;
} job;

static const char *const quantile_names[AOE_QUANTILES] = {"min", "25%", "median", "75%", "90%", "99%", "max"};

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    CLI_OPTION_TABLE_FORMAT(AT(format), "output format: table, csv or markdown"),
    {.name = "only",
     .kind = AOEI_OPTION_CHOICE,
     AT(only),
     .choices = AOEI_CHOICES("rows", "lengths", "labels"),
     .noun = "table",
     .excludes = "json",
     .help = "print only one of the three tables: rows (numbers of rows and texts), lengths (text "
             "lengths) or labels (label frequencies)",
     .fallback = "all three tables"},
};

static const aoei_option data_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     AT(model),
     .help = "also report text lengths in tokens of this model, special tokens included, without truncation",
     .fallback = "none"},
};

/* ---- printing */

static void count_cell(cli_table *t, int known, size_t n) {
    if (known)
        cli_table_cell(t, "%zu", n);
    else
        cli_table_cell(t, "-");
}

static void print_as(cli_table *t, const options *o, int *printed) {
    if (*printed)
        putchar('\n');
    *printed = 1;
    cli_table_print_as(t, o->format);
}

static void print_rows(const job *j, int *printed) {
    static const char *const names[] = {"file",    "rows",          "positive", "negative",
                                        "dropped", "unknown label", "texts",    "distinct"};
    cli_table t;
    cli_table_begin(&t, "lrrrrrrr");
    cli_table_cells(&t, names, 8);
    for (size_t i = 0; i < j->n; i++) {
        const aoe_data_stats_result *r = &j->result[i];
        cli_table_cell(&t, "%s", j->path[i]);
        cli_table_cell(&t, "%zu", r->rows);
        count_cell(&t, r->has_labels, r->positive);
        count_cell(&t, r->has_labels, r->negative);
        count_cell(&t, r->has_labels, r->dropped);
        count_cell(&t, r->has_labels, r->unknown);
        cli_table_cell(&t, "%zu", r->texts);
        cli_table_cell(&t, "%zu", r->distinct);
    }
    print_as(&t, j->o, printed);
}

static void length_row(const job *j, cli_table *t, size_t i, const char *unit, const aoe_data_lengths *l) {
    cli_table_cell(t, "%s", j->path[i]);
    cli_table_cell(t, "%s", unit);
    cli_table_cell(t, "%.2f", l->mean);
    for (int q = 0; q < AOE_QUANTILES; q++)
        cli_table_cell(t, "%.6g", l->quantile[q]);
    if (j->o->s.longer)
        cli_table_cell(t, "%.2f%%", 100 * (double)l->longer / (double)j->result[i].texts);
}

static void print_lengths(const job *j, int *printed) {
    static const char *const names[] = {"file", "length in", "mean"};
    cli_table t;
    cli_table_begin(&t, j->o->s.longer ? "llrrrrrrrrr" : "llrrrrrrrr");
    cli_table_cells(&t, names, 3);
    cli_table_cells(&t, quantile_names, AOE_QUANTILES);
    if (j->o->s.longer)
        cli_table_cell(&t, "> %zu", j->o->s.longer);
    for (size_t i = 0; i < j->n; i++) {
        length_row(j, &t, i, "characters", &j->result[i].characters);
        length_row(j, &t, i, "words", &j->result[i].words);
        if (j->result[i].has_tokens)
            length_row(j, &t, i, "tokens", &j->result[i].tokens);
    }
    print_as(&t, j->o, printed);
}

static void print_labels(const job *j, int *printed) {
    static const char *const names[] = {"file", "label", "rows", "fraction"};
    cli_table t;
    cli_table_begin(&t, "llrr");
    cli_table_cells(&t, names, 4);
    size_t labels = 0;
    for (size_t i = 0; i < j->n; i++) {
        const aoe_data_stats_result *r = &j->result[i];
        labels += r->labels;
        for (size_t k = 0; k < r->labels; k++) {
            const aoe_data_label *l = &r->label[k];
            char text[4 * 40 + 4];
            cli_table_cell(&t, "%s", j->path[i]);
            cli_excerpt(text, l->label, 40);
            if (isnan(l->low) || l->label.len)
                cli_table_cell(&t, "%s", *text ? text : "(empty)");
            else
                cli_table_cell(&t, "%.6g to %.6g", l->low, l->high);
            cli_table_cell(&t, "%zu", l->rows);
            cli_table_cell(&t, "%.2f%%", 100 * (double)l->rows / (double)r->rows);
        }
    }
    if (labels)
        print_as(&t, j->o, printed);
    else
        cli_table_free(&t);
}

static json_t *lengths_json(const aoe_data_lengths *l, size_t longer, size_t texts) {
    json_t *o = json_pack("{s:f}", "mean", l->mean);
    static const char *const keys[AOE_QUANTILES] = {"min", "p25", "median", "p75", "p90", "p99", "max"};
    for (int q = 0; q < AOE_QUANTILES; q++)
        json_object_set_new(o, keys[q], json_real(l->quantile[q]));
    if (longer)
        json_object_set_new(o, "longer", json_real((double)l->longer / (double)texts));
    return o;
}

static json_t *labels_json(const aoe_data_stats_result *r) {
    json_t *list = json_array();
    for (size_t k = 0; k < r->labels; k++) {
        const aoe_data_label *l = &r->label[k];
        json_t *o = l->label.len || isnan(l->low)
                        ? json_pack("{s:o}", "label", cli_json_text(l->label.data, l->label.len))
                        : json_pack("{s:f,s:f}", "from", l->low, "to", l->high);
        json_object_set_new(o, "rows", json_integer((json_int_t)l->rows));
        json_array_append_new(list, o);
    }
    return list;
}

static void print_json(const job *j) {
    for (size_t i = 0; i < j->n; i++) {
        const aoe_data_stats_result *r = &j->result[i];
        json_t *o = json_pack("{s:o,s:I,s:I,s:I,s:I}", "file", cli_json_text(j->path[i], strlen(j->path[i])), "rows",
                              (json_int_t)r->rows, "skipped", (json_int_t)r->skipped, "texts", (json_int_t)r->texts,
                              "distinct", (json_int_t)r->distinct);
        if (r->has_labels) {
            json_object_set_new(o, "threshold", cli_json_real(r->threshold));
            json_object_set_new(o, "positive", json_integer((json_int_t)r->positive));
            json_object_set_new(o, "negative", json_integer((json_int_t)r->negative));
            json_object_set_new(o, "dropped", json_integer((json_int_t)r->dropped));
            json_object_set_new(o, "without_value", json_integer((json_int_t)r->unknown));
            json_object_set_new(o, "labels", labels_json(r));
        }
        json_object_set_new(o, "characters", lengths_json(&r->characters, j->o->s.longer, r->texts));
        json_object_set_new(o, "words", lengths_json(&r->words, j->o->s.longer, r->texts));
        if (r->has_tokens)
            json_object_set_new(o, "tokens", lengths_json(&r->tokens, j->o->s.longer, r->texts));
        cli_print_json(o);
    }
}

/* ---- running */

static int count_tokens(void *user, aoe_text text, size_t *n, aoe_error *err) {
    job *j = user;
    const int rc = aoe_tokenizer_encode(j->tokenizer, text, &j->encode, &j->ids, err);
    *n = j->ids.n;
    cli_progress_update(&j->progress, ++j->texts, 0, NULL, -1, NULL);
    return rc;
}

static int open_tokenizer(job *j) {
    aoe_error err;
    if (!j->o->model)
        return 0;
    if (aoe_tokenizer_open(&j->tokenizer, j->o->model, &err) || aoe_encode_options_of(&j->encode, j->o->model, &err))
        return cli_fail("%s", err.message);
    return 0;
}

static int run(job *j, aoe_data_stats_options *s) {
    aoe_error err;
    s->tokens = j->o->model ? count_tokens : NULL;
    s->user = j;
    if (open_tokenizer(j))
        return 1;
    cli_progress_begin(&j->progress, "counting", "texts", 0);
    for (size_t i = 0; i < j->n; i++) {
        j->result[i].struct_size = sizeof j->result[i];
        if (aoe_data_stats(j->path[i], s, &j->result[i], &err))
            return cli_fail("%s", err.message);
    }
    cli_progress_end(&j->progress);
    for (size_t i = 0; i < j->n; i++)
        cli_warn_skipped(j->path[i], j->result[i].skipped);
    if (j->o->general.json) {
        print_json(j);
        return 0;
    }
    int printed = 0;
    const view only = j->o->only;
    if (only == VIEW_ALL || only == VIEW_ROWS)
        print_rows(j, &printed);
    if (only == VIEW_ALL || only == VIEW_LENGTHS)
        print_lengths(j, &printed);
    if (only == VIEW_ALL || only == VIEW_LABELS)
        print_labels(j, &printed);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.only = VIEW_ALL};
    cli_general_defaults(&o.general);
    aoe_data_stats_options_defaults(&o.s);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_GROUP("data", data_table, &o),
        CLI_LIBRARY_GROUP(&aoei_data_stats_rows, &o.s),
        CLI_TABLE_INPUT_GROUP(&o.s.table),

        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data stats",
        .operands = "FILE...",
        .about =
            "Prints three tables of statistics. The first table counts the rows, positive and negative rows\n"
            "(--threshold), texts and distinct texts of each file. Its column \"dropped\" counts the rows whose\n"
            "label has the value drop in --label-map, and its column \"unknown label\" counts the rows whose label\n"
            "is a word that --label-map does not contain. The second table describes the distribution of text\n"
            "lengths. The third table contains the frequency of each label.\n",
        .examples = "  aoe data stats examples/train.tsv examples/test.tsv\n"
                    "  aoe data stats train.tsv dev.tsv test.tsv --only rows -f markdown\n"
                    "  aoe data stats issues.jsonl.zst -m model --longer 512 --json\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        job j = {.o = &o, .encode = {.struct_size = sizeof(aoe_encode_options)}, .path = args.operand, .n = args.n};
        j.result = cli_calloc(j.n, sizeof *j.result);
        cli_set_quiet(o.general.quiet);
        code = run(&j, &o.s);
        cli_progress_end(&j.progress);
        for (size_t i = 0; i < j.n; i++)
            aoe_data_stats_free(&j.result[i]);
        free(j.result);
        aoe_ids_free(&j.ids);
        aoe_tokenizer_close(j.tokenizer);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_stats_command = {
    .name = "stats",
    .summary = "count rows, texts and labels, and measure text lengths",
    .run = run_command,
};
