/* SPDX-License-Identifier: MIT
 * A trial: the run of one configuration with one seed, and its files in the directory of the experiment:
 *
 *   OUTPUT/runs/NAME/record.json   result, options and input hashes of a finished trial; written last
 *   OUTPUT/runs/NAME/model         the trained model, if it is kept
 *   OUTPUT/runs/NAME/train.jsonl   evaluations during training
 *   OUTPUT/runs/NAME/errors.txt    warnings and errors
 *   OUTPUT/runs/NAME/scores-N.tsv  cosine and gold score of each pair of evaluation file N, counted from 1
 */
#ifndef AOEI_EXPERIMENT_TRIAL_H
#define AOEI_EXPERIMENT_TRIAL_H

#include <jansson.h>

#include "aoe_train.h"

typedef struct aoei_trial {
    const aoe_configuration *configuration; /* configuration; borrowed */
    uint64_t seed;                          /* seed of the training run */
    int by_file;     /* 1: the record has one score per evaluation file ("scores"); 0: it has one score ("score") */
    char *name;      /* name of the directory; owned */
    char *label;     /* name in messages; owned */
    json_t *key;     /* first members of the record: configuration and seed; owned */
    json_t *options; /* description of the training options (describe.h); owned */
    json_t *files;   /* hashes of the input files, by path; owned */
    json_t *record;  /* record; NULL: the trial is not finished; owned */
    size_t memory;   /* bytes that the run is expected to use */
} aoei_trial;

/* Creates a trial. The key is {"point": values of the configuration, "seed": seed} if by_file is 0, and {"arm": name, "seed":
 * seed} if it is 1. The caller frees *t, even if the function fails. Errors: AOE_EARG (the values are not a JSON object),
 * AOE_ENOMEM. */
int aoei_trial_create(aoei_trial *t, const aoe_configuration *c, uint64_t seed, int by_file, aoe_error *err);
void aoei_trial_free(aoei_trial *t); /* accepts a zeroed struct */

/* Returns the path OUTPUT/runs/NAME/rest, or OUTPUT/runs/NAME if rest is empty; owned by the caller (aoei_free). NULL if
 * memory runs out. */
char *aoei_trial_path(const aoe_experiment_options *o, const aoei_trial *t, const char *rest);

/* Returns the number of scores of a trial: the number of evaluation files, or 1 (the best score on the dev set) if there are
 * none. */
size_t aoei_trial_scores(const aoe_experiment_options *o);
/* Returns score i; NaN if it is undefined or the trial is not finished. */
double aoei_trial_score(const aoe_experiment_options *o, const aoei_trial *t, size_t i);

/* Writes the record. score: [aoei_trial_scores(o)]; NaN is recorded as null. seconds: duration of the run. */
int aoei_trial_write_record(const aoe_experiment_options *o, const aoei_trial *t, const double *score, double seconds,
                            aoe_error *err);
/* Reads the record if it exists, and checks that it belongs to these options and input files. Errors: AOE_EFORMAT (damaged
 * file), AOE_EARG (other options or input files), I/O. */
int aoei_trial_read_record(const aoe_experiment_options *o, aoei_trial *t, aoe_error *err);

/* Writes the cosines and gold scores of the pairs of evaluation file o->files[file]. cosine, gold: [n]. */
int aoei_trial_write_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, const double *cosine,
                           const double *gold, size_t n, aoe_error *err);
/* Reads the cosines and gold scores of the pairs of evaluation file o->files[file]. Sets *cosine and *gold to arrays [*n],
 * owned by the caller (aoei_free). */
int aoei_trial_read_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, double **cosine, double **gold,
                          size_t *n, aoe_error *err);

#endif
