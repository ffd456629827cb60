/* SPDX-License-Identifier: MIT
 * A trial is the run of one configuration with one seed. Its files are in the directory of the experiment:
 *   OUTPUT/runs/NAME/record.json   result, options, input hashes and CPU tier of a finished trial; written last
 *   OUTPUT/runs/NAME/model         trained model, if it is kept
 *   OUTPUT/runs/NAME/train-log.jsonl  training log, a copy of the log in the model directory
 *   OUTPUT/runs/NAME/errors.txt    warnings and errors
 *   OUTPUT/runs/NAME/scores-N.tsv  cosine and gold score of each pair in evaluation file N, counted from 1
 */
#pragma once

#include <jansson.h>

#include "aoe_experiment.h"
#include "aoe_train.h"

typedef struct aoei_trial {
    const aoe_configuration *configuration; /* configuration; borrowed */
    uint64_t seed;                          /* seed of the training run */
    int by_file; /* 1: the record has one score for each evaluation file (key "scores"); 0: it has one score in total
                    (key "score") */
    char *name;  /* name of the trial's directory; owned */
    char *label; /* name of the trial in messages; owned */
    json_t *key; /* JSON object that identifies the trial by configuration and seed; part of the record; owned */
    json_t *options; /* description of the training options (describe.h); owned */
    json_t *files;   /* hashes of the input files; the keys are their paths; owned */
    json_t *record;  /* record of the trial; NULL if the trial is not finished; owned */
    size_t memory;   /* estimated memory of the run in bytes */
} aoei_trial;

/* Creates a trial. If by_file is 0, t->key is {"point": values of the configuration, "seed": seed}. If by_file is 1,
 * t->key is {"arm": name of the configuration, "seed": seed}. The caller calls aoei_trial_free even if this function
 * fails. Errors: AOE_EARG if the values are not a JSON object, AOE_ENOMEM. */
int aoei_trial_create(aoei_trial *t, const aoe_configuration *c, uint64_t seed, int by_file, aoe_error *err);
void aoei_trial_free(aoei_trial *t); /* accepts a zeroed struct */

/* Returns the path OUTPUT/runs/NAME/REST, or OUTPUT/runs/NAME if rest is empty. The caller frees the path with
 * aoei_free. Returns NULL if out of memory. */
char *aoei_trial_path(const aoe_experiment_options *o, const aoei_trial *t, const char *rest);

/* Returns the number of scores of a trial, which is the number of evaluation files. If there are no evaluation files,
 * returns 1; the score is then the best score on the dev set. */
size_t aoei_trial_scores(const aoe_experiment_options *o);
/* Returns score i of a trial. Returns NaN if the score is undefined or the trial is not finished. */
double aoei_trial_score(const aoe_experiment_options *o, const aoei_trial *t, size_t i);

/* Writes the record of a trial. score: [aoei_trial_scores(o)] scores; NaN is written as null. start_is_best: 1: no step
 * was better on the dev set than the start model, which is the trained model of this run. seconds: duration of the
 * run. */
int aoei_trial_write_record(const aoe_experiment_options *o, const aoei_trial *t, const double *score,
                            int start_is_best, double seconds, aoe_error *err);
int aoei_trial_start_is_best(const aoei_trial *t); /* returns start_is_best of the record; 0 without a record */
/* Reads the record of a trial into t->record if it exists. Errors:
 * - AOE_EFORMAT if the file is damaged
 * - AOE_EARG if the record was written for different options or input files
 * - errors of reading files */
int aoei_trial_read_record(const aoe_experiment_options *o, aoei_trial *t, aoe_error *err);
/* Checks that the finished trials of trial[n] used one CPU tier: that of this process or, with options.join, that of
 * the first of them. Records of versions that did not write the tier are accepted. Errors: AOE_EARG (the message names
 * a run and both tiers, or AOE_CPU is not the name of a tier). */
int aoei_trials_check_tier(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err);

/* Writes scores-N.tsv for the evaluation file o->files[file]. cosine: [n] cosine of each pair. gold: [n] gold score of
 * each pair. */
int aoei_trial_write_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, const double *cosine,
                           const double *gold, size_t n, aoe_error *err);
/* Reads scores-N.tsv for the evaluation file o->files[file]. *cosine and *gold are set to arrays with *n elements,
 * which the caller frees with aoei_free. */
int aoei_trial_read_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, double **cosine,
                          double **gold, size_t *n, aoe_error *err);
