/* SPDX-License-Identifier: MIT
 * Parses the arguments of a command, as described by its option tables (syntax.h). Each line of a response file (@FILE)
 * is parsed as one or two arguments. Error messages about these arguments contain the path of the file and the line
 * number.
 */
#include "cli/common/options.h"

#include "cli/common/help.h"
#include "cli/common/hints.h"
#include "cli/common/output.h"
#include "cli/common/response.h"
#include "cli/common/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 64 }; /* maximum length in bytes of an unknown option for which another option is suggested */

typedef struct parser {
    const cli_syntax *syntax;
    cli_args *args;
    const char *const *argument; /* [n] arguments that are parsed, borrowed */
    size_t n;
    size_t at;         /* index of the next argument */
    const char *file;  /* path of the response file that is parsed; NULL: the command line is parsed */
    size_t line;       /* number of the current line in the response file */
    int operands_only; /* 1: "--" was read, so all remaining arguments are operands */
    int help;          /* 1 if --help was given */
} parser;

int cli_print_version(void) {
    printf("aoe %s\n", aoe_version());
    return 0;
}

int cli_is_help_flag(const char *argument) {
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

int cli_is_version_flag(const char *argument) {
    return strcmp(argument, "--version") == 0 || strcmp(argument, "-V") == 0;
}

/* Prints a usage error of a command and returns exit code 2. where: "FILE:LINE: " for an argument in a response file,
 * otherwise "". */
static int report_usage(const char *command, const char *where, const char *fmt, va_list args) {
    char text[1024];
    const char *space = command[0] ? " " : "", *colon = command[0] ? ": " : "";
    vsnprintf(text, sizeof text, fmt, args);
    cli_message("aoe: %s%s%s%s (see aoe %s%s--help)", where, command, colon, text, command, space);
    return 2;
}

int cli_usage(const char *command, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int code = report_usage(command, "", fmt, args);
    va_end(args);
    return code;
}

/* Reports a usage error. If a response file contains the error, the message starts with the path of the file and the
 * line number. */
static int usage_error(const parser *p, const char *fmt, ...) {
    char where[512] = "";
    if (p->file)
        snprintf(where, sizeof where, "%s:%zu: ", p->file, p->line);
    va_list args;
    va_start(args, fmt);
    int code = report_usage(p->syntax->command, where, fmt, args);
    va_end(args);
    return code;
}

static int is_option(const char *s) {
    return s[0] == '-' && s[1] != 0 && !(isdigit((unsigned char)s[1]) || s[1] == '.');
}

/* Parses a non-negative decimal integer. Returns 0, or -1 if the text is not such an integer. */
static int read_size(const char *text, unsigned long long *out) {
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return -1;
    *out = strtoull(text, &end, 10);
    return errno || *end ? -1 : 0;
}

/* Parses a finite number. Returns 0, or -1 if the text is not a finite number. */
static int read_real(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end == text || *end || isspace((unsigned char)text[0]) || !isfinite(*out) ? -1 : 0;
}

/* Returns 1 if the number is in the range of the option. */
static int in_range(const aoei_option *o, double x) {
    double min, max;
    aoei_option_limits(o, 1, &min, &max);
    return x >= min && x <= max;
}

/* Reports that the value of a numeric option is not a number in its range. */
static int range_error(const parser *p, const aoei_option *o, const char *text) {
    char range[AOEI_NAME_SIZE];
    return usage_error(p, "--%s must be %s, not '%s'", o->name, aoei_option_range(range, o, 1), text);
}

/* Appends a text to a list. The array of the list is owned by `args`. */
static void add_text(cli_args *args, aoei_text_list *list, const char *text) {
    void *before = (void *)list->item;
    list->item = cli_realloc((void *)list->item, (list->n + 1) * sizeof *list->item);
    list->item[list->n++] = text;
    for (size_t i = 0; i < args->n_lists; i++) {
        if (args->lists[i] == before) {
            args->lists[i] = (void *)list->item;
            return;
        }
    }
    args->lists = cli_realloc(args->lists, (args->n_lists + 1) * sizeof *args->lists);
    args->lists[args->n_lists++] = (void *)list->item;
}

int cli_given(const cli_args *args, const char *name) {
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i]->name, name) == 0)
            return 1;
    return 0;
}

