/* SPDX-License-Identifier: MIT
 * Sizes of well-known encoders by name. Names only: the weights are whatever
 * the caller makes of them.
 */
#include <string.h>

#include "aoe.h"
#include "base/error.h"

#define VOCAB     30522 /* of bert-base-uncased */
#define POSITIONS 512

static const struct {
    const char *name;
    aoe_shape shape; /* hidden, layers, heads, intermediate, vocab, positions */
} shapes[] = {{"bert-base", {768, 12, 12, 3072, VOCAB, POSITIONS}},  {"bert-large", {1024, 24, 16, 4096, VOCAB, POSITIONS}},
              {"bert-small", {512, 4, 8, 2048, VOCAB, POSITIONS}},   {"bert-mini", {256, 4, 4, 1024, VOCAB, POSITIONS}},
              {"bert-tiny", {128, 2, 2, 512, VOCAB, POSITIONS}},     {"minilm-l6", {384, 6, 12, 1536, VOCAB, POSITIONS}},
              {"minilm-l12", {384, 12, 12, 1536, VOCAB, POSITIONS}}, {"aoe-mini", {256, 3, 4, 1024, 12000, 128}}};

int aoe_shape_named(aoe_shape *s, const char *name, aoe_error *err) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, name)) {
            *s = shapes[i].shape;
            return 0;
        }
    return aoei_fail(err, AOE_EARG, "shape '%s' is unknown; use one of: %s", name, aoe_shape_names());
}

const char *aoe_shape_names(void) {
    return "bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini";
}
