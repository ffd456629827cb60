/* SPDX-License-Identifier: MIT
 * Option tables that `aoe train` and `aoe pretrain` have in common.
 */
#include "cli/train/training_args.h"

#include "aoe_train.h"
#include "base/error.h"
#include "base/options.h"
#include "cli/common/option_rows.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) .offset = offsetof(aoe_training_args, field)

const aoei_option cli_output_table[] = {
    CLI_OPTION_OUTPUT(AT(output), "DIR", "output directory of the trained model"),
    {.name = "resume",
     .kind = AOEI_OPTION_FLAG,
     AT(resume),
     .set = 1,
     .excludes = "force",
     .help = "resume from the newest checkpoint in the output directory"},
    CLI_OPTION_FORCE(AT(force)),
};

/* Parses a list of changes of the learning rate, such as "500:8e-6,1000:6e-6". The target is the field lr_steps; the
 * number of changes is in the field n_lr_steps after it. */
static int parse_lr_steps(void *target, const char *text, aoe_error *err) {
    aoe_lr_step *steps = target;
    size_t n = 0;
    for (const char *s = text; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char *end = NULL, *last = NULL;
        const unsigned long step = strtoul(s, &end, 10);
        const double lr = *end == ':' ? strtod(end + 1, &last) : 0;
        if (!(*s >= '0' && *s <= '9') || *end != ':' || last == end + 1 || (*last && *last != ',') ||
            n == AOE_MAX_LR_STEPS)
            return aoei_fail(err, AOE_EARG, "'%s' is not a list of at most %d changes STEP:LR, separated by commas",
                             text, AOE_MAX_LR_STEPS);
        steps[n++] = (aoe_lr_step){.step = step, .lr = lr};
    }
    *(size_t *)(void *)((char *)target + offsetof(aoe_training_args, n_lr_steps) -
                        offsetof(aoe_training_args, lr_steps)) = n;
    return 0;
}

/* Returns the dropout probability that the method sets, or NULL if it is that of config.json. */
static const char *dropout_text(const void *target) {
    static char text[32];
    const double p = *(const double *)target;
    snprintf(text, sizeof text, "%g", p);
    return aoei_is_auto(p) ? NULL : text;
}

const aoei_option cli_schedule_table[] = {
    {.name = "epochs",
     .letter = 'e',
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(epochs),
     .min = 1,
     .max = 1e6,
     .help = "number of passes over the training data; --max-steps and --max-minutes override this option"},
    {.name = "max-steps",
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(max_steps),
     .min = 1,
     .help = "train for N optimizer steps instead of --epochs",
     .fallback = "all steps of --epochs"},
    {.name = "max-minutes",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(max_minutes),
     .min = 0.001,
     .max = 1e6,
     .help = "train for X minutes instead of --epochs; the learning rate then depends on the elapsed "
             "time, so two runs do not give bit-identical results",
     .fallback = "no time limit"},
    {.name = "recompute",
     .kind = AOEI_OPTION_FLAG,
     AT(recompute),
     .set = 1,
     .help =
         "gradient checkpointing: recompute activations in the backward pass, which needs less memory and about 1.3 "
         "times the computation"},
    {.name = "lr", .kind = AOEI_OPTION_REAL, .value = "X", AT(lr), .max = 1e3, .help = "peak learning rate"},
    {.name = "warmup",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(warmup),
     .help = "length of the linear warmup: a number of steps, or a fraction of all steps if X is below"
             " 1; after the warmup, the learning rate follows --schedule"},
    {.name = "schedule",
     .kind = AOEI_OPTION_CHOICE,
     .value = "NAME",
     AT(schedule),
     .choices = AOEI_CHOICES("linear", "constant"),
     .noun = "schedule",
     .help = "learning rate after the warmup: linear (decays linearly to 0) or constant"},
    {.name = "lr-steps",
     .kind = AOEI_OPTION_NAMED,
     .value = "STEP:LR,...",
     AT(lr_steps),
     .parse = parse_lr_steps,
     .help = "constant schedule: from step STEP on, the learning rate is LR, for example 500:8e-6,1000:6e-6",
     .fallback = "no changes; ct without --lr and --schedule: 500:8e-6,1000:6e-6,1500:4e-6,2000:2e-6"},
    {.name = "lr-epoch-factor",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(lr_epoch_factor),
     .min = 1e-9,
     .max = 1,
     .help = "constant schedule: multiply the learning rate by X at the start of each epoch after the first"},
    {.name = "lr-divide",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(lr_divide),
     .min = 1,
     .max = 1e9,
     .help = "constant schedule: divide the learning rate by X after each evaluation without improvement"},
    {.name = "min-lr",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(min_lr),
     .max = 1e3,
     .help = "stop when --lr-divide has reduced the learning rate below X"},
    {.name = "optimizer",
     .kind = AOEI_OPTION_CHOICE,
     .value = "NAME",
     AT(optimizer),
     .choices = AOEI_CHOICES("adamw", "rmsprop", "sgd"),
     .noun = "optimizer",
     .help = "optimizer: adamw, rmsprop (smoothing constant 0.9) or sgd (without momentum); weight decay is decoupled "
             "for all of "
             "them"},
    {.name = "optimizer-eps",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(optimizer_eps),
     .min = 1e-30,
     .max = 1,
     .help = "epsilon of AdamW and RMSprop"},
    {.name = "no-bias-correction",
     .kind = AOEI_OPTION_FLAG,
     AT(no_bias_correction),
     .set = 1,
     .help = "AdamW: use the moments without bias correction"},
    {.name = "decay-all",
     .kind = AOEI_OPTION_FLAG,
     AT(decay_all),
     .set = 1,
     .help = "apply the weight decay also to biases and normalization weights"},
    {.name = "weight-decay",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(weight_decay),
     .help = "weight decay of all weight matrices; biases and normalization weights have no weight decay without "
             "--decay-all"},
    {.name = "max-grad-norm",
     .kind = AOEI_OPTION_REAL,
     .value = "X",
     AT(max_grad_norm),
     .help = "clip gradients to norm X; 0 disables clipping"},
    {.name = "dropout",
     .kind = AOEI_OPTION_REAL,
     .value = "P",
     AT(dropout),
     .max = 0.99,
     .help = "dropout probability",
     .name_of = dropout_text,
     .fallback = "from config.json"},
    {.name = "save-every",
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(save_every),
     .min = 1,
     .help = "number of steps between checkpoints",
     .fallback = "one checkpoint per epoch"},
    {.name = "keep-checkpoints",
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(keep_checkpoints),
     .min = 1,
     .help = "keep only the N newest checkpoints"},
    {.name = "eval-every",
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(eval_every),
     .min = 1,
     .help = "number of steps between evaluations",
     .fallback = "one evaluation per epoch"},
    {.name = "patience",
     .kind = AOEI_OPTION_SIZE,
     .value = "N",
     AT(patience),
     .min = 1,
     .help = "early stopping: stop after N consecutive evaluations without improvement",
     .fallback = "no early stopping"},
};

int cli_training_args_fill(aoe_training_args *a, char **dir, const cli_model_options *m, const cli_general *g) {
    *dir = cli_find_model(m->dir);
    a->model = *dir;
    a->model_options = m->o;
    a->batch_tokens = m->batch_tokens;
    a->seed = g->seed;
    return !*dir;
}
