/* SPDX-License-Identifier: MIT
 * Several copies of a program are recognized from the variables of mpirun and srun, and one copy is not mistaken for
 * several.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_comm.h"
#include "comm/launch.h"

static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};

static int clear(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    return 0;
}

static void no_launcher(void **state) {
    (void)state;
    const char *variable = "x";
    assert_int_equal(aoe_comm_copies(&variable), 1);
    assert_null(variable);
    assert_int_equal(aoe_comm_copies(NULL), 1);
}

static void several_copies(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        clear(NULL);
        setenv(variables[i], "1", 1);
        assert_int_equal(aoei_launch_find().copies, 1);
        setenv(variables[i], "12", 1);
        const aoei_launch l = aoei_launch_find();
        assert_int_equal(l.copies, 12);
        assert_string_equal(l.variable, variables[i]);
        const char *variable = NULL;
        assert_int_equal(aoe_comm_copies(&variable), 12);
        assert_string_equal(variable, variables[i]);
    }
}

/* mpirun with one process, in a step of Slurm with several tasks */
static void any_variable_counts(void **state) {
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_int_equal(aoei_launch_find().copies, 4);
}

/* A batch script runs once and has SLURM_NTASKS. */
static void batch_script(void **state) {
    (void)state;
    setenv("SLURM_NTASKS", "4", 1);
    assert_int_equal(aoei_launch_find().copies, 1);
}

static void no_number(void **state) {
    (void)state;
    static const char *const values[] = {"", "many", "-3", "0", "4x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        setenv("PMI_SIZE", values[i], 1);
        assert_int_equal(aoei_launch_find().copies, 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_launcher, clear, clear),
        cmocka_unit_test_setup_teardown(several_copies, clear, clear),
        cmocka_unit_test_setup_teardown(any_variable_counts, clear, clear),
        cmocka_unit_test_setup_teardown(batch_script, clear, clear),
        cmocka_unit_test_setup_teardown(no_number, clear, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
