/* SPDX-License-Identifier: MIT
 * Creates a tiny masked language model; see tiny_mlm.h.
 */
#include "tiny_mlm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_train.h"
#include "support.h"
#include "tiny_model.h"

enum { TEXTS = 40 };

char *tiny_mlm(const char *dir, const char *name, const char *start, unsigned steps) {
    char *all = calloc(TEXTS, 256), *path, *out = test_path(dir, name);
    aoe_context *ctx = tiny_context(1);
    aoe_pretrain_options o;
    aoe_error err = {0};
    assert_non_null(all);
    for (uint32_t i = 0; i < TEXTS; i++)
        sprintf(all + strlen(all), "%s\n", tiny_text(i));
    path = test_write_text(dir, "mlm.txt", all);
    const char *files[] = {path};
    aoe_pretrain_options_defaults(&o);
    o.args.model = start;
    o.args.output = out;
    o.args.max_steps = steps;
    o.args.lr = 1e-2;
    o.args.model_options.dtype = AOE_DTYPE_F32;
    o.texts = files;
    o.n_texts = 1;
    o.held_out = 0;
    o.batch_size = 4;
    if (aoe_pretrain(ctx, &o, &err))
        fail_msg("%s", err.message);
    aoe_context_destroy(ctx);
    free(path);
    free(all);
    return out;
}
