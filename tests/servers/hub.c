/* SPDX-License-Identifier: MIT
 * A program with the Hub server of tests/support/hub_server.h, for tests/cli and tests/peers:
 *
 *     hub URL_FILE /dev/null LOG_FILE FOLDER [FAULT...]
 */
#include "../support/hub_server.h"

static test_hub hub;

static void set_up(test_server *s, int argc, char **argv) {
    hub.log = argc > 0 ? argv[0] : NULL;
    hub.folder = argc > 1 ? argv[1] : ".";
    for (int i = 2; i < argc; i++)
        test_hub_fault(&hub, argv[i]);
    test_hub_routes(&hub, s);
}

int main(int argc, char **argv) {
    return test_server_main(argc, argv, set_up);
}
