/* SPDX-License-Identifier: MIT
 * The filters, tests and methods that chat templates of published models use for a plain conversation. Other names are
 * errors, whose messages contain the name.
 */
#include "jinja/filter.h"

#include <stdlib.h>
#include <string.h>

typedef aoei_jinja_value value;
typedef aoei_jinja_arguments arguments;

static int fail_unsupported(aoei_jinja_run *r, const char *kind, aoe_text name) {
    return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                           "the %s '%.*s' is not supported with these arguments; change the chat template", kind,
                           (int)(name.len < 60 ? name.len : 60), name.data);
}

/* Returns the argument with this position or name, or NULL. */
static const value *argument(const arguments *a, size_t position, const char *name) {
    return position < a->n ? &a->item[position] : aoei_jinja_get_name(&a->keywords, aoe_text_of(name));
}

/* Returns 1 if there are at most `positions` arguments and only the keywords `names`, a list that ends with NULL. */
static int only(const arguments *a, size_t positions, const char *const *names) {
    for (size_t i = 0; i < a->keywords.n; i++) {
        size_t k = 0;
        while (names[k] && !aoei_text_is(a->keywords.key[i].as.text, names[k]))
            k++;
        if (!names[k])
            return 0;
    }
    return a->n <= positions;
}

static int no_arguments(const arguments *a) {
    return !a->n && !a->keywords.n;
}

static int set_text(value *out, aoe_text text) {
    *out = aoei_jinja_string(text);
    return 0;
}

/* Changes the case of a string. kind: 'u' upper, 'l' lower, 'c' capitalize, 't' title. Only ASCII is supported, because
 * the rules of Python for other characters are those of a Unicode version. */
static int change_case(aoei_jinja_run *r, value *out, aoe_text text, char kind, aoe_text name) {
    const aoe_text copy = aoei_jinja_copy(&r->arena, text);
    char *s = (char *)(uintptr_t)copy.data;
    if (!s)
        return aoei_jinja_fail_limit(r);
    for (size_t i = 0; i < text.len; i++) {
        const char before = i ? text.data[i - 1] : ' ';
        const int in_word = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
        const int upper = kind == 'u' || (kind == 'c' && !i) || (kind == 't' && !in_word);
        if ((unsigned char)s[i] >= 0x80)
            return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                                   "'%.*s' of text that is not ASCII is not supported; change the chat template",
                                   (int)name.len, name.data);
        if (upper && s[i] >= 'a' && s[i] <= 'z')
            s[i] = (char)(s[i] - 'a' + 'A');
        else if (!upper && s[i] >= 'A' && s[i] <= 'Z')
            s[i] = (char)(s[i] - 'A' + 'a');
    }
    return set_text(out, copy);
}

/* Sets *out to the string in which the first `limit` occurrences of `from` are replaced by `to`. */
static int replace(aoei_jinja_run *r, value *out, aoe_text text, aoe_text from, aoe_text to, int64_t limit) {
    aoei_buffer b = {0};
    aoe_text result;
    size_t at = 0, found;
    if (!from.len)
        return aoei_jinja_fail(r, AOE_EUNSUPPORTED,
                               "replacing an empty string is not supported; change the chat template");
    if (aoei_jinja_work_search(r, text, from))
        return r->rc;
    while (limit-- != 0 && (found = aoei_jinja_find(text, from, at)) != (size_t)-1) {
        aoei_buffer_append(&b, text.data + at, found - at);
        aoei_buffer_append(&b, to.data, to.len);
        at = found + from.len;
        if (b.len > r->arena.limit || aoei_jinja_work(r, 1)) {
            aoei_buffer_free(&b);
            return aoei_jinja_fail_limit(r);
        }
    }
    aoei_buffer_append(&b, text.data + at, text.len - at);
    const int rc = aoei_jinja_take_buffer(r, &result, &b);
    return rc ? rc : set_text(out, result);
}

/* ---------------------------------------------------------------- methods */

static int append_text(aoei_jinja_run *r, value *list, aoe_text text) {
    return aoei_jinja_append(&r->arena, list->as.list, aoei_jinja_string(text)) ? aoei_jinja_fail_limit(r)
                                                                                : aoei_jinja_work(r, 1);
}

