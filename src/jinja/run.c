/* SPDX-License-Identifier: MIT
 * Operations on values. An error stops the rendering. All supported operations have exactly the results of Python and
 * Jinja.
 */
#include "jinja/run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

#include "base/error.h"
#include "base/utf8.h"

enum { MAX_PRINT_DEPTH = 60 };

typedef aoei_jinja_value value;

int aoei_jinja_fail(aoei_jinja_run *r, int code, const char *fmt, ...) {
    char text[400];
    va_list args;
    if (r->rc)
        return r->rc;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return r->rc = aoei_fail(r->err, code, "%s:%u: %s", r->name, r->line, text);
}

int aoei_jinja_fail_limit(aoei_jinja_run *r) {
    if (r->arena.no_memory && !r->rc)
        r->rc = aoei_fail_nomem(r->err, r->arena.used);
    return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                           "rendering the chat template needs too much memory or time; change the template");
}

int aoei_jinja_work(aoei_jinja_run *r, size_t n) {
    if (r->rc)
        return r->rc;
    if (n > r->max_work - r->work)
        return aoei_jinja_fail_limit(r);
    r->work += n;
    return 0;
}

int aoei_jinja_work_product(aoei_jinja_run *r, size_t n, size_t m) {
    return m && n > SIZE_MAX / m ? aoei_jinja_fail_limit(r) : aoei_jinja_work(r, 1 + n * m / 64);
}

int aoei_jinja_work_search(aoei_jinja_run *r, aoe_text text, aoe_text part) {
    return part.len > text.len ? aoei_jinja_work(r, 1) : aoei_jinja_work_product(r, text.len, 4 + part.len);
}

int aoei_jinja_work_key(aoei_jinja_run *r, const aoei_jinja_dict *d, const value *key) {
    return aoei_jinja_work(r, 1 + d->n / 8 + (key->type == AOEI_JINJA_STRING ? d->n * (key->as.text.len / 64) : 0));
}

int aoei_jinja_compare(aoei_jinja_run *r, int *result, const value *a, const value *b) {
    size_t steps = r->max_work - r->work;
    *result = !r->rc && aoei_jinja_equal(a, b, &steps);
    r->work = r->max_work - steps;
    return r->rc || steps ? r->rc : aoei_jinja_fail_limit(r);
}

/* Records that the operation `what` is not possible with v. */
static int fail_type(aoei_jinja_run *r, const char *what, const value *v) {
    if (v->type == AOEI_JINJA_UNDEFINED)
        return aoei_jinja_fail(r, AOE_EFORMAT,
                               "the chat template uses '%.*s', which is undefined; correct the template",
                               (int)(v->as.text.len < 60 ? v->as.text.len : 60), v->as.text.len ? v->as.text.data : "");
    return aoei_jinja_fail(r, AOE_EFORMAT, "the chat template %s %s; correct the template", what,
                           aoei_jinja_type_name(v));
}

static int check_key(aoei_jinja_run *r, const value *v, int depth) {
    if (depth > 60)
        return aoei_jinja_fail_limit(r);
    const int is_list = v->type == AOEI_JINJA_LIST && v->as.list->form != AOEI_JINJA_FORM_ITERATOR &&
                        v->as.list->form != AOEI_JINJA_FORM_RANGE;
    if (v->type == AOEI_JINJA_DICT || (is_list && v->as.list->form != AOEI_JINJA_FORM_TUPLE))
        return fail_type(r, "searches the keys of a mapping for", v);
    for (size_t i = 0; is_list && i < v->as.list->n && !r->rc; i++)
        if (!aoei_jinja_work(r, 1))
            (void)check_key(r, &v->as.list->item[i], depth + 1);
    return r->rc;
}

int aoei_jinja_check_key(aoei_jinja_run *r, const value *v) {
    return check_key(r, v, 0);
}

