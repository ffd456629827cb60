/* SPDX-License-Identifier: MIT
 * Implements `aoe merge`: merges LoRA adapters into their base model, or averages the weights of several models.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "options/create.h"

#include <stdint.h>
#include <string.h>

typedef struct options {
    cli_general general;
    const char *output; /* output directory; NULL: not given */
    aoe_convert_options convert;
} options;

static const aoei_option table[] = {
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "DIR", "output directory"),
};

static int run_merge(options *o, const cli_args *args, aoe_context *ctx) {
    aoe_convert_result r = {.struct_size = sizeof r};
    aoe_error err;
    o->convert.merge = 1;
    if (args->n > 1 ? aoe_average(ctx, args->operand, args->n, o->output, &o->convert, &r, &err)
                    : aoe_convert(ctx, args->operand[0], o->output, &o->convert, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:s,s:I}", "output", cli_json_text(o->output, strlen(o->output)),
                                 "parameters", (json_int_t)r.parameters, "storage", r.to, "bytes",
                                 (json_int_t)r.bytes_stored));
    else if (args->n > 1)
        cli_note("%s: %zu parameters, mean of %zu models, stored as %s in %.2f MiB", o->output, r.parameters, args->n,
                 r.to, (double)r.bytes_stored / 0x1p20);
    else
        cli_note("%s: %zu parameters with merged adapters, stored as %s in %.2f MiB", o->output, r.parameters, r.to,
                 (double)r.bytes_stored / 0x1p20);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_convert_options_defaults(&o.convert);
    const cli_group groups[] = {
        CLI_GROUP("merging", table, &o),
        CLI_LIBRARY_GROUP(&aoei_merge_rows, &o.convert),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "merge",
        .operands = "DIR...",
        .about =
            "With one DIR, merges LoRA adapters into their base model and writes a complete model. DIR contains\n"
            "adapter_config.json and adapter_model.safetensors, written by aoe train --lora-r or Hugging Face\n"
            "PEFT.\n"
            "With several DIRs, averages the weights of models of the same architecture and sizes. The average of\n"
            "models from several fine-tuning runs is often better than the model of any single run. The settings\n"
            "and the tokenizer are copied from the first model. The averaged models are listed in aoe.json and\n"
            "README.md in the output directory.\n",
        .examples = "  aoe merge adapters -o model\n"
                    "  aoe merge adapters --base Qwen2.5-0.5B --dtype bf16 -o model\n"
                    "  aoe merge run-1 run-2 run-3 -o model\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !o.output)
        code = cli_usage("merge", "missing output directory: -o DIR");
    if (code == CLI_GO && o.convert.embedding_storage == AOE_EMBEDDING_STORAGE_INT5 &&
        o.convert.storage != AOE_STORAGE_INT8)
        code = cli_usage("merge", CLI_INT5_REQUIRES);
    if (code == CLI_GO && args.n > 1 && o.convert.base)
        code = cli_usage("merge", "--base applies to a single adapter directory");
    if (code == CLI_GO)
        code = cli_find_operand_models(&args);
    if (code == CLI_GO && o.output) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        code = cli_open_context(&ctx, &o.general) || run_merge(&o, &args, ctx);
        aoe_context_destroy(ctx);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_merge_command = {
    .name = "merge",
    .summary = "merge adapters into their base model, or average models",
    .run = run_command,
};