/* str.split: separator, maximum number of splits; without a separator, runs of white space separate the parts. */
static int split(aoei_jinja_run *r, value *out, aoe_text text, const value *separator, int64_t limit) {
    int rc = 0;
    *out = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_LIST);
    if (out->type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(r);
    if (!separator || separator->type == AOEI_JINJA_NONE) {
        while (!rc && (text = aoei_jinja_strip(text, 1)).len) {
            size_t end = 0;
            if (limit-- == 0)
                return append_text(r, out, aoei_jinja_strip(text, 2));
            while (end < text.len &&
                   aoei_jinja_strip((aoe_text){text.data + end, text.len - end}, 1).len == text.len - end)
                end++;
            rc = append_text(r, out, (aoe_text){text.data, end});
            text = (aoe_text){text.data + end, text.len - end};
        }
        return rc;
    }
    const aoe_text mark = separator->as.text;
    size_t at = 0, found;
    rc = aoei_jinja_work_search(r, text, mark);
    while (!rc && limit-- != 0 && (found = aoei_jinja_find(text, mark, at)) != (size_t)-1) {
        rc = append_text(r, out, (aoe_text){text.data + at, found - at});
        at = found + mark.len;
    }
    return rc ? rc : append_text(r, out, (aoe_text){text.data + at, text.len - at});
}

/* str.rsplit with a separator. */
static int split_right(aoei_jinja_run *r, value *out, aoe_text text, aoe_text mark, int64_t limit) {
    value all, rest;
    int rc = split(r, &all, text, &(value){.type = AOEI_JINJA_STRING, .as.text = mark}, -1);
    if (rc || limit < 0 || all.as.list->n <= (size_t)limit + 1) {
        *out = all;
        return rc;
    }
    const size_t joined = all.as.list->n - (size_t)limit; /* number of parts at the start that stay together */
    const value *last = &all.as.list->item[joined - 1];
    rest = aoei_jinja_string((aoe_text){text.data, (size_t)(last->as.text.data - text.data) + last->as.text.len});
    *out = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_LIST);
    if (out->type != AOEI_JINJA_LIST || aoei_jinja_append(&r->arena, out->as.list, rest))
        return aoei_jinja_fail_limit(r);
    for (size_t i = joined; i < all.as.list->n; i++)
        if (aoei_jinja_append(&r->arena, out->as.list, all.as.list->item[i]))
            return aoei_jinja_fail_limit(r);
    return 0;
}

static int has_end(aoe_text text, aoe_text part, int at_end) {
    return part.len <= text.len &&
           (!part.len || !memcmp(text.data + (at_end ? text.len - part.len : 0), part.data, part.len));
}

/* str.startswith and str.endswith, whose argument is a string or a tuple of strings. */
static int test_end(aoei_jinja_run *r, value *out, aoe_text text, const value *part, int at_end) {
    int found = 0;
    const size_t n = part->type == AOEI_JINJA_LIST ? part->as.list->n : 1;
    for (size_t i = 0; i < n; i++) {
        const value *v = part->type == AOEI_JINJA_LIST ? &part->as.list->item[i] : part;
        if (v->type != AOEI_JINJA_STRING)
            return fail_unsupported(r, "method", aoe_text_of(at_end ? "endswith" : "startswith"));
        if (aoei_jinja_work(r, 1 + v->as.text.len / 64))
            return r->rc;
        found |= has_end(text, v->as.text, at_end);
    }
    *out = aoei_jinja_bool(found);
    return 0;
}

/* Joins the items. are_strings: 1: other items are errors, as in str.join; 0: they are converted to strings. */
static int join(aoei_jinja_run *r, value *out, aoe_text separator, const value *items, int are_strings) {
    aoei_jinja_list *list;
    aoei_buffer b = {0};
    aoe_text text;
    int rc = aoei_jinja_elements(r, &list, items);
    for (size_t i = 0; !rc && i < list->n; i++) {
        if (are_strings && list->item[i].type != AOEI_JINJA_STRING) {
            rc = aoei_jinja_fail(r, AOE_EFORMAT, "the method 'join' joins %s; correct the chat template",
                                 aoei_jinja_type_name(&list->item[i]));
            break;
        }
        if ((rc = aoei_jinja_to_text(r, &text, &list->item[i])) ||
            (rc = aoei_jinja_work(r, 1 + (separator.len + text.len) / 64)))
            break;
        if (i)
            aoei_buffer_append(&b, separator.data, separator.len);
        aoei_buffer_append(&b, text.data, text.len);
        if (b.len > r->arena.limit)
            rc = aoei_jinja_fail_limit(r);
    }
    if (!rc && !(rc = aoei_jinja_take_buffer(r, &text, &b)))
        return set_text(out, text);
    aoei_buffer_free(&b);
    return rc;
}

static const char *const none[] = {NULL};

