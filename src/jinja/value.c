/* SPDX-License-Identifier: MIT
 * Implements the values of chat templates. Values are never freed one by one: all memory of a rendering belongs to one
 * arena.
 */
#include "jinja/value.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { BLOCK_BYTES = 16 * 1024, ALIGN = 16, DEPTH = 64 };

typedef struct aoei_jinja_block {
    struct aoei_jinja_block *next;
    size_t used, size;
    char data[]; /* [size] */
} aoei_jinja_block;

void *aoei_jinja_take(aoei_jinja_arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    aoei_jinja_block *b = a->blocks;
    if (!b || b->size - b->used < bytes) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        if (size > a->limit - a->used)
            return NULL;
        if (!(b = aoei_malloc(sizeof *b + size))) {
            a->no_memory = 1;
            return NULL;
        }
        *b = (aoei_jinja_block){.next = a->blocks, .size = size};
        a->blocks = b;
        a->used += size;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return memset(p, 0, bytes);
}

aoe_text aoei_jinja_copy(aoei_jinja_arena *a, aoe_text text) {
    char *data = aoei_jinja_take(a, text.len + 1);
    if (data && text.len)
        memcpy(data, text.data, text.len);
    return (aoe_text){data, data ? text.len : 0};
}

void aoei_jinja_arena_free(aoei_jinja_arena *a) {
    while (a->blocks) {
        aoei_jinja_block *next = a->blocks->next;
        aoei_free(a->blocks);
        a->blocks = next;
    }
    a->used = 0;
}

aoei_jinja_value aoei_jinja_string(aoe_text text) {
    return (aoei_jinja_value){.type = AOEI_JINJA_STRING, .as.text = text};
}

aoei_jinja_value aoei_jinja_bool(int value) {
    return (aoei_jinja_value){.type = AOEI_JINJA_BOOL, .as.integer = value != 0};
}

aoei_jinja_value aoei_jinja_int(int64_t value) {
    return (aoei_jinja_value){.type = AOEI_JINJA_INT, .as.integer = value};
}

aoei_jinja_value aoei_jinja_new_list(aoei_jinja_arena *a, aoei_jinja_form form) {
    aoei_jinja_list *l = aoei_jinja_take(a, sizeof *l);
    if (!l)
        return (aoei_jinja_value){.type = AOEI_JINJA_UNDEFINED};
    l->form = form;
    return (aoei_jinja_value){.type = AOEI_JINJA_LIST, .as.list = l};
}

aoei_jinja_value aoei_jinja_new_dict(aoei_jinja_arena *a, aoei_jinja_type type) {
    aoei_jinja_dict *d = aoei_jinja_take(a, sizeof *d);
    return d ? (aoei_jinja_value){.type = type, .as.dict = d} : (aoei_jinja_value){.type = AOEI_JINJA_UNDEFINED};
}

/* Returns an array of `capacity` values with the n values of `from`, or NULL. */
static aoei_jinja_value *grown(aoei_jinja_arena *a, const aoei_jinja_value *from, size_t n, size_t capacity) {
    aoei_jinja_value *to = capacity < SIZE_MAX / sizeof *to ? aoei_jinja_take(a, capacity * sizeof *to) : NULL;
    if (to && n)
        memcpy(to, from, n * sizeof *to);
    return to;
}

int aoei_jinja_append(aoei_jinja_arena *a, aoei_jinja_list *l, aoei_jinja_value item) {
    if (l->n == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 4;
        aoei_jinja_value *to = grown(a, l->item, l->n, capacity);
        if (!to)
            return AOE_ENOMEM;
        l->item = to;
        l->capacity = capacity;
    }
    l->item[l->n++] = item;
    return 0;
}

/* Returns 1 if the keys of a mapping are equal. They are never lists or mappings. */
static int same_key(const aoei_jinja_value *a, const aoei_jinja_value *b) {
    size_t steps = SIZE_MAX;
    return aoei_jinja_equal(a, b, &steps);
}

