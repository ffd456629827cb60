/* SPDX-License-Identifier: MIT
 * The state of a rendering, its errors and its limits, and the operations on values that need them.
 */
#pragma once

#include "aoe.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "jinja/value.h"

typedef struct aoei_jinja_run {
    const char *name;       /* name of the template in messages */
    aoei_jinja_arena arena; /* memory of the values */
    size_t work, max_work;  /* performed operations, and their maximum */
    unsigned line;          /* line of the statement that is executed */
    int rc;                 /* first error */
    aoe_error *err;
} aoei_jinja_run;

/* Arguments of a filter, a test, a method or a function. */
typedef struct aoei_jinja_arguments {
    aoei_jinja_value *item; /* [n] positional arguments */
    size_t n;
    aoei_jinja_dict keywords;
} aoei_jinja_arguments;

/* The format of a JSON text. */
typedef struct aoei_jinja_json {
    int ascii;  /* 1: characters that are not ASCII are written as escape sequences */
    int indent; /* number of spaces per level; -1: the text is one line */
} aoei_jinja_json;

/* Records the first error of a rendering. The message starts with the name of the template and the line. code:
 * AOE_EUNSUPPORTED for constructs that only aoe rejects, AOE_EFORMAT for templates that transformers also rejects.
 * Returns the code of the first error. */
int aoei_jinja_fail(aoei_jinja_run *r, int code, const char *fmt, ...) AOEI_PRINTF(3, 4);
/* Records that memory or operations exceed the limits. */
int aoei_jinja_fail_limit(aoei_jinja_run *r);
/* Counts `n` operations. Returns 0, or the code of an error. */
int aoei_jinja_work(aoei_jinja_run *r, size_t n);
/* Counts n * m / 64 operations. */
int aoei_jinja_work_product(aoei_jinja_run *r, size_t n, size_t m);
/* Counts the operations that find `part` in `text`. */
int aoei_jinja_work_search(aoei_jinja_run *r, aoe_text text, aoe_text part);
/* Counts the operations that find a key in a mapping. */
int aoei_jinja_work_key(aoei_jinja_run *r, const aoei_jinja_dict *d, const aoei_jinja_value *key);
/* Returns 0 if v can be a key of a mapping in Python, or the code of an error. */
int aoei_jinja_check_key(aoei_jinja_run *r, const aoei_jinja_value *v);
/* Sets *result to 1 if the values are equal in Python. */
int aoei_jinja_compare(aoei_jinja_run *r, int *result, const aoei_jinja_value *a, const aoei_jinja_value *b);

/* Sets *out to str(v) of Python. Numbers with a fraction, ranges and iterators are not supported. */
int aoei_jinja_to_text(aoei_jinja_run *r, aoe_text *out, const aoei_jinja_value *v);
/* Sets *out to the JSON text of v, as the filter tojson of transformers writes it. */
int aoei_jinja_to_json(aoei_jinja_run *r, aoe_text *out, const aoei_jinja_value *v, const aoei_jinja_json *form);
/* Sets *out to the concatenation of two strings. */
int aoei_jinja_join(aoei_jinja_run *r, aoe_text *out, aoe_text a, aoe_text b);
/* Moves the contents of the buffer to the arena and frees the buffer. */
int aoei_jinja_take_buffer(aoei_jinja_run *r, aoe_text *out, aoei_buffer *b);
/* Sets *out to v.name, or to an undefined value. */
int aoei_jinja_attribute(aoei_jinja_run *r, aoei_jinja_value *out, const aoei_jinja_value *v, aoe_text name);
/* Sets *out to v[index], or to an undefined value. */
int aoei_jinja_item(aoei_jinja_run *r, aoei_jinja_value *out, const aoei_jinja_value *v, const aoei_jinja_value *index);
/* Sets *out to a list of the elements of v: the items of a list, the keys of a mapping, the characters of a string. */
int aoei_jinja_elements(aoei_jinja_run *r, aoei_jinja_list **out, const aoei_jinja_value *v);
/* Sets *result to a < b (-1), a == b (0) or a > b (1). Errors: AOE_EFORMAT (the values have no order). */
int aoei_jinja_order(aoei_jinja_run *r, int *result, const aoei_jinja_value *a, const aoei_jinja_value *b);
/* Sets *result to 1 if `container` contains v. */
int aoei_jinja_contains(aoei_jinja_run *r, int *result, const aoei_jinja_value *container, const aoei_jinja_value *v);