/* The methods of strings without an argument, or with one optional string. */
static int strip_method(aoei_jinja_run *r, value *out, aoe_text name, aoe_text text, const arguments *a) {
    const unsigned ends = *name.data == 'l' ? 1 : *name.data == 'r' ? 2 : 3;
    const value *set = argument(a, 0, "");
    if (!only(a, 1, none) || (set && set->type != AOEI_JINJA_STRING && set->type != AOEI_JINJA_NONE))
        return fail_unsupported(r, "method", name);
    if (set && set->type == AOEI_JINJA_STRING && aoei_jinja_work_product(r, text.len, set->as.text.len))
        return r->rc;
    return set_text(out, set && set->type == AOEI_JINJA_STRING ? aoei_jinja_strip_set(text, set->as.text, ends)
                                                               : aoei_jinja_strip(text, ends));
}

static int split_method(aoei_jinja_run *r, value *out, aoe_text name, aoe_text text, const arguments *a) {
    static const char *const names[] = {"sep", "maxsplit", NULL};
    const value *mark = argument(a, 0, "sep"), *limit = argument(a, 1, "maxsplit");
    const int by_text = mark && mark->type == AOEI_JINJA_STRING && mark->as.text.len;
    const int64_t n = limit ? limit->as.integer : -1;
    if (!only(a, 2, names) || (mark && !by_text && mark->type != AOEI_JINJA_NONE) ||
        (limit && !aoei_jinja_is_integer(limit)) || (*name.data == 'r' && !by_text))
        return fail_unsupported(r, "method", name);
    if (*name.data == 'r')
        return split_right(r, out, text, mark->as.text, n);
    return split(r, out, text, mark, n);
}

/* The methods of strings with one or two strings. */
static int text_method(aoei_jinja_run *r, value *out, aoe_text name, aoe_text text, const arguments *a) {
    const value *first = argument(a, 0, ""), *second = argument(a, 1, ""), *third = argument(a, 2, "");
    if (!first || a->keywords.n || a->n > 3 || (third && !aoei_jinja_is_integer(third)))
        return fail_unsupported(r, "method", name);
    if (a->n == 1 && (aoei_text_is(name, "startswith") || aoei_text_is(name, "endswith")))
        return test_end(r, out, text, first, *name.data == 'e');
    if (a->n == 1 && aoei_text_is(name, "join"))
        return join(r, out, text, first, 1);
    if (first->type != AOEI_JINJA_STRING)
        return fail_unsupported(r, "method", name);
    const aoe_text part = first->as.text;
    if (aoei_text_is(name, "replace") && second && second->type == AOEI_JINJA_STRING)
        return replace(r, out, text, part, second->as.text, third ? third->as.integer : -1);
    if (a->n != 1)
        return fail_unsupported(r, "method", name);
    if (aoei_text_is(name, "removeprefix"))
        return set_text(out, has_end(text, part, 0) ? (aoe_text){text.data + part.len, text.len - part.len} : text);
    if (aoei_text_is(name, "removesuffix"))
        return set_text(out, has_end(text, part, 1) ? (aoe_text){text.data, text.len - part.len} : text);
    if (aoei_jinja_work_search(r, text, part))
        return r->rc;
    const size_t found = aoei_jinja_find(text, part, 0);
    if (aoei_text_is(name, "find")) {
        *out = aoei_jinja_int(found == (size_t)-1 ? -1 : (int64_t)aoei_jinja_characters((aoe_text){text.data, found}));
        return 0;
    }
    if (aoei_text_is(name, "count") && part.len) {
        int64_t n = 0;
        for (size_t at = found; at != (size_t)-1; at = aoei_jinja_find(text, part, at + part.len))
            n++;
        *out = aoei_jinja_int(n);
        return 0;
    }
    return fail_unsupported(r, "method", name);
}

static int string_method(aoei_jinja_run *r, value *out, aoe_text name, aoe_text text, const arguments *a) {
    static const char *const cases[] = {"upper", "lower", "capitalize", "title"};
    if (aoei_text_is(name, "strip") || aoei_text_is(name, "lstrip") || aoei_text_is(name, "rstrip"))
        return strip_method(r, out, name, text, a);
    if (aoei_text_is(name, "split") || aoei_text_is(name, "rsplit"))
        return split_method(r, out, name, text, a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && no_arguments(a); i++)
        if (aoei_text_is(name, cases[i]))
            return change_case(r, out, text, cases[i][0], name);
    return text_method(r, out, name, text, a);
}

/* Sets *out to the pairs, the keys or the values of a mapping. */
static int list_of(aoei_jinja_run *r, value *out, const aoei_jinja_dict *d, int keys, int values) {
    *out = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_VIEW);
    if (out->type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(r);
    for (size_t i = 0; i < d->n; i++) {
        value pair = keys && values ? aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_TUPLE)
                     : keys         ? d->key[i]
                                    : d->value[i];
        if (keys && values &&
            (pair.type != AOEI_JINJA_LIST || aoei_jinja_append(&r->arena, pair.as.list, d->key[i]) ||
             aoei_jinja_append(&r->arena, pair.as.list, d->value[i])))
            return aoei_jinja_fail_limit(r);
        if (aoei_jinja_append(&r->arena, out->as.list, pair))
            return aoei_jinja_fail_limit(r);
    }
    return aoei_jinja_work(r, 1 + d->n);
}

