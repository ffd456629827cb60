/* SPDX-License-Identifier: MIT
 * A row of an option table. The tables of this folder describe the option structs of the library; each row describes a
 * field. The program has tables of the same form for the options that only its commands have. The command line, the
 * help, the shell completions, `aoe options --json` and the records of training runs and experiments are derived from
 * these tables.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "aoe.h"

/* Kind of an option. It determines the type of the option's target (the variable that the option sets) and the
 * permitted values. */
typedef enum aoei_option_kind {
    AOEI_OPTION_FLAG,   /* int; the option has no value and sets the target to 1, or to 0 if `clears` is 1 */
    AOEI_OPTION_TEXT,   /* const char * */
    AOEI_OPTION_PROMPT, /* as TEXT, for a template of a prompt; an escape sequence such as \n, which is not replaced,
                           gives a warning */
    AOEI_OPTION_MODEL,  /* const char *; a model directory. The name of a model on the Hugging Face Hub is replaced by
                           its directory */
    AOEI_OPTION_MODELS, /* aoei_text_list; one model directory, as for MODEL; the option may be repeated */
    AOEI_OPTION_TEXTS, /* aoei_text_list; the values are all arguments up to the next option or @FILE; the option may be
                          repeated */
    AOEI_OPTION_LIST,  /* aoei_text_list; one text; the option may be repeated */
    AOEI_OPTION_SIZE,  /* size_t from `min` to `max` */
    AOEI_OPTION_SEED,  /* uint64_t; all values are permitted */
    AOEI_OPTION_REAL,  /* double from `min` to `max` */
    AOEI_OPTION_CHOICE, /* int or an enum; the index of the text in `choices` */
    AOEI_OPTION_SET,  /* unsigned; a set of the names in `choices`, separated by commas. The name i stands for the bit 1
                         << i. The last name may be "all", which stands for all bits before it */
    AOEI_OPTION_NAMED /* any type; the function `parse` sets the target */
} aoei_option_kind;

/* Value of an option of kind TEXTS, LIST or MODELS. */
typedef struct aoei_text_list {
    const char **item; /* [n] texts; the array is owned by the parsed arguments */
    size_t n;
} aoei_text_list;

/* Parses a text and sets *target. Returns 0, or an error code after setting *err. */
typedef int (*aoei_option_parse_fn)(void *target, const char *text, aoe_error *err);

enum { AOEI_NAME_SIZE = 128 /* size of a buffer for the name of a value or of a field */ };

/* Returns the name of the value *target, or NULL if it is not set. The name is in `out` or a static string. */
typedef const char *(*aoei_option_name_fn)(char out[AOEI_NAME_SIZE], const void *target);

/* How the record of a training run contains an option. */
typedef enum aoei_option_record {
    AOEI_RECORD_USED,    /* if the method uses the option */
    AOEI_RECORD_ALWAYS,  /* even if the method does not use it */
    AOEI_RECORD_CHANGED, /* if the method uses it and the value is not the default */
    AOEI_RECORD_OWN,     /* the code that uses the option adds the result, for example of AOE_AUTO */
    AOEI_RECORD_NEVER    /* not at all, because the option does not change the trained model */
} aoei_option_record;

typedef struct aoei_option {
    const char *name;  /* long name without the two dashes */
    const char *value; /* name of the value in --help, for example "FILE"; NULL: aoei_option_value determines it */
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
    /* name of an option without which this option has no effect; NULL: none. It applies to the commands that have an
     * option with this name */
    const char *requires;
    /* name of the field in the C struct of the group, for example "objective.w_ibn"; NULL: the option has no field of a
     * public struct */
    const char *member;
    size_t offset; /* offset of the target (the variable that is set) in its struct, in bytes */
    /* SIZE and REAL: range of the valid values. If max is 0, there is no maximum. AOEI_ABOVE_0 and AOEI_BELOW_1 stand
     * for open ends of the range */
    double min, max;
    /* SIZE and REAL: range of the values that the command line accepts, if it is narrower; other valid values are
     * probably mistakes. 0: min and max */
    double least, most;
    aoei_option_parse_fn parse;  /* NAMED: parses the value */
    aoei_option_name_fn name_of; /* NAMED, REAL: returns the text of the value for --help. NULL: --help shows the
                                    fallback, or the number of a REAL without fallback */
    json_t *(*json_of)(const void *target); /* returns the value for records; NULL: the kind determines it */
    const char *(*choice)(size_t i); /* NAMED: returns the name of value i, and NULL after the last one; NULL: the
                                        values have no names */
    const char *const *choices;      /* CHOICE: names of the values 0, 1, 2 and so on; SET: names of the bits;
                                        NULL-terminated */
    const char *noun;                /* CHOICE, SET: word for the names in messages, for example "format" */
    uint32_t methods;                /* training methods that use the option, a set of AOEI_METHOD_BIT; 0: all */
    aoei_option_record record;
    aoei_option_kind kind;
    int clears;    /* FLAG: 1: the flag sets the target to 0 */
    int automatic; /* 1: AOE_AUTO is a valid value */
    int memory;    /* 1: the memory of a training run depends on the option */
    char letter;   /* one-letter name of the option; 0: none */
} aoei_option;

