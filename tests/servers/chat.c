/* SPDX-License-Identifier: MIT
 * A program with the chat endpoint of tests/support/chat_model.h, for tests/cli:
 *
 *     chat URL_FILE [LOG_FILE [KEY|- [TROUBLE [DELAY]]]]
 *
 * KEY is the API key that requests must contain; "-" means that no key is required. TROUBLE is the sum of the CHAT_*
 * failures that the server simulates for each request before it answers. DELAY is the number of seconds before each
 * answer.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/chat_model.h"

static chat_model model;

static void set_up(test_server *s, int argc, char **argv) {
    model.key = argc > 0 && strcmp(argv[0], "-") != 0 ? argv[0] : NULL;
    model.trouble = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    model.delay = argc > 2 ? atof(argv[2]) : 0;
    chat_model_route(s, &model);
}

int main(int argc, char **argv) {
    return test_server_main(argc, argv, set_up);
}
