/* SPDX-License-Identifier: MIT
 * Types of the tables that describe the options of a command. The parser (options.h) and the help (help.h) use these
 * tables.
 */
#ifndef AOE_CLI_COMMON_SYNTAX_H
#define AOE_CLI_COMMON_SYNTAX_H

#include <stddef.h>
#include <stdint.h>

#include <aoe.h>

/* Kind of an option. It determines the type of the option's target (the variable that the option sets) and the
 * permitted values. */
typedef enum cli_kind {
    CLI_FLAG,   /* int; the option has no value and sets the target to `set` */
    CLI_TEXT,   /* const char *; the text is part of argv or owned by the cli_args */
    CLI_PROMPT, /* as CLI_TEXT, for a template of a prompt; an escape sequence such as \n, which is not replaced, gives
                   a warning */
    CLI_MODEL,  /* const char *; a model directory. The name of a model of the Hugging Face Hub is replaced by its
                   directory */
    CLI_MODELS, /* cli_texts; one model directory, as for CLI_MODEL; the option may be repeated */
    CLI_TEXTS,  /* cli_texts; the values are all arguments up to the next option or @FILE; the option may be repeated */
    CLI_SIZE,   /* size_t from `min` to `max` */
    CLI_SEED,   /* uint64_t; all values are permitted */
    CLI_REAL,   /* double from `min` to `max` */
    CLI_CHOICE, /* int or an enum; the index of the text in `choices` */
    CLI_NAMED   /* any type; the function `parse` sets the target */
} cli_kind;

/* Value of an option of kind CLI_TEXTS. */
typedef struct cli_texts {
    const char **item; /* [n] texts; the array is owned by the cli_args */
    size_t n;
} cli_texts;

/* Parses a text and sets *target. Returns 0, or an error code after setting *err. */
typedef int (*cli_parse_fn)(void *target, const char *text, aoe_error *err);

/* Returns the name of the value *target, or NULL if it is not set. The name is borrowed. */
typedef const char *(*cli_name_fn)(const void *target);

typedef struct cli_option {
    const char *name;  /* long name without the two dashes */
    const char *value; /* name of the value in --help, for example "FILE"; NULL for flags */
    /* description for --help, without a full stop; NULL: --help does not list the option, which is an old name of
     * another option */
    const char *help;
    /* text that --help shows as the default; NULL: the value of the target is shown; "": no default is shown. If the
     * default of the target is a text, a size or a value with a name (name_of) that is set, this value is shown
     * instead */
    const char *fallback;
    /* name of the library's option field without "options.", for example "lora.r"; NULL: the field has the name of the
     * option with each '-' replaced by '_' */
    const char *field;
    const char *excludes; /* name of an option that must not be given together with this option; NULL: none */
    size_t offset;        /* offset of the target (the variable that is set) in cli_group.base, in bytes */
    /* CLI_SIZE and CLI_REAL: minimum and maximum value; if both are 0, all non-negative values are permitted */
    double min, max;
    cli_parse_fn parse;  /* CLI_NAMED: parses the value */
    cli_name_fn name_of; /* CLI_NAMED, CLI_REAL: returns the text of the value for --help. NULL: --help shows the
                            fallback, or the number of a CLI_REAL without fallback */
    void (*prepare)(void *base); /* function that cli_parse calls first with cli_group.base; NULL: none */
    const char *const *choices;  /* CLI_CHOICE: names of the values 0, 1, 2 and so on, NULL-terminated */
    const char *noun;            /* CLI_CHOICE: word for the names in messages, for example "format" */
    cli_kind kind;
    int set;     /* CLI_FLAG: value of the target if the flag is given */
    char letter; /* one-letter name of the option; 0: none */
} cli_option;

/* Initializer for the member `choices`: a NULL-terminated list of names. */
#define CLI_CHOICES(...)                                                                                               \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

/* A group of options whose targets are in one struct. */
typedef struct cli_group {
    const char *title;         /* heading of the group in --help */
    const cli_option *options; /* [n] options of the group, borrowed */
    size_t n;
    void *base; /* struct that contains the targets, initialized with the defaults; borrowed */
} cli_group;

#define CLI_GROUP(title, table, base)                                                                                  \
    { title, table, sizeof(table) / sizeof *(table), base }
/* Initializer for the members `groups` and `n_groups`. */
#define CLI_GROUPS(array) .groups = array, .n_groups = sizeof(array) / sizeof *(array)

/* The arguments that a command accepts, and its help. */
typedef struct cli_syntax {
    const char *command;      /* name of the command, for example "data mine" */
    const char *operands;     /* operands for --help, such as "[FILE...]"; "": none */
    const char *about;        /* description for --help: lines that end in \n */
    const char *examples;     /* examples for --help: indented lines that end in \n; "": none */
    const char *unknown_note; /* text appended to the message about an unknown option; NULL: none */
    const char *operand_note; /* text appended to the message about an operand beyond max_operands; NULL: none */
    const cli_group *groups;  /* [n_groups] groups of options, borrowed */
    size_t n_groups;
    const char *const *hidden; /* names of options that --help does not list, NULL-terminated; NULL: none */
    void (*more)(const struct cli_syntax *s); /* prints a section of --help after the options; NULL: there is none */
    size_t min_operands, max_operands;        /* minimum and maximum number of operands */
} cli_syntax;

#endif