int aoei_jinja_set(aoei_jinja_arena *a, aoei_jinja_dict *d, aoei_jinja_value key, aoei_jinja_value value) {
    for (size_t i = 0; i < d->n; i++)
        if (same_key(&d->key[i], &key)) {
            d->value[i] = value;
            return 0;
        }
    if (d->n == d->capacity) {
        const size_t capacity = d->capacity ? 2 * d->capacity : 4;
        aoei_jinja_value *keys = grown(a, d->key, d->n, capacity), *values = grown(a, d->value, d->n, capacity);
        if (!keys || !values)
            return AOE_ENOMEM;
        d->key = keys;
        d->value = values;
        d->capacity = capacity;
    }
    d->key[d->n] = key;
    d->value[d->n++] = value;
    return 0;
}

int aoei_jinja_set_name(aoei_jinja_arena *a, aoei_jinja_dict *d, const char *key, aoei_jinja_value value) {
    return aoei_jinja_set(a, d, aoei_jinja_string(aoe_text_of(key)), value);
}

const aoei_jinja_value *aoei_jinja_get(const aoei_jinja_dict *d, aoei_jinja_value key) {
    for (size_t i = 0; i < d->n; i++)
        if (same_key(&d->key[i], &key))
            return &d->value[i];
    return NULL;
}

const aoei_jinja_value *aoei_jinja_get_name(const aoei_jinja_dict *d, aoe_text key) {
    return aoei_jinja_get(d, aoei_jinja_string(key));
}

static int of_json(aoei_jinja_arena *a, aoei_jinja_value *out, const json_t *v, int depth) {
    aoei_jinja_value item;
    int rc = 0;
    *out = (aoei_jinja_value){.type = AOEI_JINJA_NONE};
    if (json_is_boolean(v))
        *out = aoei_jinja_bool(json_is_true(v));
    else if (json_is_integer(v))
        *out = aoei_jinja_int(json_integer_value(v));
    else if (json_is_real(v))
        *out = (aoei_jinja_value){.type = AOEI_JINJA_FLOAT, .as.number = json_real_value(v)};
    else if (json_is_string(v))
        *out = aoei_jinja_string(aoei_jinja_copy(a, (aoe_text){json_string_value(v), json_string_length(v)}));
    if (out->type == AOEI_JINJA_STRING && !out->as.text.data)
        return AOE_ENOMEM;
    if (!json_is_array(v) && !json_is_object(v))
        return 0;
    *out = json_is_array(v) ? aoei_jinja_new_list(a, AOEI_JINJA_FORM_LIST) : aoei_jinja_new_dict(a, AOEI_JINJA_DICT);
    if (out->type == AOEI_JINJA_UNDEFINED || depth == DEPTH)
        return AOE_ENOMEM;
    for (size_t i = 0; i < json_array_size(v) && !rc; i++)
        if (!(rc = of_json(a, &item, json_array_get(v, i), depth + 1)))
            rc = aoei_jinja_append(a, out->as.list, item);
    for (void *at = json_object_iter((json_t *)(uintptr_t)v); at && !rc;
         at = json_object_iter_next((json_t *)(uintptr_t)v, at)) {
        const aoe_text key = aoei_jinja_copy(a, aoe_text_of(json_object_iter_key(at)));
        if (!key.data || of_json(a, &item, json_object_iter_value(at), depth + 1))
            return AOE_ENOMEM;
        rc = aoei_jinja_set(a, out->as.dict, aoei_jinja_string(key), item);
    }
    return rc;
}

int aoei_jinja_of_json(aoei_jinja_arena *a, aoei_jinja_value *out, const json_t *v) {
    return of_json(a, out, v, 0);
}

