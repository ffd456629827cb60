/* SPDX-License-Identifier: MIT
 * Types of the tables that describe the options of a command. The parser (options.h) and the help (help.h) use these tables.
 */
#ifndef AOE_CLI_COMMON_SYNTAX_H
#define AOE_CLI_COMMON_SYNTAX_H

#include <stddef.h>
#include <stdint.h>

#include <aoe.h>

/* Kind of an option: type of its target and permitted values. */
typedef enum cli_kind {
    CLI_FLAG,   /* int: set to `set`; the option has no value */
    CLI_TEXT,   /* const char *: the text, borrowed from argv or owned by the cli_args */
    CLI_TEXTS,  /* cli_texts: all arguments up to the next option or @FILE; may be repeated */
    CLI_SIZE,   /* size_t in [min, max] */
    CLI_SEED,   /* uint64_t: every value */
    CLI_REAL,   /* double in [min, max] */
    CLI_CHOICE, /* int or an enum: index of the text in `choices` */
    CLI_NAMED   /* any type, set by parse() */
} cli_kind;

/* Value of an option of kind CLI_TEXTS. */
typedef struct cli_texts {
    const char **item; /* [n] texts, owned by the cli_args */
    size_t n;
} cli_texts;

/* Parses text into *target. Returns 0, or an error code after setting *err. */
typedef int (*cli_parse_fn)(void *target, const char *text, aoe_error *err);

typedef struct cli_option {
    const char *name;     /* long name without dashes */
    const char *value;    /* name of the value in --help; NULL for flags */
    const char *help;     /* description for --help, without a full stop; NULL: not listed, an earlier name of an option */
    const char *fallback; /* default for --help in words; NULL: the value in the target; "": no default is shown */
    const char
        *field; /* name of the library's option field without "options.", for example "lora.r"; NULL: `name` with '_' for '-' */
    const char *excludes;       /* name of an option that must not be given together with this one; NULL: none */
    size_t offset;              /* offset of the target (the variable that is set) in cli_group.base, in bytes */
    double min, max;            /* CLI_SIZE and CLI_REAL: minimum and maximum value; both 0: every non-negative value */
    cli_parse_fn parse;         /* CLI_NAMED: parses the value */
    const char *const *choices; /* CLI_CHOICE: names of the values 0, 1, ..., ended by NULL */
    const char *noun;           /* CLI_CHOICE: noun for messages that says what the names are, for example "format" */
    cli_kind kind;
    int set;     /* CLI_FLAG: value of the target if the flag is given */
    char letter; /* one-letter name; 0: none */
} cli_option;

/* Initializes `choices`. */
#define CLI_CHOICES(...)                                                                                                       \
    (const char *const[]) {                                                                                                    \
        __VA_ARGS__, NULL                                                                                                      \
    }

/* A group of options whose targets are in one struct. */
typedef struct cli_group {
    const char *title;         /* heading of the group in --help */
    const cli_option *options; /* [n] options of the group, borrowed */
    size_t n;
    void *base; /* struct that contains the targets, initialized with the defaults; borrowed */
} cli_group;

#define CLI_GROUP(title, table, base)                                                                                          \
    { title, table, sizeof(table) / sizeof *(table), base }
/* Initializes `groups` and `n_groups`. */
#define CLI_GROUPS(array) .groups = array, .n_groups = sizeof(array) / sizeof *(array)

/* The arguments that a command accepts, and its help. */
typedef struct cli_syntax {
    const char *command;      /* name of the command, for example "data mine" */
    const char *operands;     /* operands for --help, such as "[FILE...]"; "": none */
    const char *about;        /* description for --help: lines that end in \n */
    const char *examples;     /* examples for --help: indented lines that end in \n; "": none */
    const char *unknown_note; /* text appended to the message about an unknown option; NULL: none */
    const cli_group *groups;  /* [n_groups] groups of options, borrowed */
    size_t n_groups;
    size_t min_operands, max_operands; /* permitted number of operands */
} cli_syntax;

#endif
