/* SPDX-License-Identifier: MIT
 * Code that several commands use: common options, the default model, opening of context, model and embedder, and common
 * messages.
 */
#ifndef AOE_CLI_COMMON_COMMON_H
#define AOE_CLI_COMMON_COMMON_H

#include <aoe.h>

#include "cli/common/options.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

/* ---- options */

/* Options of all commands. */
typedef struct cli_general {
    size_t threads; /* number of threads; 0: one per CPU */
    uint64_t seed;  /* random seed */
    int quiet;      /* 1: no notes and no progress */
    int json;       /* 1: results are printed as JSON */
} cli_general;

/* Options of commands that open a model. */
typedef struct cli_model_options {
    const char *dir; /* model directory as given; NULL: the default model */
    aoe_model_options o;
    size_t batch_tokens;  /* maximum number of tokens per batch */
    aoe_chunk chunk;      /* what to do with long texts; only commands with cli_chunk_table set it */
    size_t chunk_overlap; /* number of tokens shared by consecutive chunks; only commands with cli_chunk_table set it */
} cli_model_options;

enum {
    CLI_GENERAL_COUNT = 4,
    CLI_MODEL_COUNT = 10,
    CLI_CHUNK_COUNT = 2,
    CLI_TABLE_COUNT = 3,
    CLI_INPUT_COUNT = 2,
    CLI_LORA_COUNT = 5
};
extern const cli_option cli_general_table[CLI_GENERAL_COUNT];
extern const cli_option cli_model_table[CLI_MODEL_COUNT];
extern const cli_option cli_chunk_table[CLI_CHUNK_COUNT]; /* base: cli_model_options */
extern const cli_option cli_table_table[CLI_TABLE_COUNT]; /* base: aoe_table_options */
extern const cli_option cli_input_table[CLI_INPUT_COUNT]; /* base: aoe_table_options */
extern const cli_option cli_lora_table[CLI_LORA_COUNT];   /* base: aoe_lora */

void cli_general_defaults(cli_general *g);
void cli_model_defaults(cli_model_options *m);
/* Functions for cli_option.parse. */
int cli_parse_pooling(void *target, const char *text, aoe_error *err); /* target: an aoe_pooling */
/* target: an aoe_example_kind. Accepts auto, pairs, positives, triplets, and "triples" as another name for triplets. */
int cli_parse_form(void *target, const char *text, aoe_error *err);
/* target: an aoe_example_kind. Accepts only pairs or triplets. */
int cli_parse_output_form(void *target, const char *text, aoe_error *err);
int cli_parse_delimiter(void *target, const char *text, aoe_error *err); /* target: a char */
int cli_parse_direction(void *target, const char *text, aoe_error *err); /* target: aoe_model_options */

/* ---- opening */

/* Returns the model directory: `given` if it is not NULL or empty, otherwise $AOE_MODEL if set, otherwise the model installed
 * with the program. The caller frees it with free(). Returns NULL after reporting that there is no default model. */
char *cli_find_model(const char *given);

int cli_open_context(aoe_context **ctx, const cli_general *g); /* returns 0, or 1 after reporting the error */

/* An open model with the objects that it needs, all owned. */
typedef struct cli_session {
    char *dir; /* model directory */
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
} cli_session;

/* Opens the context, the model and the embedder. Returns 0, or 1 after reporting the error. The caller closes *s in both
 * cases. */
int cli_session_open(cli_session *s, const cli_general *g, const cli_model_options *m);
void cli_session_describe(const cli_session *s); /* prints a note with pooling, data type and instruction set */
void cli_session_close(cli_session *s);          /* accepts a zeroed or partly opened session */

/* Warns that n rows were skipped because they could not be read; does nothing if n is 0. path: the file; NULL if it is unknown.
 */
void cli_warn_skipped(const char *path, size_t n);
/* Warns that n of `total` texts were truncated; does nothing if n is 0. total: 0 if unknown. chunk: 1 if the command has the
 * option --chunk. */
void cli_warn_truncated(size_t n, size_t total, int chunk);

const char *cli_dtype_name(aoe_dtype d);
const char *cli_plural(size_t n); /* returns "" for 1, otherwise "s" */
/* Returns the name of an environment variable for a message, or "(name not shown)" if it contains characters other than A-Z,
 * 0-9 and '_', because the user may have given a secret value instead of the name of a variable. */
const char *cli_env_name_shown(const char *name);

#endif