int aoei_jinja_truth(const aoei_jinja_value *v) {
    switch (v->type) {
    case AOEI_JINJA_UNDEFINED:
    case AOEI_JINJA_NONE:
        return 0;
    case AOEI_JINJA_BOOL:
    case AOEI_JINJA_INT:
        return v->as.integer != 0;
    case AOEI_JINJA_FLOAT:
        return v->as.number < 0 || v->as.number > 0;
    case AOEI_JINJA_STRING:
        return v->as.text.len > 0;
    case AOEI_JINJA_LIST:
        return v->as.list->n > 0 || v->as.list->form == AOEI_JINJA_FORM_ITERATOR;
    case AOEI_JINJA_DICT:
        return v->as.dict->n > 0;
    default:
        return 1;
    }
}

int aoei_jinja_is_integer(const aoei_jinja_value *v) {
    return v->type == AOEI_JINJA_BOOL || v->type == AOEI_JINJA_INT;
}

/* Subtracts n steps. Returns 0 if no step is left. */
static int spend(size_t *steps, size_t n) {
    *steps -= n < *steps ? n : *steps;
    return *steps > 0;
}

static int same_text(aoe_text a, aoe_text b, size_t *steps) {
    return a.len == b.len && spend(steps, a.len / 64) && (!a.len || !memcmp(a.data, b.data, a.len));
}

static int equal(const aoei_jinja_value *a, const aoei_jinja_value *b, int depth, size_t *steps);

static int equal_lists(const aoei_jinja_list *a, const aoei_jinja_list *b, int depth, size_t *steps) {
    if (a->n != b->n || a->form != b->form || a->form == AOEI_JINJA_FORM_ITERATOR)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (!equal(&a->item[i], &b->item[i], depth + 1, steps))
            return 0;
    return 1;
}

static int equal_dicts(const aoei_jinja_dict *a, const aoei_jinja_dict *b, int depth, size_t *steps) {
    if (a->n != b->n)
        return 0;
    for (size_t i = 0; i < a->n; i++) {
        const size_t length = a->key[i].type == AOEI_JINJA_STRING ? a->key[i].as.text.len : 0;
        if (!spend(steps, 1 + b->n / 8 + b->n * (length / 64)))
            return 0;
        const aoei_jinja_value *v = aoei_jinja_get(b, a->key[i]);
        if (!v || !equal(&a->value[i], v, depth + 1, steps))
            return 0;
    }
    return 1;
}

static double number_of(const aoei_jinja_value *v) {
    return v->type == AOEI_JINJA_FLOAT ? v->as.number : (double)v->as.integer;
}

static int equal(const aoei_jinja_value *a, const aoei_jinja_value *b, int depth, size_t *steps) {
    const int numbers = (aoei_jinja_is_integer(a) || a->type == AOEI_JINJA_FLOAT) &&
                        (aoei_jinja_is_integer(b) || b->type == AOEI_JINJA_FLOAT);
    if (depth > DEPTH || !spend(steps, 1))
        return 0;
    if (numbers && aoei_jinja_is_integer(a) && aoei_jinja_is_integer(b))
        return a->as.integer == b->as.integer;
    if (numbers)
        return number_of(a) <= number_of(b) && number_of(a) >= number_of(b);
    if (a->type != b->type)
        return 0;
    switch (a->type) {
    case AOEI_JINJA_UNDEFINED:
    case AOEI_JINJA_NONE:
        return 1;
    case AOEI_JINJA_STRING:
        return same_text(a->as.text, b->as.text, steps);
    case AOEI_JINJA_LIST:
        return a->as.list == b->as.list || equal_lists(a->as.list, b->as.list, depth, steps);
    case AOEI_JINJA_DICT:
        return a->as.dict == b->as.dict || equal_dicts(a->as.dict, b->as.dict, depth, steps);
    case AOEI_JINJA_NAMESPACE:
    case AOEI_JINJA_LOOP:
        return a->as.dict == b->as.dict;
    default:
        return 0;
    }
}

int aoei_jinja_equal(const aoei_jinja_value *a, const aoei_jinja_value *b, size_t *steps) {
    return equal(a, b, 0, steps);
}

