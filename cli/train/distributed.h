/* SPDX-License-Identifier: MIT
 * Training in several processes.
 */
#pragma once

/* Fails if a launcher, such as mpirun or srun, started several copies of the program, which would all write to the
 * output directory. Returns 0, or 1 after reporting the error. */
int cli_check_single(const char *output);
