/* SPDX-License-Identifier: MIT
 * What aoe data annotate and aoe data score share: the options of models, endpoints and spending, keys from the environment,
 * progress, interruption, and the lines on what was asked and paid.
 */
#ifndef AOE_CLI_DATA_CHAT_JOB_H
#define AOE_CLI_DATA_CHAT_JOB_H

#include <aoe.h>
#include <aoe_annotate.h>

#include "cli/common/options.h"
#include "cli/common/outfile.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/progress.h"

typedef struct cli_price {
    double in, out; /* for a million tokens */
    int given;      /* 0: they are not known */
} cli_price;

typedef struct cli_chat {
    aoe_chat_options o;
    cli_texts models; /* names, each with settings behind it */
    const char *api, *key_env;
    cli_price price;
    const char *output; /* NULL: stdout */
    const char *format; /* NULL: by the name of the output */

    aoe_chat_model *model; /* [o.n_models] owned */
    char *cache;           /* owned: "OUTPUT.sqlite" where none was named */
    char *name;            /* owned: of the output, with the format as extension */
    int to_stdout, json;
    cli_file file; /* opened with the first row: until then a signal has nothing to clean up */
    cli_progress progress;
    size_t prompts, most_prompts; /* shown of a dry run, and how many there are to be */
    json_t *shown;                /* owned: with --json these prompts */
    size_t done;                  /* calls of this run */
    int told;                     /* 1: the interruption was spoken of */
} cli_chat;

enum { CLI_CHAT_OUTPUT_COUNT = 3, CLI_CHAT_MODEL_COUNT = 8, CLI_CHAT_CALLS_COUNT = 8 };
extern const cli_option cli_chat_output_table[CLI_CHAT_OUTPUT_COUNT]; /* base of all: cli_chat */
extern const cli_option cli_chat_model_table[CLI_CHAT_MODEL_COUNT];
extern const cli_option cli_chat_calls_table[CLI_CHAT_CALLS_COUNT];

void cli_chat_defaults(cli_chat *c);
/* Checks and completes the options: CLI_GO, or the exit code of a usage error. json: as of cli_general. */
int cli_chat_prepare(cli_chat *c, const char *command, int json);
/* Can the output be written, and nothing that is needed is lost by it? 0, or 1 after reporting the error. */
int cli_chat_begin(cli_chat *c, const cli_args *args);
/* An aoe_write_fn; user: the cli_chat. */
int cli_chat_write(void *user, size_t part, const char *data, size_t len);
/* What a failure of the library means: reports it and returns the exit code. */
int cli_chat_fail(cli_chat *c, int code, const aoe_chat_result *r, const aoe_error *err);
void cli_chat_end_progress(cli_chat *c);
void cli_chat_warn(const cli_chat *c, const aoe_chat_result *r); /* of what was left out */
/* The end of a run: the output takes its name; then rows, the sentence on what is in it, and a line on calls and what they
 * cost, or with --json these as keys of line, which belongs to this call. On stdout, or, when rows go there, stderr. Returns
 * the exit code. */
int cli_chat_finish(cli_chat *c, const aoe_chat_result *r, const char *rows, json_t *line);
void cli_chat_close(cli_chat *c);

#endif
