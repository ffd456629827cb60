/* SPDX-License-Identifier: MIT
 * The option parser of every command: a command lists its options in tables,
 * and parsing, checking, --help and the hints for misspelt names come from them.
 * Not here: what the options mean. Texts found here live as long as the
 * cli_args they were parsed into; argv is borrowed.
 */
#ifndef AOE_CLI_COMMON_OPTIONS_H
#define AOE_CLI_COMMON_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <aoe.h>

typedef enum cli_kind {
    CLI_FLAG,  /* int: becomes `set`; takes no value */
    CLI_TEXT,  /* const char * */
    CLI_TEXTS, /* cli_texts: takes the arguments up to the next option or @FILE; may be repeated */
    CLI_SIZE,  /* size_t in [min, max] */
    CLI_SEED,  /* uint64_t */
    CLI_REAL,  /* double in [min, max] */
    CLI_NAMED  /* anything: parse() reads it */
} cli_kind;

typedef struct cli_texts {
    const char **item; /* [n], owned by the cli_args */
    size_t n;
} cli_texts;

/* Reads text into target; 0, or an AOE code with err filled. */
typedef int (*cli_parse_fn)(void *target, const char *text, aoe_error *err);

typedef struct cli_option {
    const char *name;     /* long name without dashes */
    const char *value;    /* what --help calls the value; NULL for flags */
    const char *help;     /* what it does, without a full stop */
    const char *fallback; /* --help: the default in words; NULL: the value found in the target; "": not shown */
    size_t offset;        /* of the target in the group's base */
    double min, max;      /* inclusive range of CLI_SIZE and CLI_REAL; both 0: any that is not negative */
    cli_parse_fn parse;   /* CLI_NAMED */
    cli_kind kind;
    int set;     /* CLI_FLAG */
    char letter; /* short name; 0: none */
} cli_option;

typedef struct cli_group {
    const char *title;         /* heading in --help */
    const cli_option *options; /* [n] */
    size_t n;
    void *base; /* the struct the offsets are in, filled with the defaults */
} cli_group;

#define CLI_GROUP(title, table, base)                                                                                          \
    { title, table, sizeof(table) / sizeof *(table), base }

typedef struct cli_syntax {
    const char *command;      /* "train" */
    const char *operands;     /* "[FILE...]", "" for none */
    const char *about;        /* lines of text, each ended by \n */
    const char *examples;     /* likewise, indented; may be "" */
    const char *unknown_note; /* what the message for an unknown option ends with; NULL: nothing */
    const cli_group *groups;
    size_t n_groups;
    size_t min_operands, max_operands;
} cli_syntax;

typedef struct cli_args {
    const char **operand; /* [n], owned array */
    size_t n;
    char **owned; /* [n_owned] texts read from response files, owned */
    size_t n_owned;
    void **lists; /* [n_lists] arrays of CLI_TEXTS, owned */
    size_t n_lists;
} cli_args;

enum { CLI_GO = -1 }; /* cli_parse: nothing went wrong and there is work to do */

/* Parses the arguments after the command's name into the targets. Returns CLI_GO, or the exit code: 0 after --help,
 * 2 after a usage error, 1 when a response file cannot be read or names an unset variable (all reported). */
int cli_parse(cli_args *args, const cli_syntax *s, int argc, char **argv);
void cli_args_free(cli_args *args); /* accepts a zeroed one */

/* Reports a usage error of a command ("aoe: COMMAND: ... (see aoe COMMAND --help)") and returns 2. */
int cli_usage(const char *command, const char *fmt, ...);

/* The one of names[n] closest to what was typed, when it is close enough to be meant; else NULL. */
const char *cli_closest(const char *typed, const char *const *names, size_t n);

#endif
