/* SPDX-License-Identifier: MIT
 * Functions that `aoe data annotate` and `aoe data score` have in common. Both commands send requests to chat models.
 * The functions parse the options for models, endpoints and spending limits, read API keys from environment variables,
 * show the progress, handle interruption, and print a summary of calls and costs.
 */
#pragma once

#include <aoe.h>
#include <aoe_annotate.h>

#include "cli/common/common.h"

typedef struct cli_price {
    double in, out; /* in: price of a million prompt tokens; out: price of a million completion tokens */
    int given;      /* 1: the prices were given */
} cli_price;

typedef struct cli_chat {
    cli_general general;
    aoe_chat_options o;
    aoei_text_list models; /* names of the models; the settings of a model follow its name */
    const char *api;       /* URL of the endpoint; NULL: the value of the environment variable OPENAI_BASE_URL */
    const char *key_env;   /* name of the environment variable that contains the API key; NULL: OPENAI_API_KEY */
    cli_price price;
    const char *output; /* path of the output rows; NULL: stdout */
    const char *format; /* format of the output rows; NULL: the file extension of `output` determines it */

    aoe_chat_model *model; /* [o.n_models] models with their settings, owned */
    char *cache;           /* path of the cache if it was not given ("OUTPUT.sqlite"), owned; otherwise NULL */
    char *name;            /* path of the output with the file extension of its format, owned */
    int to_stdout;         /* 1: the rows are written to stdout */
    cli_file file;         /* output file; opened when the first row is written */
    cli_progress progress;
    /* dry run: prompts is the number of prompts that were printed; most_prompts is the maximum number */
    size_t prompts, most_prompts;
    json_t *shown; /* dry run with --json: the prompts, owned */
    size_t done;   /* number of calls that have ended in this run */
    int told;      /* 1: the interruption was reported */
} cli_chat;

/* Description of a command that sends requests to chat models. */
typedef struct cli_chat_command {
    const char *command, *operands, *about, *examples; /* texts for the help of the command, described in cli_syntax */
    size_t max_operands;
    const cli_group *groups; /* [n_groups] options of the command, in addition to the common ones */
    size_t n_groups;
    void *own; /* options of the command, borrowed; first argument of the functions below */
    /* Checks the options. Returns CLI_GO, or the exit code after reporting a usage error. */
    int (*check)(const void *own);
    /* Calls the function of the library. Then calls cli_chat_finish, or cli_chat_fail after an error, and returns the
     * exit code. */
    int (*run)(void *own, cli_chat *c, const cli_args *args);
} cli_chat_command;

/* Parses the arguments, checks the output file, and runs the command. The caller sets c->o to the default options, sets
 * c->most_prompts, and zeroes the other fields of *c. Returns the exit code. */
int cli_chat_run(cli_chat *c, const cli_chat_command *command, int argc, char **argv);
/* Writes output rows. The function has the type aoe_write_fn; user: the cli_chat. */
int cli_chat_write(void *user, size_t part, const char *data, size_t len);
/* Reports an error of the library. code, err: the error; r: the numbers of requests and responses until the error.
 * Returns the exit code. */
int cli_chat_fail(cli_chat *c, int code, const aoe_chat_result *r, const aoe_error *err);
/* Ends the progress display and warns about failed requests and unusable responses. skipped: number of invalid rows in
 * the inputs, which were skipped. */
void cli_chat_warn(cli_chat *c, const aoe_chat_result *r, size_t skipped);
/* Ends a run: renames the output file to its final name and prints the summary. Without --json, the summary is the
 * sentence `rows` and a line with the number of calls and their cost. With --json, the summary is the JSON object
 * `line`, to which the calls and their cost are added. The function takes ownership of `line`. The summary is printed
 * to stdout, or to stderr if the output rows are written to stdout. Returns the exit code. */
int cli_chat_finish(cli_chat *c, const aoe_chat_result *r, const char *rows, json_t *line);
