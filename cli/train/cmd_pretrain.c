/* SPDX-License-Identifier: MIT
 * Implements `aoe pretrain` (masked language modeling): its options, notes and metrics. training_run.c shows the
 * progress.
 */
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/train/distributed.h"
#include "cli/train/training_args.h"
#include "cli/train/training_run.h"
#include "options/pretrain.h"
#include "options/training.h"

#include <math.h>
#include <stdlib.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoei_text_list texts;
    aoe_pretrain_options p;
    cli_distributed distributed;
} options;

enum { FEW_STEPS = 100 }; /* if a run has fewer steps, a note is printed */

#define AT(field) .offset = offsetof(options, field)

static const aoei_option data_table[] = {
    {.name = "data",
     .letter = 'd',
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     AT(texts),
     .help = "texts: .txt files (one text per line) or tables with a text column, optionally compressed (.gz or .zst)",
     .fallback = ""},
};

/* Prints notes about the number of steps. */
static void describe(const void *own, const aoe_train_event *e) {
    const options *o = own;
    const aoe_pretrain_options *p = &o->p;
    if (p->args.max_minutes > 0)
        cli_note("%g minutes, %zu sequences per step", p->args.max_minutes, p->batch_size);
    else
        cli_note("%zu step%s of %zu sequences", e->steps, cli_plural(e->steps), p->batch_size);
    if (e->steps < FEW_STEPS && !p->args.max_steps && p->args.max_minutes <= 0 && p->batch_size > 1)
        cli_note("the run has only %zu step%s; use a smaller --batch-size or more --epochs to learn more", e->steps,
                 cli_plural(e->steps));
}

static void format_step(const aoe_train_event *e, char *out, size_t size) {
    snprintf(out, size, "  accuracy %.1f%%", 100 * e->accuracy);
}

static void format_metrics(const void *own, const aoe_train_event *e, char *out, size_t size) {
    (void)own;
    snprintf(out, size, "%13.4f  %10.2f  %7.2f%%", e->loss->total, exp(e->loss->total), 100 * e->accuracy);
}

static json_t *metrics(const void *own, const aoe_train_event *e) {
    (void)own;
    return json_pack("{s:o,s:o,s:o}", "held_out_loss", cli_json_real(e->loss->total), "perplexity",
                     cli_json_real(exp(e->loss->total)), "accuracy", cli_json_real(e->accuracy));
}

static void format_score(char out[32], double score) {
    snprintf(out, 32, "%.2f", exp(-score));
}

static double json_score(double score) {
    return -score;
}

static int run(void *own, aoe_context *ctx, aoe_error *err) {
    options *o = own;
    o->p.texts = o->texts.item;
    o->p.n_texts = o->texts.n;
    return aoe_pretrain(ctx, &o->p, err);
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
        CLI_LIBRARY_GROUP(&aoei_pretrain_data_rows, &o.p),
        CLI_TEXT_INPUT_GROUP(&o.p.table),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_OUTPUT], &o.p.args),
        CLI_GROUP(aoei_train_groups[AOEI_GROUP_OUTPUT].title, cli_distributed_table, &o.distributed),
        CLI_LIBRARY_GROUP(&aoei_pretrain_batches_rows, &o.p),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_SCHEDULE], &o.p.args),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "pretrain",
        .operands = "",
        .operand_note = "give training files with -d FILE",
        .about = "Trains the model of -m with masked language modeling on plain text. This model may have random\n"
                 "weights (aoe init) or pretrained weights. The trained model can then be fine-tuned with aoe train.\n"
                 "The output directory contains train-log.jsonl, the newest checkpoint, and the model with the lowest\n"
                 "loss on the texts that --held-out selects for evaluation (with --held-out 0, the model after the\n"
                 "last step). Ctrl-C saves a checkpoint and stops the run. To continue the run, add --resume to the\n"
                 "same command.\n",
        .examples =
            "  aoe pretrain -m start -d corpus.txt.zst -o base --max-length 128\n"
            "  aoe pretrain -m start -d books.txt wiki.tsv --columns text=sentence --no-pack -o base --epochs 3\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO) {
        cli_training t = {
            .doing = "pretraining",
            .columns = "held-out loss  perplexity  accuracy",
            .own = &o,
            .describe = describe,
            .format_step = format_step,
            .format_metrics = format_metrics,
            .metrics = metrics,
            .metric = "perplexity",
            .format_score = format_score,
            .key = "held_out_loss",
            .json_score = json_score,
            .run = run,
        };
        char *model = NULL;
        cli_set_quiet(o.general.quiet);
        code = cli_distributed_open(&o.distributed, &o.p.args, o.general.threads);
        if (!code) {
            cli_note_parent(o.p.args.output);
            code = cli_training_args_fill(&o.p.args, &model, &o.model, &o.general)
                       ? 1
                       : cli_training_run(&t, &o.p.args, &o.general);
        }
        code = cli_distributed_close(&o.distributed, code, t.agreed);
        free(model);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_pretrain_command = {
    .name = "pretrain",
    .summary = "train a model on plain text with masked language modeling",
    .run = run_command,
};
