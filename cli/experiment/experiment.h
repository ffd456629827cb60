/* SPDX-License-Identifier: MIT
 * What aoe grid and aoe compare have in common: trials, which are runs of aoe train
 * with one seed, each scored and recorded in a directory of its own. Not here: which
 * trials there are, and what their scores say together.
 *
 *   DIR/experiment.json         what all trials share; another call has to agree
 *   DIR/results.jsonl           the records of the finished ones, in the order of the trials
 *   DIR/runs/NAME/record.json   of a finished trial, with the identity of the files it read; written last
 *   DIR/runs/NAME/model         the model directory, as far as it is kept
 *   DIR/runs/NAME/train.jsonl, errors.txt   what aoe train printed
 *   DIR/runs/NAME/scores-N.tsv  cosine and gold score of the pairs of the N-th scored file
 *
 * Invariants: a trial with a record is never run again; one without goes on from its newest checkpoint; nothing is written
 * before every trial's options were checked.
 */
#ifndef AOE_CLI_EXPERIMENT_EXPERIMENT_H
#define AOE_CLI_EXPERIMENT_EXPERIMENT_H

#include "cli/common/common.h"
#include "cli/train/train_options.h"
#include "cli/common/words.h"

typedef enum cli_keep { CLI_KEEP_NONE, CLI_KEEP_BEST, CLI_KEEP_ALL } cli_keep;

typedef struct cli_experiment_options {
    const char *output;
    const char *seeds; /* "5", "1,2,3" or "1..5" */
    size_t jobs;       /* at once */
    size_t threads;    /* of all jobs; 0: the CPUs, or one for each job */
    size_t memory;     /* bytes of all jobs; 0: what is free */
    cli_keep keep;
    int quiet, json;
} cli_experiment_options;

enum { CLI_EXPERIMENT_COUNT = 8 };
extern const cli_option cli_experiment_table[CLI_EXPERIMENT_COUNT]; /* base: cli_experiment_options */

typedef struct cli_trial {
    char *name;     /* of its directory; owned */
    char *label;    /* in messages; owned */
    cli_words args; /* of aoe train, without output and seed */
    json_t *key;    /* what its record begins with, "seed" included; owned */
    uint64_t seed;
    int untrained;  /* 1: the model training would start from is scored */
    size_t memory;  /* bytes it is planned to take */
    json_t *files;  /* identity of what it reads, by path; owned, NULL before the check */
    json_t *record; /* owned; NULL: not finished */
    char *error;    /* owned; NULL: not failed */
} cli_trial;

typedef struct cli_experiment {
    const char *command; /* "grid" */
    cli_experiment_options o;
    cli_words base;          /* options of aoe train that all trials share */
    cli_trial *trial;        /* [n] */
    size_t n, finished;      /* trials; of these with a record */
    const char *const *file; /* [n_files] what models are scored by, borrowed; none: train's best on --dev */
    size_t n_files;
    int skip_refused; /* leave out trials that aoe train refuses, in place of giving up */
    json_t *settings; /* owned; experiment.json. A command adds its own: "over" or "arms" */
    json_t *files;    /* identity of the files of all trials; owned */
    int lock;         /* descriptor; 0: none */
    size_t best;      /* trial whose model is kept as the best; n: none */
    cli_progress progress;
    double start, done_before; /* of the progress: seconds, trials */
    struct cli_plans *plans;   /* memory of options seen so far, owned */
} cli_experiment;

/* ---- making (experiment.c) */

/* command: its name; operands: the options of aoe train. Expands response files, checks that no option is given that is the
 * experiment's own. dev: becomes the value of --dev, borrowed of *e; NULL: none. Returns CLI_GO or the exit code; *e is to be
 * freed either way. */
int cli_experiment_begin(cli_experiment *e, const char *command, const char *const *operand, size_t n, const char **dev);
/* Options of aoe train, of all trials or more of some: none of them is the experiment's own, each is known. where: "behind --".
 * dev: NULL: --dev is not to be given; else becomes its value (borrowed of w, NULL: none). CLI_GO or the exit code. */
int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where, const char **dev);
/* seed: [*n] of --seeds, malloc'd. CLI_GO, or the exit code after reporting. */
int cli_experiment_seeds(const cli_experiment *e, uint64_t **seed, size_t *n);
/* A new trial. name and label are taken over; name is made fit for a directory. */
cli_trial *cli_experiment_add(cli_experiment *e, char *name, char *label, uint64_t seed);
void cli_experiment_free(cli_experiment *e); /* accepts a zeroed one */

/* The option of aoe train with this name, which may begin with dashes; NULL after reporting that there is none, or that
 * it is one of those the experiment gives. what: "--over" */
const cli_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name);
/* Whether aoe train reads these words, and unless they are a part, whether it would start with them; message: why not, one
 * line. */
int cli_experiment_accepts(const cli_words *args, int part, char *message, size_t size);

/* ---- checking (experiment_check.c) and opening (experiment.c) */

/* Every trial's options, files and memory. CLI_GO, or the exit code after reporting. */
int cli_experiment_check(cli_experiment *e);
/* Takes the directory, refuses other settings, reads the records. 0, or 1 after reporting. */
int cli_experiment_open(cli_experiment *e);

/* ---- running (experiment_run.c) */

/* Runs what is not finished. 0; 1 when a trial failed or a record could not be written; 128 + the signal. All reported. */
int cli_experiment_run(cli_experiment *e);
/* Writes DIR/results.jsonl. 0, or 1 after reporting. */
int cli_experiment_results(const cli_experiment *e);
/* The score of a trial by a file (of train's dev: 0); NaN where it is undefined or the trial not finished. */
double cli_trial_score(const cli_trial *t, const cli_experiment *e, size_t file);
/* Cosines and gold scores of the pairs of a file, [*n] each, malloc'd. 0, or 1 after reporting. */
int cli_trial_pairs(const cli_experiment *e, const cli_trial *t, size_t file, double **cosine, double **gold, size_t *n);
const char *cli_file_label(const cli_experiment *e, size_t file); /* its base name, or where two share one the path */

/* DIR/runs/NAME/rest, rest NULL: without; free() it. */
char *cli_trial_path(const cli_experiment *e, const cli_trial *t, const char *rest);

#endif
