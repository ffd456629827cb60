/* SPDX-License-Identifier: MIT
 * Implements `aoe bench`: measures the speed of an encoder with a predefined shape and random weights.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "options/evaluate.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    aoe_bench_options bench;
    const char *shape;
    const char *lengths; /* path of a file with one text length per line, in tokens; NULL: every text has bench.length
                            tokens */
    size_t texts;        /* number of texts; 0: not given */
    size_t positions;    /* maximum sequence length in tokens; 0: the maximum sequence length of the shape */
} options;

static const aoei_option table[] = {
    {.name = "shape",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, shape),
     .help = "architecture and sizes: " CLI_SHAPE_NAMES},
    {.name = "texts",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, texts),
     .min = 1,
     .max = 1e7,
     .help = "number of texts per batch",
     .fallback = "64, or the number of lines of the --lengths file"},
    {.name = "lengths",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, lengths),
     .help = "file with the number of tokens of each text, one integer per line",
     .fallback = "none; all texts have --length tokens"},
    {.name = "positions",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, positions),
     .min = 1,
     .max = 1 << 20,
     .help = "maximum sequence length of the model in tokens",
     .fallback = "from --shape"},
};

static void print_table(const options *o, const aoe_bench_result *r, const aoe_context *ctx) {
    cli_table t;
    static const char *const heads[] = {"shape",  "mode",      "type",   "kernels",  "threads", "texts",
                                        "tokens", "median ms", "min ms", "tokens/s", "TFLOP/s", "peak MB"};
    cli_table_begin(&t, "llllrrrrrrrr");
    cli_table_cells(&t, heads, sizeof heads / sizeof *heads);
    cli_table_cell(&t, "%s", o->shape);
    cli_table_cell(&t, "%s", aoei_bench_mode_names[o->bench.mode]);
    cli_table_cell(&t, "%s", aoei_dtype_names[r->dtype]);
    cli_table_cell(&t, "%s", aoe_context_tier(ctx));
    cli_table_cell(&t, "%zu", aoe_context_threads(ctx));
    cli_table_cell(&t, "%zu", o->bench.texts);
    cli_table_cell(&t, "%zu", r->tokens);
    cli_table_cell(&t, "%.2f", r->ms);
    cli_table_cell(&t, "%.2f", r->ms_min);
    cli_table_cell(&t, "%.0f", r->tokens_per_second);
    cli_table_cell(&t, "%.3f", r->tflops);
    cli_table_cell(&t, "%.0f", r->peak_rss_mb);
    cli_table_print(&t);
}

static void print_json(const options *o, const aoe_bench_result *r, const aoe_context *ctx) {
    cli_print_json(json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:f}", "shape", o->shape, "mode",
                             aoei_bench_mode_names[o->bench.mode], "dtype", aoei_dtype_names[r->dtype], "tier",
                             aoe_context_tier(ctx), "threads", (json_int_t)aoe_context_threads(ctx), "runs",
                             (json_int_t)o->bench.runs, "texts", (json_int_t)o->bench.texts, "tokens",
                             (json_int_t)r->tokens, "layers_timed", (json_int_t)r->layers_timed, "tokens_per_second",
                             r->tokens_per_second, "ms", r->ms, "ms_min", r->ms_min, "tflops", r->tflops, "peak_rss_mb",
                             r->peak_rss_mb));
}

/* The integers of a file. */
typedef struct length_list {
    size_t *value; /* [n] owned by the caller of read_lengths */
    size_t n;
} length_list;

/* Callback of aoe_texts_read. Appends the integer in a line. */
static int take_length(void *user, aoe_text line, aoe_error *err) {
    length_list *l = user;
    char text[24], *end;
    snprintf(text, sizeof text, "%.*s", (int)(line.len < 23 ? line.len : 23), line.data);
    unsigned long value = strtoul(text, &end, 10);
    if (!line.len || text[0] < '0' || text[0] > '9' || *end || value == 0 || value > 1000000) {
        err->code = AOE_EFORMAT;
        snprintf(err->message, sizeof err->message, "the length must be an integer from 1 to 1000000, not '%s'", text);
        return err->code;
    }
    l->value = cli_realloc(l->value, (l->n + 1) * sizeof *l->value);
    l->value[l->n++] = value;
    return 0;
}

/* Reads a file with one integer per line. Sets *value to the integers and *n to their number; the caller frees *value.
 * Returns 0, or 1 after reporting the error. */
static int read_lengths(const char *path, size_t **value, size_t *n) {
    aoe_table_options t;
    aoe_error err;
    length_list l = {0};
    aoe_table_options_defaults(&t);
    t.input_format = AOE_TABLE_TXT;
    const int code = aoe_texts_read(path, &t, take_length, &l, &err);
    *value = l.value;
    *n = l.n;
    if (code)
        return cli_fail("%s", err.message);
    return l.n ? 0 : cli_fail("%s: file is empty; it must contain one integer per line", path);
}

static int run_bench(options *o, size_t **lengths, aoe_context *ctx) {
    aoe_bench_result result = {.struct_size = sizeof result};
    aoe_error err;
    size_t n = 0;
    if (o->lengths && read_lengths(o->lengths, lengths, &n))
        return 1;
    if (n && o->texts > n)
        return cli_fail("%s: %zu lengths, but --texts is %zu; make them equal, or leave out --texts", o->lengths, n,
                        o->texts);
    if (o->positions)
        o->bench.shape.positions = o->positions;
    o->bench.texts = o->texts ? o->texts : n ? n : o->bench.texts;
    o->bench.lengths = *lengths;
    o->bench.seed = o->general.seed;
    if (aoe_bench(ctx, &o->bench, &result, &err))
        return cli_fail("%s", err.message);
    if (result.layers_timed < o->bench.shape.layers)
        cli_note("%s: measured %zu of %zu layers, without token embeddings; the times are multiplied by %zu", o->shape,
                 result.layers_timed, o->bench.shape.layers, o->bench.shape.layers / result.layers_timed);
    if (o->general.json)
        print_json(o, &result, ctx);
    else
        print_table(o, &result, ctx);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.shape = "bert-base"};
    cli_general_defaults(&o.general);
    aoe_bench_options_defaults(&o.bench);
    const cli_group groups[] = {
        CLI_GROUP("measurement", table, &o),
        CLI_LIBRARY_GROUP(&aoei_bench_rows, &o.bench),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "bench",
        .operands = "",
        .about = "Measures the speed of an encoder with random weights. After one warm-up run, prints the median and\n"
                 "the minimum time of several runs. The printed TFLOP/s count only the operations of matrix\n"
                 "multiplications.\n",
        .examples = "  aoe bench --shape minilm-l6 --texts 64 --length 32\n"
                    "  aoe bench --mode train --threads 2 --json\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    aoe_error err;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && aoe_shape_named(&o.bench.shape, o.shape, &err))
        code = cli_usage("bench", "--shape: %s", err.message);
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        size_t *lengths = NULL;
        cli_set_quiet(o.general.quiet);
        code = cli_open_context(&ctx, &o.general) || run_bench(&o, &lengths, ctx);
        aoe_context_destroy(ctx);
        free(lengths);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .summary = "measure the speed of the encoder on this machine",
    .run = run_command,
};
