/* SPDX-License-Identifier: MIT
 * A row of an option table. The tables of this folder describe the option structs of the library; each row describes a
 * field. The program has tables of the same form for the options that only its commands have. The command line, the
 * help, the shell completions, `aoe options --json` and the records of training runs and experiments are derived from
 * these tables.
 */
#ifndef AOEI_OPTIONS_OPTION_H
#define AOEI_OPTIONS_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* Kind of an option. It determines the type of the option's target (the variable that the option sets) and the
 * permitted values. */
typedef enum aoei_option_kind {
    AOEI_OPTION_FLAG,   /* int; the option has no value and sets the target to `set` */
    AOEI_OPTION_TEXT,   /* const char * */
    AOEI_OPTION_PROMPT, /* as TEXT, for a template of a prompt; an escape sequence such as \n, which is not replaced,
                           gives a warning */
    AOEI_OPTION_MODEL,  /* const char *; a model directory. The name of a model of the Hugging Face Hub is replaced by
                           its directory */
    AOEI_OPTION_MODELS, /* aoei_text_list; one model directory, as for MODEL; the option may be repeated */
    AOEI_OPTION_TEXTS, /* aoei_text_list; the values are all arguments up to the next option or @FILE; the option may be
                          repeated */
    AOEI_OPTION_SIZE,  /* size_t from `min` to `max` */
    AOEI_OPTION_SEED,  /* uint64_t; all values are permitted */
    AOEI_OPTION_REAL,  /* double from `min` to `max` */
    AOEI_OPTION_CHOICE, /* int or an enum; the index of the text in `choices` */
    AOEI_OPTION_NAMED   /* any type; the function `parse` sets the target */
} aoei_option_kind;

/* Value of an option of kind TEXTS or MODELS. */
typedef struct aoei_text_list {
    const char **item; /* [n] texts; the array is owned by the parsed arguments */
    size_t n;
} aoei_text_list;

/* Parses a text and sets *target. Returns 0, or an error code after setting *err. */
typedef int (*aoei_option_parse_fn)(void *target, const char *text, aoe_error *err);

/* Returns the name of the value *target, or NULL if it is not set. The name is borrowed. */
typedef const char *(*aoei_option_name_fn)(const void *target);

typedef struct aoei_option {
    const char *name;  /* long name without the two dashes */
    const char *value; /* name of the value in --help, for example "FILE"; NULL for flags */
    /* description for --help, without a full stop; NULL: --help does not list the option, which is an old name of
     * another option */
    const char *help;
    /* text that --help shows as the default; NULL: the value of the target is shown; "": no default is shown. If the
     * default of the target is a text, a size or a value with a name (name_of) that is set, this value is shown
     * instead */
    const char *fallback;
    /* name of the option field without "options.", for example "lora.r"; NULL: the field has the name of the option
     * with each '-' replaced by '_' */
    const char *field;
    const char *excludes; /* name of an option that must not be given together with this option; NULL: none */
    size_t offset;        /* offset of the target (the variable that is set) in its struct, in bytes */
    /* SIZE and REAL: minimum and maximum value; if both are 0, all non-negative values are permitted */
    double min, max;
    aoei_option_parse_fn parse;  /* NAMED: parses the value */
    aoei_option_name_fn name_of; /* NAMED, REAL: returns the text of the value for --help. NULL: --help shows the
                                    fallback, or the number of a REAL without fallback */
    void (*prepare)(void *base); /* function that is called with the struct of the target before an argument is parsed;
                                    NULL: none */
    const char *const *choices;  /* CHOICE: names of the values 0, 1, 2 and so on, NULL-terminated */
    const char *noun;            /* CHOICE: word for the names in messages, for example "format" */
    aoei_option_kind kind;
    int set;     /* FLAG: value of the target if the flag is given */
    char letter; /* one-letter name of the option; 0: none */
} aoei_option;

/* Initializer for the member `choices`: a NULL-terminated list of names. */
#define AOEI_CHOICES(...)                                                                                              \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Returns the index of `text` in `names`, which is a NULL-terminated list. If the list does not contain the text,
 * returns the number of names and sets *err. noun: word for the names in the message, for example "format". */
size_t aoei_choose(const char *const *names, const char *text, const char *noun, aoe_error *err);

#endif
