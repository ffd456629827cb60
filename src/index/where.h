/* SPDX-License-Identifier: MIT
 * Conditions on the metadata of documents, such as "year >= 2020 and lang = 'en'". This unit parses a condition and
 * combines the bitmaps of its comparisons; where_sql.h evaluates one comparison.
 *
 *     condition  = conjunction { "or" conjunction }
 *     conjunction = negation { "and" negation }
 *     negation   = "not" negation | "(" condition ")" | "exists" key | key operator value
 *                | key ["not"] "in" "(" value { "," value } ")" | key ["not"] "like" text
 *     operator   = "=" | "!=" | "<" | "<=" | ">" | ">="          ("==" and "<>" are also accepted)
 *     value      = number | text           text: in ' or ", which is doubled inside the text
 *     key        = letters, digits, '_', '.' and '-', not beginning with a digit or '-'; or any text in backticks
 *
 * The names of operators are written in small or capital letters. A value in quotes that has the form of a number is a
 * number. Numbers are compared with numbers and texts with texts, byte by byte. In a pattern of `like`, '%' matches any
 * characters, '_' one character, and '\' makes the next character literal; ASCII letters of both cases are equal.
 * If a document has no value for a key, every comparison with this key is false, also !=, `not in` and `not like`. If a
 * document has several values, a comparison is true if it is true for one of them; !=, `not in` and `not like` are true
 * if the document has the key and no value is equal or matches. `not` before a comparison makes it true for documents
 * without the key. The built-in keys `name`, `path`, `ext` and `modified` belong to the document itself; metadata with
 * these names is reached with backticks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum {
    AOEI_WHERE_BYTES = 65536, /* maximum length of a condition */
    AOEI_LIKE_BYTES = 1000,   /* maximum length of a pattern of `like` */
    AOEI_WHERE_DEPTH = 32     /* maximum depth of parentheses and `not` */
};

/* Operators of comparisons. The negative operators of the language are combinations of these. */
typedef enum aoei_comparison_type {
    AOEI_EQUAL,
    AOEI_LESS,
    AOEI_LESS_OR_EQUAL,
    AOEI_GREATER,
    AOEI_GREATER_OR_EQUAL,
    AOEI_LIKE,
    AOEI_EXISTS, /* the document has a value */
    AOEI_COMPARISON_TYPES
} aoei_comparison_type;

typedef struct aoei_comparison {
    aoei_comparison_type type;
    const char *key;
    int is_quoted;     /* 1: the key is in backticks, so it is no built-in key */
    const char *value; /* NUL-terminated; NULL for AOEI_EXISTS */
    int is_number;     /* 1: the value is a number. Never for AOEI_LIKE */
    size_t position;   /* of the key in the condition, in characters, counted from 1; 0: of a pattern of paths */
} aoei_comparison;

typedef struct aoei_where aoei_where;

/* Parses a condition. Errors: AOE_EARG (the message shows the position), AOE_ENOMEM. The caller calls
 * aoei_where_free. */
int aoei_where_parse(aoei_where **w, const char *text, aoe_error *err);
/* Parses a condition and adds that of path[n_paths], the patterns of aoe_index_search_options. text: NULL or blank:
 * only the patterns. Sets *w to NULL if there is no condition. Errors: as aoei_where_parse, for the patterns too. */
int aoei_where_create(aoei_where **w, const char *text, const char *const *path, size_t n_paths, aoe_error *err);
void aoei_where_free(aoei_where *w); /* accepts NULL */

/* Sets the bits of the documents that satisfy a comparison in bits[(n + 63) / 64], which is 0. */
typedef int (*aoei_comparison_fn)(void *user, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err);

/* Sets bits[(n + 63) / 64] to the documents 0 to n - 1 that satisfy the condition. Numbers that belong to no document
 * may also be set: `not` sets all bits that are not set. Errors: AOE_ENOMEM, and those of fn. */
int aoei_where_eval(const aoei_where *w, aoei_comparison_fn fn, void *user, uint64_t *bits, size_t n, aoe_error *err);

/* Elements of a condition, in the order in which it is written: a group has the form BEGIN element { NEXT element }
 * END, and NOT has one element. */
typedef enum aoei_where_element {
    AOEI_WHERE_COMPARISON,
    AOEI_WHERE_BEGIN_AND,
    AOEI_WHERE_BEGIN_OR,
    AOEI_WHERE_BEGIN_NOT,
    AOEI_WHERE_NEXT,
    AOEI_WHERE_END
} aoei_where_element;

/* c: COMPARISON: the comparison; otherwise NULL. parent: the BEGIN element of the group that the element belongs to;
 * COMPARISON outside groups: COMPARISON. */
typedef int (*aoei_where_fn)(void *user, aoei_where_element element, aoei_where_element parent,
                             const aoei_comparison *c, aoe_error *err);

/* Calls fn for each element, to write the condition in another language. If fn returns a value other than 0, the
 * function stops and returns it. */
int aoei_where_visit(const aoei_where *w, aoei_where_fn fn, void *user, aoe_error *err);
