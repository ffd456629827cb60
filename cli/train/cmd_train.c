/* SPDX-License-Identifier: MIT
 * Implements `aoe train` (fine-tuning): its notes and metrics. train_options.c parses the options, and training_run.c
 * shows the progress.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/train/distributed.h"
#include "cli/train/train_options.h"
#include "cli/train/training_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    cli_train_config o;
    aoe_dev_set *dev; /* dev set, owned; NULL if --dev was not given */
} job;

/* Returns 1 if the run trains a cross-encoder with several outputs, whose dev score is the accuracy. */
static int trains_classes(const job *j) {
    return j->o.t.method == AOE_METHOD_CROSS_ENCODER && j->o.t.classes != AOE_AUTO && j->o.t.classes > 1;
}

static void score_text(char out[32], double score) {
    if (isfinite(score))
        cli_format_score(out, 100 * score);
    else
        snprintf(out, 32, "undefined");
}

/* Prints the number of examples, the number of steps, and which labels are considered positive. */
static void describe(const void *own, const aoe_train_event *e) {
    const job *j = own;
    const aoe_train_options *t = &j->o.t;
    char threshold[80] = "";
    if ((t->method != AOE_METHOD_ANGLE || t->objective.w_ibn > 0) && t->method != AOE_METHOD_COSENT &&
        isfinite(e->ibn_threshold))
        snprintf(threshold, sizeof threshold, "; %slabels >= %.10g are positive",
                 t->method == AOE_METHOD_ANGLE ? "in-batch negatives: " : "", e->ibn_threshold);
    char length[48];
    if (t->args.max_minutes > 0)
        snprintf(length, sizeof length, "%g minutes", t->args.max_minutes);
    else
        snprintf(length, sizeof length, "%zu step%s", e->steps, cli_plural(e->steps));
    char files[48] = "";
    if (t->n_data > 1)
        snprintf(files, sizeof files, " from %zu files", t->n_data);
    cli_note("%zu examples per epoch%s, %s of up to %zu%s", e->pairs, files, length, t->batch_size * t->accumulate,
             threshold);
}

static void format_step(const aoe_train_event *e, char *out, size_t size) {
    const struct {
        const char *name;
        double value;
    } losses[] = {
        {"cosine", e->loss->cosine},
        {"ibn", e->loss->ibn},
        {"angle", e->loss->angle},
        {"contrastive", e->loss->contrastive},
        {"classification", e->loss->classification},
        {"regression", e->loss->regression},
        {"teacher", e->loss->teacher},
        {"layers", e->loss->layers},
        {"detection", e->loss->detection},
        {"vectors", e->loss->vectors},
        {"similarities", e->loss->similarities},
    };
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < sizeof losses / sizeof *losses && used < size; i++)
        if (losses[i].value > 0)
            used += (size_t)snprintf(out + used, size - used, "  %s %.3f", losses[i].name, losses[i].value);
    if (e->loss->negatives && used < size)
        snprintf(out + used, size - used, "  left out %.1f%%",
                 100 * (double)e->loss->left_out / (double)e->loss->negatives);
}

static void format_metrics(const void *own, const aoe_train_event *e, char *out, size_t size) {
    const job *j = own;
    char score[32], pearson[32];
    score_text(score, e->score);
    if (trains_classes(j)) {
        snprintf(out, size, "%9s", score);
        return;
    }
    score_text(pearson, aoe_dev_set_pearson(j->dev));
    snprintf(out, size, "%9s  %9s", score, pearson);
}

static json_t *metrics(const void *own, const aoe_train_event *e) {
    const job *j = own;
    if (trains_classes(j))
        return json_pack("{s:o,s:o}", "dev_accuracy", cli_json_real(e->score), "best_dev_accuracy",
                         cli_json_real(e->best_score));
    return json_pack("{s:o,s:o,s:o}", "dev_spearman", cli_json_real(e->score), "dev_pearson",
                     cli_json_real(aoe_dev_set_pearson(j->dev)), "best_dev_spearman", cli_json_real(e->best_score));
}

static double json_score(double score) {
    return score;
}

/* Returns 1 if a label map assigns a number above 1 to a label. */
static int has_classes(const char *map) {
    for (const char *s = strchr(map, '='); s; s = strchr(s + 1, '='))
        if (strtod(s + 1, NULL) > 1)
            return 1;
    return 0;
}

/* Prints a note if --label-map assigns classes to labels, and the dev file uses these classes as scores. */
static void note_classes(const cli_train_config *o) {
    const char *map = o->table.label_map;
    if (cli_trains_on_classes(o->t.method) && map && o->dev_table.label_map == map && has_classes(map))
        cli_note(
            "%s: the classes of --label-map are the scores of this file, with which cosines are compared; for other "
            "scores: --dev %s label-map=entailment=1,neutral=0.5,contradiction=0",
            o->dev, o->dev);
}

static int run(void *own, aoe_context *ctx, aoe_error *err) {
    job *j = own;
    cli_train_config *o = &j->o;
    if (o->part.n) {
        const int code = aoe_train_embed_part(ctx, &o->t, o->part.i, o->part.n, err);
        if (!code)
            cli_note("part %zu of %zu: the teacher embeddings are complete in %s", o->part.i, o->part.n,
                     o->t.teacher_cache);
        return code;
    }
    if (o->dev) {
        o->dev_table.classes = trains_classes(j);
        if (trains_classes(j) && o->t.classes > 2 && !o->dev_table.label_map)
            o->dev_table.label_map = "neutral=2"; /* as in the training files */
        note_classes(o);
        const int code = aoe_dev_set_load(&j->dev, ctx, o->dev, &o->dev_table, err);
        if (code)
            return code;
        o->t.evaluate = aoe_dev_set_evaluate;
        o->t.evaluate_user = j->dev;
        o->t.dev_name = o->dev;
        o->t.dev_metric = trains_classes(j) ? "accuracy" : "spearman";
        o->t.dev_fingerprint = aoe_dev_set_fingerprint(j->dev);
    }
    const int code = aoe_train(ctx, &o->t, err);
    aoe_dev_set_free(j->dev); /* the dev set must be freed before its context */
    j->dev = NULL;
    return code;
}

static int run_command(int argc, char **argv) {
    job j = {.dev = NULL};
    int code = cli_train_config_parse(&j.o, argc, argv);
    if (code == CLI_GO)
        code = cli_train_config_check(&j.o);
    if (code == CLI_GO) {
        cli_training t = {
            .doing = "training",
            .columns = trains_classes(&j) ? " accuracy" : " spearman    pearson",
            .own = &j,
            .describe = describe,
            .format_step = format_step,
            .format_metrics = format_metrics,
            .metrics = metrics,
            .metric = trains_classes(&j) ? "dev accuracy" : "dev Spearman",
            .format_score = score_text,
            .key = trains_classes(&j) ? "dev_accuracy" : "dev_spearman",
            .json_score = json_score,
            .run = run,
            .keeps_vectors = j.o.t.teacher_cache != NULL,
        };
        cli_set_quiet(j.o.general.quiet);
        code = cli_distributed_open(&j.o.distributed, &j.o.t.args, j.o.general.threads);
        if (!code) {
            cli_note_parent(j.o.t.args.output);
            code = cli_train_config_resolve(&j.o) ? 1 : cli_training_run(&t, &j.o.t.args, &j.o.general);
        }
        code = cli_distributed_close(&j.o.distributed, code, t.agreed);
    }
    cli_train_config_free(&j.o);
    return code;
}

const cli_command cli_train_command = {
    .name = "train",
    .summary = "fine-tune a model on pairs or triplets of texts",
    .run = run_command,
};
