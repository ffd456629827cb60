/* SPDX-License-Identifier: MIT
 * aoe convert: a model directory again, with its weights stored as f32, bf16 or
 * int8 rows.
 */
#include "common.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    const char *model;  /* NULL: find one */
    const char *output; /* NULL: not given */
    int storage;        /* an aoe_storage; -1: not given */
    aoe_convert_options convert;
} options;

static const cli_option table[] = {
    {.name = "dtype",
     .kind = CLI_NAMED,
     .value = "TYPE",
     .offset = offsetof(options, storage),
     .parse = cli_parse_storage,
     .help = "f32, bf16, or int8: a byte a weight and a scale a row of a matrix, read by aoe alone"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "DIR",
     .offset = offsetof(options, output),
     .help = "directory to make"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = offsetof(options, convert.force),
     .set = 1,
     .help = "replace a model that is there"},
    {.name = "model",
     .letter = 'm',
     .kind = CLI_TEXT,
     .value = "DIR",
     .offset = offsetof(options, model),
     .help = "model directory, or one of adapters (LoRA), which are merged in",
     .fallback = "$AOE_MODEL, else the default model"},
    {.name = "base",
     .kind = CLI_TEXT,
     .value = "DIR",
     .offset = offsetof(options, convert.base),
     .help = "the model that adapters are for",
     .fallback = "the one their adapter_config.json names"},
};

static int check_options(const options *o, const cli_args *args) {
    if (o->storage < 0)
        return cli_usage("convert", "it needs the type to store: --dtype f32, bf16 or int8");
    if (!o->output)
        return cli_usage("convert", "it needs a directory to make: -o DIR");
    if (args->n && o->model)
        return cli_usage("convert", "two models, %s and %s; name one", o->model, args->operand[0]);
    return CLI_GO;
}

static int run_convert(const options *o, const char *dir, aoe_context *ctx) {
    aoe_convert_result r;
    aoe_error err;
    if (aoe_convert(ctx, dir, o->output, &o->convert, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:s,s:s,s:I,s:I}", "output", cli_json_text(o->output, strlen(o->output)),
                                 "parameters", (json_int_t)r.parameters, "storage_from", r.from, "storage", r.to, "bytes_from",
                                 (json_int_t)r.bytes_from, "bytes", (json_int_t)r.bytes_stored));
    else
        cli_note("%s: %zu parameters stored as %s in %.2f MiB (%s: %.2f MiB)", o->output, r.parameters, r.to,
                 (double)r.bytes_stored / 0x1p20, r.from, (double)r.bytes_from / 0x1p20);
    return 0;
}

int cli_convert(int argc, char **argv) {
    options o = {.storage = -1};
    cli_general_defaults(&o.general);
    aoe_convert_options_defaults(&o.convert);
    const cli_group groups[] = {
        CLI_GROUP("conversion", table, &o),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "convert",
        .operands = "[DIR]",
        .about = "Writes a model again with its weights stored in another type; settings, tokenizer and\n"
                 "training record come along. What was read from bf16 or int8 gives the same bytes when it\n"
                 "is stored so again, and every type loads wherever a model does.\n",
        .examples = "  aoe convert model --dtype int8 -o small\n"
                    "  aoe convert small --dtype f32 -o for-others\n",
        .groups = groups,
        .n_groups = 2,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o, &args);
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        o.convert.storage = (aoe_storage)o.storage;
        cli_set_quiet(o.general.quiet);
        char *dir = cli_find_model(args.n ? args.operand[0] : o.model);
        code = !dir || cli_open_context(&ctx, &o.general) || run_convert(&o, dir, ctx);
        aoe_context_destroy(ctx);
        free(dir);
    }
    cli_args_free(&args);
    return code;
}
