/* SPDX-License-Identifier: MIT
 * Hashes of the files that an experiment reads. A record is valid only while these files are unchanged. The hashes detect
 * changed files; they do not protect against deliberate collisions.
 */
#ifndef AOEI_EXPERIMENT_INPUTS_H
#define AOEI_EXPERIMENT_INPUTS_H

#include <jansson.h>

#include "aoe_train.h"

/* The files that were already read, so that each is read once. */
typedef struct aoei_inputs {
    json_t *hash;    /* JSON object: the hash of each file read so far, by path; owned */
    json_t *checked; /* JSON object: the evaluation files checked so far, by path and table options; owned */
} aoei_inputs;

int aoei_inputs_create(aoei_inputs *in, aoe_error *err);
void aoei_inputs_free(aoei_inputs *in); /* accepts a zeroed struct */

/* Adds the hash of a file to the object `files` under its path. The hash of a directory covers its files and those of its
 * direct subdirectories, without checkpoints and hidden files. Each file is read once. If a file is larger than 128 MiB,
 * only its first and last 64 MiB are hashed. If path is NULL, nothing is added. Errors: AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_inputs_add(aoei_inputs *in, json_t *files, const char *path, aoe_error *err);

/* Checks with aoe_sts_check that models can be compared on an evaluation file. Each file is checked once. Errors: those of
 * aoe_sts_check. */
int aoei_inputs_check(aoei_inputs *in, const aoe_evaluation_file *f, aoe_error *err);

#endif