static int dict_method(aoei_jinja_run *r, value *out, aoe_text name, const aoei_jinja_dict *d, const arguments *a) {
    const value *key = argument(a, 0, ""), *missing = argument(a, 1, "");
    if (aoei_text_is(name, "get") && key && only(a, 2, none)) {
        if (aoei_jinja_check_key(r, key) || aoei_jinja_work_key(r, d, key))
            return r->rc;
        const value *found = aoei_jinja_get(d, *key);
        *out = found ? *found : missing ? *missing : (value){.type = AOEI_JINJA_NONE};
        return 0;
    }
    if (no_arguments(a) && aoei_text_is(name, "items"))
        return list_of(r, out, d, 1, 1);
    if (no_arguments(a) && aoei_text_is(name, "keys"))
        return list_of(r, out, d, 1, 0);
    if (no_arguments(a) && aoei_text_is(name, "values"))
        return list_of(r, out, d, 0, 1);
    return fail_unsupported(r, "method", name);
}

int aoei_jinja_method(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    if (v->type == AOEI_JINJA_STRING) {
        const int rc = aoei_jinja_work(r, 1 + v->as.text.len / 16);
        return rc ? rc : string_method(r, out, name, v->as.text, a);
    }
    if (v->type == AOEI_JINJA_DICT)
        return dict_method(r, out, name, v->as.dict, a);
    return fail_unsupported(r, "method", name);
}

/* ------------------------------------------------------------------ tests */

/* The tests without an argument. Returns -1 for other names. */
static int test_kind(aoe_text name, const value *v) {
    const aoei_jinja_type t = v->type;
    const int integer = aoei_jinja_is_integer(v);
    const struct {
        const char *name;
        int result;
    } tests[] = {{"defined", t != AOEI_JINJA_UNDEFINED},
                 {"undefined", t == AOEI_JINJA_UNDEFINED},
                 {"none", t == AOEI_JINJA_NONE},
                 {"string", t == AOEI_JINJA_STRING},
                 {"mapping", t == AOEI_JINJA_DICT},
                 {"sequence", t == AOEI_JINJA_STRING ||
                                  (t == AOEI_JINJA_LIST && v->as.list->form <= AOEI_JINJA_FORM_RANGE) ||
                                  t == AOEI_JINJA_DICT || t == AOEI_JINJA_UNDEFINED},
                 {"iterable", t == AOEI_JINJA_STRING || t == AOEI_JINJA_LIST || t == AOEI_JINJA_DICT ||
                                  t == AOEI_JINJA_UNDEFINED || t == AOEI_JINJA_LOOP},
                 {"number", integer || t == AOEI_JINJA_FLOAT},
                 {"integer", t == AOEI_JINJA_INT},
                 {"float", t == AOEI_JINJA_FLOAT},
                 {"boolean", t == AOEI_JINJA_BOOL},
                 {"true", t == AOEI_JINJA_BOOL && v->as.integer},
                 {"false", t == AOEI_JINJA_BOOL && !v->as.integer},
                 {"odd", integer ? v->as.integer % 2 != 0 : -1},
                 {"even", integer ? v->as.integer % 2 == 0 : -1}};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (aoei_text_is(name, tests[i].name))
            return tests[i].result;
    return -1;
}

/* The tests that compare with an argument. */
static int test_pair(aoei_jinja_run *r, int *result, aoe_text name, const value *v, const value *other) {
    static const struct {
        const char *names[4];
        char kind;
    } tests[] = {{{"eq", "==", "equalto"}, '='},
                 {{"ne", "!="}, '!'},
                 {{"lt", "<", "lessthan"}, '<'},
                 {{"le", "<="}, 'l'},
                 {{"gt", ">", "greaterthan"}, '>'},
                 {{"ge", ">="}, 'g'},
                 {{"in"}, 'i'},
                 {{"divisibleby"}, 'd'}};
    char kind = 0;
    int order, rc;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        for (size_t k = 0; k < 4 && tests[i].names[k]; k++)
            if (aoei_text_is(name, tests[i].names[k]))
                kind = tests[i].kind;
    if (!kind ||
        (kind == 'd' && (!aoei_jinja_is_integer(v) || !aoei_jinja_is_integer(other) || other->as.integer <= 0)))
        return fail_unsupported(r, "test", name);
    if (kind == 'i')
        return aoei_jinja_contains(r, result, other, v);
    if (kind == 'd') {
        *result = v->as.integer % other->as.integer == 0;
        return 0;
    }
    if (kind == '=' || kind == '!') {
        rc = aoei_jinja_compare(r, &order, v, other);
        *result = order == (kind == '=');
        return rc;
    }
    if ((rc = aoei_jinja_order(r, &order, v, other)))
        return rc;
    *result = kind == '<' ? order < 0 : kind == 'l' ? order <= 0 : kind == '>' ? order > 0 : order >= 0;
    return 0;
}

