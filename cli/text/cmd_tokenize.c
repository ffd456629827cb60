/* SPDX-License-Identifier: MIT
 * Implements `aoe tokenize`: prints one JSON array of token ids per text, or, with --decode, the text of each array of
 * token ids. Only the files of the tokenizer are opened; the model weights are not read. Each line is processed as soon
 * as it is read, so the command can be used as a coprocess.
 */
#include "aoe_tokenizer.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/text_files.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    const char *dir;
    aoe_encode_options encode;
    int jsonl;   /* 1: each input line is a JSON string */
    int tokens;  /* 1: tokens are printed as text */
    int offsets; /* 1: with --json, the range of each token in the text is printed */
    int decode;  /* 1: each input line contains token ids, which are converted to text */
    int keep;    /* 1: --decode keeps special tokens */
    aoe_table_options table;
} options;

typedef struct job {
    aoe_tokenizer *tokenizer;
    cli_text_files input;
    aoe_ids ids;
    const options *o;
    aoe_encode_options encode; /* encoding options from the command line and from the settings of the model */
    char *line;                /* [line_capacity] buffer for an output line, owned */
    size_t line_capacity;
    aoe_token_spans spans; /* ranges of the tokens, for --offsets */
    aoe_decoded decoded;
    int32_t *id; /* [id_capacity] ids of an input line of --decode, owned */
    size_t id_capacity;
    size_t unknown;      /* number of ids of --decode that no token has */
    size_t texts, empty; /* texts: number of texts; empty: number of empty texts */
    int bare;            /* 1: an empty text had no tokens, not even special tokens */
} job;

static const aoei_option table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     .offset = offsetof(options, dir),
     .help = "model directory, or any directory with tokenizer.json, or with vocab.txt and tokenizer_config.json",
     .fallback = CLI_DEFAULT_MODEL},
    {.name = "jsonl",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, jsonl),
     .excludes = "input-format",
     .help = "read each line as a JSON string, so that texts may contain line breaks and NUL characters, or as a JSON "
             "array of two strings, which is encoded as a pair for a cross-encoder"},
    {.name = "tokens",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, tokens),
     .help = "print tokens instead of token ids; with --json, print both"},
    {.name = "offsets",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, offsets),
     .help =
         "with --json: also print the characters [start, stop) of the text from which each token comes, or null for "
         "tokens that do not come from the text"},
    {.name = "decode",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, decode),
     .excludes = "tokens",
     .help =
         "convert token ids to text: read each line as a JSON array of token ids, or as an object with the key ids, "
         "and print its text as a JSON string, as Tokenizer.decode of the Hugging Face tokenizers library does"},
    {.name = "keep-specials",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, keep),
     .help = "with --decode: keep special tokens such as [CLS] in the text"},
};

static const aoei_option column_table[] = {
    AOEI_ROW_COLUMNS(
        AOEI_AT(aoe_table_options, columns), "text=NAME",
        "name of the text column of tables; with several names, for example a,b, the texts of all of them are "
        "tokenized, row by row",
        "text or sentence"),
};

static json_t *ids_json(const job *j) {
    json_t *ids = json_array();
    for (size_t i = 0; i < j->ids.n; i++)
        json_array_append_new(ids, json_integer(j->ids.id[i]));
    return ids;
}

/* Prints the token ids as a JSON array. The array is written directly, because creating a JSON value would take longer
 * than tokenizing the text. */
static void print_ids(job *j) {
    const size_t most = sizeof "-2147483648,";
    if (j->ids.n >= j->line_capacity / most) {
        j->line_capacity = 2 * (j->ids.n + 1) * most;
        j->line = cli_realloc(j->line, j->line_capacity);
    }
    char *to = j->line;
    for (size_t i = 0; i < j->ids.n; i++) {
        char digits[16];
        size_t n = 0;
        uint32_t id = (uint32_t)j->ids.id[i]; /* ids are non-negative */
        do
            digits[n++] = (char)('0' + id % 10);
        while ((id /= 10) != 0);
        *to++ = i ? ',' : '[';
        while (n)
            *to++ = digits[--n];
    }
    if (to == j->line)
        *to++ = '[';
    *to++ = ']';
    *to++ = '\n';
    fwrite(j->line, 1, (size_t)(to - j->line), stdout);
    cli_flush_stdout();
}

static json_t *tokens_json(const job *j) {
    json_t *tokens = json_array();
    for (size_t i = 0; i < j->ids.n; i++) {
        aoe_text token = aoe_tokenizer_token(j->tokenizer, j->ids.id[i]);
        json_array_append_new(tokens, token.data ? cli_json_text(token.data, token.len) : json_null());
    }
    return tokens;
}

/* Reports an error in the text that is tokenized. */
static int fail_text(const job *j, const char *message) {
    aoe_error err = {0};
    snprintf(err.message, sizeof err.message, "%s", message);
    return cli_text_files_fail(&j->input, 0, &err);
}

