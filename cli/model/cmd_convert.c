/* SPDX-License-Identifier: MIT
 * Implements `aoe convert`: copies a model directory and stores its weights as f32, bf16 or int8, or creates a model
 * directory from a text file with word vectors.
 */
#include "aoe_convert.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "options/create.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_LAYERS = 1024 }; /* maximum number of layers in a model */

/* Indices of layers. */
typedef struct layer_list {
    size_t index[MAX_LAYERS]; /* [n] indices in the order of the list */
    size_t n;                 /* 0: there is no list */
} layer_list;

typedef struct options {
    cli_general general;
    const char *model;  /* model directory; NULL: the default model */
    const char *output; /* output directory; NULL: not given */
    aoe_convert_options convert;
    layer_list take;         /* value of --take-layers */
    aoei_text_list count_on; /* value of --count-on */
    int lowercase;           /* 1: a model that is created from word vectors lowercases texts */
} options;

/* Parses the value of --take-layers, a list of indices of layers such as "0,2,4". */
static int parse_layers(void *target, const char *text, aoe_error *err) {
    layer_list *l = target;
    const char *at = text;
    l->n = 0;
    do {
        char *end;
        const unsigned long layer = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end && *end != ',') || layer >= MAX_LAYERS || l->n == MAX_LAYERS) {
            err->code = AOE_EARG;
            snprintf(err->message, sizeof err->message,
                     "expected a list of indices of layers from 0 to %d, for example 0,2,4, not '%.100s'",
                     MAX_LAYERS - 1, text);
            return err->code;
        }
        l->index[l->n++] = layer;
        at = *end ? end + 1 : NULL;
    } while (at);
    return 0;
}

static const aoei_option table[] = {
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "DIR", "output directory"),
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     .offset = offsetof(options, model),
     .help = "used if the argument DIR is missing: a model directory, or a directory with LoRA "
             "adapters, which are merged into their base model",
     .fallback = CLI_DEFAULT_MODEL},
    {.name = "lowercase",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, lowercase),
     .help =
         "word vectors: the model lowercases texts before tokenization; use it if all words in FILE are lowercase, as "
         "in glove.6B"},
    {.name = "take-layers",
     .kind = AOEI_OPTION_NAMED,
     .value = "I,...",
     .offset = offsetof(options, take),
     .parse = parse_layers,
     .excludes = "layers",
     .help = "keep only the layers with these indices, counted from 0 and in ascending order, for example for the "
             "start model of aoe train --teacher. Requires a transformer",
     .fallback = "all layers"},
};

/* Returns 1 if the operand is a regular file (with word vectors) and not a model directory. */
static int is_file(const cli_args *args) {
    struct stat st;
    return args->n && stat(args->operand[0], &st) == 0 && !S_ISDIR(st.st_mode);
}

static const aoei_option vocabulary_table[] = {
    {.name = "count-on",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     .offset = offsetof(options, count_on),
     .help = "count the tokens in the texts of these files: .txt files (one text per line) or tables, optionally "
             "compressed (.gz or .zst). Required for --vocab-size"},
};

/* Returns 1 if an option changes the shape of the model. */
static int changes_shape(const options *o) {
    return o->convert.layers || o->convert.dims || o->take.n || o->convert.vocabulary || o->convert.vocab_size;
}

/* Checks the options for the vocabulary. */
static int check_vocabulary(const options *o, const cli_args *args) {
    static const char *const of_texts[] = {"columns", "input-format", "delimiter", NULL};
    const char *given = cli_first_given(args, of_texts, 3);
    if (o->convert.vocab_size && !o->count_on.n)
        return cli_usage("convert", "--vocab-size requires texts: --count-on FILE...");
    if (o->count_on.n && !o->convert.vocab_size && !o->convert.vocabulary)
        return cli_usage("convert", "--count-on requires --vocab-size N or --vocabulary FILE");
    if (given && !o->count_on.n)
        return cli_usage("convert", "--%s applies to the files of --count-on", given);
    return CLI_GO;
}

