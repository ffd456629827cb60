/* SPDX-License-Identifier: MIT
 * What aoe grid and aoe compare share: the options of an experiment, the configurations parsed from command lines of
 * aoe train, progress, and exit codes. The experiments themselves are library functions (aoe_grid, aoe_compare).
 */
#ifndef AOE_CLI_EXPERIMENT_EXPERIMENT_H
#define AOE_CLI_EXPERIMENT_EXPERIMENT_H

#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/progress.h"
#include "cli/common/words.h"
#include "cli/train/train_options.h"

typedef struct cli_experiment_options {
    const char *output;
    const char *seeds; /* "5", "1,2,3" or "1..5" */
    size_t jobs;       /* runs at a time */
    size_t threads;    /* of all runs together; 0: the CPUs this process may use */
    size_t memory;     /* bytes of all runs together; 0: the free memory */
    aoe_keep keep;
    int quiet, json;
} cli_experiment_options;

/* What a configuration was parsed from. */
typedef struct cli_parsed {
    cli_words words;          /* arguments of aoe train, without output and seed */
    cli_train_config *config; /* owned; refers to the words */
} cli_parsed;

typedef struct cli_experiment {
    const char *command;      /* "grid", borrowed */
    const cli_syntax *syntax; /* of the command, borrowed; names the flags in messages of the library */
    cli_experiment_options o;
    cli_parsed shared;                /* options of aoe train that all configurations share */
    cli_parsed *parsed;               /* [n] owned */
    aoe_configuration *configuration; /* [n] owned, texts included */
    size_t n;
    uint64_t *seed; /* [n_seeds] owned */
    size_t n_seeds;
    aoe_evaluation_file dev;    /* path NULL: no dev set */
    aoe_evaluation_file *files; /* [n_files] owned */
    size_t n_files;
    int skip_rejected; /* 1: configurations that aoe train rejects are left out */
    int started;       /* 1: all inputs were accepted */
    cli_progress progress;
    double start, done_before; /* of the progress: seconds, runs */
} cli_experiment;

/* A command that runs an experiment. */
typedef struct cli_experiment_command {
    const char *command, *about, *examples; /* as in cli_syntax */
    cli_group group;                        /* options of the command, in addition to the common ones */
    void *own;                              /* argument of run: options of the command, borrowed */
    int (*run)(void *own);                  /* called when *e is filled in; returns the exit code */
} cli_experiment_command;

/* Parses the arguments into *e, and its seeds and the options of aoe train after -- (response files are expanded), and runs the
 * command. e->o holds the defaults; *e is freed at the end. Returns the exit code. */
int cli_experiment_run(cli_experiment *e, const cli_experiment_command *command, int argc, char **argv);

/* Checks options of aoe train: all are known, and none of them is set by the experiment itself. where: "after --".
 * CLI_GO or the exit code. */
int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where);
/* The option of aoe train with this name, which may begin with dashes; NULL after reporting that there is none, or that
 * the experiment sets it. what: "--over" */
const cli_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name);

/* Adds a configuration: the shared options, then `words`. Takes over name, label and values (malloc'd; values NULL: none).
 * *added 0: aoe train rejects it, and skip_rejected is set. CLI_GO or the exit code. */
int cli_experiment_add(cli_experiment *e, char *name, char *label, char *values, const cli_words *words, int untrained,
                       int *added);
/* Adds an evaluation file, unless it is there already. The dev file keeps its own table options. */
void cli_experiment_add_file(cli_experiment *e, const char *path);

/* Fills the options of the library from *e, progress included. To be called after everything was added. */
void cli_experiment_fill(cli_experiment *e, aoe_experiment_options *x);
/* Appends a cell with the number of seeds that have a score: "3", or "2 of 3". */
void cli_experiment_seeds_cell(cli_table *t, size_t with_score, size_t seeds);
/* Ends the progress and reports how the experiment ended. code, err: of the library. Returns the exit code. */
int cli_experiment_end(cli_experiment *e, int code, const aoe_error *err, size_t runs, size_t finished, size_t failed);

#endif
