/* SPDX-License-Identifier: MIT
 * The shared part of aoe data annotate and aoe data score: options for models, endpoints and spending limits, API keys
 * from environment variables, progress, interruption, and the summary of calls and costs.
 */
#ifndef AOE_CLI_DATA_CHAT_JOB_H
#define AOE_CLI_DATA_CHAT_JOB_H

#include <aoe.h>
#include <aoe_annotate.h>

#include "cli/common/options.h"
#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

typedef struct cli_price {
    double in, out; /* price of a million prompt tokens and of a million completion tokens */
    int given;      /* 1 if the prices are known */
} cli_price;

typedef struct cli_chat {
    aoe_chat_options o;
    cli_texts models; /* model names, each followed by its settings */
    const char *api, *key_env;
    cli_price price;
    const char *output; /* path of the rows; NULL: stdout */
    const char *format; /* format of the rows; NULL: from the extension of the output */

    aoe_chat_model *model; /* [o.n_models] owned */
    char *cache;           /* path of the cache, owned; "OUTPUT.sqlite" unless one was given */
    char *name;            /* path of the output with the extension of its format, owned */
    int to_stdout, json;
    cli_file file; /* output; opened when the first row is written */
    cli_progress progress;
    size_t prompts, most_prompts; /* dry run: number of prompts printed, and maximum number to print */
    json_t *shown;                /* dry run with --json: the prompts, owned */
    size_t done;                  /* number of calls in this run */
    int told;                     /* 1 if the interruption was reported */
} cli_chat;

enum { CLI_CHAT_OUTPUT_COUNT = 3, CLI_CHAT_MODEL_COUNT = 8, CLI_CHAT_CALLS_COUNT = 8 };
extern const cli_option cli_chat_output_table[CLI_CHAT_OUTPUT_COUNT]; /* base of the three tables: cli_chat */
extern const cli_option cli_chat_model_table[CLI_CHAT_MODEL_COUNT];
extern const cli_option cli_chat_calls_table[CLI_CHAT_CALLS_COUNT];

void cli_chat_defaults(cli_chat *c);
/* Checks and completes the options. json: 1 with --json. Returns CLI_GO, or the exit code of a usage error. */
int cli_chat_prepare(cli_chat *c, const char *command, int json);
/* Checks that the output is writable and that it is neither an input nor the cache. Returns 0, or 1 after reporting the
 * error. */
int cli_chat_begin(cli_chat *c, const cli_args *args);
/* An aoe_write_fn; user: the cli_chat. */
int cli_chat_write(void *user, size_t part, const char *data, size_t len);
/* Reports an error of the library and returns the exit code. */
int cli_chat_fail(cli_chat *c, int code, const aoe_chat_result *r, const aoe_error *err);
void cli_chat_end_progress(cli_chat *c);
void cli_chat_warn(const cli_chat *c, const aoe_chat_result *r); /* warns about answers that were left out */
/* Ends a run: renames the output to its final name and prints the summary. The summary is the sentence `rows` and a line with
 * calls and costs or, with --json, the object `line` (ownership is taken) with the same values added. It goes to stdout, or to
 * stderr if stdout receives the output rows. Returns the exit code. */
int cli_chat_finish(cli_chat *c, const aoe_chat_result *r, const char *rows, json_t *line);
void cli_chat_close(cli_chat *c);

#endif