int aoei_jinja_test(aoei_jinja_run *r, int *result, aoe_text name, const value *v, const arguments *a) {
    const int rc = aoei_jinja_work(r, 1);
    if (rc)
        return rc;
    *result = no_arguments(a) ? test_kind(name, v) : -1;
    if (*result >= 0)
        return 0;
    if (a->n == 1 && !a->keywords.n)
        return test_pair(r, result, name, v, &a->item[0]);
    return fail_unsupported(r, "test", name);
}

/* ---------------------------------------------------------------- filters */

/* Sets *out to an empty list over which one can iterate once. */
static int new_iterator(aoei_jinja_run *r, value *out) {
    *out = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_ITERATOR);
    if (out->type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(r);
    return 0;
}

/* Sets *out to the attribute `path` of v, whose parts are separated by dots. */
static int attribute_path(aoei_jinja_run *r, value *out, const value *v, aoe_text path) {
    *out = *v;
    int rc = aoei_jinja_work(r, path.len / 64);
    while (!rc) {
        const value object = *out;
        const size_t dot = aoei_jinja_find(path, aoe_text_of("."), 0), n = dot == (size_t)-1 ? path.len : dot;
        const value part = aoei_jinja_string((aoe_text){path.data, n});
        if (n && path.data[0] >= '0' && path.data[0] <= '9')
            return fail_unsupported(r, "attribute", path);
        rc = aoei_jinja_item(r, out, &object, &part);
        if (dot == (size_t)-1)
            break;
        path = (aoe_text){path.data + dot + 1, path.len - dot - 1};
    }
    return rc;
}

/* select, reject, selectattr and rejectattr. */
static int select_items(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    const int by_attribute = name.len == 10, negated = *name.data == 'r';
    const size_t first = (size_t)by_attribute; /* position of the name of the test */
    aoei_jinja_list *list;
    if (a->keywords.n || a->n < first || a->n > first + 2)
        return fail_unsupported(r, "filter", name);
    for (size_t i = 0; i < a->n && i <= first; i++)
        if (a->item[i].type != AOEI_JINJA_STRING)
            return fail_unsupported(r, "filter", name);
    const arguments rest = {.item = a->n > first + 1 ? a->item + first + 1 : NULL, .n = a->n > first + 1};
    if (!aoei_jinja_truth(v))
        return new_iterator(r, out);
    int rc = aoei_jinja_elements(r, &list, v);
    if (rc || (rc = new_iterator(r, out)))
        return rc;
    for (size_t i = 0; !rc && i < list->n; i++) {
        value tested = list->item[i];
        int passes = 0;
        if ((rc = aoei_jinja_work(r, 1)))
            break;
        if (by_attribute && (rc = attribute_path(r, &tested, &list->item[i], a->item[0].as.text)))
            break;
        if (a->n > first)
            rc = aoei_jinja_test(r, &passes, a->item[first].as.text, &tested, &rest);
        else
            passes = aoei_jinja_truth(&tested);
        if (!rc && passes != negated && aoei_jinja_append(&r->arena, out->as.list, list->item[i]))
            rc = aoei_jinja_fail_limit(r);
    }
    return rc;
}

/* map(attribute="name") and map("filter"). */
static int map(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"attribute", NULL};
    const value *attribute = a->n ? NULL : argument(a, 1, "attribute"), *filter = a->n == 1 ? &a->item[0] : NULL;
    const value *by = attribute ? attribute : filter;
    aoei_jinja_list *list;
    if (!by || by->type != AOEI_JINJA_STRING || !only(a, 1, filter ? none : names))
        return fail_unsupported(r, "filter", name);
    if (!aoei_jinja_truth(v))
        return new_iterator(r, out);
    int rc = aoei_jinja_elements(r, &list, v);
    if (rc || (rc = new_iterator(r, out)))
        return rc;
    for (size_t i = 0; !rc && i < list->n; i++) {
        value item = {.type = AOEI_JINJA_UNDEFINED};
        if (filter && aoei_text_is(filter->as.text, "map"))
            return fail_unsupported(r, "filter", name);
        rc = attribute ? attribute_path(r, &item, &list->item[i], by->as.text)
                       : aoei_jinja_filter(r, &item, by->as.text, &list->item[i], &(arguments){.n = 0});
        if (!rc && aoei_jinja_append(&r->arena, out->as.list, item))
            rc = aoei_jinja_fail_limit(r);
    }
    return rc;
}