const char *cli_first_given(const cli_args *args, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (cli_given(args, names[i]))
            return names[i];
    return NULL;
}

static void note_given(cli_args *args, const aoei_option *o) {
    args->given = cli_realloc((void *)args->given, (args->n_given + 1) * sizeof *args->given);
    args->given[args->n_given++] = o;
}

static void add_owned(cli_args *a, char *text) {
    a->owned = cli_realloc(a->owned, (a->n_owned + 1) * sizeof *a->owned);
    a->owned[a->n_owned++] = text;
}

/* Sets *text to the directory of the model that it names; see aoe_model_find. Returns CLI_GO, or 1 after reporting that
 * the model is missing. */
static int find_model(cli_args *args, const char **text) {
    char dir[PATH_MAX];
    aoe_error err;
    if (aoe_model_find(dir, sizeof dir, *text, &err))
        return cli_fail("%s", err.message);
    if (strcmp(dir, *text) != 0) {
        add_owned(args, cli_strdup(dir));
        *text = args->owned[args->n_owned - 1];
    }
    return CLI_GO;
}

int cli_find_operand_models(cli_args *args) {
    int code = CLI_GO;
    for (size_t i = 0; i < args->n && code == CLI_GO; i++)
        code = find_model(args, &args->operand[i]);
    return code;
}

/* Parses the value of an option and stores it in *target. */
static int store(parser *p, const aoei_option *o, void *target, const char *text) {
    unsigned long long whole;
    double real;
    aoe_error err;
    note_given(p->args, o);
    switch (o->kind) {
    case AOEI_OPTION_FLAG:
        *(int *)target = !o->clears;
        return CLI_GO;
    case AOEI_OPTION_PROMPT:
        if (strstr(text, "\\n") || strstr(text, "\\t"))
            cli_warn(
                "--%s contains a backslash and the letter %s, which are used as they are; write a line break or a tab "
                "itself, in "
                "bash for example $'first line\\nsecond line: {text}'",
                o->name, strstr(text, "\\n") ? "n" : "t");
        /* fall through */
    case AOEI_OPTION_TEXT:
        *(const char **)target = text;
        return CLI_GO;
    case AOEI_OPTION_MODEL:
        *(const char **)target = text;
        return find_model(p->args, target);
    case AOEI_OPTION_MODELS: {
        const char *dir = text;
        const int code = find_model(p->args, &dir);
        add_text(p->args, target, dir);
        return code;
    }
    case AOEI_OPTION_TEXTS:
        add_text(p->args, target, text);
        while (p->at < p->n && !is_option(p->argument[p->at]) && p->argument[p->at][0] != '@')
            add_text(p->args, target, p->argument[p->at++]);
        return CLI_GO;
    case AOEI_OPTION_LIST:
        add_text(p->args, target, text);
        return CLI_GO;
    case AOEI_OPTION_SIZE:
        if (read_size(text, &whole) || whole > SIZE_MAX || !in_range(o, (double)whole))
            return range_error(p, o, text);
        *(size_t *)target = (size_t)whole;
        return CLI_GO;
    case AOEI_OPTION_SEED:
        if (read_size(text, &whole))
            return usage_error(p, "--%s must be an integer from 0 to 2^64 - 1, not '%s'", o->name, text);
        *(uint64_t *)target = whole;
        return CLI_GO;
    case AOEI_OPTION_REAL:
        if (read_real(text, &real) || !in_range(o, real))
            return range_error(p, o, text);
        *(double *)target = real;
        return CLI_GO;
    case AOEI_OPTION_CHOICE: {
        const size_t choice = aoei_choose(o->choices, text, o->noun, &err);
        if (!o->choices[choice])
            return usage_error(p, "--%s: %s", o->name, err.message);
        *(int *)target = (int)choice;
        return CLI_GO;
    }
    case AOEI_OPTION_SET:
        if (aoei_parse_set(target, o, text, &err))
            return usage_error(p, "--%s: %s", o->name, err.message);
        return CLI_GO;
    case AOEI_OPTION_NAMED:
        if (o->parse(target, text, &err))
            return usage_error(p, "--%s: %s", o->name, err.message);
        return CLI_GO;
    }
    return CLI_GO;
}

