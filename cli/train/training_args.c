/* SPDX-License-Identifier: MIT
 * Option tables that `aoe train` and `aoe pretrain` have in common.
 */
#include "cli/train/training_args.h"

#include "aoe_train.h"
#include "cli/common/option_rows.h"

#define AT(field) .offset = offsetof(aoe_training_args, field)

const cli_option cli_output_table[] = {
    CLI_OPTION_OUTPUT(AT(output), "DIR", "output directory of the trained model"),
    {.name = "resume",
     .kind = CLI_FLAG,
     AT(resume),
     .set = 1,
     .excludes = "force",
     .help = "resume from the newest checkpoint in the output directory"},
    CLI_OPTION_FORCE(AT(force)),
};

const cli_option cli_schedule_table[] = {
    {.name = "epochs",
     .letter = 'e',
     .kind = CLI_SIZE,
     .value = "N",
     AT(epochs),
     .min = 1,
     .max = 1e6,
     .help = "number of passes over the training data"},
    {.name = "max-steps",
     .kind = CLI_SIZE,
     .value = "N",
     AT(max_steps),
     .min = 1,
     .help = "stop after N optimizer steps",
     .fallback = "all steps of --epochs"},
    {.name = "max-minutes",
     .kind = CLI_REAL,
     .value = "X",
     AT(max_minutes),
     .min = 0.001,
     .max = 1e6,
     .help = "train for X minutes instead of --epochs; the learning rate then depends on the elapsed "
             "time, so two runs do not give bit-identical results",
     .fallback = "no time limit"},
    {.name = "recompute",
     .kind = CLI_FLAG,
     AT(recompute),
     .set = 1,
     .help = "gradient checkpointing: recompute activations in the backward pass, which needs less memory and about 1.3 "
             "times the computation"},
    {.name = "lr", .kind = CLI_REAL, .value = "X", AT(lr), .max = 1e3, .help = "peak learning rate"},
    {.name = "warmup",
     .kind = CLI_REAL,
     .value = "X",
     AT(warmup),
     .help = "length of the linear warmup: a number of steps, or a fraction of all steps if X is below"
             " 1; after the warmup, the learning rate decays linearly to 0"},
    {.name = "weight-decay",
     .kind = CLI_REAL,
     .value = "X",
     AT(weight_decay),
     .help = "AdamW weight decay of all weight matrices; biases and normalization weights have no "
             "weight decay"},
    {.name = "max-grad-norm",
     .kind = CLI_REAL,
     .value = "X",
     AT(max_grad_norm),
     .help = "clip gradients to norm X; 0 disables clipping"},
    {.name = "dropout",
     .kind = CLI_REAL,
     .value = "P",
     AT(dropout),
     .max = 0.99,
     .help = "dropout probability",
     .fallback = "from config.json"},
    {.name = "save-every",
     .kind = CLI_SIZE,
     .value = "N",
     AT(save_every),
     .min = 1,
     .help = "number of steps between checkpoints",
     .fallback = "one checkpoint per epoch"},
    {.name = "keep-checkpoints",
     .kind = CLI_SIZE,
     .value = "N",
     AT(keep_checkpoints),
     .min = 1,
     .help = "keep only the N newest checkpoints"},
    {.name = "eval-every",
     .kind = CLI_SIZE,
     .value = "N",
     AT(eval_every),
     .min = 1,
     .help = "number of steps between evaluations",
     .fallback = "one evaluation per epoch"},
    {.name = "patience",
     .kind = CLI_SIZE,
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