static int length(aoei_jinja_run *r, value *out, const value *v) {
    size_t n = 0;
    switch (v->type) {
    case AOEI_JINJA_UNDEFINED:
        break;
    case AOEI_JINJA_STRING:
        if (aoei_jinja_work(r, v->as.text.len / 64))
            return r->rc;
        n = aoei_jinja_characters(v->as.text);
        break;
    case AOEI_JINJA_LIST:
        n = v->as.list->n;
        if (v->as.list->form == AOEI_JINJA_FORM_ITERATOR)
            return aoei_jinja_fail(
                r, AOE_EFORMAT,
                "the chat template takes the length of the result of a filter; apply the filter 'list' first");
        break;
    case AOEI_JINJA_DICT:
        n = v->as.dict->n;
        break;
    default:
        return aoei_jinja_fail(r, AOE_EFORMAT, "the chat template takes the length of %s; correct the template",
                               aoei_jinja_type_name(v));
    }
    *out = aoei_jinja_int((int64_t)n);
    return 0;
}

/* first, last, list and reverse. */
static int sequence_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v) {
    aoei_jinja_list *list;
    int rc = aoei_jinja_elements(r, &list, v);
    if (rc)
        return rc;
    if (aoei_text_is(name, "first") || aoei_text_is(name, "last")) {
        *out = list->n ? list->item[*name.data == 'f' ? 0 : list->n - 1]
                       : (value){.type = AOEI_JINJA_UNDEFINED, .as.text = aoe_text_of("an element of an empty list")};
        return 0;
    }
    if (aoei_text_is(name, "reverse") && v->type != AOEI_JINJA_LIST)
        return fail_unsupported(r, "filter", name);
    if ((rc = new_iterator(r, out)))
        return rc;
    out->as.list->form = *name.data == 'r' ? AOEI_JINJA_FORM_ITERATOR : AOEI_JINJA_FORM_LIST;
    for (size_t i = 0; i < list->n && !rc; i++)
        rc = aoei_jinja_append(&r->arena, out->as.list, list->item[*name.data == 'r' ? list->n - 1 - i : i]);
    return rc ? aoei_jinja_fail_limit(r) : aoei_jinja_work(r, list->n);
}

/* ------------------------------------------------------------ order of items */

/* Sets *key to the value by which an item is sorted: the attribute `path` of the item, lowercased if it is a string and
 * `ignores_case` is 1. path: NULL: the item itself. */
static int sort_key(aoei_jinja_run *r, value *key, const value *item, const value *path, int ignores_case,
                    aoe_text name) {
    *key = *item;
    const int rc = path ? attribute_path(r, key, item, path->as.text) : 0;
    return rc || !ignores_case || key->type != AOEI_JINJA_STRING ? rc : change_case(r, key, key->as.text, 'l', name);
}

/* Sorts the items by their keys. Equal items keep their order, also if `reverse` is 1. */
static int sort_items(aoei_jinja_run *r, value *items, value *keys, size_t n, int reverse) {
    int order, rc = 0;
    for (size_t i = 1; i < n && !rc; i++)
        for (size_t k = i; k && !(rc = aoei_jinja_order(r, &order, &keys[k - 1], &keys[k])); k--) {
            if (reverse ? order >= 0 : order <= 0)
                break;
            const value key = keys[k], item = items[k];
            keys[k] = keys[k - 1];
            items[k] = items[k - 1];
            keys[k - 1] = key;
            items[k - 1] = item;
        }
    return rc;
}

/* Returns 1 if the argument is set and true. */
static int is_set(const value *argument) {
    return argument && aoei_jinja_truth(argument);
}

/* Returns 1 if the argument is missing, none, or the path of an attribute. Sets *path to the path, or to NULL. */
static int read_path(const value **path, const value *argument) {
    *path = argument && argument->type != AOEI_JINJA_NONE ? argument : NULL;
    return !*path ||
           ((*path)->type == AOEI_JINJA_STRING && aoei_jinja_find((*path)->as.text, aoe_text_of(","), 0) == (size_t)-1);
}

