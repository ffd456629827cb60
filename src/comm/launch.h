/* SPDX-License-Identifier: MIT
 * Recognizes from the environment that a launcher, such as mpirun or srun, started several copies of this program.
 */
#pragma once

typedef struct aoei_launch {
    int copies;           /* number of copies; 1: no launcher, or one copy */
    const char *variable; /* name of the environment variable that says so; static; NULL if copies is 1 */
} aoei_launch;

aoei_launch aoei_launch_find(void);
