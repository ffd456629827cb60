/* SPDX-License-Identifier: MIT
 * Shared by several commands: their common options, the default model, and opening of context, model and embedder. Each
 * command is defined in a file of its own.
 */
#ifndef AOE_CLI_COMMON_COMMON_H
#define AOE_CLI_COMMON_COMMON_H

#include <aoe.h>

#include "cli/common/options.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

/* ---- options */

typedef struct cli_general {
    size_t threads; /* number of threads; 0: one per CPU */
    uint64_t seed;
    int quiet;
    int json;
} cli_general;

typedef struct cli_model_options {
    const char *dir; /* model directory as given; NULL: the default model */
    aoe_model_options o;
    size_t batch_tokens;
    aoe_chunk chunk;      /* treatment of long texts; commands with cli_chunk_table only */
    size_t chunk_overlap; /* tokens shared by consecutive chunks; commands with cli_chunk_table only */
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
int cli_parse_pooling(void *target, const char *text, aoe_error *err); /* for cli_option.parse; target: an aoe_pooling */
/* target: an aoe_example_kind. auto, pairs, positives or triplets; "triples" is accepted for triplets. */
int cli_parse_form(void *target, const char *text, aoe_error *err);
/* target: an aoe_example_kind. Only pairs or triplets. */
int cli_parse_output_form(void *target, const char *text, aoe_error *err);
int cli_parse_delimiter(void *target, const char *text, aoe_error *err); /* target: a char */
int cli_parse_direction(void *target, const char *text, aoe_error *err); /* target: aoe_model_options */

/* ---- opening */

/* The model directory: `given`, $AOE_MODEL, or the default model installed with the program; malloc'd. NULL after reporting
 * that there is none. */
char *cli_find_model(const char *given);

int cli_open_context(aoe_context **ctx, const cli_general *g); /* 0, or 1 after reporting the error */

typedef struct cli_session {
    char *dir; /* owned */
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
} cli_session;

/* Returns 0, or 1 after reporting the error. The caller closes *s in both cases. */
int cli_session_open(cli_session *s, const cli_general *g, const cli_model_options *m);
void cli_session_describe(const cli_session *s); /* prints a note with pooling, data type and CPU tier */
void cli_session_close(cli_session *s);          /* accepts a zeroed or partly opened session */

/* Warns that n bad rows were skipped, unless n is 0. path: the file; NULL if it is unknown. */
void cli_warn_skipped(const char *path, size_t n);
/* Warns that n of `total` texts (0: unknown) were truncated, unless n is 0. chunk: 1 if the command has the option --chunk. */
void cli_warn_truncated(size_t n, size_t total, int chunk);

const char *cli_dtype_name(aoe_dtype d);
const char *cli_plural(size_t n); /* "" for 1, else "s" */
/* The name of an environment variable for a message. Returns "(name not shown)" if it contains characters other than A-Z, 0-9
 * and '_', because the user may have given the secret instead of the name. */
const char *cli_env_name_shown(const char *name);

#endif
