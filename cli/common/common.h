/* SPDX-License-Identifier: MIT
 * Code that several commands use: option tables, the default model, opening and closing of models, and messages.
 */
#pragma once

#include <aoe.h>

#include "cli/common/options.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "options/model.h"
#include "options/table.h"

/* ---- options */

/* Options that many commands have. */
typedef struct cli_general {
    size_t threads; /* number of threads; 0: one per CPU */
    uint64_t seed;  /* random seed */
    int quiet;      /* 1: notes and progress are not printed */
    int json;       /* 1: results are printed as JSON */
} cli_general;

/* Options of commands that open a model. */
typedef struct cli_model_options {
    const char *dir; /* model directory as given on the command line; NULL: the default model */
    aoe_model_options o;
    aoe_embedder_options embedder; /* chunk and chunk_overlap are set only by commands with CLI_CHUNK_GROUP */
    int verbose; /* 1: the pooling, the data type and the CPU tier are printed even if no setting was guessed */
} cli_model_options;

enum {
    CLI_GENERAL_COUNT = 3, /* number of the first options of cli_general_table: all except --seed */
    CLI_SEEDED_COUNT = 4,  /* number of the options of cli_general_table, for commands with random results */
    CLI_MODEL_COUNT = 2
};
/* Tables of options that several commands have. The comment of a table names the struct whose fields its options set. A
 * command gives the address of such a struct as cli_group.base. */
extern const aoei_option cli_general_table[CLI_SEEDED_COUNT]; /* cli_general */
extern const aoei_option cli_model_table[CLI_MODEL_COUNT];    /* cli_model_options */

/* The group with the first n rows of aoei_model_table. base: a cli_model_options. */
#define CLI_OPENING_GROUP(title, n, base)                                                                              \
    { title, aoei_model_table, n, &(base)->o, "aoe_model_options", NULL }
/* The group with the size of batches, and the group with the treatment of long texts. base: a cli_model_options. */
#define CLI_BATCH_GROUP(title, base)                                                                                   \
    { title, aoei_embedder_table, 1, &(base)->embedder, "aoe_embedder_options", NULL }
#define CLI_CHUNK_GROUP(base)                                                                                          \
    { "long texts", aoei_embedder_table + 1, AOEI_EMBEDDER_ROWS - 1, &(base)->embedder, "aoe_embedder_options", NULL }
/* The groups of all options of a model, for commands that compute embeddings, and for commands that score pairs. base:
 * a cli_model_options. */
#define CLI_MODEL_GROUPS(title, base)                                                                                  \
    CLI_GROUP(title, cli_model_table, base), CLI_OPENING_GROUP(title, AOEI_MODEL_ROWS, base),                          \
        CLI_BATCH_GROUP(title, base)
#define CLI_SCORE_MODEL_GROUPS(title, base)                                                                            \
    CLI_GROUP(title, cli_model_table, base), CLI_OPENING_GROUP(title, AOEI_SCORE_MODEL_ROWS, base),                    \
        CLI_BATCH_GROUP(title, base)

/* The group with the options for columns and labels. base: an aoe_table_options. */
#define CLI_COLUMNS_GROUP(title, base)                                                                                 \
    { title, aoei_table_table, AOEI_COLUMN_ROWS, base, "aoe_table_options", NULL }
/* The group with the options for input files, for commands that read tables, and for commands that read texts. base: an
 * aoe_table_options. */
#define CLI_TABLE_INPUT_GROUP(base) CLI_INPUT_GROUP(aoei_table_table + AOEI_COLUMN_ROWS, base)
#define CLI_TEXT_INPUT_GROUP(base)  CLI_INPUT_GROUP(aoei_table_table + AOEI_COLUMN_ROWS + 1, base)
#define CLI_INPUT_GROUP(rows, base)                                                                                    \
    { "input files", rows, AOEI_TABLE_ROWS - AOEI_COLUMN_ROWS - 1, base, "aoe_table_options", cli_set_table_log }

void cli_general_defaults(cli_general *g);
void cli_model_defaults(cli_model_options *m);
void cli_set_table_log(void *base); /* sets the log of the tables that a command reads; base: an aoe_table_options */

/* ---- opening */

/* Returns a model directory: `given` or, if it is NULL or empty, the value of the environment variable AOE_MODEL. If
 * the variable is not set, the model that is installed with the program is used. The name of a model on the Hugging
 * Face Hub is replaced by its directory (aoe_model_find). The caller frees the string with free(). Returns NULL after
 * reporting that there is no such model. */
char *cli_find_model(const char *given);

int cli_open_context(aoe_context **ctx, const cli_general *g); /* opens *ctx; returns 0, or 1 after reporting the
                                                                  error */

/* If the options select no prompt, selects the prompt `name` ("query" or "document") of the model directory, if there
 * is one.
 */
void cli_select_prompt(cli_model_options *m, const char *name);

/* Selects the prompt of the documents: the template doc_prompt of the option --doc-prompt or, if it is NULL, the prompt
 * "document" of the model directory. Returns 0, or 1 after reporting that the template is not valid. */
int cli_select_doc_prompt(cli_model_options *m, const char *doc_prompt);

/* Prints a note with the prompt of a model. texts: the texts to which the prompt is added, for example "queries";
 * prompt: the prompt; NULL: that of the model. */
void cli_note_prompt(const char *texts, const aoe_model *m, const char *prompt);

/* An open model with its context and embedder; all pointers are owned. */
typedef struct cli_session {
    char *dir; /* model directory */
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
    int verbose; /* cli_model_options.verbose */
} cli_session;

/* Opens the context, the model and the embedder. Returns 0, or 1 after reporting the error. The caller closes *s even
 * after an error. */
int cli_session_open(cli_session *s, const cli_general *g, const cli_model_options *m);
/* Prints a note with the pooling, the data type and the CPU tier. always: 0: only if --verbose is given, or if the
 * pooling is a default, because the model directory does not specify it. */
void cli_session_describe(const cli_session *s, int always);
/* Prints a warning if the model was trained for another similarity than the cosine, and the order of its cosines may
 * differ. Called by commands that compare embeddings. option: the option that selects the similarity, which the warning
 * recommends; NULL: the command has none. */
void cli_session_warn_similarity(const cli_session *s, const char *option);
/* Sets *index to the output of a cross-encoder with this name or number. Returns 0, or 1 after reporting that there is
 * no such output. */
int cli_session_find_class(size_t *index, const cli_session *s, const char *name);
void cli_session_close(cli_session *s); /* accepts a zeroed or partly opened session */

/* Warns that n invalid rows were skipped. Does nothing if n is 0. path: file with these rows; NULL if it is unknown. */
void cli_warn_skipped(const char *path, size_t n);
/* Warns that n of `total` texts (or pairs) were truncated by the model m, and recommends --max-length if the model
 * supports longer texts. Does nothing if n is 0. unit: "text" or "pair"; total: 0 if the number of texts is unknown;
 * chunk: 1 if the command has the option --chunk, which the warning then recommends. */
void cli_warn_truncated(const aoe_model *m, const char *unit, size_t n, size_t total, int chunk);

const char *cli_plural(size_t n); /* returns "" if n is 1, otherwise "s" */
/* Returns the name of an environment variable, for a message. Returns "(name not shown)" if the name contains
 * characters other than A-Z, 0-9 and '_': it may be a secret value that the user has given instead of the name of a
 * variable. */
const char *cli_env_name_shown(const char *name);
