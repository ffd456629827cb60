/* SPDX-License-Identifier: MIT
 * aoe_init: gives the texts of data files to the vocabulary trainer; the model
 * itself is made in model/. Of a table every column that has a recognised name
 * of a text is read, so that any training or evaluation file serves.
 */
#include "model/init.h"

static int feed(void *trainer, aoe_text text, aoe_error *err) {
    return aoei_wordpiece_trainer_add(trainer, text.data, text.len, err);
}

static int feed_files(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    const aoe_init_options *o = user;
    int rc = 0;
    for (size_t i = 0; i < o->n_texts && !rc; i++)
        rc = aoe_texts_read(o->texts[i], NULL, feed, trainer, err);
    return rc;
}

void aoe_init_options_defaults(aoe_init_options *o) {
    *o = (aoe_init_options){.vocab_size = 8000, .lowercase = 1, .dropout = 0.1, .seed = 42};
    aoe_shape_named(&o->shape, "bert-mini", NULL);
    o->shape.vocab = 0;
}

int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoe_init_result *result, aoe_error *err) {
    aoe_init_options defaults;
    aoe_init_options_defaults(&defaults);
    o = o ? o : &defaults;
    return aoei_init_with(ctx, dir, o, feed_files, (void *)(uintptr_t)o, result, err);
}