/* Sets *out to str(v) of a value that is no list and no mapping. */
static int scalar_text(aoei_jinja_run *r, aoe_text *out, const value *v) {
    char digits[32];
    switch (v->type) {
    case AOEI_JINJA_UNDEFINED:
        *out = aoe_text_of("");
        return 0;
    case AOEI_JINJA_NONE:
        *out = aoe_text_of("None");
        return 0;
    case AOEI_JINJA_BOOL:
        *out = aoe_text_of(v->as.integer ? "True" : "False");
        return 0;
    case AOEI_JINJA_STRING:
        *out = v->as.text;
        return 0;
    case AOEI_JINJA_INT:
        snprintf(digits, sizeof digits, "%" PRId64, v->as.integer);
        *out = aoei_jinja_copy(&r->arena, aoe_text_of(digits));
        return out->data ? 0 : aoei_jinja_fail_limit(r);
    default:
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                               "the chat template prints %s, which is not supported; change the chat template",
                               aoei_jinja_type_name(v));
    }
}

static void put(aoei_buffer *b, aoe_text text) {
    aoei_buffer_append(b, text.data, text.len);
}

/* Appends a string as json.dumps writes it. ascii: 1: other characters are written as escape sequences. */
static void put_json_string(aoei_buffer *b, aoe_text text, int ascii) {
    static const char plain[] = "\"\\\n\r\t\b\f", letter[] = "\"\\nrtbf";
    aoei_buffer_putc(b, '"');
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const char *found = c ? strchr(plain, c) : NULL;
        uint32_t cp = c;
        if (ascii && c >= 0x7f) {
            const size_t len = aoei_utf8_decode(text.data + i, text.len - i, &cp);
            if (cp > 0xffff)
                aoei_buffer_printf(b, "\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)));
            aoei_buffer_printf(b, "\\u%04x", (unsigned)(cp > 0xffff ? 0xdc00 + ((cp - 0x10000) & 0x3ff) : cp));
            i += len ? len - 1 : 0;
            continue;
        }
        if (found) {
            aoei_buffer_putc(b, '\\');
            aoei_buffer_putc(b, letter[found - plain]);
        } else if (c < 0x20) {
            aoei_buffer_printf(b, "\\u%04x", c);
        } else {
            aoei_buffer_putc(b, (char)c);
        }
    }
    aoei_buffer_putc(b, '"');
}

/* Appends the white space before an item or the end of a JSON list or object. */
static void put_indent(aoei_buffer *b, const aoei_jinja_json *form, int depth) {
    if (form->indent >= 0)
        aoei_buffer_printf(b, "\n%*s", form->indent * depth, "");
}

/* Appends the start of item i of a JSON list or object. */
static void put_start(aoei_buffer *b, const aoei_jinja_json *form, char open, size_t i, int depth) {
    put(b, i ? aoe_text_of(form->indent >= 0 ? "," : ", ") : (aoe_text){&open, 1});
    put_indent(b, form, depth);
}

static int put_json(aoei_jinja_run *r, aoei_buffer *b, const value *v, const aoei_jinja_json *form, int depth) {
    aoe_text text = aoe_text_of("");
    int rc = aoei_jinja_work(r, 1 + (v->type == AOEI_JINJA_STRING ? v->as.text.len / 64 : 0));
    if (rc || b->len > r->arena.limit || depth > MAX_PRINT_DEPTH)
        return rc ? rc : aoei_jinja_fail_limit(r);
    switch (v->type) {
    case AOEI_JINJA_NONE:
        put(b, aoe_text_of("null"));
        return 0;
    case AOEI_JINJA_BOOL:
        put(b, aoe_text_of(v->as.integer ? "true" : "false"));
        return 0;
    case AOEI_JINJA_STRING:
        put_json_string(b, v->as.text, form->ascii);
        return 0;
    case AOEI_JINJA_INT:
        rc = scalar_text(r, &text, v);
        if (!rc)
            put(b, text);
        return rc;
    case AOEI_JINJA_LIST:
        if (v->as.list->form > AOEI_JINJA_FORM_TUPLE)
            return fail_type(r, "writes JSON of", v);
        for (size_t i = 0; i < v->as.list->n && !rc; i++) {
            put_start(b, form, '[', i, depth + 1);
            rc = put_json(r, b, &v->as.list->item[i], form, depth + 1);
        }
        if (v->as.list->n)
            put_indent(b, form, depth);
        put(b, aoe_text_of(v->as.list->n ? "]" : "[]"));
        return rc;
    case AOEI_JINJA_DICT:
        for (size_t i = 0; i < v->as.dict->n && !rc; i++) {
            if (v->as.dict->key[i].type != AOEI_JINJA_STRING)
                return fail_type(r, "writes JSON with the key", &v->as.dict->key[i]);
            if ((rc = aoei_jinja_work(r, v->as.dict->key[i].as.text.len / 64)))
                return rc;
            put_start(b, form, '{', i, depth + 1);
            put_json_string(b, v->as.dict->key[i].as.text, form->ascii);
            put(b, aoe_text_of(": "));
            rc = put_json(r, b, &v->as.dict->value[i], form, depth + 1);
        }
        if (v->as.dict->n)
            put_indent(b, form, depth);
        put(b, aoe_text_of(v->as.dict->n ? "}" : "{}"));
        return rc;
    case AOEI_JINJA_FLOAT:
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED, "tojson of %s is not supported; change the chat template",
                               aoei_jinja_type_name(v));
    default:
        return fail_type(r, "writes JSON of", v);
    }
}

