/* SPDX-License-Identifier: MIT
 * Writes adapter directories for tests; see tiny_adapters.h.
 */
#include "aoe_train.h"
#include "tiny_adapters.h"

#include <stdlib.h>

#include "base/random.h"
#include "encoder/slots.h"
#include "model/open.h"
#include "model/save.h"
#include "support.h"

void tiny_adapters_fill(aoe_model *m, uint32_t seed) {
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot d;
        aoei_rng random;
        aoei_slot_describe(&m->config, i, &d);
        if (!d.adapter || d.absent)
            continue;
        float *values = malloc(d.rows * d.cols * sizeof *values);
        assert_non_null(values);
        aoei_rng_init(&random, seed, AOEI_STREAM_TEST, aoei_slot_stream(&m->config, i));
        for (size_t k = 0; k < d.rows * d.cols; k++)
            values[k] = (float)(0.3 * aoei_rng_normal(&random));
        aoei_tensor_write(m->ctx, m->weights[i], values);
        free(values);
    }
}

void tiny_adapters_write(aoe_context *ctx, const char *dir, const char *base, size_t r, const char *targets) {
    aoe_lora lora;
    aoe_model *m;
    aoe_error err = {0};
    aoe_lora_defaults(&lora);
    lora.r = r;
    lora.alpha = 8;
    lora.targets = targets;
    if (aoei_model_open_for(&m, ctx, base, NULL, &(aoei_open_mode){.lora = &lora, .seed = 1}, &err))
        fail_msg("%s", err.message);
    tiny_adapters_fill(m, 3);
    if (aoei_model_save(m, dir, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
}
