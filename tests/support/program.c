/* SPDX-License-Identifier: MIT
 * The list of the tests that are linked into one program.
 */
#include <stddef.h>

#include "program.h"

test_program *test_programs;
int test_argc;
char **test_argv;

void test_program_add(test_program *p) {
    test_program **end = &test_programs;
    while (*end)
        end = &(*end)->next;
    *end = p;
}
