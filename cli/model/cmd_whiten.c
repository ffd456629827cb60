/* SPDX-License-Identifier: MIT
 * Implements `aoe whiten`: copies a model and adds a linear layer after its pooling. The layer is computed from the
 * embeddings of given texts, so that the components of the transformed embeddings are uncorrelated and have variance 1.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "options/create.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_whiten_options whiten;
    const char *output; /* output directory; NULL: not given */
} options;

static const aoei_option table[] = {
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "DIR", "output directory"),
};

static int run_whiten(options *o, const cli_args *args, const char *dir, aoe_context *ctx) {
    aoe_whiten_result r = {.struct_size = sizeof r};
    aoe_error err;
    o->whiten.texts = args->operand;
    o->whiten.n_texts = args->n;
    o->whiten.model_options = o->model.o;
    o->whiten.batch_tokens = o->model.embedder.batch_tokens;
    if (aoe_whiten(ctx, dir, o->output, &o->whiten, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:I,s:I,s:o}", "output", cli_json_text(o->output, strlen(o->output)),
                                 "texts", (json_int_t)r.texts, "dims", (json_int_t)r.dims, "rank", (json_int_t)r.rank,
                                 "variance_kept", cli_json_real(r.kept)));
    else
        cli_note("%s: whitened with %zu texts; kept %zu of %zu components with nonzero variance (%.2f%% of the "
                 "variance)",
                 o->output, r.texts, r.dims, r.rank, 100 * r.kept);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.output = NULL};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    aoe_whiten_options_defaults(&o.whiten);
    const cli_group groups[] = {
        CLI_GROUP("whitening", table, &o),
        CLI_LIBRARY_GROUP(&aoei_whiten_rows, &o.whiten),
        CLI_LIBRARY_GROUP(&aoei_whiten_texts_rows, &o.whiten),
        CLI_TEXT_INPUT_GROUP(&o.whiten.table),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "whiten",
        .operands = "FILE...",
        .about =
            "Writes a copy of a model with an additional linear layer after the pooling (BERT-whitening, Su et\n"
            "al. 2021). The layer subtracts the mean of the embeddings of the given texts. It then transforms the\n"
            "embeddings so that their components are uncorrelated and have variance 1 over these texts. All other\n"
            "weights are copied. A FILE contains one text per line (.txt), is a table, or is a folder of\n"
            "SentEval's STS data; --columns selects the text columns of tables.\n",
        .examples = "  aoe whiten -m bert --pooling first-last-avg -k 256 nli.tsv -o bert-whitened\n"
                    "  aoe eval sts -m bert-whitened examples/test.tsv\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !o.output)
        code = cli_usage("whiten", "missing output directory: -o DIR");
    if (code == CLI_GO && o.output) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        char *dir = cli_find_model(o.model.dir);
        code = !dir || cli_open_context(&ctx, &o.general) || run_whiten(&o, &args, dir, ctx);
        aoe_context_destroy(ctx);
        free(dir);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_whiten_command = {
    .name = "whiten",
    .summary = "add a linear layer that whitens the embeddings of a model",
    .run = run_command,
};
