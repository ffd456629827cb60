/* SPDX-License-Identifier: MIT
 *
 * aoe_experiment.h: experiments, that is, grid searches and comparisons of methods, with checkpoints.
 * docs/experiments.md describes them. This interface is experimental: it may change before version 1.0.
 */
#ifndef AOE_EXPERIMENT_H
#define AOE_EXPERIMENT_H

#include "aoe.h"
#include "aoe_eval.h"
#include "aoe_train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An experiment trains several configurations with several seeds, evaluates the models, and records every run in a
 * directory. A run is the training and evaluation of one configuration with one seed (docs/experiments.md). aoe_grid
 * ranks configurations. aoe_compare tests whether their scores differ significantly from the scores of one
 * configuration, the baseline. Runs are child processes of the calling process, which are created with fork(). While
 * these functions run, no other thread of the caller may therefore hold a lock that the library needs, such as the lock
 * of malloc. To resume an experiment, call the function again with equal options. Finished runs are not repeated, and
 * interrupted runs continue from their newest checkpoint. */

/* A table of pairs or a SentEval folder on which models are evaluated (Spearman correlation of cosine and gold
 * score). */
typedef struct aoe_evaluation_file {
    size_t struct_size; /* set by aoe_evaluation_file_defaults */
    const char *path;
    aoe_table_options table;
} aoe_evaluation_file;

AOE_OPTIONS_WITH(aoe_evaluation_file, aoe_table_options_defaults(&o->table));

/* A configuration: training options that are compared with the options of other configurations. The experiment sets
 * these fields of `train` for each run and ignores their values: args.output, args.seed, args.resume, args.force,
 * args.event, args.event_user, evaluate, evaluate_user, dev_name and dev_fingerprint. */
typedef struct aoe_configuration {
    size_t struct_size;      /* set by aoe_configuration_defaults */
    const char *name;        /* unique; part of the directory name of each run */
    const char *label;       /* name of the configuration in messages; NULL: `name` */
    int untrained;           /* 1: evaluate the start model once, without training */
    aoe_train_options train; /* training options; train.args.model is required */
    const char *values; /* aoe_grid: JSON object that is recorded with each run, for example {"lr":1e-05}; NULL: {} */
} aoe_configuration;

AOE_OPTIONS_WITH(aoe_configuration, aoe_train_options_defaults(&o->train));

typedef enum aoe_keep {
    AOE_KEEP_NONE, /* delete all trained models */
    AOE_KEEP_BEST, /* keep only the model of the run with the highest score */
    AOE_KEEP_ALL   /* keep all trained models */
} aoe_keep;

typedef enum aoe_experiment_event_kind {
    AOE_EXPERIMENT_NOTE,     /* a message, for example that another process has locked the directory */
    AOE_EXPERIMENT_START,    /* all inputs were checked, and runs start now */
    AOE_EXPERIMENT_PROGRESS, /* several times per second */
    AOE_EXPERIMENT_FINISHED, /* a run is finished and recorded: label, score and seconds are set */
    AOE_EXPERIMENT_FAILED    /* a run failed: label, message and seconds are set */
} aoe_experiment_event_kind;

typedef struct aoe_experiment_event {
    size_t struct_size; /* set by the library */
    aoe_experiment_event_kind kind;
    size_t runs, finished, failed; /* number of all runs; number of finished runs, including runs of earlier calls;
                                      number of runs that failed in this call */
    size_t running;                /* PROGRESS: number of running processes */
    double done;          /* number of finished and failed runs, plus the completed fractions of the running runs */
    size_t jobs, threads; /* number of concurrent runs; number of threads per run */
    const char *label;    /* name of the run; NULL: the event is not about a run */
    const double *score;  /* FINISHED: [n_scores] one score per evaluation file, NaN if undefined; otherwise NULL */
    size_t n_scores;
    int start_is_best; /* FINISHED: 1: no step had a higher score on the dev set than the start model, which was kept */
    double seconds;    /* FINISHED, FAILED: duration of the run */
    const char *message; /* NOTE, FAILED: one line; otherwise NULL. All pointers are borrowed for the call */
} aoe_experiment_event;