const char *aoei_jinja_type_name(const aoei_jinja_value *v) {
    static const char *const names[] = {[AOEI_JINJA_UNDEFINED] = "an undefined value",
                                        [AOEI_JINJA_NONE] = "none",
                                        [AOEI_JINJA_BOOL] = "a boolean",
                                        [AOEI_JINJA_INT] = "an integer",
                                        [AOEI_JINJA_FLOAT] = "a number with a fraction",
                                        [AOEI_JINJA_STRING] = "a string",
                                        [AOEI_JINJA_DICT] = "a mapping",
                                        [AOEI_JINJA_NAMESPACE] = "a namespace",
                                        [AOEI_JINJA_LOOP] = "the variable loop",
                                        [AOEI_JINJA_METHOD] = "a method",
                                        [AOEI_JINJA_FUNCTION] = "a function",
                                        [AOEI_JINJA_MACRO] = "a macro"};
    static const char *const forms[] = {[AOEI_JINJA_FORM_LIST] = "a list",
                                        [AOEI_JINJA_FORM_TUPLE] = "a tuple",
                                        [AOEI_JINJA_FORM_RANGE] = "a range",
                                        [AOEI_JINJA_FORM_VIEW] = "the result of items, keys or values",
                                        [AOEI_JINJA_FORM_ITERATOR] = "the result of a filter"};
    return v->type == AOEI_JINJA_LIST ? forms[v->as.list->form] : names[v->type];
}

/* ---------------------------------------------------------------- strings */

int aoei_text_is(aoe_text text, const char *s) {
    return strlen(s) == text.len && !memcmp(text.data, s, text.len);
}

/* Decodes the code point at text.data[at] and sets *len to its length. An invalid byte is decoded as U+FFFD. */
static uint32_t decode(aoe_text text, size_t at, size_t *len) {
    uint32_t cp;
    *len = aoei_utf8_decode(text.data + at, text.len - at, &cp);
    if (*len)
        return cp;
    *len = 1;
    return 0xFFFD;
}

static size_t previous(aoe_text text, size_t end) {
    size_t at = end - 1;
    while (at > 0 && end - at < 4 && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static int is_in(aoe_text set, uint32_t cp) {
    for (size_t at = 0, len; at < set.len; at += len)
        if (decode(set, at, &len) == cp)
            return 1;
    return 0;
}

static aoe_text strip(aoe_text text, const aoe_text *set, unsigned ends) {
    size_t len;
    while ((ends & 1) && text.len) {
        const uint32_t cp = decode(text, 0, &len);
        if (!(set ? is_in(*set, cp) : aoei_utf8_is_space(cp)))
            break;
        text.data += len;
        text.len -= len;
    }
    while ((ends & 2) && text.len) {
        const size_t at = previous(text, text.len);
        const uint32_t cp = decode(text, at, &len);
        if (at + len != text.len || !(set ? is_in(*set, cp) : aoei_utf8_is_space(cp)))
            break;
        text.len = at;
    }
    return text;
}

aoe_text aoei_jinja_strip(aoe_text text, unsigned ends) {
    return strip(text, NULL, ends);
}

aoe_text aoei_jinja_strip_set(aoe_text text, aoe_text set, unsigned ends) {
    return strip(text, &set, ends);
}

size_t aoei_jinja_characters(aoe_text text) {
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return n;
}

/* Returns the position of the code point `index`. */
static size_t position(aoe_text text, size_t index) {
    size_t at = 0;
    while (at < text.len) {
        if (((unsigned char)text.data[at] & 0xC0) != 0x80 && index-- == 0)
            break;
        at++;
    }
    return at;
}

aoe_text aoei_jinja_substring(aoe_text text, size_t first, size_t end) {
    const size_t from = position(text, first), to = end > first ? position(text, end) : from;
    return (aoe_text){text.data + from, to - from};
}

size_t aoei_jinja_find(aoe_text text, aoe_text part, size_t from) {
    for (size_t i = from; part.len <= text.len && i <= text.len - part.len; i++)
        if (!part.len || !memcmp(text.data + i, part.data, part.len))
            return i;
    return (size_t)-1;
}