static json_t *types_json(const job *j) {
    json_t *types = json_array();
    for (size_t i = 0; i < j->ids.n; i++)
        json_array_append_new(types, json_integer(j->ids.type[i]));
    return types;
}

/* Returns an array [start, stop] for each token of the text, and null for the other tokens. */
static json_t *offsets_json(const job *j) {
    json_t *offsets = json_array();
    for (size_t i = 0; i < j->spans.n; i++) {
        const aoe_token_span *s = &j->spans.span[i];
        json_array_append_new(offsets, s->special ? json_null()
                                                  : json_pack("[I, I]", (json_int_t)s->start, (json_int_t)s->stop));
    }
    return offsets;
}

/* Encodes a text, or a text pair if `second` is not NULL. */
static int encode(job *j, aoe_text text, const aoe_text *second, aoe_error *err) {
    if (second)
        return aoe_tokenizer_encode_pair(j->tokenizer, text, *second, &j->encode, &j->ids, err);
    return j->o->offsets ? aoe_tokenizer_encode_spans(j->tokenizer, text, &j->encode, &j->ids, &j->spans, err)
                         : aoe_tokenizer_encode(j->tokenizer, text, &j->encode, &j->ids, err);
}

/* Tokenizes a text, or a text pair if `second` is not NULL, and prints its ids, its tokens, or both as JSON. */
static int print_text(job *j, aoe_text text, const aoe_text *second) {
    aoe_error err;
    if (second && j->o->offsets)
        return fail_text(j, "--offsets applies to single texts, but the line is a pair");
    if (encode(j, text, second, &err))
        return fail_text(j, err.message);
    /* A text without tokens is an error if special tokens are disabled or if the line is plain text. It is not an error
     * if the tokenizer drops unknown words. */
    if (j->ids.n == 0 && (j->encode.no_special_tokens || !j->o->jsonl) && !j->encode.drop_unknown)
        return fail_text(j, "the text has no tokens; remove the line");
    j->texts++;
    j->empty += text.len == 0 && (!second || second->len == 0);
    j->bare |= text.len == 0 && j->ids.n == 0;
    if (!j->o->general.json) {
        if (j->o->tokens)
            cli_print_json(tokens_json(j));
        else
            print_ids(j);
        return 0;
    }
    json_t *o = json_pack("{s:o,s:b}", "ids", ids_json(j), "truncated", j->ids.truncated);
    if (o && j->ids.type)
        json_object_set_new(o, "types", types_json(j));
    if (o && j->o->tokens)
        json_object_set_new(o, "tokens", tokens_json(j));
    if (o && j->o->offsets)
        json_object_set_new(o, "offsets", offsets_json(j));
    cli_print_json(o);
    return 0;
}

static aoe_text string_of(const json_t *value) {
    return (aoe_text){json_string_value(value), json_string_length(value)};
}

/* Tokenizes the JSON string, or the pair of JSON strings, in a line. */
static int take_json(job *j, aoe_text line) {
    json_error_t e;
    json_t *value = json_loadb(line.data, line.len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
    char message[256];
    int code;
    if (!value) {
        snprintf(message, sizeof message, "invalid JSON: %.150s; write a string in double quotes", e.text);
        code = fail_text(j, message);
    } else if (json_array_size(value) == 2 && json_is_string(json_array_get(value, 0)) &&
               json_is_string(json_array_get(value, 1))) {
        const aoe_text second = string_of(json_array_get(value, 1));
        code = print_text(j, string_of(json_array_get(value, 0)), &second);
    } else if (!json_is_string(value)) {
        code = fail_text(j, "neither a JSON string nor an array of two JSON strings; write strings in double quotes");
    } else {
        code = print_text(j, string_of(value), NULL);
    }
    json_decref(value);
    return code;
}

/* Sets j->id to the `n` integers of a JSON array. Returns 0 if an element is no token id. */
static int take_ids(job *j, const json_t *list, size_t n) {
    if (n > j->id_capacity) {
        j->id_capacity = 2 * n;
        j->id = cli_realloc(j->id, j->id_capacity * sizeof *j->id);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX)
            return 0;
        j->id[i] = (int32_t)json_integer_value(v);
    }
    return 1;
}

/* Prints the text of the token ids in a line. */
static int decode_line(job *j, aoe_text line) {
    json_error_t e;
    aoe_error err;
    json_t *root = json_loadb(line.data, line.len, JSON_REJECT_DUPLICATES, &e);
    const json_t *list = json_is_object(root) ? json_object_get(root, "ids") : root;
    const size_t n = json_array_size(list);
    char message[256];
    if (!root)
        snprintf(message, sizeof message, "invalid JSON: %.150s; write an array of token ids", e.text);
    else
        snprintf(message, sizeof message,
                 "neither a JSON array of token ids nor an object with such an array under "
                 "\"ids\"; token ids are integers from 0 to %d",
                 INT32_MAX);
    const int valid = json_is_array(list) && take_ids(j, list, n);
    json_decref(root);
    if (!valid)
        return fail_text(j, message);
    if (aoe_tokenizer_decode(j->tokenizer, n ? j->id : &(int32_t){0}, n, !j->o->keep, &j->decoded, &err))
        return cli_fail("%s", err.message);
    j->unknown += j->decoded.unknown;
    json_t *text = cli_json_text(j->decoded.text, j->decoded.len);
    cli_print_json(j->o->general.json ? json_pack("{s:o,s:I}", "text", text, "unknown", (json_int_t)j->decoded.unknown)
                                      : text);
    return 0;
}