/* Returns 1 if str.isprintable of Python is true for the code point. */
static int is_printable(uint32_t cp) {
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return 0;
    case UTF8PROC_CATEGORY_ZS:
        return cp == ' ';
    default:
        return 1;
    }
}

/* Appends repr(text) of Python. */
static void put_repr_string(aoei_buffer *b, aoe_text text) {
    const int has_single = text.len && memchr(text.data, '\'', text.len),
              has_double = text.len && memchr(text.data, '"', text.len);
    const char quote = has_single && !has_double ? '"' : '\'';
    aoei_buffer_putc(b, quote);
    for (size_t i = 0, len; i < text.len; i += len) {
        const char c = text.data[i];
        uint32_t cp = 0xFFFD;
        len = aoei_utf8_decode(text.data + i, text.len - i, &cp);
        len += !len;
        if (c == quote || c == '\\')
            aoei_buffer_printf(b, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            aoei_buffer_printf(b, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (is_printable(cp))
            aoei_buffer_append(b, text.data + i, len);
        else if (cp <= 0xff)
            aoei_buffer_printf(b, "\\x%02x", (unsigned)cp);
        else
            aoei_buffer_printf(b, cp <= 0xffff ? "\\u%04x" : "\\U%08x", (unsigned)cp);
    }
    aoei_buffer_putc(b, quote);
}

static int put_repr(aoei_jinja_run *r, aoei_buffer *b, const value *v, int depth) {
    aoe_text text = aoe_text_of("");
    int rc = aoei_jinja_work(r, 1 + (v->type == AOEI_JINJA_STRING ? v->as.text.len / 16 : 0));
    if (rc || b->len > r->arena.limit || depth > MAX_PRINT_DEPTH)
        return rc ? rc : aoei_jinja_fail_limit(r);
    if (v->type == AOEI_JINJA_STRING) {
        put_repr_string(b, v->as.text);
    } else if (v->type == AOEI_JINJA_UNDEFINED) {
        put(b, aoe_text_of("Undefined"));
    } else if (v->type == AOEI_JINJA_LIST && v->as.list->form <= AOEI_JINJA_FORM_TUPLE) {
        const int is_tuple = v->as.list->form == AOEI_JINJA_FORM_TUPLE;
        put(b, aoe_text_of(is_tuple ? "(" : "["));
        for (size_t i = 0; i < v->as.list->n && !rc; i++) {
            put(b, aoe_text_of(i ? ", " : ""));
            rc = put_repr(r, b, &v->as.list->item[i], depth + 1);
        }
        put(b, aoe_text_of(!is_tuple ? "]" : v->as.list->n == 1 ? ",)" : ")"));
    } else if (v->type == AOEI_JINJA_DICT) {
        put(b, aoe_text_of("{"));
        for (size_t i = 0; i < v->as.dict->n && !rc; i++) {
            put(b, aoe_text_of(i ? ", " : ""));
            rc = put_repr(r, b, &v->as.dict->key[i], depth + 1);
            put(b, aoe_text_of(": "));
            rc = rc ? rc : put_repr(r, b, &v->as.dict->value[i], depth + 1);
        }
        put(b, aoe_text_of("}"));
    } else if (!(rc = scalar_text(r, &text, v))) {
        put(b, text);
    }
    return rc;
}

int aoei_jinja_take_buffer(aoei_jinja_run *r, aoe_text *out, aoei_buffer *b) {
    r->arena.no_memory |= b->failed;
    *out = b->failed ? (aoe_text){0} : aoei_jinja_copy(&r->arena, (aoe_text){b->data, b->len});
    aoei_buffer_free(b);
    return out->data ? 0 : aoei_jinja_fail_limit(r);
}

int aoei_jinja_to_text(aoei_jinja_run *r, aoe_text *out, const value *v) {
    aoei_buffer b = {0};
    if (v->type != AOEI_JINJA_LIST && v->type != AOEI_JINJA_DICT)
        return scalar_text(r, out, v);
    const int rc = put_repr(r, &b, v, 0);
    if (rc)
        aoei_buffer_free(&b);
    return rc ? rc : aoei_jinja_take_buffer(r, out, &b);
}

int aoei_jinja_to_json(aoei_jinja_run *r, aoe_text *out, const value *v, const aoei_jinja_json *form) {
    aoei_buffer b = {0};
    const int rc = put_json(r, &b, v, form, 0);
    if (rc)
        aoei_buffer_free(&b);
    return rc ? rc : aoei_jinja_take_buffer(r, out, &b);
}

int aoei_jinja_join(aoei_jinja_run *r, aoe_text *out, aoe_text a, aoe_text b) {
    char *data = aoei_jinja_take(&r->arena, a.len + b.len + 1);
    if (!data || aoei_jinja_work(r, (a.len + b.len) / 64))
        return aoei_jinja_fail_limit(r);
    if (a.len)
        memcpy(data, a.data, a.len);
    if (b.len)
        memcpy(data + a.len, b.data, b.len);
    *out = (aoe_text){data, a.len + b.len};
    return 0;
}

static int is_one_of(const char *const *names, size_t n, aoe_text name) {
    for (size_t i = 0; i < n; i++)
        if (aoei_text_is(name, names[i]))
            return 1;
    return 0;
}

/* Returns 1 if Python objects of the type of v have the method `name`. */
static int has_method(const value *v, aoe_text name) {
    static const char *const dict[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                       "pop",   "popitem", "setdefault", "update", "values"};
    static const char *const list[] = {"append", "clear", "copy",   "count",   "extend", "index",
                                       "insert", "pop",   "remove", "reverse", "sort"};
    static const char *const text[] = {
        "capitalize", "casefold",     "center",       "count",   "encode",     "endswith",    "expandtabs",
        "find",       "format",       "format_map",   "index",   "isalnum",    "isalpha",     "isascii",
        "isdecimal",  "isdigit",      "isidentifier", "islower", "isnumeric",  "isprintable", "isspace",
        "istitle",    "isupper",      "join",         "ljust",   "lower",      "lstrip",      "maketrans",
        "partition",  "removeprefix", "removesuffix", "replace", "rfind",      "rindex",      "rjust",
        "rpartition", "rsplit",       "rstrip",       "split",   "splitlines", "startswith",  "strip",
        "swapcase",   "title",        "translate",    "upper",   "zfill"};
    static const char *const loop[] = {"cycle", "changed", "depth", "depth0"};
    switch (v->type) {
    case AOEI_JINJA_DICT:
        return is_one_of(dict, sizeof dict / sizeof *dict, name);
    case AOEI_JINJA_LIST:
        return is_one_of(list, sizeof list / sizeof *list, name);
    case AOEI_JINJA_STRING:
        return is_one_of(text, sizeof text / sizeof *text, name);
    case AOEI_JINJA_LOOP:
        return is_one_of(loop, sizeof loop / sizeof *loop, name);
    default:
        return 0;
    }
}

static int set_method(aoei_jinja_run *r, value *out, const value *v, aoe_text name) {
    value *self = aoei_jinja_take(&r->arena, sizeof *self);
    if (!self)
        return aoei_jinja_fail_limit(r);
    *self = *v;
    *out = (value){.type = AOEI_JINJA_METHOD, .as.text = name, .self = self};
    return 0;
}

static void set_undefined(value *out, aoe_text name) {
    *out = (value){.type = AOEI_JINJA_UNDEFINED, .as.text = name};
}

int aoei_jinja_attribute(aoei_jinja_run *r, value *out, const value *v, aoe_text name) {
    if (v->type == AOEI_JINJA_UNDEFINED)
        return fail_type(r, "", v);
    if (name.len && *name.data == '_')
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED, "the attribute '%.*s' is not supported; change the chat template",
                               (int)(name.len < 60 ? name.len : 60), name.data);
    if (has_method(v, name))
        return set_method(r, out, v, name);
    if (v->type == AOEI_JINJA_FLOAT || v->type == AOEI_JINJA_INT || v->type == AOEI_JINJA_BOOL ||
        v->type >= AOEI_JINJA_METHOD)
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                               "the attribute '%.*s' of %s is not supported; change the chat template",
                               (int)(name.len < 60 ? name.len : 60), name.data, aoei_jinja_type_name(v));
    const value *found =
        v->type >= AOEI_JINJA_DICT && v->type <= AOEI_JINJA_LOOP ? aoei_jinja_get_name(v->as.dict, name) : NULL;
    if (found)
        *out = *found;
    else
        set_undefined(out, name);
    return aoei_jinja_work(r, 1);
}