/* sort(reverse, case_sensitive, attribute) */
static int sort_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"reverse", "case_sensitive", "attribute", NULL};
    const value *path;
    aoei_jinja_list *list;
    if (!only(a, 3, names) || !read_path(&path, argument(a, 2, "attribute")))
        return fail_unsupported(r, "filter", name);
    int rc = aoei_jinja_elements(r, &list, v);
    if (rc)
        return rc;
    *out = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_LIST);
    value *keys = aoei_jinja_take(&r->arena, list->n * sizeof *keys);
    if (out->type != AOEI_JINJA_LIST || !keys)
        return aoei_jinja_fail_limit(r);
    for (size_t i = 0; i < list->n && !rc; i++)
        if (!(rc = sort_key(r, &keys[i], &list->item[i], path, !is_set(argument(a, 1, "case_sensitive")), name)) &&
            aoei_jinja_append(&r->arena, out->as.list, list->item[i]))
            rc = aoei_jinja_fail_limit(r);
    return rc ? rc : sort_items(r, out->as.list->item, keys, out->as.list->n, is_set(argument(a, 0, "reverse")));
}

/* dictsort(case_sensitive, by, reverse) */
static int dictsort_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"case_sensitive", "by", "reverse", NULL};
    const value *by = argument(a, 1, "by");
    const int by_value = by && by->type == AOEI_JINJA_STRING && aoei_text_is(by->as.text, "value");
    if (v->type != AOEI_JINJA_DICT || !only(a, 3, names) ||
        (by && !by_value && (by->type != AOEI_JINJA_STRING || !aoei_text_is(by->as.text, "key"))))
        return fail_unsupported(r, "filter", name);
    const aoei_jinja_dict *d = v->as.dict;
    value *keys = aoei_jinja_take(&r->arena, d->n * sizeof *keys);
    if (!keys)
        return aoei_jinja_fail_limit(r);
    int rc = list_of(r, out, d, 1, 1);
    for (size_t i = 0; i < d->n && !rc; i++)
        rc = sort_key(r, &keys[i], by_value ? &d->value[i] : &d->key[i], NULL,
                      !is_set(argument(a, 0, "case_sensitive")), name);
    if (rc)
        return rc;
    out->as.list->form = AOEI_JINJA_FORM_LIST;
    return sort_items(r, out->as.list->item, keys, d->n, is_set(argument(a, 2, "reverse")));
}

/* unique(case_sensitive, attribute) */
static int unique_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"case_sensitive", "attribute", NULL};
    const value *path;
    aoei_jinja_list *list;
    if (!only(a, 2, names) || !read_path(&path, argument(a, 1, "attribute")))
        return fail_unsupported(r, "filter", name);
    int rc = aoei_jinja_elements(r, &list, v);
    const value seen = aoei_jinja_new_list(&r->arena, AOEI_JINJA_FORM_LIST);
    if (rc || (rc = new_iterator(r, out)))
        return rc;
    if (seen.type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(r);
    for (size_t i = 0; i < list->n && !rc; i++) {
        value key;
        int found = 0;
        if ((rc = sort_key(r, &key, &list->item[i], path, !is_set(argument(a, 0, "case_sensitive")), name)) ||
            (rc = aoei_jinja_check_key(r, &key)) || (rc = aoei_jinja_contains(r, &found, &seen, &key)))
            break;
        if (!found && (aoei_jinja_append(&r->arena, seen.as.list, key) ||
                       aoei_jinja_append(&r->arena, out->as.list, list->item[i])))
            rc = aoei_jinja_fail_limit(r);
    }
    return rc;
}

/* int(default) of integers, and of strings that are decimal integers or contain no digit. */
static int int_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"default", NULL};
    const value *missing = argument(a, 0, "default");
    const aoe_text text = v->type == AOEI_JINJA_STRING ? aoei_jinja_strip(v->as.text, 3) : aoe_text_of("");
    size_t digits = 0, others = 0;
    int64_t n = 0;
    if (!only(a, 1, names) || v->type == AOEI_JINJA_FLOAT || v->type == AOEI_JINJA_UNDEFINED)
        return fail_unsupported(r, "filter", name);
    *out = missing ? *missing : aoei_jinja_int(0);
    if (aoei_jinja_is_integer(v))
        *out = aoei_jinja_int(v->as.integer);
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        if ((unsigned char)c >= 0x80)
            return fail_unsupported(r, "filter", name);
        if (c >= '0' && c <= '9') {
            digits++;
            n = n < INT64_MAX / 100 ? 10 * n + (c - '0') : INT64_MAX;
        } else {
            others += i > 0 || (c != '-' && c != '+');
        }
    }
    if (digits && (others || n == INT64_MAX))
        return fail_unsupported(r, "filter", name);
    if (digits)
        *out = aoei_jinja_int(*text.data == '-' ? -n : n);
    return 0;
}