enum { AOEI_ALL_METHODS = -1 }; /* argument `method` of aoei_option_group_check */

/* The bit of a training method in aoei_option.methods. method: an aoe_method. */
#define AOEI_METHOD_BIT(method) ((uint32_t)1 << (method))

/* Rows whose targets are in one struct. */
typedef struct aoei_option_group {
    const char *title;          /* heading of the group in --help */
    const char *type;           /* name of the public struct that contains the fields of the options */
    const aoei_option *options; /* [n] rows, borrowed */
    size_t n;
    size_t offset; /* offset of the struct in the struct of all groups */
} aoei_option_group;

/* Ends of a range of numbers: the smallest number above 0, and the largest number below 1. */
#define AOEI_ABOVE_0  0x1p-1074
#define AOEI_BELOW_1  (1 - 0x1p-53)
#define AOEI_NO_LIMIT 1e30 /* an end of this size means that the range has no limit there */

/* Initializer of a group with all rows of a table for the struct `type`, and of such a group whose struct has an offset
 * in the struct of all groups. */
#define AOEI_GROUP(title, type, table) AOEI_GROUP_AT(title, type, table, 0)
#define AOEI_GROUP_AT(title, type, table, offset)                                                                      \
    { title, #type, table, sizeof(table) / sizeof *(table), offset }

/* Initializer for the members `member` and `offset` of a row: a field of the public struct `type`. */
#define AOEI_AT(type, field) .member = #field, .offset = offsetof(type, field)

/* Initializer for the member `choices`: a NULL-terminated list of names. */
#define AOEI_CHOICES(...)                                                                                              \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Returns the index of `text` in `names`, which is a NULL-terminated list. If the list does not contain the text,
 * returns the number of names and sets *err. noun: word for the names in the message, for example "format". */
size_t aoei_choose(const char *const *names, const char *text, const char *noun, aoe_error *err);
/* Copies the first item of a comma-separated list to `item`, which truncates it if it is too long. Returns the rest of
 * the list after the comma, or NULL if there are no more items. */
const char *aoei_next_item(const char *list, char item[AOEI_NAME_SIZE]);
/* Parses the value of an option of kind SET. */
int aoei_parse_set(unsigned *set, const aoei_option *o, const char *text, aoe_error *err);
/* Writes the value of an option of kind SET. Returns out. */
const char *aoei_set_text(char out[AOEI_NAME_SIZE], const aoei_option *o, unsigned set);

/* Returns the name of the value of an option: o->value, or "N" for a SIZE and a SEED, "X" for a REAL and "NAME" for a
 * CHOICE. Returns NULL for a FLAG. */
const char *aoei_option_value(const aoei_option *o);
/* Returns the name of value i of an option with named values, or NULL if there is no such name. */
const char *aoei_option_choice(const aoei_option *o, size_t i);
/* Writes the name of the field of an option to `out`: o->field, or the name of the option with each '-' replaced by
 * '_'. Returns out. */
const char *aoei_option_field(char out[AOEI_NAME_SIZE], const aoei_option *o);
/* For aoei_option.name_of of a REAL: returns the number, or NULL if it is AOE_AUTO. */
const char *aoei_real_text(char out[AOEI_NAME_SIZE], const void *target);
/* Returns 1 if the training method uses the option. */
int aoei_option_is_used(const aoei_option *o, int method);
/* Sets *min and *max to the range of an option of kind SIZE or REAL; infinity if there is no maximum. typed: 1: the
 * range of the values on the command line; 0: the range of the valid values. */
void aoei_option_limits(const aoei_option *o, int typed, double *min, double *max);
/* Writes the range of an option of kind SIZE or REAL, such as "a number from 0 to 5". Returns out. */
const char *aoei_option_range(char out[AOEI_NAME_SIZE], const aoei_option *o, int typed);
/* Checks that the value of an option is in its range, or that it is one of its choices. Errors: AOE_EARG. */
int aoei_option_check(const aoei_option *o, const void *target, aoe_error *err);
/* Checks that the values of all options of a group are in their ranges. options: the struct of the targets; method: an
 * aoe_method, whose options are checked; AOEI_ALL_METHODS: all options are checked. Errors: AOE_EARG. */
int aoei_option_group_check(const aoei_option_group *g, const void *options, int method, aoe_error *err);
/* Returns the value of an option for a record. names: 1: a value of CHOICE or SET is its name, a FLAG is a boolean, and
 * AOE_AUTO is null; 0: values of CHOICE, SET and FLAG are numbers, and AOE_AUTO is "auto". Returns NULL if out of
 * memory. */
json_t *aoei_option_json(const aoei_option *o, const void *target, int names);
/* Adds the options of a group to the record of a training run, as aoei_option.record says. options, defaults: the
 * struct of the targets, and this struct with its default values; method: an aoe_method. Returns a nonzero value if out
 * of memory. */
int aoei_option_group_record(json_t *record, const aoei_option_group *g, const void *options, const void *defaults,
                             int method);
