/* SPDX-License-Identifier: MIT
 * covers: base/check
 * Calls every function of the public headers once for each of its pointer arguments, with only this argument set to
 * NULL.
 * The awk program tests/api/null_arguments.awk generates the calls from the headers.
 */
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "aoe_annotate.h"
#include "aoe_collect.h"
#include "aoe_comm.h"
#include "aoe_convert.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_experiment.h"
#include "aoe_hub.h"
#include "aoe_index.h"
#include "aoe_objective.h"
#include "aoe_plan.h"
#include "aoe_postgres.h"
#include "aoe_sequence.h"
#include "aoe_serve.h"
#include "aoe_tokenizer.h"
#include "aoe_train.h"

/* All pointer arguments that are not NULL point to this memory. A function checks all its pointers before it uses one
 * of them, so the contents do not matter. */
static alignas(64) char dummy[1 << 16];

static void dummy_function(void) {
    fail_msg("a callback was called; expected an error before any callback");
}

static size_t failures;

static void check(const char *function, const char *argument, int code, int quiet_code, const aoe_error *error) {
    char want[256];
    snprintf(want, sizeof want, "%s: argument '%s' is NULL", function, argument);
    if (code != AOE_EARG || quiet_code != AOE_EARG || strcmp(error->message, want) != 0) {
        printf("ERROR: %s, argument '%s': returned %d with an error struct and %d without one; message: %s\n", function,
               argument, code, quiet_code, error->message);
        failures++;
    }
}

static void every_pointer_argument(void **state) {
    (void)state;
#define REJECTS(function, argument, arguments, without_error)                                                          \
    {                                                                                                                  \
        aoe_error error = {0};                                                                                         \
        memset(dummy, 0, sizeof dummy);                                                                                \
        const int code = function arguments;                                                                           \
        check(#function, argument, code, function without_error, &error);                                              \
    }
#define SURVIVES(function, arguments)                                                                                  \
    memset(dummy, 0, sizeof dummy);                                                                                    \
    (void)function arguments;
#define TAKES_OPTIONS(function)
#include "null_arguments.inc"
    assert_int_equal(failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_pointer_argument)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
