/* SPDX-License-Identifier: MIT
 * Implements `aoe get`: prints lines of a document, or a passage with its surroundings, from the index. The exit codes
 * are those of `aoe search`.
 */
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/search/hit_output.h"
#include "cli/search/index_session.h"
#include "cli/search/place.h"

#include <math.h>

enum { FOUND = 0, NOTHING = 1, FAILED = 2 }; /* exit codes */

typedef struct options {
    cli_general general;
    cli_model_options model;
    const char *index; /* directory of the index; NULL: the nearest one */
    int line_numbers;  /* 1: each line begins with its number */
    size_t context;    /* number of lines before and after the lines that were asked for */
} options;

static const aoei_option table[] = {
    CLI_OPTION_INDEX(.offset = offsetof(options, index)),
    {.name = "context",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, context),
     .most = 1000000,
     .help = "number of lines that are printed before and after these lines"},
    {.name = "line-numbers",
     .letter = 'n',
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, line_numbers),
     .excludes = "json",
     .help = "print the number of each line in its document, if the text of the passage has the lines of the document"},
};

/* Prints the lines of a place. Returns an exit code. */
static int print_place(cli_index *x, const options *o, const char *text) {
    aoe_error err;
    cli_place place;
    cli_lines lines;
    cli_hit_output output = {.format = CLI_HITS_TEXT};
    aoei_buffer b = {0};
    cli_place_parse(&place, text);
    int code = cli_lines_get(&lines, x->index, &place, o->context, &err);
    cli_place_free(&place);
    if (code) {
        cli_lines_free(&lines);
        cli_fail("%s", err.message);
        return code == AOE_ENOENT ? NOTHING : FAILED;
    }
    cli_hit_output_begin(&output);
    for (size_t i = lines.begin; i < lines.end && o->general.json; i++)
        cli_print_hit_json(cli_hit_json(&lines.hits.hit[i], (double)NAN, 0));
    if (!o->general.json)
        cli_append_lines(&b, &output, &lines, o->line_numbers);
    if (b.len)
        fwrite(b.data, 1, b.len, stdout);
    aoei_buffer_free(&b);
    cli_hit_output_end(&output);
    cli_lines_free(&lines);
    return fflush(stdout) || ferror(stdout) ? FAILED : FOUND; /* main reports the error */
}

static int run(const options *o, const cli_args *args) {
    aoe_error err;
    cli_index x = {.general = &o->general, .model = &o->model};
    cli_set_quiet(o->general.quiet);
    int code = cli_index_find(&x, o->index) ? FAILED : FOUND;
    if (!code && cli_index_open_read(&x, &err)) {
        cli_fail("%s", err.message);
        code = FAILED;
    }
    for (size_t i = 0; i < args->n && !code; i++)
        code = print_place(&x, o, args->operand[i]);
    cli_index_close(&x);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {.context = 5};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("index", table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "get",
        .operands = "NAME[:LINE[:COUNT]]|ID...",
        .about = "Prints text from an index (aoe index): COUNT lines of a document from LINE, the passages with this\n"
                 "line if there is no COUNT, the whole document if there is no LINE, or the passage with an id. NAME\n"
                 "is a name that aoe search prints. The text is that of the index, also if the file has changed. With\n"
                 "--json, the passages with these lines are printed as objects, one per line. The exit code is 0 if\n"
                 "all places were found, 1 if one was not found, and 2 after another error.\n",
        .examples = "  aoe get notes/certificates.md:12\n"
                    "  aoe get notes/certificates.md:1:40 --context 0\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = run(&o, &args);
    cli_args_free(&args);
    return code;
}

const cli_command cli_get_command = {
    .name = "get",
    .summary = "print lines of a document from an index",
    .run = run_command,
};
