/* SPDX-License-Identifier: MIT
 * Implements `aoe get`: prints lines of a document, or a passage with its surroundings, from the index. The text of
 * some documents, such as web pages, is not that of the lines of their file; their passages are printed whole.
 */
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/words.h"
#include "cli/search/hit_output.h"
#include "cli/search/index_session.h"
#include "base/path.h"
#include "base/alloc.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    const char *index; /* directory of the index; NULL: the nearest one */
    size_t context;    /* number of lines before and after the lines that were asked for */
} options;

/* The lines that an argument asks for. */
typedef struct place {
    const char *text; /* the argument */
    char *name;       /* name of a document, or id of a passage; owned */
    size_t line;      /* first line, counted from 1; 0: the whole document, or the passage with an id */
    size_t count;     /* number of lines; 0: those of the passages with the line */
} place;

static const aoei_option table[] = {
    {.name = "index",
     .letter = 'i',
     .kind = AOEI_OPTION_TEXT,
     .value = "DIR",
     .offset = offsetof(options, index),
     .help = "directory of the index",
     .fallback = CLI_INDEX_DIR " in this folder or the nearest folder above it"},
    {.name = "context",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, context),
     .most = 1000000,
     .help = "number of lines that are printed before and after these lines"},
};

/* Reads the number after the last colon of text[*len] and shortens the text. Returns 0 if there is none, or if it is
 * not a number from 1 to 999999999. */
static size_t take_number(const char *text, size_t *len) {
    size_t at = *len, value = 0;
    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    if (at < 2 || text[at - 1] != ':' || at == *len || *len - at > 9)
        return 0;
    for (size_t i = at; i < *len; i++)
        value = 10 * value + (size_t)(text[i] - '0');
    if (value)
        *len = at - 1;
    return value;
}

/* Parses "NAME:LINE", "NAME:LINE:COUNT", "NAME" or "ID". */
static void parse_place(place *p, const char *text) {
    size_t len = strlen(text);
    const size_t last = take_number(text, &len), first = last ? take_number(text, &len) : 0;
    p->text = text;
    p->line = first ? first : last;
    p->count = first ? last : 0;
    p->name = cli_strdup(text);
    p->name[len] = 0;
}

/* Returns 1 if each line of the passage is a line of its document. */
static int has_lines(const aoe_index_hit *hit) {
    size_t lines = 1;
    for (size_t i = 0; i < hit->text.len; i++)
        lines += hit->text.data[i] == '\n' && i + 1 < hit->text.len;
    return hit->line && lines == hit->last_line - hit->line + 1;
}

/* Appends the lines [first, last] of a passage whose text has the lines of its document. */
static void append_lines(aoei_buffer *b, const aoe_index_hit *hit, size_t first, size_t last) {
    const char *at = hit->text.data, *end = at + hit->text.len;
    for (size_t line = hit->line; at < end && line <= last; line++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        const char *next = nl ? nl : end;
        const cli_snippet whole = {0};
        if (line >= first && next == at)
            aoei_buffer_putc(b, '\n');
        else if (line >= first)
            cli_append_snippet(b, (aoe_text){at, (size_t)(next - at)}, &whole);
        at = nl ? nl + 1 : end;
    }
}

/* Prints the lines [first, last] of the passages, and passages without lines whole. A line that two passages share is
 * printed once. */
static void print_text(const cli_hit_output *o, const aoe_index_hits *hits, size_t first, size_t last) {
    aoei_buffer b = {0};
    size_t done = 0; /* last line that was printed */
    const char *heading = NULL;
    for (size_t i = 0; i < hits->n; i++) {
        aoe_index_hit hit = hits->hit[i];
        const cli_snippet whole = {0};
        const int lines = has_lines(&hit);
        const size_t from = done + 1 > first ? done + 1 : first;
        if (lines && hit.line < from)
            hit.line = from;
        if (lines && hit.last_line > last)
            hit.last_line = last;
        if (lines && hit.line > hit.last_line)
            continue;
        if (!done || !lines || hit.line != done + 1 || !heading || strcmp(heading, hit.heading) != 0) {
            cli_append_hit_place(&b, o, &hit);
            aoei_buffer_putc(&b, '\n');
        }
        heading = hit.heading;
        if (lines)
            append_lines(&b, &hits->hit[i], hit.line, hit.last_line);
        else
            cli_append_snippet(&b, hit.text, &whole);
        done = lines ? hit.last_line : 0;
    }
    if (b.len)
        fwrite(b.data, 1, b.len, stdout);
    aoei_buffer_free(&b);
}

