/* SPDX-License-Identifier: MIT
 * Describes the arguments that a command accepts, as groups of rows of option tables. The parser (options.h) and the
 * help (help.h) use this description.
 */
#pragma once

#include <stddef.h>

#include "aoe_train.h"
#include "options/option.h"

/* A group of options whose targets are in one struct. */
typedef struct cli_group {
    const char *title; /* heading of the group in --help; consecutive groups with equal titles are printed as one */
    const aoei_option *options; /* [n] options of the group, borrowed */
    size_t n;
    void *base;       /* struct that contains the targets, initialized with the defaults; borrowed */
    const char *type; /* name of the struct of the library that contains the fields; NULL: options of the program */
    void (*prepare)(void *base); /* called before the arguments are parsed; NULL: none */
} cli_group;

/* A group of n rows of the program; of all rows of a table. */
#define CLI_ROWS(title, rows, n, base)                                                                                 \
    { title, rows, n, base, NULL, NULL }
#define CLI_GROUP(title, table, base) CLI_ROWS(title, table, sizeof(table) / sizeof *(table), base)
/* An aoei_option_group of the library whose targets are in the struct at `base`. */
#define CLI_LIBRARY_GROUP(group, base)                                                                                 \
    { (group)->title, (group)->options, (group)->n, base, (group)->type, NULL }
/* A group of all rows of a table for the struct `fields` of the library at `base`. */
#define CLI_FIELDS(title, table, fields, base)                                                                         \
    { title, table, sizeof(table) / sizeof *(table), base, #fields, NULL }
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
    const aoe_method *method; /* training method; --help lists only the options that it uses; NULL: all options are
                                 listed */
    void (*more)(const struct cli_syntax *s); /* prints a section of --help after the options; NULL: there is none */
    size_t min_operands, max_operands;        /* minimum and maximum number of operands */
} cli_syntax;
