/* SPDX-License-Identifier: MIT
 * Implements what all evaluation commands have in common: parses the arguments, opens the model, stores the results,
 * shows the progress, and prints the results.
 */
#include "cli/eval/eval_common.h"

#include <limits.h>
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_eval.h"
#include "cli/common/option_rows.h"

enum { MAX_COLUMNS = 16, MAX_OWN_GROUPS = 5 }; /* groups of options of one command */

static const aoei_option output_table[] = {
    CLI_OPTION_TABLE_FORMAT(.offset = offsetof(cli_eval, format), "output format: table, csv or markdown"),
};

static const aoei_option size_table[] = {
    {.name = "layers",
     .kind = AOEI_OPTION_TEXT,
     .value = "N,...",
     .offset = offsetof(cli_eval, layers_text),
     .help = "evaluate the model with only its first N layers, for each N of the list, as aoe convert --layers N "
             "writes it. Requires a transformer without a norm after its last layer, such as BERT",
     .fallback = "all layers"},
    {.name = "dims",
     .kind = AOEI_OPTION_TEXT,
     .value = "N,...",
     .offset = offsetof(cli_eval, dims_text),
     .help = "evaluate the embeddings truncated to the first N components, for each N of the list. The results have "
             "one row for each number of layers and of components",
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

void cli_eval_note_judgments(const char *name, size_t without, size_t missing, size_t unknown_queries,
                             size_t duplicates) {
    const char *of = name ? name : "", *colon = name ? ": " : "";
    if (without)
        cli_note("%s%s%zu judged quer%s no relevant text; recall, MRR and nDCG of such a query are 0, as in trec_eval",
                 of, colon, without, without == 1 ? "y has" : "ies have");
    if (missing)
        cli_note(
            "%s%s%zu judgment%s of texts that corpus.jsonl does not contain; such a text counts as not found, as in "
            "trec_eval",
            of, colon, missing, cli_plural(missing));
    if (unknown_queries)
        cli_warn("%s%s%zu judgment%s of queries that queries.jsonl does not contain %s no effect", of, colon,
                 unknown_queries, cli_plural(unknown_queries), unknown_queries == 1 ? "has" : "have");
    if (duplicates)
        cli_warn("%s%s%zu entr%s of corpus.jsonl or queries.jsonl %s replaced by a later entry with the same id", of,
                 colon, duplicates, duplicates == 1 ? "y" : "ies", duplicates == 1 ? "was" : "were");
}

void cli_eval_percent(cli_table *t, double x) {
    char score[32];
    cli_format_score(score, 100 * x);
    cli_table_cell(t, "%s", isfinite(x) ? score : "undefined");
}

void cli_eval_size_headings(const cli_eval *e, cli_table *t) {
    if (e->size)
        cli_table_cells(t, (const char *const[]){"layers", "dims"}, 2);
}

void cli_eval_size_cells(const cli_eval *e, cli_table *t, size_t i) {
    if (!e->size)
        return;
    cli_table_cell(t, "%zu", e->size[i].layers);
    cli_table_cell(t, "%zu", e->size[i].dims);
}

void cli_eval_size_json(const cli_eval *e, json_t *o, size_t i) {
    if (!e->size)
        return;
    json_object_set_new(o, "layers", json_integer((json_int_t)e->size[i].layers));
    json_object_set_new(o, "dims", json_integer((json_int_t)e->size[i].dims));
}

/* Returns 1 if the option --similarity sets another similarity than the cosine. */
static int is_other_similarity(const cli_evaluation *c) {
    return *c->similarity != AOE_SIMILARITY_COSINE;
}

void cli_eval_similarity_json(aoe_similarity_function similarity, json_t *o) {
    if (similarity != AOE_SIMILARITY_COSINE)
        json_object_set_new(o, "similarity", json_string(aoei_similarity_names[similarity]));
}

static void print_json(const cli_evaluation *c, const cli_eval *e) {
    for (size_t i = 0; i < e->n; i++) {
        json_t *o = json_pack("{s:o}", "name", cli_json_text(e->names[i], strlen(e->names[i])));
        cli_eval_size_json(e, o, i);
        cli_eval_similarity_json(*c->similarity, o);
        for (size_t k = 0; k < c->n_fields; k++) {
            const cli_eval_field *f = &c->fields[k];
            const int is_count = f->kind == CLI_EVAL_COUNT || f->kind == CLI_EVAL_RARE;
            if (f->key)
                json_object_set_new(o, f->key,
                                    is_count ? json_integer((json_int_t)count_of(e, i, f))
                                             : cli_json_real(real_of(e, i, f)));
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
    cli_eval_size_headings(e, &t);
    for (size_t k = 0; k < n; k++)
        cli_table_cell(&t, "%s", columns[k]->heading);
    for (size_t i = 0; i < e->n; i++) {
        cli_table_cell(&t, "%s", e->names[i]);
        cli_eval_size_cells(e, &t, i);
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
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(s->model, &info);
    if (e->empty)
        cli_warn("%zu empty text%s: %s", e->empty, cli_plural(e->empty),
                 strcmp(info.architecture, "static") ? "only special tokens are embedded" : "the embedding is zero");
    cli_warn_truncated(s->model, "text", e->truncated, 0, 1);
    if (e->model.embedder.chunk == AOE_CHUNK_MEAN)
        cli_note("texts longer than the maximum sequence length: the embedding is the mean over all chunks");
}

/* ---- the command */

int cli_eval_progress(void *user, size_t done, size_t total) {
    cli_eval *e = user;
    cli_progress_update(&e->progress, done, total, NULL, -1, NULL);
    return 0;
}

/* The values of --layers or of --dims. */
typedef struct size_list {
    const char *option, *text;    /* name of the option; its value, or NULL if it was not given */
    size_t value[CLI_EVAL_SIZES]; /* [n] the numbers; a single 0, which means all layers or components, if text is
                                     NULL */
    size_t n;
} size_list;

/* Parses l->text. Returns CLI_GO, or the exit code after a usage error. */
static int read_sizes(size_list *l, const char *command) {
    if (!l->text)
        l->value[l->n++] = 0;
    for (const char *s = l->text; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char *end = NULL;
        const unsigned long value = strtoul(s, &end, 10);
        if (*s < '0' || *s > '9' || (*end && *end != ',') || !value || value > INT_MAX)
            return cli_usage(command, "--%s: '%s' is not a list of numbers above 0, separated by commas", l->option,
                             l->text);
        for (size_t i = 0; i < l->n; i++)
            if (l->value[i] == value)
                return cli_usage(command, "--%s: %lu occurs twice", l->option, value);
        if (l->n == CLI_EVAL_SIZES)
            return cli_usage(command, "--%s: more than %d numbers", l->option, CLI_EVAL_SIZES);
        l->value[l->n++] = value;
    }
    return CLI_GO;
}

/* Fails if a number is above `all`, the number of `unit` of the model. A model without layers is rejected when it is
 * opened. */
static int check_sizes(const size_list *l, size_t all, const char *unit, const char *dir) {
    for (size_t i = 0; i < l->n; i++)
        if (l->value[i] > all && all)
            return cli_fail("--%s: %zu is too large: %s has %zu %s; give numbers from 1 to %zu", l->option, l->value[i],
                            dir, all, unit, all);
    return 0;
}

/* Opens the model with its first `layers` layers and `dims` components, and the second model. 0: all layers or
 * components. Returns 0, or 1 after reporting the error. */
static int open_models(const cli_evaluation *c, cli_eval *e, cli_session *s, size_t layers, size_t dims) {
    cli_session_close(s);
    cli_session_close(&e->docs);
    e->model.o.layers = layers;
    e->model.o.dims = dims;
    return cli_session_open(s, &e->general, &e->model) || (c->open && c->open(e, s));
}

/* Opens the models again, as open_models does, but prints no messages except an error. */
static int reopen_models(const cli_evaluation *c, cli_eval *e, cli_session *s, size_t layers, size_t dims) {
    char message[2048] = "";
    cli_catch_messages(message, sizeof message);
    const int failed = open_models(c, e, s, layers, dims);
    cli_catch_messages(NULL, 0);
    if (failed)
        cli_message("%s", message);
    return failed;
}

/* Checks all sizes before the first evaluation. Opens the model with all of its layers and components, and with its
 * smallest number of layers. */
static int check_models(const cli_evaluation *c, cli_eval *e, cli_session *s, const size_list *layers,
                        const size_list *dims) {
    aoe_model_info info = {.struct_size = sizeof info};
    size_t smallest = SIZE_MAX;
    if (open_models(c, e, s, 0, 0))
        return 1;
    aoe_model_get_info(s->model, &info);
    if (aoe_model_classes(s->model))
        return cli_fail(
            "%s is a cross-encoder, which has no embeddings; --layers and --dims require an embedding model", s->dir);
    if (check_sizes(layers, info.layers, "layers", s->dir) ||
        check_sizes(dims, aoe_model_dims(s->model), "components", s->dir))
        return 1;
    for (size_t i = 0; i < layers->n; i++)
        smallest = layers->value[i] < smallest ? layers->value[i] : smallest;
    return smallest && smallest != info.layers ? reopen_models(c, e, s, smallest, 0) : 0;
}

/* Evaluates the open models and stores the size of their results. */
static int evaluate(const cli_evaluation *c, cli_eval *e, const cli_session *s, const cli_args *args) {
    aoe_error err;
    aoe_model_info info = {.struct_size = sizeof info};
    e->first = e->n;
    e->empty = e->truncated = 0; /* every evaluation counts the same texts */
    cli_progress_begin(&e->progress, c->doing, c->unit, 0);
    const int failed = c->score(e, s->embedder, args, &err);
    cli_progress_end(&e->progress);
    if (failed)
        return cli_fail("%s", err.message);
    e->per_size = e->n - e->first;
    if (!e->layers_text && !e->dims_text)
        return 0;
    aoe_model_get_info(s->model, &info);
    e->size = cli_realloc(e->size, e->n * sizeof *e->size);
    for (size_t i = e->first; i < e->n; i++)
        e->size[i] = (cli_eval_size){info.layers, aoe_embedder_dims(s->embedder)};
    return 0;
}

/* Evaluates the open models with each number of components. If there are several numbers, the embedding of a text is
 * computed once. */
static int evaluate_dims(const cli_evaluation *c, cli_eval *e, const cli_session *s, const size_list *dims,
                         const cli_args *args) {
    aoe_embedder *const embedders[] = {s->embedder, e->docs.embedder};
    aoe_eval_cache *caches[2] = {NULL};
    aoe_error err;
    int failed = 0;
    for (size_t i = 0; i < dims->n && !failed; i++) {
        for (size_t k = 0; k < 2 && dims->n > 1 && embedders[k] && !failed; k++)
            if ((i == 0 && aoe_eval_cache_create(&caches[k], embedders[k], &err)) ||
                aoe_embedder_set_dims(embedders[k], dims->value[i], &err))
                failed = cli_fail("%s", err.message);
        failed = failed || evaluate(c, e, s, args);
    }
    aoe_eval_cache_destroy(caches[0]);
    aoe_eval_cache_destroy(caches[1]);
    return failed;
}

static void warn_and_print(const cli_evaluation *c, cli_eval *e, const cli_session *s) {
    const size_t n = e->n;
    e->n = e->per_size;
    if (c->warn)
        c->warn(e);
    e->n = n;
    note_texts(s, e);
    print_results(c, e);
}

static int run(const cli_evaluation *c, cli_eval *e, cli_session *s, const cli_args *args) {
    size_list layers = {.option = "layers", .text = e->layers_text}, dims = {.option = "dims", .text = e->dims_text};
    int code = read_sizes(&layers, c->command);
    if (code == CLI_GO)
        code = read_sizes(&dims, c->command);
    if (code != CLI_GO)
        return code;
    if (c->prepare)
        c->prepare(e);
    if (c->pairs)
        e->model.o.cross_encoder = AOE_AUTO;
    const int sized = layers.text || dims.text;
    if (sized ? check_models(c, e, s, &layers, &dims) : open_models(c, e, s, 0, 0))
        return 1;
    for (size_t i = 0; i < layers.n; i++) {
        if (sized && reopen_models(c, e, s, layers.value[i], dims.n == 1 ? dims.value[0] : 0))
            return 1;
        if (i == 0) {
            cli_session_describe(s, 1);
            if (!is_other_similarity(c))
                cli_session_warn_similarity(s, "--similarity");
        }
        if (evaluate_dims(c, e, s, &dims, args))
            return 1;
    }
    warn_and_print(c, e, s);
    return 0;
}

int cli_evaluate(const cli_evaluation *c, int argc, char **argv) {
    cli_eval e = {.own = c->own, .result_size = c->result_size};
    cli_general_defaults(&e.general);
    cli_model_defaults(&e.model);
    cli_group groups[MAX_OWN_GROUPS + 7], *next = groups;
    *next++ = (cli_group)CLI_GROUP("output", output_table, &e);
    assert(c->n_groups <= MAX_OWN_GROUPS);
    for (size_t i = 0; i < c->n_groups; i++)
        *next++ = c->groups[i];
    *next++ = (cli_group)CLI_GROUP("model sizes", size_table, &e);
    *next++ = (cli_group)CLI_GROUP("model", cli_model_table, &e.model);
    *next++ = (cli_group)CLI_OPENING_GROUP("model", AOEI_MODEL_ROWS, &e.model);
    *next++ = (cli_group)CLI_BATCH_GROUP("model", &e.model);
    *next++ = (cli_group)CLI_CHUNK_GROUP(&e.model);
    *next++ =
        (cli_group)CLI_ROWS("general", cli_general_table, c->seeded ? CLI_SEEDED_COUNT : CLI_GENERAL_COUNT, &e.general);
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
        cli_session_close(&e.docs);
    }
    for (size_t i = 0; i < e.n; i++)
        free(e.names[i]);
    free(e.names);
    free(e.results);
    free(e.size);
    cli_args_free(&args);
    return code;
}
