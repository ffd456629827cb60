/* SPDX-License-Identifier: MIT
 * aoe pretrain: options and progress of masked language modeling. Evaluations and the final result go to stdout,
 * messages to stderr.
 */
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/train/training_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    cli_texts texts;
    aoe_pretrain_options p;
} options;

enum { FEW_STEPS = 100 }; /* runs with fewer steps print a note */

#define AT(field) .offset = offsetof(options, field)

static const cli_option data_table[] = {
    {.name = "data",
     .letter = 'd',
     .kind = CLI_TEXTS,
     .value = "FILE...",
     AT(texts),
     .help = "texts: .txt (one text per line) or tables with a text column, optionally .gz or .zst",
     .fallback = ""},
    CLI_OPTION_COLUMNS(AT(p.table.columns), "text=NAME", "name of the text column", "text"),
    CLI_OPTION_SKIP_BAD_ROWS(AT(p.table.skip_bad_rows)),
    {.name = "held-out",
     .kind = CLI_REAL,
     .value = "X",
     AT(p.held_out),
     .max = 0.99,
     .help = "fraction of the texts used for evaluation instead of training; 0: none"},
};

static const cli_option batch_table[] = {
    {.name = "batch-size",
     .letter = 'b',
     .kind = CLI_SIZE,
     .value = "N",
     AT(p.batch_size),
     .min = 1,
     .max = 1e6,
     .help = "sequences per step"},
    {.name = "mask-rate",
     .kind = CLI_REAL,
     .value = "X",
     AT(p.mask_rate),
     .min = 0.001,
     .max = 0.99,
     .help = "fraction of the tokens to predict; whole words are masked"},
    {.name = "no-pack",
     .kind = CLI_FLAG,
     AT(p.pack),
     .set = 0,
     .help = "make each text a sequence of its own; otherwise texts are concatenated up to --max-length"},
    {.name = "shuffle",
     .kind = CLI_SIZE,
     .value = "N",
     AT(p.shuffle),
     .min = 1,
     .max = 1 << 28,
     .help = "size of the shuffle buffer in sequences"},
};

typedef struct run {
    const options *o;
    cli_progress progress;
    aoe_train_event last; /* newest event; its path is not valid */
    size_t evaluations;   /* number of evaluations printed */
    double rate;          /* tokens per second, exponential moving average over steps */
} run;

static void print_start(run *r, const aoe_train_event *e) {
    if (r->o->p.args.max_minutes > 0)
        cli_note("%g minutes of steps of %zu sequences", r->o->p.args.max_minutes, r->o->p.batch_size);
    else
        cli_note("%zu step%s of %zu sequences", e->steps, cli_plural(e->steps), r->o->p.batch_size);
    if (e->steps < FEW_STEPS && !r->o->p.args.max_steps && r->o->p.args.max_minutes <= 0 && r->o->p.batch_size > 1)
        cli_note("the run has only %zu step%s; use a smaller --batch-size or more --epochs to learn more", e->steps,
                 cli_plural(e->steps));
    if (e->step)
        cli_note("resuming after step %zu", e->step);
    cli_progress_begin(&r->progress, "pretraining", "steps", e->step);
}

static void show_step(run *r, const aoe_train_event *e) {
    char rate[64], terms[128];
    r->rate = r->rate > 0 ? 0.9 * r->rate + 0.1 * e->tokens_per_second : e->tokens_per_second;
    snprintf(rate, sizeof rate, "%.0f tokens/s", r->rate);
    snprintf(terms, sizeof terms, "loss %.3f  lr %.1e  accuracy %.1f%%", e->loss.total, e->lr, 100 * e->accuracy);
    cli_progress_update(&r->progress, e->step, e->steps, rate, e->seconds_left, terms);
}

static void print_eval(run *r, const aoe_train_event *e) {
    const double perplexity = exp(e->loss.total);
    if (r->o->general.json) {
        cli_print_json(json_pack("{s:s,s:I,s:I,s:f,s:o,s:o,s:o,s:I,s:f}", "event", "eval", "step", (json_int_t)e->step, "steps",
                                 (json_int_t)e->steps, "epoch", e->epoch, "held_out_loss", cli_json_real(e->loss.total),
                                 "perplexity", cli_json_real(perplexity), "accuracy", cli_json_real(e->accuracy), "best_step",
                                 (json_int_t)e->best_step, "seconds", e->seconds));
        return;
    }
    cli_progress_end(&r->progress);
    r->progress.active = !cli_is_quiet();
    char seconds[32];
    cli_format_seconds(seconds, e->seconds);
    if (r->evaluations++ == 0)
        printf("%8s  %7s  %13s  %10s  %8s  %8s\n", "step", "epoch", "held-out loss", "perplexity", "accuracy", "time");
    printf("%8zu  %7.2f  %13.4f  %10.2f  %7.2f%%  %8s%s\n", e->step, e->epoch, e->loss.total, perplexity, 100 * e->accuracy,
           seconds, e->best_step == e->step ? "  best" : "");
    cli_flush_stdout();
}

