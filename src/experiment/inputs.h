/* SPDX-License-Identifier: MIT
 * Hashes and checks the files that an experiment reads. The record of a finished trial (trial.h) contains the hashes of
 * its input files. It is valid only while these hashes are unchanged.
 * The hashes detect changed files; they do not protect against deliberate collisions.
 */
#pragma once

#include <jansson.h>

#include "aoe_experiment.h"
#include "aoe_train.h"

/* Results for the files that were already read, so that each file is read only once. */
typedef struct aoei_inputs {
    json_t *hash;    /* JSON object: for each path, the hash of the file; owned */
    json_t *checked; /* JSON object whose keys are the evaluation files already checked (path and table options);
                        owned */
} aoei_inputs;

int aoei_inputs_create(aoei_inputs *in, aoe_error *err);
void aoei_inputs_free(aoei_inputs *in); /* accepts a zeroed struct */

/* Adds the hash of a file or directory to the JSON object `files`; the key is the path. If path is NULL, nothing is
 * added.
 * - If a file is larger than 128 MiB, only its first and last 64 MiB are hashed.
 * - The hash of a directory includes its files and the files of its direct subdirectories, except checkpoints and
 *   hidden files.
 * - Each file is read only once.
 * Errors: AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_inputs_add(aoei_inputs *in, json_t *files, const char *path, aoe_error *err);

/* Checks that models can be compared on an evaluation file. Each file is checked only once. Errors: see
 * aoe_sts_check. */
int aoei_inputs_check(aoei_inputs *in, const aoe_evaluation_file *f, aoe_error *err);
