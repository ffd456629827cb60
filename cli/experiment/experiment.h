/* SPDX-License-Identifier: MIT
 * The common part of aoe grid and aoe compare: options of an experiment, configurations parsed from arguments of aoe train,
 * progress, and exit codes. The library functions aoe_grid and aoe_compare run the experiments.
 */
#ifndef AOE_CLI_EXPERIMENT_EXPERIMENT_H
#define AOE_CLI_EXPERIMENT_EXPERIMENT_H

#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/progress.h"
#include "cli/common/words.h"
#include "cli/train/train_options.h"

typedef struct cli_experiment_options {
    const char *output; /* output directory of all runs */
    const char *seeds;  /* "5", "1,2,3" or "1..5" */
    size_t jobs;        /* maximum number of simultaneous runs */
    size_t threads;     /* number of threads of all runs together; 0: number of CPUs available to the process */
    size_t memory;      /* memory of all runs together in bytes; 0: free memory */
    aoe_keep keep;      /* models to keep on disk */
    int quiet, json;
} cli_experiment_options;

/* Parsed arguments of aoe train. */
typedef struct cli_parsed {
    cli_words words;          /* arguments of aoe train, without output directory and seed */
    cli_train_config *config; /* options parsed from `words`, with pointers into `words`; owned */
} cli_parsed;

typedef struct cli_experiment {
    const char *command;      /* name of the command, for example "grid", borrowed */
    const cli_syntax *syntax; /* syntax of the command, borrowed; maps option fields in the library's messages to flags */
    cli_experiment_options o;
    cli_parsed shared;                /* arguments of aoe train that all configurations share */
    cli_parsed *parsed;               /* [n] arguments of each configuration, owned */
    aoe_configuration *configuration; /* [n] configurations, owned; their strings are owned too */
    size_t n;                         /* number of configurations */
    uint64_t *seed;                   /* [n_seeds] seeds, owned */
    size_t n_seeds;
    aoe_evaluation_file dev;    /* dev set; path is NULL if there is none */
    aoe_evaluation_file *files; /* [n_files] evaluation files, owned */
    size_t n_files;
    int skip_rejected; /* 1: skip configurations that aoe train rejects, 0: report an error */
    int started;       /* 1 after the library accepted all inputs */
    cli_progress progress;
    double start;       /* time at which the progress began, in seconds */
    double done_before; /* number of runs done when the progress began; a partly done run counts as a fraction */
} cli_experiment;

/* Description of a command that runs an experiment. */
typedef struct cli_experiment_command {
    const char *command, *about, *examples; /* as in cli_syntax */
    cli_group group;                        /* options of the command, in addition to the common ones */
    void *own;                              /* options of the command and argument of run, borrowed */
    int (*run)(void *own);                  /* called after the arguments are parsed; returns the exit code */
} cli_experiment_command;

/* Parses the arguments into *e, including the seeds and the arguments of aoe train after --, and runs the command. Response
 * files are expanded. The caller sets e->o to the defaults and zeroes the other fields; *e is freed at the end. Returns the
 * exit code. */
int cli_experiment_run(cli_experiment *e, const cli_experiment_command *command, int argc, char **argv);

/* Checks that the words are valid options of aoe train and that the experiment does not set any of them itself. where: place of
 * the words for messages, for example "after --". Returns CLI_GO, or the exit code after reporting an error. */
int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where);
/* Returns the option of aoe train with this name, which may begin with dashes. Returns NULL after reporting that the option
 * does not exist or that the experiment sets it. what: option of this command for messages, for example "--over". */
const cli_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name);

/* Adds a configuration with the shared arguments followed by `words`. Takes ownership of name, label and values, which are
 * malloc'd; values may be NULL. Sets *added to 0 if the configuration is skipped because aoe train rejects it (skip_rejected).
 * Returns CLI_GO, or the exit code after reporting an error. */
int cli_experiment_add(cli_experiment *e, char *name, char *label, char *values, const cli_words *words, int untrained,
                       int *added);
/* Adds an evaluation file unless it was added before. The dev set keeps its own table options. */
void cli_experiment_add_file(cli_experiment *e, const char *path);

/* Sets the options of the library, including the event callback, after all configurations and files were added. */
void cli_experiment_fill(cli_experiment *e, aoe_experiment_options *x);
/* Appends a cell with the number of seeds that have a score: "3", or "2 of 3". */
void cli_experiment_seeds_cell(cli_table *t, size_t with_score, size_t seeds);
/* Ends the progress and reports errors. code, err: result of aoe_grid or aoe_compare; runs, finished, failed: numbers of runs.
 * Returns the exit code. */
int cli_experiment_end(cli_experiment *e, int code, const aoe_error *err, size_t runs, size_t finished, size_t failed);

#endif