static void print_done(run *r, const aoe_train_event *e) {
    const char *output = r->o->p.args.output;
    const int evaluated = isfinite(e->best_score);
    cli_progress_end(&r->progress);
    if (r->o->general.json) {
        cli_print_json(json_pack("{s:s,s:I,s:o,s:o,s:f,s:o}", "event", "done", "steps", (json_int_t)e->step, "best_step",
                                 evaluated ? json_integer((json_int_t)e->best_step) : json_null(), "held_out_loss",
                                 cli_json_real(-e->best_score), "seconds", e->seconds, "output",
                                 cli_json_text(output, strlen(output))));
        return;
    }
    char seconds[32];
    cli_format_seconds(seconds, e->seconds);
    if (evaluated)
        printf("done: %zu step%s in %s; perplexity %.2f at step %zu; the model is in %s\n", e->step, cli_plural(e->step),
               seconds, exp(-e->best_score), e->best_step, output);
    else
        printf("done: %zu step%s in %s; the model is in %s\n", e->step, cli_plural(e->step), seconds, output);
}

static int on_event(void *user, const aoe_train_event *e) {
    run *r = user;
    r->last = *e;
    r->last.path = NULL;
    switch (e->kind) {
    case AOE_TRAIN_START:
        print_start(r, e);
        break;
    case AOE_TRAIN_STEP:
        show_step(r, e);
        break;
    case AOE_TRAIN_EVAL:
        print_eval(r, e);
        break;
    case AOE_TRAIN_CHECKPOINT:
        break;
    case AOE_TRAIN_DONE:
        print_done(r, e);
        return 0;
    }
    return cli_interrupted() != 0;
}

static int run_pretrain(run *r, options *o) {
    aoe_context *ctx = NULL;
    aoe_error err;
    char *dir = cli_find_model(o->model.dir);
    int code = !dir || cli_open_context(&ctx, &o->general);
    if (!code) {
        aoe_training_args *c = &o->p.args;
        c->model = dir;
        c->model_options = o->model.o;
        c->batch_tokens = o->model.batch_tokens;
        c->seed = o->general.seed;
        c->event = on_event;
        c->event_user = r;
        o->p.texts = o->texts.item;
        o->p.n_texts = o->texts.n;
        cli_watch_interrupts();
        code = aoe_pretrain(ctx, &o->p, &err);
        cli_progress_end(&r->progress);
        if (code)
            code = code == AOE_ECANCELLED && cli_interrupted() ? cli_report_interrupt(&r->last) : cli_fail("%s", err.message);
    }
    aoe_context_destroy(ctx);
    free(dir);
    return code;
}

static int check_options(const options *o) {
    if (!o->texts.n)
        return cli_usage("pretrain", "missing training texts: -d FILE...");
    if (!o->p.args.output)
        return cli_usage("pretrain", "missing output directory: -o DIR");
    if (o->p.held_out <= 0 && (o->p.args.eval_every || o->p.args.patience))
        return cli_usage("pretrain", "--eval-every and --patience require held-out texts, but --held-out is 0");
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    aoe_pretrain_options_defaults(&o.p);
    const cli_group groups[] = {
        CLI_GROUP("data", data_table, &o),
        CLI_GROUP("input files", cli_input_table, &o.p.table),

        CLI_GROUP("output", cli_output_table, &o.p.args),
        CLI_GROUP("batches", batch_table, &o),
        CLI_GROUP("schedule", cli_schedule_table, &o.p.args),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "pretrain",
        .operands = "",
        .about = "Trains a model with masked language modeling (whole words) on plain text, starting from random\n"
                 "weights (aoe init) or from a checkpoint. aoe train fine-tunes the result. The output directory\n"
                 "contains the model with the lowest held-out loss, train-log.jsonl and the newest checkpoint. Ctrl-C\n"
                 "saves a checkpoint and stops; the same command with --resume continues.\n",
        .examples = "  aoe pretrain -m start -d corpus.txt.zst -o base --max-length 128\n"
                    "  aoe pretrain -m start -d books.txt wiki.tsv --columns text=sentence --no-pack -o base --epochs 3\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO) {
        run r = {.o = &o};
        cli_set_quiet(o.general.quiet);
        code = run_pretrain(&r, &o);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_pretrain_command = {
    .name = "pretrain",
    .summary = "train a model on plain text with masked language modeling",
    .run = run_command,
};