/* Reports an unknown option and suggests the most similar name. */
static int unknown_option(const parser *p, const char *name, size_t len) {
    const char *names[128];
    char typed[MAX_NAME + 1];
    size_t n = 0;
    for (size_t g = 0; g < p->syntax->n_groups; g++)
        for (size_t i = 0; i < p->syntax->groups[g].n && n < 127; i++)
            names[n++] = p->syntax->groups[g].options[i].name;
    names[n++] = "help";
    snprintf(typed, sizeof typed, "%.*s", (int)(len < MAX_NAME ? len : MAX_NAME), name);
    const char *reason = cli_foreign_option(typed), *note = p->syntax->unknown_note;
    const char *closest = reason ? NULL : cli_suggest_option(typed, names, n);
    note = reason ? reason : note;
    if (closest)
        return usage_error(p, "unknown option --%.*s; did you mean --%s?%s%s", (int)len, name, closest, note ? " " : "",
                           note ? note : "");
    return usage_error(p, "unknown option --%.*s%s%s", (int)len, name, note ? "; " : "", note ? note : "");
}

/* Finds an option by name[len] or, if name is NULL, by its letter. Returns the option and sets *target to the address
 * of its target. Returns NULL if there is no such option. */
static const aoei_option *find(const parser *p, const char *name, size_t len, char letter, void **target) {
    for (size_t g = 0; g < p->syntax->n_groups; g++) {
        const cli_group *group = &p->syntax->groups[g];
        for (size_t i = 0; i < group->n; i++) {
            const aoei_option *o = &group->options[i];
            int same = name ? strlen(o->name) == len && memcmp(o->name, name, len) == 0 : o->letter == letter;
            if (same) {
                *target = (char *)group->base + o->offset;
                return o;
            }
        }
    }
    return NULL;
}

/* Reports an error if two options that exclude each other were given, or an option without another one that it
 * requires. */
static int check_together(const parser *p) {
    for (size_t i = 0; i < p->args->n_given; i++) {
        const aoei_option *o = p->args->given[i];
        void *target;
        if (o->excludes && cli_given(p->args, o->excludes))
            return usage_error(p, "--%s and --%s exclude each other; give only one of them", o->name, o->excludes);
        const char *name = o->requires && !cli_given(p->args, o->requires) ? o->requires : NULL;
        const aoei_option *required = name ? find(p, name, strlen(name), 0, &target) : NULL;
        const char *value = required ? aoei_option_value(required) : NULL;
        if (required)
            return usage_error(p, "--%s requires --%s%s%.*s", o->name, name, value ? " " : "",
                               value ? (int)strcspn(value, " [,.") : 0, value ? value : "");
    }
    return CLI_GO;
}

/* Parses an option of the form --name, --name VALUE or --name=VALUE. */
static int take_long(parser *p, const char *arg) {
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    void *target = NULL;
    if (len == 4 && memcmp(name, "help", 4) == 0) {
        p->help = 1;
        return CLI_GO;
    }
    const aoei_option *o = find(p, name, len, 0, &target);
    if (!o)
        return unknown_option(p, name, len);
    if (o->kind == AOEI_OPTION_FLAG && value)
        return usage_error(p, "--%s does not take a value", o->name);
    if (o->kind != AOEI_OPTION_FLAG && !value) {
        if (p->at == p->n)
            return usage_error(p, "missing value: --%s %s", o->name, aoei_option_value(o));
        value = p->argument[p->at++];
    }
    return store(p, o, target, value);
}

/* Parses an option of the form -x, -x VALUE or -xVALUE. */
static int take_short(parser *p, const char *arg) {
    void *target = NULL;
    if (cli_is_help_flag(arg)) {
        p->help = 1;
        return CLI_GO;
    }
    if (arg[2] && find(p, arg + 1, strlen(arg + 1), 0, &target))
        return usage_error(p, "unknown option %s; did you mean -%s?", arg, arg);
    const aoei_option *o = find(p, NULL, 0, arg[1], &target);
    if (!o)
        return usage_error(p, "unknown option %s%s%s", arg, p->syntax->unknown_note ? "; " : "",
                           p->syntax->unknown_note ? p->syntax->unknown_note : "");
    if (o->kind == AOEI_OPTION_FLAG) {
        if (arg[2])
            return usage_error(p, "-%c does not take a value", o->letter);
        return store(p, o, target, NULL);
    }
    if (arg[2])
        return store(p, o, target, arg + 2);
    if (p->at == p->n)
        return usage_error(p, "missing value: -%c %s", o->letter, aoei_option_value(o));
    return store(p, o, target, p->argument[p->at++]);
}

