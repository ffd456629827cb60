/* SPDX-License-Identifier: MIT
 * The values of chat templates, and the memory from which they are allocated. The values have the semantics of Python
 * and of Jinja: an undefined variable is a value of its own, which prints as an empty string.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_jinja_value aoei_jinja_value;
typedef struct aoei_jinja_list aoei_jinja_list;
typedef struct aoei_jinja_dict aoei_jinja_dict;

typedef enum aoei_jinja_type {
    AOEI_JINJA_UNDEFINED,
    AOEI_JINJA_NONE,
    AOEI_JINJA_BOOL,
    AOEI_JINJA_INT,
    AOEI_JINJA_FLOAT,
    AOEI_JINJA_STRING,
    AOEI_JINJA_LIST, /* all sequences, see aoei_jinja_form */
    AOEI_JINJA_DICT,
    AOEI_JINJA_NAMESPACE, /* the object that namespace() returns */
    AOEI_JINJA_LOOP,      /* the variable `loop` */
    AOEI_JINJA_METHOD,    /* a method of a value, such as text.strip */
    AOEI_JINJA_FUNCTION,  /* a global function, such as range */
    AOEI_JINJA_MACRO
} aoei_jinja_type;

struct aoei_jinja_value {
    aoei_jinja_type type;
    union {
        int64_t integer; /* also a BOOL, as 0 or 1 */
        double number;
        aoe_text text; /* STRING, borrowed from the template, the arguments or the arena; METHOD and FUNCTION: name;
                          UNDEFINED: name of the variable in messages */
        aoei_jinja_list *list;
        aoei_jinja_dict *dict; /* also NAMESPACE and LOOP */
        const void *macro;     /* syntax tree of a macro */
    } as;
    const aoei_jinja_value *self; /* METHOD: the value to which the method belongs */
};

/* The Python type of a sequence. */
typedef enum aoei_jinja_form {
    AOEI_JINJA_FORM_LIST,
    AOEI_JINJA_FORM_TUPLE,
    AOEI_JINJA_FORM_RANGE,
    AOEI_JINJA_FORM_VIEW,    /* result of the methods items, keys and values */
    AOEI_JINJA_FORM_ITERATOR /* result of a filter such as map, over which one can iterate once */
} aoei_jinja_form;

struct aoei_jinja_list {
    size_t n, capacity;
    aoei_jinja_value *item; /* [n] */
    aoei_jinja_form form;
    int is_used; /* 1: an iterator whose items were read */
};

struct aoei_jinja_dict {
    size_t n, capacity;
    aoei_jinja_value *key, *value; /* [n] in the order of insertion */
};

/* Memory of values and syntax trees: a list of blocks that are freed together. */
typedef struct aoei_jinja_arena {
    struct aoei_jinja_block *blocks; /* owned */
    size_t used, limit;              /* allocated bytes, and their maximum */
    int no_memory;                   /* 1: an allocation failed, although the limit was not exceeded */
} aoei_jinja_arena;

/* Returns memory filled with zeros, or NULL if the limit is exceeded or no memory is left. */
void *aoei_jinja_take(aoei_jinja_arena *a, size_t bytes);
/* Returns a copy of the string. Its data is NULL on failure. */
aoe_text aoei_jinja_copy(aoei_jinja_arena *a, aoe_text text);
void aoei_jinja_arena_free(aoei_jinja_arena *a);

aoei_jinja_value aoei_jinja_string(aoe_text text);
aoei_jinja_value aoei_jinja_bool(int value);
aoei_jinja_value aoei_jinja_int(int64_t value);
/* The new value has the type UNDEFINED on failure. */
aoei_jinja_value aoei_jinja_new_list(aoei_jinja_arena *a, aoei_jinja_form form);
aoei_jinja_value aoei_jinja_new_dict(aoei_jinja_arena *a, aoei_jinja_type type);
/* Appends an item. Returns 0 or AOE_ENOMEM. */
int aoei_jinja_append(aoei_jinja_arena *a, aoei_jinja_list *l, aoei_jinja_value item);
/* Sets the value of a key. Returns 0 or AOE_ENOMEM. */
int aoei_jinja_set(aoei_jinja_arena *a, aoei_jinja_dict *d, aoei_jinja_value key, aoei_jinja_value value);
int aoei_jinja_set_name(aoei_jinja_arena *a, aoei_jinja_dict *d, const char *key, aoei_jinja_value value);
/* Returns the value of a key, or NULL. */
const aoei_jinja_value *aoei_jinja_get(const aoei_jinja_dict *d, aoei_jinja_value key);
const aoei_jinja_value *aoei_jinja_get_name(const aoei_jinja_dict *d, aoe_text key);
/* Converts a JSON value. Returns 0 or AOE_ENOMEM. */
int aoei_jinja_of_json(aoei_jinja_arena *a, aoei_jinja_value *out, const json_t *v);

int aoei_jinja_truth(const aoei_jinja_value *v);
/* Returns 1 if the values are equal in Python. steps: maximum number of steps, from which the performed steps are
 * subtracted. If it is 0 afterwards, the comparison is incomplete and the result is 0. */
int aoei_jinja_equal(const aoei_jinja_value *a, const aoei_jinja_value *b, size_t *steps);
/* Returns 1 if v is a bool or an int, whose value is v->as.integer. */
int aoei_jinja_is_integer(const aoei_jinja_value *v);
/* Returns the name of the type in messages. */
const char *aoei_jinja_type_name(const aoei_jinja_value *v);

int aoei_text_is(aoe_text text, const char *s); /* returns 1 if both strings are equal */
/* Removes white space, as str.strip of Python does. ends: bit 0: at the start; bit 1: at the end. */
aoe_text aoei_jinja_strip(aoe_text text, unsigned ends);
/* Removes the characters that occur in `set`. */
aoe_text aoei_jinja_strip_set(aoe_text text, aoe_text set, unsigned ends);
size_t aoei_jinja_characters(aoe_text text); /* returns the number of code points */
/* Returns the bytes of the code points [first, end). */
aoe_text aoei_jinja_substring(aoe_text text, size_t first, size_t end);
/* Returns the position of the first occurrence of `part` at or after `from`, or (size_t)-1. */
size_t aoei_jinja_find(aoe_text text, aoe_text part, size_t from);
