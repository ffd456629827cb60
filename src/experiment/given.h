/* SPDX-License-Identifier: MIT
 * A complete copy of the options of an experiment. The arrays of a program that was compiled with older headers have
 * smaller elements.
 */
#pragma once

#include "aoe_experiment.h"

typedef struct aoei_given {
    aoe_experiment_options o;                    /* options whose pointers to structs point to the following arrays */
    void *configurations, *shared, *dev, *files; /* owned */
    void **data; /* [n_configurations + 1] training files of each configuration and of `shared`; owned */
} aoei_given;

/* Copies options, which are complete except for the structs to which they point. function: name for messages. If it
 * fails, the caller must also free *g. Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_given_read(aoei_given *g, const aoe_experiment_options *o, const char *function, aoe_error *err);
void aoei_given_free(aoei_given *g);