/* Returns 0 to continue. Otherwise the running runs write checkpoints, and aoe_grid or aoe_compare returns
 * AOE_ECANCELLED. */
typedef int (*aoe_experiment_fn)(void *user, const aoe_experiment_event *event);

typedef struct aoe_experiment_options {
    size_t struct_size;                      /* set by aoe_experiment_options_defaults */
    const char *output;                      /* directory; required */
    const aoe_configuration *configurations; /* [n_configurations] */
    size_t n_configurations;
    const aoe_train_options *shared; /* options that all configurations have in common. A later call with this output
                                        directory must have equal values. NULL (default): not compared */
    const uint64_t *seeds;           /* [n_seeds] distinct seeds; default {42} */
    size_t n_seeds;
    const aoe_evaluation_file *dev; /* dev set on which each run chooses its best model; NULL (default): the last model
                                       is used */
    const aoe_evaluation_file *files; /* [n_files] evaluation files for the finished models */
    size_t n_files;
    size_t jobs;    /* concurrent runs; default 1 */
    size_t threads; /* total number of threads of all concurrent runs; AOE_AUTO (default): one per CPU that the process
                       may use */
    size_t memory;  /* maximum memory in bytes for all concurrent runs together. A run that would exceed it waits.
                       AOE_AUTO (default, 0x7fffffff): the free memory of the machine */
    aoe_keep keep;  /* trained models to keep; default AOE_KEEP_BEST for aoe_grid, AOE_KEEP_NONE for aoe_compare */
    aoe_experiment_fn event; /* receives events; NULL (default): none */
    void *event_user;        /* first argument of event */
    size_t part, parts; /* parts > 0: only the runs whose number modulo `parts` is `part` are started; the numbers count
                           the seeds of the first configuration, then those of the next one. Other processes may run the
                           other parts in the same directory. parts 0 (default): all runs */
    int join; /* 1: no run is started. Fails with AOE_ENOENT if a run is not finished, removes the models that `keep`
                 does not keep, and computes the result. Default 0 */
} aoe_experiment_options;

AOE_OPTIONS(aoe_experiment_options);

typedef struct aoe_grid_options {
    size_t struct_size;                /* set by aoe_grid_options_defaults */
    aoe_experiment_options experiment; /* options of the experiment, with at most one evaluation file; without it, the
                                          score of a run is its highest score on experiment.dev, which includes the
                                          score of the start model */
} aoe_grid_options;

typedef struct aoe_grid_row {
    size_t struct_size;           /* set by the library */
    size_t configuration;         /* index in options.configurations */
    const double *score;          /* [n_seeds] scores in the order of options.seeds; NaN: no score */
    aoe_t_test_result statistics; /* n, mean and sd of the scores that are not NaN */
} aoe_grid_row;

typedef struct aoe_grid_result {
    size_t struct_size;              /* set by the caller */
    void *memory;                    /* private */
    const aoe_grid_row *const *rows; /* [n] one row per configuration, sorted by descending mean; rows without a score
                                        are last */
    size_t n;                        /* number of rows */
    size_t best; /* index of the row with the highest mean among the rows that have a score for every seed; n if there
                    is no such row */
    size_t best_seed;              /* index in options.seeds of the seed with the highest score in row `best` */
    const char *best_run_label;    /* label of the best run; NULL: no model is on disk. The best run is the run with the
                                      highest score among the runs whose models are on disk. Its configuration can
                                      differ from the configuration of row `best` */
    size_t best_run_configuration; /* index of the best run's configuration in options.configurations */
    uint64_t best_run_seed;
    double best_run_score;
    const char *best_run_model;    /* model directory of the best run */
    size_t runs, finished, failed; /* as in aoe_experiment_event */
} aoe_grid_result;

AOE_OPTIONS_WITH(aoe_grid_options, aoe_experiment_options_defaults(&o->experiment));
/* Trains every configuration with every seed and ranks the configurations by their mean score. The result is valid even
 * if runs fail or AOE_ECANCELLED is returned; free it with aoe_grid_result_free in all cases. A run that fails is not
 * an error: result.failed counts it. The options, the models and the files of all configurations are checked before the
 * first run. Errors: AOE_EEXIST (another process uses the directory, or it does not belong to an experiment),
 * AOE_ECANCELLED, the errors of aoe_train that occur before the first step, and the errors of the evaluation files and
 * the file system. */
