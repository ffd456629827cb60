/* SPDX-License-Identifier: MIT
 * The identity of the files that an experiment reads: hashes of their contents. A record is only valid for the files it
 * was made from. Hashes tell changed files apart; they do not resist an adversary.
 */
#ifndef AOEI_EXPERIMENT_INPUTS_H
#define AOEI_EXPERIMENT_INPUTS_H

#include <jansson.h>

#include "aoe_train.h"

typedef struct aoei_inputs {
    json_t *hash;    /* owned; path to hash, of all files seen so far */
    json_t *checked; /* owned; evaluation files that were checked, with their table options */
} aoei_inputs;

int aoei_inputs_create(aoei_inputs *in, aoe_error *err);
void aoei_inputs_free(aoei_inputs *in); /* accepts a zeroed one */

/* Adds the hash of a file, or of the files in a directory (two levels, without checkpoints and hidden files), to the object
 * `files` under its path. Reads each file once; from files above 128 MiB only the first and last 64 MiB.
 * path NULL: nothing is added. Errors: AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_inputs_add(aoei_inputs *in, json_t *files, const char *path, aoe_error *err);

/* Checks that models can be compared on an evaluation file, as aoe_sts_check does; once per file. */
int aoei_inputs_check(aoei_inputs *in, const aoe_evaluation_file *f, aoe_error *err);

#endif