static int take_operand(parser *p, const char *arg) {
    cli_args *a = p->args;
    if (a->n == p->syntax->max_operands)
        return usage_error(p, "unexpected argument '%s'%s%s", arg, p->syntax->operand_note ? "; " : "",
                           p->syntax->operand_note ? p->syntax->operand_note : "");
    a->operand = cli_realloc((void *)a->operand, (a->n + 1) * sizeof *a->operand);
    a->operand[a->n++] = arg;
    return CLI_GO;
}

static int take_file(parser *p, const char *path);

/* Parses all arguments of p. */
static int take_all(parser *p) {
    while (p->at < p->n) {
        const char *arg = p->argument[p->at++];
        int code;
        if (!p->operands_only && strcmp(arg, "--") == 0) {
            p->operands_only = 1;
            continue;
        }
        if (p->operands_only || (arg[0] != '@' && !is_option(arg)))
            code = take_operand(p, arg);
        else if (arg[0] == '@')
            code = take_file(p, arg + 1);
        else
            code = arg[1] == '-' ? take_long(p, arg) : take_short(p, arg);
        if (code != CLI_GO)
            return code;
    }
    return CLI_GO;
}

/* Parses the arguments in the response file `path`. */
static int take_file(parser *p, const char *path) {
    cli_response *r = NULL;
    char *word[2];
    size_t n, line;
    int operands_only = 0; /* 1: the line "--" was read, so all remaining lines are operands */
    if (p->file)
        return usage_error(p, "a response file cannot contain @%s; name that file on the command line", path);
    if (cli_response_open(&r, path))
        return 1;
    int code = CLI_GO;
    while (code == CLI_GO) {
        int more = cli_response_next(r, word, &n, &line);
        if (more <= 0) {
            code = more < 0 ? 1 : CLI_GO;
            break;
        }
        for (size_t i = 0; i < n; i++)
            add_owned(p->args, word[i]);
        parser inner = {p->syntax, p->args, (const char *const *)word, n, 0, path, line, operands_only, 0};
        code = take_all(&inner);
        operands_only = inner.operands_only;
        p->help |= inner.help;
    }
    cli_response_close(r);
    return code;
}

/* Adapts a message to the command with the syntax `syntax`. */
static void name_flags(char *out, size_t size, const char *text, const void *syntax) {
    cli_name_flags(out, size, text, syntax);
    cli_drop_hints(out);
}

/* The function that receives the syntax of the next command; NULL: the command is run. */
static struct {
    cli_syntax_fn read;
    void *user;
} reader;

void cli_read_syntax(int (*run)(int argc, char **argv), cli_syntax_fn read, void *user) {
    reader.read = read;
    reader.user = user;
    run(0, NULL);
    reader.read = NULL;
}

int cli_parse(cli_args *args, const cli_syntax *s, int argc, char **argv) {
    memset(args, 0, sizeof *args);
    if (reader.read) {
        reader.read(reader.user, s);
        return 0;
    }
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (cli_is_help_flag(argv[i]))
            return cli_help(s);
        if (cli_is_version_flag(argv[i]))
            return cli_print_version();
    }
    cli_set_message_filter(name_flags, s);
    for (size_t g = 0; g < s->n_groups; g++)
        if (s->groups[g].prepare)
            s->groups[g].prepare(s->groups[g].base);
    parser p = {s, args, (const char *const *)argv, (size_t)argc, 0, NULL, 0, 0, 0};
    int code = take_all(&p);
    if (code != CLI_GO)
        return code;
    if (p.help)
        return cli_help(s);
    if (args->n < s->min_operands)
        return cli_usage(s->command, "missing argument: %s", s->operands);
    return check_together(&p);
}

void cli_args_free(cli_args *args) {
    cli_set_message_filter(NULL, NULL);
    for (size_t i = 0; i < args->n_owned; i++)
        free(args->owned[i]);
    for (size_t i = 0; i < args->n_lists; i++)
        free(args->lists[i]);
    free(args->owned);
    free(args->lists);
    free((void *)args->operand);
    free((void *)args->given);
    memset(args, 0, sizeof *args);
}
