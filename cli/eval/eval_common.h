/* SPDX-License-Identifier: MIT
 * Functions that all evaluation commands (`aoe eval ...`) have in common. A cli_evaluation describes a command, and
 * cli_evaluate runs it.
 */
#pragma once

#include "cli/common/common.h"

enum { CLI_EVAL_SIZES = 32 }; /* maximum number of values of --layers and of --dims */

/* Size of the model of a result: number of layers, and of components of the embeddings. */
typedef struct cli_eval_size {
    size_t layers, dims;
} cli_eval_size;

/* State of a running evaluation command: the options that all evaluation commands have, the results, and the
 * progress. */
typedef struct cli_eval {
    cli_general general;
    cli_model_options model;
    cli_table_format format;
    void *own; /* options of the command (cli_evaluation.own), borrowed */
    /* [n] copies of the results of the library, owned; result_size is the size of a result; the pointers in the copies
     * are invalid */
    void *results;
    char **names; /* [n] names of the results, owned */
    /* [n] sizes of the models of the results, owned; NULL unless --layers or --dims is given */
    cli_eval_size *size;
    size_t n, result_size;
    size_t first; /* index of the first result of the size that is being evaluated */
    /* number of results of each size: results[i * per_size, (i + 1) * per_size) have size i; set before anything is
     * printed */
    size_t per_size;
    cli_session docs; /* second model, which `open` of the command may open, for example to embed documents */
    const char *layers_text, *dims_text; /* values of --layers and --dims: numbers separated by commas; NULL: not
                                            given */
    size_t empty, truncated;             /* empty: number of empty texts; truncated: number of truncated texts */
    cli_progress progress;
} cli_eval;

typedef enum cli_eval_kind {
    CLI_EVAL_COUNT,   /* size_t */
    CLI_EVAL_RARE,    /* size_t; the table has no column for the field if it is 0 in all results */
    CLI_EVAL_PERCENT, /* double; the table shows 100 times the value with two decimal digits, or "undefined" if it is
                         NaN */
    CLI_EVAL_NUMBER   /* double; the table shows the value with four decimal digits, or "-" if it is NaN */
} cli_eval_kind;

/* A field of a result that is printed. */
typedef struct cli_eval_field {
    const char *key;     /* key in the JSON output; NULL: the field is not printed as JSON */
    const char *heading; /* heading of the column in the table; NULL: the table has no column for the field */
    cli_eval_kind kind;
    size_t offset; /* offset in bytes of the field in a result */
} cli_eval_field;

/* Initializer for the members `fields` and `n_fields`. */
#define CLI_EVAL_FIELDS(array) .fields = array, .n_fields = sizeof(array) / sizeof *(array)

/* Description of an evaluation command. All function pointers except `score` may be NULL. */
typedef struct cli_evaluation {
    const char *command, *operands, *about, *examples; /* texts for the help of the command, described in cli_syntax */
    const cli_group *groups; /* [n_groups] options of the command, in addition to the common ones */
    size_t n_groups;
    int seeded; /* 1: the command has the option --seed */
    int pairs;  /* 1: the command compares text pairs, so it uses the scores of a cross-encoder */
    void *own;  /* options of the command, stored in cli_eval.own */
    const aoe_similarity_function *similarity; /* value of the option --similarity; borrowed */
    /* doing: verb in the progress line, for example "embedding"; unit: unit of the progress, for example "texts" */
    const char *doing, *unit;
    size_t result_size;           /* size of a result in bytes */
    const cli_eval_field *fields; /* [n_fields] printed fields; used if print_json or print_table is NULL */
    size_t n_fields;
    void (*prepare)(cli_eval *e); /* called before the model is opened; may change the options; NULL: nothing to do */
    /* called after a model has been opened as s, once for each number of layers; may open e->docs; returns 0, or 1
     * after reporting an error; NULL: nothing to do */
    int (*open)(cli_eval *e, const cli_session *s);
    /* Calls the evaluation function of the library, whose callback calls cli_eval_keep for each result. Returns an
     * error code. */
    int (*score)(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err);
    void (*warn)(const cli_eval *e); /* prints warnings about the results of the first size, which are the first e->n
                                        results */
    void (*print_json)(const cli_eval *e);
    void (*print_table)(const cli_eval *e);
} cli_evaluation;

/* Parses the arguments, opens the model, evaluates all inputs, then prints the results. Returns the exit code. */
int cli_evaluate(const cli_evaluation *e, int argc, char **argv);

/* Appends a copy of a result. name: name of the result; empty, truncated: numbers of texts that are added to e->empty
 * and e->truncated. */
void cli_eval_keep(cli_eval *e, const void *result, const char *name, size_t empty, size_t truncated);
/* Shows the progress. The function has the type aoe_eval_progress_fn; user: the cli_eval. */
int cli_eval_progress(void *user, size_t done, size_t total);

/* If the results have sizes, appends the headings "layers" and "dims", or the cells with the size of result i, to a
 * table. The alignment of these columns is "rr". */
void cli_eval_size_headings(const cli_eval *e, cli_table *t);
void cli_eval_size_cells(const cli_eval *e, cli_table *t, size_t i);
/* If the results have sizes, sets the keys "layers" and "dims" of a JSON object to the size of result i. */
void cli_eval_size_json(const cli_eval *e, json_t *o, size_t i);

/* Sets the key "similarity" of a JSON object, if the similarity is not the cosine. */
void cli_eval_similarity_json(aoe_similarity_function similarity, json_t *o);

/* Prints notes about the judgments of a BEIR folder. name: name of the folder; NULL: none. The numbers are those of
 * aoe_retrieval_result. */
void cli_eval_note_judgments(const char *name, size_t without, size_t missing, size_t unknown_queries,
                             size_t duplicates);
/* Appends a cell with 100 x, printed with two decimal digits, or "undefined" if x is NaN. */
void cli_eval_percent(cli_table *t, double x);
