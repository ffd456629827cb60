/* SPDX-License-Identifier: MIT
 * Implements what all evaluation commands have in common: parses the arguments, opens the model, stores the results, shows the
 * progress, and prints the results.
 */
#include "cli/eval/eval_common.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/option_rows.h"

enum { MAX_COLUMNS = 16, MAX_OWN_GROUPS = 4 };

static const cli_option output_table[] = {
    CLI_OPTION_TABLE_FORMAT(.offset = offsetof(cli_eval, format), "output format: table, csv or markdown"),
};

static const cli_option size_table[] = {
    {.name = "layers",
     .kind = CLI_TEXT,
     .value = "N,...",
     .offset = offsetof(cli_eval, layers_text),
     .help = "evaluate the model with only its first N layers, for each N of the list, as aoe convert --layers N writes it",
     .fallback = "all layers"},
    {.name = "dims",
     .kind = CLI_TEXT,
     .value = "N,...",
     .offset = offsetof(cli_eval, dims_text),
     .help = "evaluate the embeddings truncated to the first N components, for each N of the list. The results have one row "
             "for each number of layers and of components",
     .fallback = "all components"},
};

/* ---- results */

void cli_eval_keep(cli_eval *e, const void *result, const char *name, size_t empty, size_t truncated) {
    e->results = cli_realloc(e->results, (e->n + 1) * e->result_size);
    e->names = cli_realloc(e->names, (e->n + 1) * sizeof *e->names);
    memcpy((char *)e->results + e->n * e->result_size, result, e->result_size);
    e->names[e->n++] = cli_strdup(name);
    e->empty += empty;
    e->truncated += truncated;
}

static const void *field_of(const cli_eval *e, size_t result, const cli_eval_field *f) {
    return (const char *)e->results + result * e->result_size + f->offset;
}

static size_t count_of(const cli_eval *e, size_t result, const cli_eval_field *f) {
    return *(const size_t *)field_of(e, result, f);
}

static double real_of(const cli_eval *e, size_t result, const cli_eval_field *f) {
    return *(const double *)field_of(e, result, f);
}

/* ---- printing */

void cli_eval_percent(cli_table *t, double x) {
    if (isfinite(x))
        cli_table_cell(t, "%.2f", 100 * x);
    else
        cli_table_cell(t, "undefined");
}

static void print_json(const cli_evaluation *c, const cli_eval *e) {
    for (size_t i = 0; i < e->n; i++) {
        json_t *o = json_pack("{s:o}", "name", cli_json_text(e->names[i], strlen(e->names[i])));
        if (e->size) {
            json_object_set_new(o, "layers", json_integer((json_int_t)e->size[i].layers));
            json_object_set_new(o, "dims", json_integer((json_int_t)e->size[i].dims));
        }
        for (size_t k = 0; k < c->n_fields; k++) {
            const cli_eval_field *f = &c->fields[k];
            const int is_count = f->kind == CLI_EVAL_COUNT || f->kind == CLI_EVAL_RARE;
            if (f->key)
                json_object_set_new(o, f->key,
                                    is_count ? json_integer((json_int_t)count_of(e, i, f)) : cli_json_real(real_of(e, i, f)));
        }
        cli_print_json(o);
    }
}

/* Returns 1 if the printed table has a column for the field. */
static int has_column(const cli_eval *e, const cli_eval_field *f) {
    size_t sum = 0;
    for (size_t i = 0; f->kind == CLI_EVAL_RARE && i < e->n; i++)
        sum += count_of(e, i, f);
    return f->heading && (f->kind != CLI_EVAL_RARE || sum);
}

static void field_cell(cli_table *t, const cli_eval *e, size_t result, const cli_eval_field *f) {
    switch (f->kind) {
    case CLI_EVAL_COUNT:
    case CLI_EVAL_RARE:
        cli_table_cell(t, "%zu", count_of(e, result, f));
        break;
    case CLI_EVAL_PERCENT:
        cli_eval_percent(t, real_of(e, result, f));
        break;
    case CLI_EVAL_NUMBER:
        cli_table_real(t, 4, real_of(e, result, f));
        break;
    }
}

static void print_table(const cli_evaluation *c, const cli_eval *e) {
    const cli_eval_field *columns[MAX_COLUMNS];
    char align[MAX_COLUMNS + 4] = "lrr";
    const size_t sizes = e->size ? 2 : 0;
    size_t n = 0;
    cli_table t;
    for (size_t k = 0; k < c->n_fields && n < MAX_COLUMNS; k++)
        if (has_column(e, &c->fields[k]))
            columns[n++] = &c->fields[k];
    memset(align + 1, 'r', sizes + n);
    align[1 + sizes + n] = 0;
    cli_table_begin(&t, align);
    cli_table_cell(&t, "name");
    if (sizes)
        cli_table_cells(&t, (const char *const[]){"layers", "dims"}, sizes);
    for (size_t k = 0; k < n; k++)
        cli_table_cell(&t, "%s", columns[k]->heading);
    for (size_t i = 0; i < e->n; i++) {
        cli_table_cell(&t, "%s", e->names[i]);
        if (sizes) {
            cli_table_cell(&t, "%zu", e->size[i].layers);
            cli_table_cell(&t, "%zu", e->size[i].dims);
        }
        for (size_t k = 0; k < n; k++)
            field_cell(&t, e, i, columns[k]);
    }
    cli_table_print_as(&t, e->format);
}