/* tojson(ensure_ascii, indent) */
static int json_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"ensure_ascii", "indent", NULL};
    const value *indent = argument(a, 1, "indent");
    const int is_indented = indent && indent->type != AOEI_JINJA_NONE;
    aoe_text text;
    if (!only(a, 2, names) ||
        (is_indented && (indent->type != AOEI_JINJA_INT || indent->as.integer < 0 || indent->as.integer > 16)))
        return fail_unsupported(r, "filter", name);
    const aoei_jinja_json form = {.ascii = is_set(argument(a, 0, "ensure_ascii")),
                                  .indent = is_indented ? (int)indent->as.integer : -1};
    const int rc = aoei_jinja_to_json(r, &text, v, &form);
    return rc ? rc : set_text(out, text);
}

/* The filters of strings. Other values are converted to strings first. */
static int string_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const cases[] = {"upper", "lower", "capitalize"};
    aoe_text text;
    int rc = aoei_jinja_to_text(r, &text, v);
    if (rc || (rc = aoei_jinja_work(r, 1 + text.len / 16)))
        return rc;
    if (aoei_text_is(name, "trim")) {
        static const char *const names[] = {"chars", NULL};
        const value *set = argument(a, 0, "chars");
        if (!only(a, 1, names) || (set && set->type != AOEI_JINJA_STRING && set->type != AOEI_JINJA_NONE))
            return fail_unsupported(r, "filter", name);
        if (set && set->type == AOEI_JINJA_STRING && aoei_jinja_work_product(r, text.len, set->as.text.len))
            return r->rc;
        return set_text(out, set && set->type == AOEI_JINJA_STRING ? aoei_jinja_strip_set(text, set->as.text, 3)
                                                                   : aoei_jinja_strip(text, 3));
    }
    if (aoei_text_is(name, "string") && no_arguments(a))
        return set_text(out, text);
    if (aoei_text_is(name, "replace") && a->n == 2 && !a->keywords.n && a->item[0].type == AOEI_JINJA_STRING &&
        a->item[1].type == AOEI_JINJA_STRING)
        return replace(r, out, text, a->item[0].as.text, a->item[1].as.text, -1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && no_arguments(a); i++)
        if (aoei_text_is(name, cases[i]))
            return change_case(r, out, text, cases[i][0], name);
    return fail_unsupported(r, "filter", name);
}

static int join_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"d", NULL};
    const value *separator = argument(a, 0, "d");
    if (!only(a, 1, names) || (separator && separator->type != AOEI_JINJA_STRING))
        return fail_unsupported(r, "filter", name);
    return join(r, out, separator ? separator->as.text : aoe_text_of(""), v, 0);
}

static int default_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const names[] = {"default_value", "boolean", NULL};
    const value *missing = argument(a, 0, "default_value"), *boolean = argument(a, 1, "boolean");
    if (!only(a, 2, names))
        return fail_unsupported(r, "filter", name);
    const int use = v->type == AOEI_JINJA_UNDEFINED || (boolean && aoei_jinja_truth(boolean) && !aoei_jinja_truth(v));
    *out = !use ? *v : missing ? *missing : aoei_jinja_string(aoe_text_of(""));
    return 0;
}

int aoei_jinja_filter(aoei_jinja_run *r, value *out, aoe_text name, const value *v, const arguments *a) {
    static const char *const sequences[] = {"first", "last", "list", "reverse"}, *const selections[] = {
                                                                                     "select", "reject", "selectattr",
                                                                                     "rejectattr"};
    static const struct {
        const char *name;
        int (*filter)(aoei_jinja_run *, value *, aoe_text, const value *, const arguments *);
    } with_arguments[] = {{"default", default_filter},
                          {"d", default_filter},
                          {"tojson", json_filter},
                          {"join", join_filter},
                          {"map", map},
                          {"sort", sort_filter},
                          {"unique", unique_filter},
                          {"dictsort", dictsort_filter},
                          {"int", int_filter}};
    const int rc = aoei_jinja_work(r, 1);
    if (rc)
        return rc;
    if ((aoei_text_is(name, "length") || aoei_text_is(name, "count")) && no_arguments(a))
        return length(r, out, v);
    for (size_t i = 0; i < sizeof with_arguments / sizeof *with_arguments; i++)
        if (aoei_text_is(name, with_arguments[i].name))
            return with_arguments[i].filter(r, out, name, v, a);
    if (aoei_text_is(name, "items") && no_arguments(a) && v->type == AOEI_JINJA_DICT) {
        const int failed = list_of(r, out, v->as.dict, 1, 1);
        if (!failed)
            out->as.list->form = AOEI_JINJA_FORM_ITERATOR;
        return failed;
    }
    for (size_t i = 0; i < 4; i++) {
        if (aoei_text_is(name, sequences[i]) && no_arguments(a))
            return sequence_filter(r, out, name, v);
        if (aoei_text_is(name, selections[i]))
            return select_items(r, out, name, v, a);
    }
    return string_filter(r, out, name, v, a);
}
