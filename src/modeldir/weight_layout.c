/* SPDX-License-Identifier: MIT
 * Finds the layout of a weight file and the tensors with the names of this layout.
 */
#include "modeldir/weight_layout.h"

#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"

const aoei_st_tensor *aoei_weight_find(const aoei_safetensors *f, const char *prefix, const char *name) {
    static const struct {
        const char *name, *other;
    } alternatives[] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                        {"LayerNorm.bias", "LayerNorm.beta"},
                        {"predictions.bias", "predictions.decoder.bias"},
                        {"lm_head.bias", "lm_head.decoder.bias"}};
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const aoei_st_tensor *t = aoei_safetensors_find(f, full);
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives && !t; i++) {
        size_t len = strlen(full), tail = strlen(alternatives[i].name);
        if (len >= tail && !strcmp(full + len - tail, alternatives[i].name)) {
            snprintf(full + len - tail, sizeof full - (len - tail), "%s", alternatives[i].other);
            return aoei_safetensors_find(f, full);
        }
    }
    return t;
}

/* Returns 1 if the file contains the tensor of the slot with one of the prefixes of the layout, or if the layout has no
 * such tensor. */
static int has_slot(const aoei_safetensors *weights, const aoei_encoder_config *c, size_t index) {
    aoei_slot slot;
    aoei_slot_describe(c, index, &slot);
    if (!*slot.name)
        return 1;
    for (const char *const *p = c->arch->prefixes; *p; p++)
        if (aoei_weight_find(weights, *p, slot.name))
            return 1;
    return 0;
}

void aoei_weight_layout_find(aoei_encoder_config *c, const aoei_safetensors *weights) {
    for (const aoei_arch *const *layout = c->arch->layouts; layout && *layout; layout++) {
        aoei_encoder_config other = *c;
        other.arch = *layout;
        if (has_slot(weights, &other, AOEI_W_WORD) && has_slot(weights, &other, aoei_layer_slot(0, AOEI_LW_Q)) &&
            has_slot(weights, &other, aoei_layer_slot(0, AOEI_LW_UP))) {
            c->arch = *layout;
            return;
        }
    }
}