static void print_results(const cli_evaluation *c, const cli_eval *e) {
    if (e->general.json && c->print_json)
        c->print_json(e);
    else if (e->general.json)
        print_json(c, e);
    else if (c->print_table)
        c->print_table(e);
    else
        print_table(c, e);
}

/* Warns about empty and truncated texts. With --chunk mean, prints a note about long texts. */
static void note_texts(const cli_session *s, const cli_eval *e) {
    aoe_model_info info;
    aoe_model_get_info(s->model, &info);
    if (e->empty)
        cli_warn("%zu empty text%s: %s", e->empty, cli_plural(e->empty),
                 strcmp(info.architecture, "static") ? "only special tokens are embedded" : "the embedding is zero");
    cli_warn_truncated(e->truncated, 0, 1);
    if (e->model.chunk == AOE_CHUNK_MEAN)
        cli_note("texts longer than the maximum sequence length: the embedding is the mean over all chunks");
}

/* ---- the command */

int cli_eval_progress(void *user, size_t done, size_t total) {
    cli_eval *e = user;
    cli_progress_update(&e->progress, done, total, NULL, -1, NULL);
    return 0;
}

/* Parses the value of --layers or --dims into size[CLI_EVAL_SIZES], and sets *n to the number of values. If text is NULL, the
 * only value is 0, which means all layers or components. Returns CLI_GO, or the exit code after a usage error. */
static int read_sizes(size_t *size, size_t *n, const char *text, const char *option, const char *command) {
    *n = 0;
    if (!text)
        size[(*n)++] = 0;
    for (const char *s = text; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char *end = NULL;
        const unsigned long value = strtoul(s, &end, 10);
        if (*s < '0' || *s > '9' || (*end && *end != ',') || !value || value > INT_MAX)
            return cli_usage(command, "--%s: '%s' is not a list of numbers above 0, separated by commas", option, text);
        if (*n == CLI_EVAL_SIZES)
            return cli_usage(command, "--%s: more than %d numbers", option, CLI_EVAL_SIZES);
        size[(*n)++] = value;
    }
    return CLI_GO;
}

/* Evaluates a model with the number of layers and components in e->model. The first call prints the notes about the model. */
static int evaluate(const cli_evaluation *c, cli_eval *e, cli_session *s, const cli_args *args) {
    aoe_error err;
    aoe_model_info info;
    const size_t before = e->n;
    if (cli_session_open(s, &e->general, &e->model) || (c->open && c->open(e, s)))
        return 1;
    if (!before) {
        cli_session_describe(s);
        cli_session_warn_similarity(s);
    }
    e->empty = e->truncated = 0; /* every evaluation counts the same texts */
    cli_progress_begin(&e->progress, c->doing, c->unit, 0);
    const int failed = c->score(e, s->embedder, args, &err);
    cli_progress_end(&e->progress);
    if (failed)
        return cli_fail("%s", err.message);
    if (!e->layers_text && !e->dims_text)
        return 0;
    aoe_model_get_info(s->model, &info);
    e->size = cli_realloc(e->size, e->n * sizeof *e->size);
    for (size_t i = before; i < e->n; i++)
        e->size[i] = (cli_eval_size){info.layers, aoe_model_dims(s->model)};
    return 0;
}

static int run(const cli_evaluation *c, cli_eval *e, cli_session *s, const cli_args *args) {
    size_t layers[CLI_EVAL_SIZES], dims[CLI_EVAL_SIZES], n_layers, n_dims;
    int code = read_sizes(layers, &n_layers, e->layers_text, "layers", c->command);
    if (code == CLI_GO)
        code = read_sizes(dims, &n_dims, e->dims_text, "dims", c->command);
    if (code != CLI_GO)
        return code;
    if (c->prepare)
        c->prepare(e);
    e->model.score_pairs = c->pairs;
    for (size_t i = 0; i < n_layers * n_dims; i++) {
        e->model.o.layers = layers[i / n_dims];
        e->model.o.dims = dims[i % n_dims];
        cli_session_close(s);
        if (evaluate(c, e, s, args))
            return 1;
    }
    if (c->warn)
        c->warn(e);
    note_texts(s, e);
    print_results(c, e);
    return 0;
}

int cli_evaluate(const cli_evaluation *c, int argc, char **argv) {
    cli_eval e = {.own = c->own, .result_size = c->result_size};
    cli_general_defaults(&e.general);
    cli_model_defaults(&e.model);
    cli_group groups[MAX_OWN_GROUPS + 5], *next = groups;
    *next++ = (cli_group)CLI_GROUP("output", output_table, &e);
    for (size_t i = 0; i < c->n_groups; i++)
        *next++ = c->groups[i];
    if (c->sizes)
        *next++ = (cli_group)CLI_GROUP("model sizes", size_table, &e);
    *next++ = (cli_group)CLI_GROUP("model", cli_model_table, &e.model);
    *next++ = (cli_group)CLI_GROUP("long texts", cli_chunk_table, &e.model);
    *next++ = (cli_group){"general", cli_general_table, c->seeded ? CLI_SEEDED_COUNT : CLI_GENERAL_COUNT, &e.general};
    const cli_syntax syntax = {
        .command = c->command,
        .operands = c->operands,
        .about = c->about,
        .examples = c->examples,
        .groups = groups,
        .n_groups = (size_t)(next - groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_session s = {0};
        cli_set_quiet(e.general.quiet);
        code = run(c, &e, &s, &args);
        cli_session_close(&s);
    }
    for (size_t i = 0; i < e.n; i++)
        free(e.names[i]);
    free(e.names);
    free(e.results);
    free(e.size);
    cli_args_free(&args);
    return code;
}
