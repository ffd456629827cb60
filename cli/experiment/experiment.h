/* SPDX-License-Identifier: MIT
 * Functions that `aoe grid` and `aoe compare` have in common. An experiment trains models with several configurations
 * and seeds. A configuration is a list of arguments of `aoe train`. These functions parse the options and
 * configurations, show the progress, and determine the exit code. The library functions aoe_grid and aoe_compare run
 * the experiments.
 */
#pragma once

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "base/part.h"
#include "cli/common/common.h"
#include "cli/common/progress.h"
#include "cli/common/words.h"
#include "cli/train/train_options.h"

/* Arguments of `aoe train` and the options parsed from them. */
typedef struct cli_parsed {
    cli_words words;          /* arguments of `aoe train` except the output directory and the seed */
    cli_train_config *config; /* options parsed from `words`; contains pointers into `words`; owned */
} cli_parsed;

typedef struct cli_experiment {
    const char *command;       /* name of the command, for example "grid", borrowed */
    const cli_syntax *syntax;  /* syntax of the command, by which option fields in messages are replaced by flags;
                                  borrowed */
    aoe_experiment_options *x; /* options of aoe_grid or aoe_compare, borrowed */
    const char *seeds;         /* value of --seeds, for example "5", "1,2,3" or "1..5" */
    aoei_part part;            /* part of the runs; part.n 0: all runs */
    int join;                  /* 1: the results of all parts are joined */
    cli_general general;       /* quiet and json; the other fields are not used */
    cli_parsed shared;         /* arguments of `aoe train` that all configurations have in common */
    cli_parsed *parsed;        /* [n] arguments of each configuration, owned */
    aoe_configuration *configuration; /* [n] configurations, owned; their strings are owned too */
    size_t n;                         /* number of configurations */
    uint64_t *seed;                   /* [n_seeds] seeds, owned */
    size_t n_seeds;
    aoe_evaluation_file dev;    /* dev set; its path is NULL if there is no dev set */
    aoe_evaluation_file *files; /* [n_files] evaluation files, owned */
    size_t n_files;
    int skip_rejected; /* configurations that `aoe train` rejects are skipped (1) or reported as an error (0) */
    int started;       /* 1: the library has accepted all inputs */
    cli_progress progress;
    double start; /* time in seconds at which the progress display began */
    /* number of runs that were completed when the progress display began; a partly completed run counts as a
     * fraction */
    double done_before;
} cli_experiment;

/* Description of a command that runs an experiment. */
typedef struct cli_experiment_command {
    const char *command, *about, *examples; /* texts for the help of the command, described in cli_syntax */
    const cli_group *groups;                /* [n_groups] options of the command, in addition to the common ones */
    size_t n_groups;
    void *own;             /* options of the command, borrowed; argument of `run` */
    int (*run)(void *own); /* called after the arguments have been parsed; returns the exit code */
} cli_experiment_command;

/* Parses the arguments and runs the command. The arguments after "--" are arguments of `aoe train`; response files
 * among them are expanded. The caller sets e->x and the default of e->seeds, and zeroes
 * the other fields of *e. The function
 * frees the contents of *e. Returns the exit code. */
int cli_experiment_run(cli_experiment *e, const cli_experiment_command *command, int argc, char **argv);

/* Checks that the words are valid options of `aoe train`, and that none of them is an option that the experiment sets
 * for each run. where: place of the words in messages, for example "after --". Returns CLI_GO, or the exit code after
 * reporting an error. */
int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where);
/* Returns the option of `aoe train` with this name; the name may begin with dashes. what: option of this command in
 * messages, for example "--over". Returns NULL after reporting that `aoe train` has no such option or that the
 * experiment sets it for each run. */
const aoei_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name);

/* Adds a configuration, which consists of the arguments e->shared followed by `words`. name, label, values, untrained:
 * fields of the aoe_configuration. Takes ownership of `name`, `label` and `values`, which are allocated with malloc();
 * `values` may be NULL. Sets *added to 1, or to 0 if `aoe train` rejects the configuration and e->skip_rejected is 1.
 * Returns CLI_GO, or the exit code after reporting an error. */
int cli_experiment_add(cli_experiment *e, char *name, char *label, char *values, const cli_words *words, int untrained,
                       int *added);
/* Adds an evaluation file, unless it was added before. If the file is the dev set, it is read with the table options of
 * the dev set. */
void cli_experiment_add_file(cli_experiment *e, const char *path);

/* Completes the options *e->x, including the event callback. All configurations and evaluation files
 * must have been added before. */
void cli_experiment_fill(cli_experiment *e);
/* Appends a cell with the number of seeds that have a score: "3" if all three seeds have one, otherwise, for example,
 * "2 of 3". */
void cli_experiment_seeds_cell(cli_table *t, size_t with_score, size_t seeds);
/* Ends the progress display and reports errors. code, err: result of aoe_grid or aoe_compare; runs: total number of
 * runs; finished: number of completed runs; failed: number of failed runs. Returns the exit code. */
int cli_experiment_end(cli_experiment *e, int code, const aoe_error *err, size_t runs, size_t finished, size_t failed);