AOE_API int aoe_grid(const aoe_grid_options *AOE_NULLABLE o, aoe_grid_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_grid_result_free(aoe_grid_result *AOE_NULLABLE r); /* accepts a zeroed struct */

/* Corrections of the p-values of aoe_compare for the number of tests. The tests of one call are one family: every
 * configuration other than the baseline, on every evaluation file. Tests without a p-value (fewer than two seeds with a
 * score) are not part of the family. */
typedef enum aoe_correction {
    AOE_CORRECTION_HOLM, /* the step-down procedure of Holm (1979); see aoe_holm */
    AOE_CORRECTION_NONE  /* no correction */
} aoe_correction;

typedef struct aoe_compare_options {
    size_t struct_size;                /* set by aoe_compare_options_defaults */
    aoe_experiment_options experiment; /* options of the experiment, with at least two configurations and one evaluation
                                          file */
    aoe_correction correction; /* correction of the p-values for the number of tests; default AOE_CORRECTION_HOLM */
    aoe_bootstrap_options bootstrap; /* options of the bootstrap intervals */
    size_t against; /* index of the baseline in options.configurations; default 0. All other configurations are compared
                       with it */
} aoe_compare_options;

typedef enum aoe_verdict {
    AOE_VERDICT_NONE,        /* the row is the baseline */
    AOE_VERDICT_BETTER,      /* the corrected p is below 0.05, and the interval of the difference is above 0 */
    AOE_VERDICT_WORSE,       /* the corrected p is below 0.05, and the interval of the difference is below 0 */
    AOE_VERDICT_INCONCLUSIVE /* all other cases */
} aoe_verdict;

typedef struct aoe_compare_row {
    size_t struct_size;         /* set by the library */
    size_t file, configuration; /* index in options.files; index in options.configurations */
    const double *scores; /* [n_scores] one score per seed, NaN for a missing score; an untrained configuration has one
                             score */
    size_t n_scores;
    aoe_t_test_result score;      /* n, mean and sd of the scores that are not NaN; sd is NaN for an untrained
                                     configuration */
    aoe_interval mean;            /* bootstrap interval of the mean score over seeds; pairs and seeds are resampled */
    aoe_t_test_result difference; /* t test of the differences from the baseline, paired by seed; NaN for the baseline
                                     itself. difference.p is not corrected */
    double p_corrected;           /* difference.p corrected by options.correction; NaN if difference.p is NaN */
    aoe_interval shift;           /* bootstrap interval of the mean difference from the baseline */
    aoe_verdict verdict;
} aoe_compare_row;

typedef struct aoe_compare_result {
    size_t struct_size;                 /* set by the caller */
    void *memory;                       /* private */
    const aoe_compare_row *const *rows; /* [n] one row for each evaluation file and configuration, sorted by file, then
                              by configuration */
    size_t n;
    size_t runs, finished, failed; /* as in aoe_experiment_event */
} aoe_compare_result;

AOE_OPTIONS_WITH(aoe_compare_options, aoe_experiment_options_defaults(&o->experiment),
                 aoe_bootstrap_options_defaults(&o->bootstrap));
/* Trains every configuration with every seed, evaluates the models on every file, and tests the differences from the
 * baseline. The result is valid even if runs fail or AOE_ECANCELLED is returned; free it with aoe_compare_result_free
 * in all cases. Errors: see aoe_grid. */
AOE_API int aoe_compare(const aoe_compare_options *AOE_NULLABLE o, aoe_compare_result *result,
                        aoe_error *AOE_NULLABLE err);
AOE_API void aoe_compare_result_free(aoe_compare_result *AOE_NULLABLE r); /* accepts a zeroed struct */
AOE_API const char *aoe_verdict_name(aoe_verdict v); /* "-", "better", "worse" or "inconclusive"; static string, NULL
                                                        for an unknown value */

#ifdef __cplusplus
}
#endif

#endif
