/* SPDX-License-Identifier: MIT
 * Implements `aoe flow`: copies a model and adds a normalizing flow after its pooling. The flow is fitted to the
 * embeddings of given texts.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/interrupt.h"
#include "cli/common/option_rows.h"
#include "options/create.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_flow_options flow;
    const char *output; /* output directory; NULL: not given */
} options;

typedef struct job {
    cli_progress progress;
    int stage; /* stage whose progress is shown; -1: no progress is shown */
} job;

static const aoei_option table[] = {
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "DIR", "output directory"),
};

static int show_progress(void *user, aoe_flow_stage stage, size_t done, size_t total) {
    job *j = user;
    if (j->stage != (int)stage) {
        cli_progress_end(&j->progress);
        cli_progress_begin(&j->progress, stage == AOE_FLOW_EMBED ? "embedding" : "fitting",
                           stage == AOE_FLOW_EMBED ? "texts" : "steps", 0);
        j->stage = (int)stage;
    }
    cli_progress_update(&j->progress, done, total, NULL, -1, NULL);
    return cli_interrupted();
}

static void print_result(const options *o, const aoe_flow_result *r) {
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "output",
                                 cli_json_text(o->output, strlen(o->output)), "texts", (json_int_t)r->texts, "examples",
                                 (json_int_t)r->examples, "dims", (json_int_t)r->dims, "parameters",
                                 (json_int_t)r->parameters, "steps", (json_int_t)r->steps, "bits_start",
                                 cli_json_real(r->bits_start), "bits", cli_json_real(r->bits)));
    else
        cli_note("%s: fitted a flow with %zu parameters to %zu texts in %zu step%s; %.4f bits per component, %.4f at "
                 "the start",
                 o->output, r->parameters, r->texts, r->steps, cli_plural(r->steps), r->bits, r->bits_start);
}

static int run_flow(options *o, const cli_args *args, const char *dir, aoe_context *ctx) {
    job j = {.stage = -1};
    aoe_flow_result r = {.struct_size = sizeof r};
    aoe_error err;
    o->flow.texts = args->operand;
    o->flow.n_texts = args->n;
    o->flow.model_options = o->model.o;
    o->flow.batch_tokens = o->model.embedder.batch_tokens;
    o->flow.seed = o->general.seed;
    o->flow.progress = show_progress;
    o->flow.user = &j;
    cli_watch_interrupts();
    const int code = aoe_flow(ctx, dir, o->output, &o->flow, &r, &err);
    cli_progress_end(&j.progress);
    if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: stopped; no model was written");
        return 128 + cli_interrupted();
    }
    if (code)
        return cli_fail("%s", err.message);
    print_result(o, &r);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.output = NULL};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    aoe_flow_options_defaults(&o.flow);
    const cli_group groups[] = {
        CLI_GROUP("flow", table, &o),
        CLI_LIBRARY_GROUP(&aoei_flow_rows, &o.flow),
        CLI_LIBRARY_GROUP(&aoei_flow_training_rows, &o.flow),
        CLI_LIBRARY_GROUP(&aoei_flow_texts_rows, &o.flow),
        CLI_TEXT_INPUT_GROUP(&o.flow.table),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "flow",
        .operands = "FILE...",
        .about = "Writes a copy of a model with a normalizing flow after the pooling (BERT-flow, Li et al. 2020). The\n"
                 "flow is an invertible function that is fitted to the embeddings of the given texts, so that the\n"
                 "distribution of its outputs is close to a standard normal distribution. The encoder is not trained,\n"
                 "and its weights are copied. A FILE contains one text per line (.txt), is a table, or is a folder of\n"
                 "SentEval's STS data; --columns selects the text columns of tables. The paper uses the mean over the\n"
                 "first and the last layer: --pooling layer1-last-avg --max-length 64. sentence-transformers cannot\n"
                 "open the new model, because it has no module for the flow.\n",
        .examples = "  aoe flow -m bert --pooling layer1-last-avg --max-length 64 nli.tsv -o bert-flow\n"
                    "  aoe eval sts -m bert-flow examples/test.tsv\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !o.output)
        code = cli_usage("flow", "missing output directory: -o DIR");
    if (code == CLI_GO && o.output) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        char *dir = cli_find_model(o.model.dir);
        const int failed = !dir || cli_open_context(&ctx, &o.general);
        code = failed ? 1 : run_flow(&o, &args, dir, ctx);
        aoe_context_destroy(ctx);
        free(dir);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_flow_command = {
    .name = "flow",
    .summary = "add a normalizing flow to a model (BERT-flow)",
    .run = run_command,
};
