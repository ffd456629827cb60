/* SPDX-License-Identifier: MIT
 * Fuzzes config.json. If a file is accepted, the total size of the model's weights must not overflow, and the
 * configuration must not change when it is written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "encoder/config.h"
#include "encoder/slots.h"

/* Adds the sizes of all weights and aborts if the total overflows. */
static void check_sizes(const aoei_encoder_config *c) {
    size_t total = 0, n;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        if (aoei_slot_describe(c, i, &slot) || (!slot.absent && (!*slot.name || !slot.rows || !slot.cols)))
            abort();
        if (!slot.absent && (aoei_mul_size(slot.rows, slot.cols, &n) || aoei_add_size(total, n, &total)))
            abort();
    }
    if (aoei_mul_size(total, 64, &n) || total != aoei_parameter_count(c))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *root = NULL, *again = json_object();
    aoei_encoder_config c, read_back;
    aoe_error err;
    if (aoei_json_parse(&root, (const char *)data, size, "fuzz", NULL) == 0) {
        int rc = aoei_config_read(&c, root, "fuzz", &err);
        if (rc && (err.code != rc || !*err.message))
            abort();
        if (!rc) {
            check_sizes(&c);
            if (c.arch->write(&c, again) || aoei_config_read(&read_back, again, "fuzz", NULL) ||
                memcmp(&c, &read_back, sizeof c))
                abort();
        }
    }
    json_decref(root);
    json_decref(again);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return 0;
}
