/* SPDX-License-Identifier: MIT
 * Reads the environment variables that launchers set in each copy. SLURM_NTASKS is not one of them, because a batch
 * script, which runs once, has it too.
 */
#include "comm/launch.h"

#include <limits.h>
#include <stdlib.h>

#include "aoe_comm.h"

aoei_launch aoei_launch_find(void) {
    /* Open MPI; MPICH, Intel MPI and other MPIs with Hydra; a step of Slurm */
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        char *end = NULL;
        const long n = text ? strtol(text, &end, 10) : 0;
        if (n > 1 && n <= INT_MAX && !*end)
            return (aoei_launch){(int)n, variables[i]};
    }
    return (aoei_launch){1, NULL};
}

int aoe_comm_copies(const char **variable) {
    const aoei_launch l = aoei_launch_find();
    if (variable)
        *variable = l.variable;
    return l.copies;
}