/* Sets *index to the position of the element with the Python index i of n elements. Returns 0 if there is none. */
static int find_index(size_t *index, int64_t i, size_t n) {
    if (i < 0)
        i += (int64_t)n;
    *index = (size_t)i;
    return i >= 0 && (size_t)i < n;
}

int aoei_jinja_item(aoei_jinja_run *r, value *out, const value *v, const value *index) {
    size_t at;
    if (v->type == AOEI_JINJA_UNDEFINED)
        return fail_type(r, "", v);
    if (v->type == AOEI_JINJA_LIST && v->as.list->form > AOEI_JINJA_FORM_RANGE)
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED, "an index of %s is not supported; apply the filter 'list' first",
                               aoei_jinja_type_name(v));
    if (v->type == AOEI_JINJA_DICT) {
        if (aoei_jinja_work_key(r, v->as.dict, index))
            return r->rc;
        const value *found = aoei_jinja_get(v->as.dict, *index);
        if (found) {
            *out = *found;
            return 0;
        }
    } else if (v->type == AOEI_JINJA_LIST && aoei_jinja_is_integer(index)) {
        if (find_index(&at, index->as.integer, v->as.list->n)) {
            *out = v->as.list->item[at];
            return aoei_jinja_work(r, 1);
        }
    } else if (v->type == AOEI_JINJA_STRING && aoei_jinja_is_integer(index)) {
        if (aoei_jinja_work(r, 1 + v->as.text.len / 64))
            return r->rc;
        if (find_index(&at, index->as.integer, aoei_jinja_characters(v->as.text))) {
            *out = aoei_jinja_string(aoei_jinja_substring(v->as.text, at, at + 1));
            return 0;
        }
    }
    if (index->type == AOEI_JINJA_STRING && has_method(v, index->as.text))
        return set_method(r, out, v, index->as.text);
    if (v->type == AOEI_JINJA_LOOP || v->type == AOEI_JINJA_NAMESPACE)
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED, "an index of %s is not supported; change the chat template",
                               aoei_jinja_type_name(v));
    set_undefined(out, index->type == AOEI_JINJA_STRING ? index->as.text : aoe_text_of("an element of a list"));
    return aoei_jinja_work(r, 1);
}

