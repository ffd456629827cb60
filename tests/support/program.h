/* SPDX-License-Identifier: MIT
 * Test programs. All tests of a folder are linked into one program, build/tests/FOLDER/tests, because most of the time
 * of a build would otherwise be spent on linking. build/tests/FOLDER/NAME_test is a link to this program, whose main
 * function (tests/main.c) calls the test that has the name of the link. Every test is still a process of its own.
 *
 * The Makefile compiles tests/FOLDER/NAME_test.c with -Dmain=NAME_test_main and includes this header before the first
 * line. The main function of a test therefore becomes the function NAME_test_main, and the object file contains a
 * function that adds it to the list of tests before the main function of the program is called.
 */
#pragma once

typedef struct test_program {
    const char *name;
    int (*run)(void);
    struct test_program *next;
} test_program;

extern test_program *test_programs; /* the tests that are linked into this program, in their order */

void test_program_add(test_program *p);

/* The arguments of the program, for a test that starts itself. */
extern int test_argc;
extern char **test_argv;

#ifdef main
int main(void);

__attribute__((constructor)) static void test_program_register(void) {
    static test_program p = {.name = TEST_NAME, .run = main};
    test_program_add(&p);
}
#endif