/* Returns the absolute path of a file, which may have been removed. The caller frees it with free(). */
static char *absolute_path(const char *name) {
    char here[PATH_MAX];
    char *full = aoei_full_path(name);
    char *path = full && full[0] == '/'                        ? cli_strdup(full)
                 : name[0] != '/' && getcwd(here, sizeof here) ? cli_format("%s/%s", here, name)
                                                               : cli_strdup(name);
    aoei_free(full);
    return path;
}

/* Gets the passages that a place names. A file may also be named by its path relative to the current folder, and the
 * name of a document in a table may end like a place. */
static int get(cli_index *x, place *p, aoe_index_hits *hits, aoe_error *err) {
    aoe_error other;
    const size_t count = p->count ? p->count : 1;
    const int code = aoe_index_get(x->index, p->name, p->line, count, hits, err);
    if (code != AOE_ENOENT)
        return code;
    char *path = absolute_path(p->name);
    const int found = !aoe_index_get(x->index, path, p->line, count, hits, &other);
    if (!found && !aoe_index_get(x->index, path, 0, 0, hits, NULL)) { /* the document does not have this line */
        aoe_index_hits_free(hits);
        *err = other;
        free(path);
        return AOE_ENOENT;
    }
    free(path);
    if (found)
        return 0;
    if (!p->line || aoe_index_get(x->index, p->text, 0, 0, hits, &other))
        return code;
    p->line = p->count = 0;
    return 0;
}

static int print_place(cli_index *x, const options *o, place *p) {
    aoe_error err;
    aoe_index_hits hits = {.struct_size = sizeof hits};
    cli_hit_output output = {.format = CLI_HITS_TEXT};
    int code = get(x, p, &hits, &err);
    if (code)
        return cli_fail("%s", err.message);
    size_t first = p->count ? p->line : hits.hit[0].line;
    size_t last = p->count ? p->line + p->count - 1 : hits.hit[hits.n - 1].last_line;
    first = first > o->context ? first - o->context : 1;
    last += o->context;
    const int surroundings = p->line || strcmp(hits.hit[0].id, p->text) == 0; /* not the whole document */
    if (o->context && surroundings && hits.hit[0].line) {                     /* the passages before and after */
        char *name = cli_strdup(hits.hit[0].name);
        aoe_index_hits_free(&hits);
        code = aoe_index_get(x->index, name, first, last - first + 1, &hits, &err);
        free(name);
        if (code)
            return cli_fail("%s", err.message);
    }
    cli_hit_output_begin(&output);
    if (o->general.json)
        for (size_t i = 0; i < hits.n; i++)
            cli_print_hit_json(cli_hit_json(&hits.hit[i], NAN, 0));
    else
        print_text(&output, &hits, first, last);
    cli_hit_output_end(&output);
    aoe_index_hits_free(&hits);
    return 0;
}

static int run(const options *o, const cli_args *args) {
    aoe_error err;
    int code = 0;
    cli_index x = {.general = &o->general, .model = &o->model};
    place *places = cli_calloc(args->n + 1, sizeof *places);
    cli_set_quiet(o->general.quiet);
    for (size_t i = 0; i < args->n; i++)
        parse_place(&places[i], args->operand[i]);
    code = cli_index_find(&x, o->index);
    if (!code && cli_index_open_read(&x, &err))
        code = cli_fail("%s", err.message);
    for (size_t i = 0; i < args->n && !code; i++)
        code = print_place(&x, o, &places[i]);
    for (size_t i = 0; i < args->n; i++)
        free(places[i].name);
    free(places);
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
                 "is a name that aoe search prints. The files are not read. With --json, the passages with these\n"
                 "lines are printed as objects, one per line.\n",
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