/* Receives a batch of one text. */
static int take_text(void *user, const cli_batch *batch) {
    job *j = user;
    if (j->o->decode)
        return decode_line(j, batch->text[0]) || ferror(stdout);
    return (j->o->jsonl ? take_json(j, batch->text[0]) : print_text(j, batch->text[0], NULL)) || ferror(stdout);
}

/* Opens the tokenizer and tokenizes all texts. */
static int run_tokenize(job *j, const cli_args *args) {
    aoe_error err;
    aoe_table_options t = j->o->table;
    int code = 0;
    char *dir = cli_find_model(j->o->dir);
    if (!dir)
        return 1;
    if (aoe_encode_options_of(&j->encode, dir, &err) || aoe_tokenizer_open(&j->tokenizer, dir, &err))
        code = cli_fail("%s", err.message);
    j->encode.max_length = j->o->encode.max_length;
    j->encode.prompt = j->o->encode.prompt;
    j->encode.no_special_tokens |= j->o->encode.no_special_tokens;
    if (!code && j->encode.prompt && aoe_tokenizer_encode(j->tokenizer, aoe_text_of(""), &j->encode, &j->ids, &err))
        code = cli_fail("%s", err.message); /* the prompt is wrong for every text, so the message names no line of a
                                               file */
    free(dir);
    if (code)
        return 1;
    if (j->o->jsonl || j->o->decode)
        t.input_format = AOE_TABLE_TXT;
    cli_batch_create(&j->input.batch, 1, 1);
    j->input.use = take_text;
    j->input.user = j;
    code = cli_text_files_read(&j->input, args, &t);
    if (!code && j->empty)
        cli_warn("%zu of %zu text%s %s empty: %s", j->empty, j->texts, cli_plural(j->texts),
                 j->empty == 1 ? "is" : "are", j->bare ? "no tokens" : "special tokens only");
    if (!code && j->unknown)
        cli_warn("%zu token id%s not in the vocabulary and left out", j->unknown, j->unknown == 1 ? " is" : "s are");
    return code;
}

/* Returns CLI_GO, or the exit code after reporting an option that would have no effect. */
static int check_options(const options *o, const cli_args *args) {
    static const char *const of_texts[] = {"jsonl",       "offsets",      "max-length", "prompt",
                                           "no-specials", "input-format", "columns",    "delimiter",
                                           "no-header",   "quoting",      "whole-files"};
    if (o->offsets && !o->general.json)
        return cli_usage("tokenize", "--offsets requires --json");
    if (!o->decode)
        return o->keep ? cli_usage("tokenize", "--keep-specials requires --decode") : CLI_GO;
    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; i++)
        if (cli_given(args, of_texts[i]))
            return cli_usage("tokenize", "--%s applies to texts, but --decode reads token ids", of_texts[i]);
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    aoe_encode_options_defaults(&o.encode);
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    const cli_group groups[] = {
        CLI_GROUP("tokenizing", table, &o),
        CLI_LIBRARY_GROUP(&aoei_encode_rows, &o.encode),
        CLI_FIELDS("input", column_table, aoe_table_options, &o.table),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "tokenize",
        .operands = "[FILE...]",
        .about = "Prints a JSON array of token ids for each text of the files.\n" CLI_FILES_HELP
                 "With --json, an object with the keys ids and truncated is printed for each text; truncated is true\n"
                 "if the text was truncated to --max-length. With --decode, the object has the keys text and\n"
                 "unknown, the number of ids that no token has.\n",
        .examples = "  echo 'A plane is taking off.' | aoe tokenize -m model --tokens\n"
                    "  echo 'A plane is taking off.' | aoe tokenize -m model | aoe tokenize -m model --decode\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o, &args);
    if (code == CLI_GO) {
        job j = {.o = &o, .encode = o.encode};
        cli_set_quiet(o.general.quiet);
        code = run_tokenize(&j, &args);
        cli_batch_destroy(&j.input.batch);
        aoe_ids_free(&j.ids);
        aoe_decoded_free(&j.decoded);
        aoe_token_spans_free(&j.spans);
        free(j.id);
        free(j.line);
        aoe_tokenizer_close(j.tokenizer);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_tokenize_command = {
    .name = "tokenize",
    .summary = "convert texts to token ids, and token ids to texts",
    .run = run_command,
};
