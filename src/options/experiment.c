/* SPDX-License-Identifier: MIT
 * The option tables of experiments (grid searches and comparisons).
 */
#include "options/experiment.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_experiment.h"
#include "base/error.h"
#include "options/rows.h"

const char *const aoei_correction_names[] = {"holm", "none", NULL};

/* Parses an amount of memory such as "8G", "500M" or "2.5GiB"; units are powers of 1024. */
static int parse_bytes(void *target, const char *text, aoe_error *err) {
    static const char units[] = "KMGT";
    char *end = NULL;
    double bytes = strtod(text, &end);
    const char *unit = end == text || !*end ? NULL : strchr(units, toupper((unsigned char)*end));
    if (unit) {
        bytes *= (double)((size_t)1 << (10 * (size_t)(unit - units + 1)));
        end++;
        end += strcmp(end, "iB") == 0 ? 2 : strcmp(end, "B") == 0;
    }
    if (end == text || *end || !(bytes >= 1 && bytes < 1e18)) {
        err->code = AOE_EARG;
        snprintf(err->message, sizeof err->message, "expected an amount of memory such as 500M or 8G, not '%.100s'",
                 text);
        return err->code;
    }
    const size_t limit = (size_t)bytes;
    *(size_t *)target = limit == AOE_AUTO ? limit - 1 : limit; /* AOE_AUTO is not an amount of memory */
    return 0;
}

#define EXPERIMENT(field) AOEI_AT(aoe_experiment_options, field)
#define COMPARE(field)    AOEI_AT(aoe_compare_options, field)

static const aoei_option experiment_rows[] = {
    AOEI_ROW_OUTPUT(EXPERIMENT(output), "DIR", "output directory of all runs"),
    {.name = "jobs",
     .letter = 'j',
     .kind = AOEI_OPTION_SIZE,
     EXPERIMENT(jobs),
     .min = 1,
     .max = 1024,
     .help = "maximum number of simultaneous runs"},
    {.name = "threads",
     .letter = 't',
     .kind = AOEI_OPTION_SIZE,
     EXPERIMENT(threads),
     .least = 1,
     .most = 1024,
     .help = "total number of threads of all simultaneous runs",
     .fallback = "all CPUs available to the process"},
    {.name = "memory",
     .kind = AOEI_OPTION_NAMED,
     .value = "SIZE",
     EXPERIMENT(memory),
     .parse = parse_bytes,
     .help = "total memory limit of all simultaneous runs, for example 8G; a run starts when its "
             "estimated memory is available",
     .fallback = "the free memory of the machine"},
    {.name = "keep",
     .kind = AOEI_OPTION_CHOICE,
     EXPERIMENT(keep),
     .choices = AOEI_CHOICES("none", "best", "all"),
     .noun = "choice of models to keep",
     .help = "trained models to keep in the output directory: none, best (only the model of the run "
             "with the highest score) or all"},
};

static const aoei_option compare_rows[] = {
    {.name = "correction",
     .kind = AOEI_OPTION_CHOICE,
     COMPARE(correction),
     .choices = aoei_correction_names,
     .noun = "correction",
     .help = "correction of the p-values for the number of tests: holm (the step-down procedure of Holm 1979, over "
             "the tests of all arms on all evaluation files together) or none"},
    {.name = "replicates",
     .kind = AOEI_OPTION_SIZE,
     COMPARE(bootstrap.replicates),
     .min = 1,
     .max = 1e7,
     .help = "number of bootstrap resamples"},
    {.name = "bootstrap-seed",
     .kind = AOEI_OPTION_SEED,
     COMPARE(bootstrap.seed),
     .help = "random seed of the bootstrap"},
};

const aoei_option_group aoei_experiment_rows = AOEI_GROUP("runs", aoe_experiment_options, experiment_rows);
const aoei_option_group aoei_compare_tests_rows = AOEI_GROUP("comparison", aoe_compare_options, compare_rows);
