/* SPDX-License-Identifier: MIT
 * The main function of the test programs (tests/support/program.h). Runs the test that has the name of the file by
 * which the program was started.
 */
#include <stdio.h>
#include <string.h>

#include "support/program.h"

int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    test_argc = argc;
    test_argv = argv;
    for (const test_program *p = test_programs; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p->run();
    fprintf(stderr, "%s: this program contains the following tests; start it by a link with the name of a test\n",
            argv[0]);
    for (const test_program *p = test_programs; p; p = p->next)
        fprintf(stderr, "    %s\n", p->name);
    return 2;
}