int aoei_jinja_elements(aoei_jinja_run *r, aoei_jinja_list **out, const value *v) {
    int rc = 0;
    if (v->type == AOEI_JINJA_LIST) {
        *out = v->as.list;
        if (v->as.list->is_used)
            return aoei_jinja_fail(
                r, AOE_EUNSUPPORTED,
                "iterating twice over the result of a filter is not supported; apply the filter 'list' first");
        if (v->as.list->form == AOEI_JINJA_FORM_ITERATOR) /* lists of the shared variables are never written */
            v->as.list->is_used = 1;
        return 0;
    }
    if (v->type != AOEI_JINJA_UNDEFINED && v->type != AOEI_JINJA_STRING && v->type != AOEI_JINJA_DICT)
        return fail_type(r, "iterates over", v);
    const value list = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_LIST);
    if (list.type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(r);
    *out = list.as.list;
    for (size_t i = 0; v->type == AOEI_JINJA_DICT && i < v->as.dict->n && !rc; i++)
        rc = aoei_jinja_append(&r->arena, *out, v->as.dict->key[i]);
    for (size_t i = 0; v->type == AOEI_JINJA_STRING && i < v->as.text.len && !rc;) {
        size_t n = 1;
        while (i + n < v->as.text.len && ((unsigned char)v->as.text.data[i + n] & 0xC0) == 0x80)
            n++;
        rc = aoei_jinja_append(&r->arena, *out, aoei_jinja_string((aoe_text){v->as.text.data + i, n}));
        i += n;
    }
    return rc ? aoei_jinja_fail_limit(r) : aoei_jinja_work(r, 1 + (*out)->n);
}

