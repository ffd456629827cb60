/* SPDX-License-Identifier: MIT
 * Implements `aoe init`: creates a model directory with random weights. The vocabulary is trained on given texts or
 * copied from another model.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "options/create.h"

#include <string.h>

typedef struct options {
    cli_general general;
    const char *shape;         /* name of a predefined shape; NULL: options give all sizes */
    aoe_shape size;            /* sizes that options give; 0: not given */
    aoei_text_list vocab_from; /* files with texts on which the vocabulary is trained */
    aoe_init_options init;
    const char *output; /* output directory; NULL: not given */
} options;

static const aoei_option table[] = {
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "DIR", "output directory"),
};

static const aoei_option shape_table[] = {
    {.name = "shape",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, shape),
     .help = "architecture and sizes: " CLI_SHAPE_NAMES "; the options below override its sizes",
     .fallback = "a BERT model; --hidden and --layers are then required"},
};

static const aoei_option vocabulary_table[] = {
    {.name = "vocab-from",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     .offset = offsetof(options, vocab_from),
     .help = "train a WordPiece vocabulary on the texts of these files: .txt files (one text per line)"
             " or tables, optionally compressed (.gz or .zst)"},
};

static int check_options(const options *o) {
    if (!o->output)
        return cli_usage("init", "missing output directory: -o DIR");
    if (!o->shape && !(o->size.hidden && o->size.layers))
        return cli_usage("init", "missing model size: --shape NAME, or --hidden N and --layers N");
    if (!o->vocab_from.n && !o->init.tokenizer_from)
        return cli_usage("init", "missing vocabulary: --vocab-from FILE... or --tokenizer DIR");
    return CLI_GO;
}

static void override(size_t *size, size_t given) {
    if (given)
        *size = given;
}

/* Sets o->init.shape to the predefined shape. Sizes that were given as options replace the sizes of the predefined
 * shape. If a hidden size was given, sizes that depend on it and were not given are computed from it. */
static int resolve_shape(options *o) {
    aoe_shape *s = &o->init.shape;
    aoe_error err;
    *s = (aoe_shape){.struct_size = sizeof *s};
    if (o->shape && aoe_shape_named(s, o->shape, &err))
        return cli_usage("init", "--shape: %s", err.message);
    if ((o->size.hidden || o->size.heads) && s->kv_heads && !o->size.kv_heads)
        s->kv_heads = 0;
    if ((o->size.window || o->size.head_size) && !s->window)
        return cli_usage("init", "--window and --head-size require a RAN shape: --shape ran-base or ran-mini");
    override(&s->window, o->size.window);
    override(&s->head_size, o->size.head_size);
    if (!s->window && (!o->shape || (o->size.hidden && o->size.hidden != s->hidden))) {
        s->heads = o->size.hidden >= 128 ? o->size.hidden / 64 : 1;
        s->intermediate = 4 * o->size.hidden;
    }
    if (!o->shape)
        s->positions = 512;
    s->vocab = 0;
    override(&s->hidden, o->size.hidden);
    override(&s->layers, o->size.layers);
    override(&s->heads, o->size.heads);
    override(&s->kv_heads, o->size.kv_heads);
    override(&s->intermediate, o->size.intermediate);
    override(&s->positions, o->size.positions);
    if (!s->window && s->hidden % s->heads)
        return cli_usage("init", "hidden size %zu is not divisible by %zu heads; set --heads", s->hidden, s->heads);
    return CLI_GO;
}

/* Returns 1 if aoe pretrain supports the architecture. */
static int predicts_words(const char *architecture) {
    return !architecture || !strcmp(architecture, "bert") || !strcmp(architecture, "roberta") ||
           !strcmp(architecture, "ran");
}

static int run_init(options *o, aoe_context *ctx) {
    aoe_init_result r = {.struct_size = sizeof r};
    aoe_error err;
    o->init.texts = o->vocab_from.item;
    o->init.n_texts = o->vocab_from.n;
    o->init.seed = o->general.seed;
    if (aoe_init(ctx, o->output, &o->init, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:I}", "output", cli_json_text(o->output, strlen(o->output)), "parameters",
                                 (json_int_t)r.parameters, "vocab", (json_int_t)r.vocab));
    else
        cli_note("%s: new model with %zu parameters (%zu layer%s, hidden size %zu, vocabulary %zu); train it with aoe "
                 "train -m %s%s",
                 o->output, r.parameters, r.layers, cli_plural(r.layers), r.hidden, r.vocab, o->output,
                 predicts_words(o->init.shape.architecture) ? ", or first on plain text with aoe pretrain" : "");
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_init_options_defaults(&o.init);
    const cli_group groups[] = {
        CLI_GROUP("output", table, &o),
        CLI_LIBRARY_GROUP(&aoei_init_rows, &o.init),
        CLI_GROUP("sizes", shape_table, &o),
        CLI_LIBRARY_GROUP(&aoei_shape_sizes_rows, &o.size),
        CLI_GROUP("vocabulary", vocabulary_table, &o),
        CLI_LIBRARY_GROUP(&aoei_init_vocabulary_rows, &o.init),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "init",
        .operands = "",
        .about = "Creates a model with random weights for aoe pretrain or aoe train. The vocabulary is trained on the\n"
                 "texts of --vocab-from or copied from another model with --tokenizer.\n",
        .examples = "  aoe init --shape bert-mini --vocab-from examples/train.tsv -o start\n"
                    "  aoe init --hidden 128 --layers 2 --vocab-from corpus.txt.gz --vocab-size 4000 -o start\n"
                    "  aoe init --shape tinyllama-1.1b --hidden 128 --layers 2 --heads 4 --kv-heads 2 \\\n"
                    "      --intermediate 256 --vocab-from corpus.txt -o small\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO)
        code = resolve_shape(&o);
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        code = cli_open_context(&ctx, &o.general) || run_init(&o, ctx);
        aoe_context_destroy(ctx);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_init_command = {
    .name = "init",
    .summary = "create a model with random weights",
    .run = run_command,
};
