/* SPDX-License-Identifier: MIT
 * Fine-tunes the default model on a table of labeled pairs (columns text1, text2, label).
 *
 *     build/examples/train PAIRS.tsv OUTPUT_DIRECTORY [STEPS]
 */
#include <aoe_train.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Receives the events of the training run, for example after every step. A result other than 0 stops the run; it can be
 * resumed from its checkpoint. */
static int on_event(void *user, const aoe_train_event *event) {
    (void)user;
    if (event->kind == AOE_TRAIN_STEP)
        printf("step %zu of %zu  loss %.4f\n", event->step, event->steps, event->loss->total);
    return 0;
}

int main(int argc, char **argv) {
    aoe_context *ctx = NULL;
    aoe_error err = {0};
    aoe_train_options o;
    aoe_train_data data;
    char model[PATH_MAX];
    if (argc < 3)
        return fprintf(stderr, "usage: train PAIRS OUTPUT [STEPS]\n"), 2;
    aoe_train_data_defaults(&data, argv[1]);
    /* the defaults are the AnglE loss, 1 epoch, batches of 32 pairs and a learning rate of 5e-5 */
    aoe_train_options_defaults(&o);
    o.data = &data;
    o.n_data = 1;
    o.args.model = model;
    o.args.output = argv[2];
    o.args.event = on_event;
    o.args.max_steps = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    const int failed = aoe_default_model(model, sizeof model, &err) || aoe_context_create(&ctx, NULL, &err) ||
                       aoe_train(ctx, &o, &err);
    if (failed)
        fprintf(stderr, "train: %s\n", err.message);
    aoe_context_destroy(ctx);
    return failed;
}