static int compare_texts(aoe_text a, aoe_text b) {
    const size_t n = a.len < b.len ? a.len : b.len;
    const int c = n ? memcmp(a.data, b.data, n) : 0;
    return c ? (c > 0) - (c < 0) : (a.len > b.len) - (a.len < b.len);
}

int aoei_jinja_order(aoei_jinja_run *r, int *result, const value *a, const value *b) {
    const int numbers_a = aoei_jinja_is_integer(a) || a->type == AOEI_JINJA_FLOAT,
              numbers_b = aoei_jinja_is_integer(b) || b->type == AOEI_JINJA_FLOAT;
    if (aoei_jinja_is_integer(a) && aoei_jinja_is_integer(b))
        *result = (a->as.integer > b->as.integer) - (a->as.integer < b->as.integer);
    else if (numbers_a && numbers_b) {
        const double x = a->type == AOEI_JINJA_FLOAT ? a->as.number : (double)a->as.integer,
                     y = b->type == AOEI_JINJA_FLOAT ? b->as.number : (double)b->as.integer;
        *result = (x > y) - (x < y);
    } else if (a->type == AOEI_JINJA_STRING && b->type == AOEI_JINJA_STRING) {
        *result = compare_texts(a->as.text, b->as.text);
        return aoei_jinja_work(r, 1 + (a->as.text.len < b->as.text.len ? a->as.text.len : b->as.text.len) / 64);
    } else
        return fail_type(r, "compares the order of", numbers_a || a->type == AOEI_JINJA_STRING ? b : a);
    return aoei_jinja_work(r, 1);
}

int aoei_jinja_contains(aoei_jinja_run *r, int *result, const value *container, const value *v) {
    aoei_jinja_list *list = NULL;
    *result = 0;
    if (container->type == AOEI_JINJA_STRING) {
        if (v->type != AOEI_JINJA_STRING)
            return fail_type(r, "searches in a string for", v);
        if (aoei_jinja_work_search(r, container->as.text, v->as.text))
            return r->rc;
        *result = aoei_jinja_find(container->as.text, v->as.text, 0) != (size_t)-1;
        return 0;
    }
    if (container->type == AOEI_JINJA_DICT && aoei_jinja_check_key(r, v))
        return r->rc;
    int rc = aoei_jinja_elements(r, &list, container);
    if (rc || !list)
        return rc;
    for (size_t i = 0; !rc && i < list->n && !*result; i++)
        rc = aoei_jinja_compare(r, result, &list->item[i], v);
    return rc ? rc : aoei_jinja_work(r, 1);
}
