/* SPDX-License-Identifier: MIT
 * Computes the learning rate of each step, and checks the options of the optimizer.
 */
#include "train/schedule.h"

#include <math.h>

#include "base/error.h"

/* Checks the changes of the learning rate. */
static int check_steps(const aoe_training_args *o, aoe_error *err) {
    if (o->n_lr_steps > AOE_MAX_LR_STEPS)
        return aoei_fail(err, AOE_EARG, "options.lr_steps has %zu changes; give at most %d", o->n_lr_steps,
                         AOE_MAX_LR_STEPS);
    for (size_t i = 0; i < o->n_lr_steps; i++)
        if (!(o->lr_steps[i].lr >= 0 && isfinite(o->lr_steps[i].lr)) ||
            (i && o->lr_steps[i].step <= o->lr_steps[i - 1].step))
            return aoei_fail(
                err, AOE_EARG,
                "options.lr_steps: change %zu, to %g from step %zu on, is invalid; give ascending steps, and "
                "finite learning rates of at least 0",
                i + 1, o->lr_steps[i].lr, o->lr_steps[i].step);
    return AOE_OK;
}

/* Checks the options that only the constant schedule uses. */
static int check_constant(const aoe_training_args *o, aoe_error *err) {
    const int changes = o->n_lr_steps || fabs(o->lr_epoch_factor - 1) > 0 || fabs(o->lr_divide - 1) > 0;
    if (o->schedule == AOE_SCHEDULE_LINEAR && changes)
        return aoei_fail(
            err, AOE_EARG,
            "options.lr_steps, options.lr_epoch_factor and options.lr_divide change a learning rate that does not "
            "decay by itself; set options.schedule to constant");
    if (o->schedule == AOE_SCHEDULE_CONSTANT && o->max_minutes > 0)
        return aoei_fail(
            err, AOE_EARG,
            "options.max_minutes requires the linear schedule; leave out options.schedule or options.max_minutes");
    return check_steps(o, err);
}

int aoei_schedule_check(const aoe_training_args *o, aoe_error *err) {
    if (o->no_bias_correction && o->optimizer != AOE_OPTIMIZER_ADAMW)
        return aoei_fail(err, AOE_EARG, "options.no_bias_correction: only AdamW has a bias correction; leave it out");
    return check_constant(o, err);
}

aoei_optimizer_kind aoei_optimizer_of(aoe_optimizer option) {
    return option == AOE_OPTIMIZER_RMSPROP ? AOEI_RMSPROP : option == AOE_OPTIMIZER_SGD ? AOEI_SGD : AOEI_ADAMW;
}

/* Returns the learning rate of the constant schedule. */
static double constant_rate(const aoei_trainer *t, uint64_t step) {
    const aoe_training_args *o = t->o;
    const uint64_t epochs = step / t->steps_per_epoch;
    double lr = o->lr;
    for (size_t i = 0; i < o->n_lr_steps && o->lr_steps[i].step <= step; i++)
        lr = o->lr_steps[i].lr;
    return lr * pow(o->lr_epoch_factor, (double)epochs) / pow(o->lr_divide, (double)t->progress.divisions);
}

double aoei_learning_rate(const aoei_trainer *t, uint64_t step) {
    const aoe_training_args *o = t->o;
    if (o->max_minutes > 0) { /* linear in the training time instead of the number of steps */
        const double fraction = fmin(t->progress.seconds / (60 * o->max_minutes), 1), warmup = o->warmup;
        return o->lr * (fraction < warmup ? fraction / warmup : (1 - fraction) / (1 - warmup));
    }
    if (o->schedule == AOE_SCHEDULE_CONSTANT)
        return constant_rate(t, step) * (step < t->warmup_steps ? (double)(step + 1) / (double)t->warmup_steps : 1);
    if (step < t->warmup_steps)
        return o->lr * (double)(step + 1) / (double)t->warmup_steps;
    if (step >= t->total_steps)
        return 0;
    /* one step after the last step, the learning rate would be 0 */
    return o->lr * (double)(t->total_steps - step) / (double)(t->total_steps - t->warmup_steps);
}

int aoei_schedule_is_finished(const aoei_trainer *t) {
    return t->progress.divisions && t->o->lr_divide > 1 && aoei_learning_rate(t, t->progress.step) < t->o->min_lr;
}
