/* SPDX-License-Identifier: MIT
 * aoe pretrain: options and progress of masked-language-model pretraining; the run itself is the library's.
 * Results (evaluations, the end) go to stdout, the rest to stderr.
 */
#include "aoe_train.h"
#include "cli/commands.h"
#include "cli/common/common.h"
#include "cli/train/course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    cli_texts texts;
    aoe_pretrain_options p;
} options;

enum { FEW_STEPS = 100 }; /* below, a word about it */

#define AT(field) .offset = offsetof(options, field)

static const cli_option data_table[] = {
    {.name = "data",
     .letter = 'd',
     .kind = CLI_TEXTS,
     .value = "FILE...",
     AT(texts),
     .help = "texts: .txt (one a line) or tables with a column of texts; also .gz and .zst",
     .fallback = ""},
    {.name = "columns",
     .kind = CLI_TEXT,
     .value = "text=NAME",
     AT(p.table.columns),
     .help = "the column of texts",
     .fallback = "text"},
    {.name = "skip-bad-rows",
     .kind = CLI_FLAG,
     AT(p.table.skip_bad_rows),
     .set = 1,
     .help = "count and report rows that cannot be read instead of failing"},
    {.name = "held-out",
     .kind = CLI_REAL,
     .value = "X",
     AT(p.held_out),
     .max = 0.99,
     .help = "share of the texts that is evaluated on and not trained on; 0: none"},
};

static const cli_option batch_table[] = {
    {.name = "batch-size",
     .letter = 'b',
     .kind = CLI_SIZE,
     .value = "N",
     AT(p.batch_size),
     .min = 1,
     .max = 1e6,
     .help = "sequences of a step"},
    {.name = "mask-rate",
     .kind = CLI_REAL,
     .value = "X",
     AT(p.mask_rate),
     .min = 0.001,
     .max = 0.99,
     .help = "share of the tokens to be predicted, in whole words"},
    {.name = "no-pack",
     .kind = CLI_FLAG,
     AT(p.pack),
     .set = 0,
     .help = "every text is a sequence of its own; else they are joined up to --max-length"},
    {.name = "shuffle",
     .kind = CLI_SIZE,
     .value = "N",
     AT(p.shuffle),
     .min = 1,
     .max = 1 << 28,
     .help = "sequences in the shuffle buffer"},
};

typedef struct run {
    const options *o;
    cli_progress progress;
    aoe_train_event last; /* newest event; path is not valid */
    size_t evaluations;   /* printed so far */
    double rate;          /* tokens a second, smoothed over some steps */
} run;

static void print_start(run *r, const aoe_train_event *e) {
    if (r->o->p.args.max_minutes > 0)
        cli_note("%g minutes of steps of %zu sequences", r->o->p.args.max_minutes, r->o->p.batch_size);
    else
        cli_note("%zu step%s of %zu sequences", e->steps, cli_plural(e->steps), r->o->p.batch_size);
    if (e->steps < FEW_STEPS && !r->o->p.args.max_steps && r->o->p.args.max_minutes <= 0 && r->o->p.batch_size > 1)
        cli_note("so few steps (%zu) teach little; a smaller --batch-size, or more --epochs, gives more", e->steps);
    if (e->step)
        cli_note("going on after step %zu", e->step);
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
        return cli_usage("pretrain", "--eval-every and --patience need held-out texts; --held-out is 0");
    return CLI_GO;
}

int cli_pretrain(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    aoe_pretrain_options_defaults(&o.p);
    const cli_group groups[] = {
        CLI_GROUP("data", data_table, &o),
        CLI_GROUP("output", cli_output_table, &o.p.args),
        CLI_GROUP("batches", batch_table, &o),
        CLI_GROUP("course", cli_course_table, &o.p.args),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "pretrain",
        .operands = "",
        .about = "Trains a model to predict masked words of plain text (masked language modelling, whole words),\n"
                 "from random weights (aoe init) or going on from a checkpoint. aoe train fine-tunes the result.\n"
                 "The output directory holds the model with the lowest held-out loss; beside it train-log.jsonl and\n"
                 "the newest checkpoint. Ctrl-C writes a checkpoint and stops; the same command with --resume goes on.\n",
        .examples = "  aoe pretrain -m start -d corpus.txt.zst -o base --max-length 128\n"
                    "  aoe pretrain -m start -d books.txt wiki.tsv --columns text=sentence --no-pack -o base --epochs 3\n",
        .groups = groups,
        .n_groups = 6,
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
