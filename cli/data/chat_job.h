/* SPDX-License-Identifier: MIT
 * The shared part of aoe data annotate and aoe data score: options for models, endpoints and spending limits, API keys
 * from environment variables, progress, interruption, and the summary of calls and costs.
 */
#ifndef AOE_CLI_DATA_CHAT_JOB_H
#define AOE_CLI_DATA_CHAT_JOB_H

#include <aoe.h>
#include <aoe_annotate.h>

#include "cli/common/common.h"

typedef struct cli_price {
    double in, out; /* price of a million prompt tokens and of a million completion tokens */
    int given;      /* 1 if the prices are known */
} cli_price;

typedef struct cli_chat {
    cli_general general;
    aoe_chat_options o;
    cli_texts models;    /* model names, each followed by its settings */
    const char *api;     /* endpoint; NULL: $OPENAI_BASE_URL */
    const char *key_env; /* environment variable with the API key; NULL: OPENAI_API_KEY */
    cli_price price;
    const char *output; /* path of the rows; NULL: stdout */
    const char *format; /* format of the rows; NULL: the extension of the output determines it */

    aoe_chat_model *model; /* [o.n_models] owned */
    char *cache;           /* path of the cache, owned; "OUTPUT.sqlite" unless one was given */
    char *name;            /* path of the output with the extension of its format, owned */
    int to_stdout;         /* 1 if stdout receives the rows */
    cli_file file;         /* output; opened when the first row is written */
    cli_progress progress;
    size_t prompts, most_prompts; /* dry run: number of prompts printed, and maximum number to print */
    json_t *shown;                /* dry run with --json: the prompts, owned */
    size_t done;                  /* number of calls in this run */
    int told;                     /* 1 if the interruption was reported */
} cli_chat;

/* Description of a command that calls chat models. */
typedef struct cli_chat_command {
    const char *command, *operands, *about, *examples; /* as in cli_syntax */
    size_t max_operands;
    const cli_group *groups; /* [n_groups] options of the command, in addition to the common ones */
    size_t n_groups;
    void *own; /* options of the command and first argument of the functions below, borrowed */
    /* Checks the options. Returns CLI_GO, or the exit code of a usage error. */
    int (*check)(const void *own);
    /* Calls the library, then cli_chat_finish or cli_chat_fail. Returns the exit code. */
    int (*run)(void *own, cli_chat *c, const cli_args *args);
} cli_chat_command;

/* Parses the arguments, checks that the output is writable and that it is neither an input nor the cache, and runs the command.
 * The caller sets c->o to the defaults and c->most_prompts, and zeroes the other fields of *c. Returns the exit code. */
int cli_chat_run(cli_chat *c, const cli_chat_command *command, int argc, char **argv);
/* Writes output rows; has the type aoe_write_fn. user: the cli_chat. */
int cli_chat_write(void *user, size_t part, const char *data, size_t len);
/* Reports an error of the library and returns the exit code. */
int cli_chat_fail(cli_chat *c, int code, const aoe_chat_result *r, const aoe_error *err);
/* Ends the progress and warns about failed requests and answers. skipped: number of bad rows in the inputs. */
void cli_chat_warn(cli_chat *c, const aoe_chat_result *r, size_t skipped);
/* Ends a run: renames the output to its final name and prints the summary. Without --json, the summary consists of the
 * sentence `rows` and a line with the calls and costs. With --json, it is the object `line` with the calls and costs added.
 * The function takes ownership of `line`. The summary goes to stdout, or to stderr if stdout receives the output rows.
 * Returns the exit code. */
int cli_chat_finish(cli_chat *c, const aoe_chat_result *r, const char *rows, json_t *line);

#endif