static int check_options(const options *o, const cli_args *args) {
    struct stat st;
    const int code = check_vocabulary(o, args), has_type = cli_given(args, "dtype");
    if (code != CLI_GO)
        return code;
    if (!has_type && args->n && stat(args->operand[0], &st))
        return cli_fail("%s: %s; check the path", args->operand[0], strerror(errno));
    if (o->convert.embedding_storage == AOE_EMBEDDING_STORAGE_INT5 && o->convert.storage != AOE_STORAGE_INT8)
        return cli_usage("convert", CLI_INT5_REQUIRES);
    if (is_file(args) && changes_shape(o))
        return cli_usage("convert",
                         "options that change the shape of a model, such as --layers, do not apply to word vectors");
    if (!has_type && !is_file(args) && !changes_shape(o))
        return cli_usage(
            "convert",
            "nothing to convert: give a storage type (--dtype f32, bf16 or int8), or an option that changes the "
            "model (--layers, --take-layers, --dims, --vocab-size or --vocabulary)");
    if (is_file(args) ? o->convert.base != NULL : o->lowercase)
        return cli_usage("convert", is_file(args) ? "--base applies to adapters, not to word vectors"
                                                  : "--lowercase applies to files of word vectors only");
    if (!o->output)
        return cli_usage("convert", "missing output directory: -o DIR");
    if (args->n && o->model)
        return cli_usage("convert", "two models given, %s and %s; give only one", o->model, args->operand[0]);
    return CLI_GO;
}

/* Returns 100 part / whole, or 100 if whole is 0. */
static double percent(size_t part, size_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 100;
}

/* Adds the numbers of tokens of a reduced vocabulary to the JSON object. */
static json_t *add_vocabulary(json_t *object, const aoe_convert_result *r) {
    json_object_update_new(object,
                           json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "vocab_from", (json_int_t)r->vocab_from, "vocab",
                                     (json_int_t)r->vocab, "texts", (json_int_t)r->texts, "tokens",
                                     (json_int_t)r->tokens, "tokens_kept", (json_int_t)r->tokens_kept, "tokens_after",
                                     (json_int_t)r->tokens_after, "vocab_found", (json_int_t)r->vocab_found));
    return object;
}

/* Prints the numbers of tokens of a reduced vocabulary. */
static void note_vocabulary(const options *o, const aoe_convert_result *r) {
    if (r->texts)
        cli_note("%s: %zu of the %zu tokens occur in the texts", o->output, r->vocab_found, r->vocab);
    if (r->texts)
        cli_note(
            "%s: %.2f%% of the %zu tokens of %zu text%s are in the smaller vocabulary, with which the texts have %zu "
            "tokens (%+.2f%%)",
            o->output, percent(r->tokens_kept, r->tokens), r->tokens, r->texts, cli_plural(r->texts), r->tokens_after,
            percent(r->tokens_after, r->tokens) - 100);
}

/* Prints the numbers of layers, components and tokens that differ between the model and its copy. */
static void note_shape(const options *o, const aoe_convert_result *r) {
    const struct {
        size_t from, to;
        const char *unit;
    } sizes[] = {{r->dims_from, r->dims, "components"},
                 {r->layers_from, r->layers, "layers"},
                 {r->vocab_from, r->vocab, "tokens"}};
    char text[256];
    size_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].from != sizes[i].to)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu -> %zu %s", at ? ", " : "", sizes[i].from,
                                   sizes[i].to, sizes[i].unit);
    if (at)
        cli_note("%s: %s", o->output, text);
}

