/* SPDX-License-Identifier: MIT
 * Parses a chat template into a syntax tree.
 */
#pragma once

#include "aoe.h"
#include "jinja/value.h"

/* The kinds of nodes. The comments describe the children; a list of nodes is linked by `next`. */
typedef enum aoei_jinja_kind {
    /* statements */
    AOEI_JINJA_PRINT_TEXT, /* prints `text` */
    AOEI_JINJA_PRINT,      /* prints the expression child[0] */
    AOEI_JINJA_IF,         /* condition, list of statements, list of statements or NULL */
    AOEI_JINJA_FOR,        /* target, sequence, statements, statements of else, condition or NULL */
    AOEI_JINJA_SET,        /* target, expression */
    AOEI_JINJA_SET_BLOCK,  /* target, statements */
    AOEI_JINJA_DEFINE,     /* macro `text`: list of NAMEs, whose child[0] is the default; statements */
    AOEI_JINJA_SCOPE,      /* {% generation %}: statements */
    AOEI_JINJA_BREAK,
    AOEI_JINJA_CONTINUE,
    AOEI_JINJA_UNSUPPORTED, /* a statement with the name `text`, which is an error if it is executed */
    /* expressions */
    AOEI_JINJA_CONSTANT,  /* `value` */
    AOEI_JINJA_VARIABLE,  /* `text` */
    AOEI_JINJA_MAKE_LIST, /* list of items */
    AOEI_JINJA_MAKE_TUPLE,
    AOEI_JINJA_MAKE_DICT, /* list of alternating keys and values */
    AOEI_JINJA_ATTRIBUTE, /* object; name `text` */
    AOEI_JINJA_ITEM,      /* object, index */
    AOEI_JINJA_SLICE,     /* object, first, end, step; each of the last three may be NULL */
    AOEI_JINJA_CALL,      /* function, arguments */
    AOEI_JINJA_KEYWORD,   /* argument `text`: value */
    AOEI_JINJA_SPREAD,    /* sequence whose elements are arguments, as in f(*x) */
    AOEI_JINJA_FILTER,    /* value, arguments; name `text` */
    AOEI_JINJA_TEST,      /* value, arguments; name `text` */
    AOEI_JINJA_NOT,
    AOEI_JINJA_NEGATE,
    AOEI_JINJA_POSITIVE,
    AOEI_JINJA_AND,
    AOEI_JINJA_OR,
    AOEI_JINJA_COMPARE, /* value, list of OPERANDs */
    AOEI_JINJA_OPERAND, /* value; operator `text` */
    AOEI_JINJA_BINARY,  /* left, right; operator `text` */
    AOEI_JINJA_CHOICE   /* condition, value, other value or NULL */
} aoei_jinja_kind;

typedef struct aoei_jinja_node {
    aoei_jinja_kind kind;
    unsigned line;
    aoe_text text;
    aoei_jinja_value value;
    struct aoei_jinja_node *child[5];
    struct aoei_jinja_node *next; /* next node of a list */
} aoei_jinja_node;

/* Sets *out to the list of the statements of `source`, which is allocated in `arena`. name: name of the file in
 * messages. Errors: AOE_EFORMAT (syntax), AOE_EUNSUPPORTED (names the statement), AOE_ENOMEM. */
int aoei_jinja_parse(aoei_jinja_node **out, aoei_jinja_arena *arena, aoe_text source, const char *name, aoe_error *err);
