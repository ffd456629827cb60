/* SPDX-License-Identifier: MIT
 * A trial: the run of one configuration with one seed, and its files in the directory of the experiment:
 *
 *   OUTPUT/runs/NAME/record.json   result, options and input hashes of a finished trial; written last
 *   OUTPUT/runs/NAME/model         the trained model, while it is kept
 *   OUTPUT/runs/NAME/train.jsonl   evaluations during training
 *   OUTPUT/runs/NAME/errors.txt    warnings and errors
 *   OUTPUT/runs/NAME/scores-N.tsv  cosine and gold score of each pair of the N-th evaluation file
 */
#ifndef AOEI_EXPERIMENT_TRIAL_H
#define AOEI_EXPERIMENT_TRIAL_H

#include <jansson.h>

#include "aoe_train.h"

typedef struct aoei_trial {
    const aoe_configuration *configuration; /* borrowed */
    uint64_t seed;
    int by_file;     /* 1: the record has a score for each evaluation file ("scores"), 0: one score ("score") */
    char *name;      /* owned; name of the directory */
    char *label;     /* owned; name in messages */
    json_t *key;     /* owned; first members of the record: the configuration and the seed */
    json_t *options; /* owned; description of the training options */
    json_t *files;   /* owned; hashes of the input files, by path */
    json_t *record;  /* owned; NULL: not finished */
    size_t memory;   /* bytes the run is expected to use */
} aoei_trial;

/* by_file 0: the key is {"point": configuration's values, "seed": seed}; by_file 1: {"arm": name, "seed": seed}.
 * *t is to be freed also on failure. Errors: AOE_EARG (values that are not a JSON object), AOE_ENOMEM. */
int aoei_trial_create(aoei_trial *t, const aoe_configuration *c, uint64_t seed, int by_file, aoe_error *err);
void aoei_trial_free(aoei_trial *t); /* accepts a zeroed one */

/* OUTPUT/runs/NAME/rest, or OUTPUT/runs/NAME for an empty rest; aoei_free. NULL: no memory. */
char *aoei_trial_path(const aoe_experiment_options *o, const aoei_trial *t, const char *rest);

/* Number of scores of a trial: evaluation files, or 1 for the best score on the dev set. */
size_t aoei_trial_scores(const aoe_experiment_options *o);
/* Score number i; NaN if it is undefined or the trial is not finished. */
double aoei_trial_score(const aoe_experiment_options *o, const aoei_trial *t, size_t i);

/* score: [aoei_trial_scores(o)]; NaN is recorded as null. */
int aoei_trial_write_record(const aoe_experiment_options *o, const aoei_trial *t, const double *score, double seconds,
                            aoe_error *err);
/* Reads the record if there is one, and checks that it belongs to these options and input files.
 * Errors: AOE_EFORMAT (damaged file), AOE_EARG (other options or input files), I/O. */
int aoei_trial_read_record(const aoe_experiment_options *o, aoei_trial *t, aoe_error *err);

/* cosine, gold: [n], of evaluation file number `file`. */
int aoei_trial_write_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, const double *cosine,
                           const double *gold, size_t n, aoe_error *err);
/* *cosine, *gold: [*n]; aoei_free. */
int aoei_trial_read_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, double **cosine, double **gold,
                          size_t *n, aoe_error *err);

#endif