/* Converts a model directory. */
static int run_convert(const options *o, const char *dir, aoe_context *ctx) {
    aoe_convert_result r = {.struct_size = sizeof r};
    aoe_error err;
    if (aoe_convert(ctx, dir, o->output, &o->convert, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json) {
        json_t *object = json_pack("{s:o,s:I,s:s,s:s,s:I,s:I}", "output", cli_json_text(o->output, strlen(o->output)),
                                   "parameters", (json_int_t)r.parameters, "storage_from", r.from, "storage", r.to,
                                   "bytes_from", (json_int_t)r.bytes_from, "bytes", (json_int_t)r.bytes_stored);
        cli_print_json(r.vocab ? add_vocabulary(object, &r) : object);
        return 0;
    }
    note_shape(o, &r);
    if (r.vocab)
        note_vocabulary(o, &r);
    cli_note("%s: %zu parameters stored as %s in %.2f MiB (before: %s, %.2f MiB)", o->output, r.parameters, r.to,
             (double)r.bytes_stored / 0x1p20, r.from, (double)r.bytes_from / 0x1p20);
    return 0;
}

/* Converts a file of word vectors to a static model. */
static int run_vectors(const options *o, const char *path, aoe_context *ctx) {
    const aoe_word_vectors_options v = {.struct_size = sizeof(aoe_word_vectors_options),
                                        .storage = o->convert.storage,
                                        .embedding_storage = o->convert.embedding_storage,
                                        .lowercase = o->lowercase,
                                        .force = o->convert.force};
    aoe_word_vectors_result r = {.struct_size = sizeof r};
    aoe_error err;
    if (aoe_word_vectors(ctx, path, o->output, &v, &r, &err))
        return cli_fail("%s", err.message);
    if (o->general.json)
        cli_print_json(json_pack("{s:o,s:I,s:I,s:I}", "output", cli_json_text(o->output, strlen(o->output)), "words",
                                 (json_int_t)r.words, "dims", (json_int_t)r.dims, "skipped", (json_int_t)r.skipped));
    else
        cli_note("%s: static model with %zu words and %zu components; skipped %zu line%s with duplicate words or "
                 "words that contain spaces",
                 o->output, r.words, r.dims, r.skipped, cli_plural(r.skipped));
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_convert_options_defaults(&o.convert);
    const cli_group groups[] = {
        CLI_GROUP("conversion", table, &o),
        CLI_LIBRARY_GROUP(&aoei_convert_model_rows, &o.convert),
        CLI_GROUP("vocabulary", vocabulary_table, &o),
        CLI_LIBRARY_GROUP(&aoei_convert_vocabulary_rows, &o.convert),
        CLI_TEXT_INPUT_GROUP(&o.convert.table),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "convert",
        .operands = "[DIR|FILE]",
        .about = "aoe convert DIR copies a model and stores the weights of the copy in another data type (--dtype).\n"
                 "All commands read all data types. The settings, the tokenizer and the training information in\n"
                 "aoe.json are copied. If the data type is not changed, the weights are copied without any change.\n"
                 "--embedding-dtype int5 stores the token embeddings of an int8 model with 5 bits per value.\n"
                 "--layers and --dims truncate the model to its first layers and to the first components of its\n"
                 "embeddings. --take-layers selects layers by their indices. --vocabulary and --vocab-size remove\n"
                 "tokens from the vocabulary.\n"
                 "aoe convert FILE converts word vectors in GloVe format to a model that needs no training. FILE\n"
                 "contains one word and its vector per line, and may be compressed (.gz or .zst). The embedding of a\n"
                 "text is the mean of its word vectors; unknown words are skipped.\n",
        .examples = "  aoe convert model --dtype int8 -o small\n"
                    "  aoe convert model --dtype int8 --embedding-dtype int5 -o smaller\n"
                    "  aoe convert small --dtype f32 -o for-others\n"
                    "  aoe convert model --layers 6 --dims 256 -o half\n"
                    "  aoe convert model --take-layers 0,2,4,6,8,10 -o student\n"
                    "  aoe convert model --vocab-size 20000 --count-on texts.txt -o small\n"
                    "  aoe convert glove.840B.300d.txt.gz -o glove\n",
        CLI_GROUPS(groups),
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o, &args);
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        o.convert.take_layers = o.take.n ? o.take.index : NULL;
        o.convert.n_take_layers = o.take.n;
        o.convert.count_on = o.count_on.item;
        o.convert.n_count_on = o.count_on.n;
        cli_set_quiet(o.general.quiet);
        cli_note_parent(o.output);
        const int file = is_file(&args);
        char *dir = file ? NULL : cli_find_model(args.n ? args.operand[0] : o.model);
        code = (!dir && !file) || cli_open_context(&ctx, &o.general);
        if (!code)
            code = file ? run_vectors(&o, args.operand[0], ctx) : run_convert(&o, dir, ctx);
        aoe_context_destroy(ctx);
        free(dir);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_convert_command = {
    .name = "convert",
    .summary = "store weights as f32, bf16 or int8, truncate a model, or convert word vectors",
    .run = run_command,
};
