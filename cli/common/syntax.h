/* SPDX-License-Identifier: MIT
 * The tables that describe a command's options: parsing (options.h) and help texts (help.h) are made from them.
 * Types only.
 */
#ifndef AOE_CLI_COMMON_SYNTAX_H
#define AOE_CLI_COMMON_SYNTAX_H

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
    const char *field;    /* library option field without "options.", as "lora.r"; NULL: the name with '_' for '-' */
    const char *excludes; /* name of an option that must not be given together with this one; NULL: none */
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
    const char *examples;     /* indented lines, each ended by \n; may be "" */
    const char *unknown_note; /* end of the message for an unknown option; NULL: none */
    const cli_group *groups;
    size_t n_groups;
    size_t min_operands, max_operands;
} cli_syntax;

#endif
