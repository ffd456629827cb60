/* SPDX-License-Identifier: MIT
 * A program with the GitHub server of tests/support/github_server.h, for tests/cli:
 *
 *     github URL_FILE [LOG_FILE [storm] [DELAY]]
 *
 * With "storm", the first request for each path and query fails. DELAY is the number of seconds before each answer.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/github_server.h"

static test_github github;

static void set_up(test_server *s, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "storm") == 0)
            github.storm = 1;
        else
            github.delay = strtod(argv[i], NULL);
    }
    test_github_routes(&github, s);
}

int main(int argc, char **argv) {
    return test_server_main(argc, argv, set_up);
}
