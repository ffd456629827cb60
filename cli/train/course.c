/* SPDX-License-Identifier: MIT
 * Options and interruption of the commands that train: see course.h.
 */
#include "cli/train/course.h"

#include <signal.h>

#include "aoe_train.h"
#include "cli/common/output.h"

#define AT(field) .offset = offsetof(aoe_training_args, field)

const cli_option cli_output_table[] = {
    {.name = "output", .letter = 'o', .kind = CLI_TEXT, .value = "DIR", AT(output), .help = "directory of the trained model"},
    {.name = "resume",
     .kind = CLI_FLAG,
     AT(resume),
     .set = 1,
     .excludes = "force",
     .help = "go on from the newest checkpoint in the output directory"},
    {.name = "force", .kind = CLI_FLAG, AT(force), .set = 1, .help = "replace a model in the output directory"},
};

const cli_option cli_course_table[] = {
    {.name = "epochs",
     .letter = 'e',
     .kind = CLI_SIZE,
     .value = "N",
     AT(epochs),
     .min = 1,
     .max = 1e6,
     .help = "passes over the data"},
    {.name = "max-steps",
     .kind = CLI_SIZE,
     .value = "N",
     AT(max_steps),
     .min = 1,
     .help = "end after N steps",
     .fallback = "epochs decide"},
    {.name = "max-minutes",
     .kind = CLI_REAL,
     .value = "X",
     AT(max_minutes),
     .min = 0.001,
     .max = 1e6,
     .help =
         "end after the step in which X minutes are over, whatever --epochs says; the learning rate follows the time, so that no "
         "two runs are the same to the bit",
     .fallback = "steps decide"},
    {.name = "recompute",
     .kind = CLI_FLAG,
     AT(recompute),
     .set = 1,
     .help = "less memory: a layer's activations are computed again for its gradient (about 1.3 times the work)"},
    {.name = "lr", .kind = CLI_REAL, .value = "X", AT(lr), .max = 1e3, .help = "highest learning rate"},
    {.name = "warmup",
     .kind = CLI_REAL,
     .value = "X",
     AT(warmup),
     .help = "steps until it is reached; below 1 a share of all; it falls to 0 after"},
    {.name = "weight-decay", .kind = CLI_REAL, .value = "X", AT(weight_decay), .help = "on matrices, not on biases and norms"},
    {.name = "max-grad-norm",
     .kind = CLI_REAL,
     .value = "X",
     AT(max_grad_norm),
     .help = "gradients are clipped to this norm; 0: never"},
    {.name = "dropout",
     .kind = CLI_REAL,
     .value = "P",
     AT(dropout),
     .max = 0.99,
     .help = "dropout",
     .fallback = "what config.json says"},
    {.name = "save-every",
     .kind = CLI_SIZE,
     .value = "N",
     AT(save_every),
     .min = 1,
     .help = "steps between checkpoints",
     .fallback = "each epoch's end"},
    {.name = "keep-checkpoints",
     .kind = CLI_SIZE,
     .value = "N",
     AT(keep_checkpoints),
     .min = 1,
     .help = "newest checkpoints kept"},
    {.name = "eval-every",
     .kind = CLI_SIZE,
     .value = "N",
     AT(eval_every),
     .min = 1,
     .help = "steps between evaluations",
     .fallback = "each epoch's end"},
    {.name = "patience",
     .kind = CLI_SIZE,
     .value = "N",
     AT(patience),
     .min = 1,
     .help = "end after N evaluations without a better one",
     .fallback = "never"},
};

static volatile sig_atomic_t interrupted; /* the signal that asked for the end; 0: none */

static void on_signal(int number) {
    interrupted = number;
    signal(number, SIG_DFL); /* the second one ends the program at once */
}

/* A signal the caller of the program ignores (a job in the background) stays ignored. */
static void watch_signal(int number) {
    struct sigaction old, action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_watch_interrupts(void) {
    watch_signal(SIGINT);
    watch_signal(SIGTERM);
    watch_signal(SIGHUP);
}

int cli_interrupted(void) {
    return (int)interrupted;
}

int cli_report_interrupt(const aoe_train_event *last) {
    cli_message("aoe: stopped after step %zu of %zu; the same command with --resume goes on from there", last->step,
                last->steps);
    return 128 + (int)interrupted;
}
