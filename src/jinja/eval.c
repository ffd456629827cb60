/* SPDX-License-Identifier: MIT
 * Executes the statements of a chat template. The rules for the scope of variables are those of Jinja: the body of a
 * loop and of a macro has variables of its own, the branches of a condition do not.
 */
#include "jinja/eval.h"

#include <string.h>

#include "jinja/filter.h"

typedef aoei_jinja_value value;
typedef aoei_jinja_node node;

enum { MAX_DEPTH = 160, MAX_RANGE = 100000 };

/* The variables of a loop, a macro or the template. */
typedef struct scope {
    aoei_jinja_dict variables;
    const struct scope *outer; /* NULL: none */
    int is_top;                /* 1: the variables that the template sets outside of loops and macros */
} scope;

/* A macro, with the scope in which it was defined. */
typedef struct macro {
    const node *definition;
    const scope *outer;
} macro;

typedef enum jump { NO_JUMP, BREAK, CONTINUE } jump;

typedef struct evaluator {
    aoei_jinja_run *run;
    aoei_buffer *out;
    scope *scope; /* current scope */
    int depth;
    jump jump; /* statement that leaves the current loop body */
} evaluator;

static int evaluate(evaluator *e, value *out, const node *n);
static int execute(evaluator *e, const node *first);

/* ------------------------------------------------------------- variables */

static const char *const functions[] = {"raise_exception", "namespace", "range",  "dict",
                                        "strftime_now",    "cycler",    "joiner", "lipsum"};

/* Sets *out to the value of a variable: in the innermost scope that has it, otherwise a built-in function, otherwise
 * undefined. */
static int look_up(evaluator *e, value *out, aoe_text name) {
    for (const scope *s = e->scope; s; s = s->outer) {
        const value *found = aoei_jinja_get_name(&s->variables, name);
        if (found) {
            *out = *found;
            return aoei_jinja_work(e->run, 1 + s->variables.n / 8);
        }
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (aoei_text_is(name, functions[i])) {
            *out = (value){.type = AOEI_JINJA_FUNCTION, .as.text = name};
            return 0;
        }
    if (aoei_text_is(name, "task") || aoei_text_is(name, "caller") || aoei_text_is(name, "varargs") ||
        aoei_text_is(name, "kwargs") || aoei_text_is(name, "self"))
        return aoei_jinja_fail(
            e->run, AOE_EUNSUPPORTED,
            "the chat template reads the variable '%.*s', which is not supported; change the template", (int)name.len,
            name.data);
    *out = (value){.type = AOEI_JINJA_UNDEFINED, .as.text = name};
    return aoei_jinja_work(e->run, 1);
}

static int set_variable(evaluator *e, aoe_text name, value v) {
    if (aoei_jinja_work(e->run, e->scope->variables.n / 8))
        return e->run->rc;
    return aoei_jinja_set(&e->run->arena, &e->scope->variables, aoei_jinja_string(name), v)
               ? aoei_jinja_fail_limit(e->run)
               : 0;
}

/* Assigns v to a target: a name, an attribute of a namespace, or a tuple of names. */
static int assign(evaluator *e, const node *target, value v) {
    aoei_jinja_list *list;
    value object;
    size_t i = 0;
    if (target->kind == AOEI_JINJA_VARIABLE)
        return set_variable(e, target->text, v);
    if (target->kind == AOEI_JINJA_ATTRIBUTE) {
        int rc = look_up(e, &object, target->child[0]->text);
        if (!rc && (object.type != AOEI_JINJA_NAMESPACE || target->text.data[0] == '_'))
            rc = aoei_jinja_fail(e->run, AOE_EFORMAT,
                                 "the chat template sets an attribute of %s; only attributes of a namespace can be set",
                                 aoei_jinja_type_name(&object));
        if (!rc)
            rc = aoei_jinja_work(e->run, object.as.dict->n / 8);
        if (!rc && aoei_jinja_set(&e->run->arena, object.as.dict, aoei_jinja_string(target->text), v))
            rc = aoei_jinja_fail_limit(e->run);
        return rc;
    }
    int rc = aoei_jinja_elements(e->run, &list, &v);
    for (const node *n = target->child[0]; n && !rc; n = n->next, i++)
        rc = i < list->n ? assign(e, n, list->item[i]) : AOE_EFORMAT;
    if (e->run->rc || (!rc && i == list->n))
        return e->run->rc;
    return aoei_jinja_fail(e->run, AOE_EFORMAT,
                           "a tuple does not have as many elements as variables; correct the template");
}

/* ----------------------------------------------------------- expressions */

/* Evaluates the arguments of a call. */
static int evaluate_arguments(evaluator *e, aoei_jinja_arguments *a, const node *first) {
    aoei_jinja_arena *arena = &e->run->arena;
    aoei_jinja_list items = {.n = 0}, *spread;
    int rc = 0;
    *a = (aoei_jinja_arguments){.n = 0};
    for (const node *i = first; i && !rc; i = i->next) {
        value v;
        const int is_named = i->kind == AOEI_JINJA_KEYWORD, is_spread = i->kind == AOEI_JINJA_SPREAD;
        if ((rc = evaluate(e, &v, is_named || is_spread ? i->child[0] : i)))
            break;
        if (is_spread && (rc = aoei_jinja_elements(e->run, &spread, &v)))
            break;
        int failed = is_named    ? aoei_jinja_set(arena, &a->keywords, aoei_jinja_string(i->text), v)
                     : is_spread ? 0
                                 : aoei_jinja_append(arena, &items, v);
        for (size_t k = 0; is_spread && k < spread->n && !failed; k++)
            failed = aoei_jinja_append(arena, &items, spread->item[k]);
        if (failed)
            rc = aoei_jinja_fail_limit(e->run);
    }
    a->item = items.item;
    a->n = items.n;
    return rc;
}

static int evaluate_items(evaluator *e, value *out, const node *first, aoei_jinja_form form) {
    *out = aoei_jinja_new_list(&e->run->arena, form);
    if (out->type != AOEI_JINJA_LIST)
        return aoei_jinja_fail_limit(e->run);
    int rc = 0;
    for (const node *n = first; n && !rc; n = n->next) {
        value v;
        if (!(rc = evaluate(e, &v, n)) && aoei_jinja_append(&e->run->arena, out->as.list, v))
            rc = aoei_jinja_fail_limit(e->run);
    }
    return rc;
}

static int evaluate_dict(evaluator *e, value *out, const node *first) {
    *out = aoei_jinja_new_dict(&e->run->arena, AOEI_JINJA_DICT);
    if (out->type != AOEI_JINJA_DICT)
        return aoei_jinja_fail_limit(e->run);
    int rc = 0;
    for (const node *n = first; n && n->next && !rc; n = n->next->next) {
        value key, v;
        if ((rc = evaluate(e, &key, n)) || (rc = evaluate(e, &v, n->next)))
            break;
        if (key.type > AOEI_JINJA_STRING)
            rc = aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                                 "the key of a mapping is %s, which is not supported; use a string",
                                 aoei_jinja_type_name(&key));
        else if (aoei_jinja_work_key(e->run, out->as.dict, &key) ||
                 aoei_jinja_set(&e->run->arena, out->as.dict, key, v))
            rc = aoei_jinja_fail_limit(e->run);
    }
    return rc;
}

/* Sets bounds to the first index, the end and the step of a slice of `size` elements, as Python computes them. */
static int slice_bounds(evaluator *e, const node *n, int64_t size, int64_t bounds[3]) {
    value part;
    int is_set[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        if (!n->child[i + 1])
            continue;
        const int rc = evaluate(e, &part, n->child[i + 1]);
        if (rc)
            return rc;
        is_set[i] = part.type != AOEI_JINJA_NONE;
        if (is_set[i] && !aoei_jinja_is_integer(&part))
            return aoei_jinja_fail(e->run, AOE_EFORMAT, "an index of a slice is %s; correct the template",
                                   aoei_jinja_type_name(&part));
        bounds[i] = is_set[i] ? part.as.integer : 0;
    }
    if (!is_set[2])
        bounds[2] = 1;
    if (bounds[2] != 1 && bounds[2] != -1)
        return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                               "a step of a slice other than 1 and -1 is not supported; change the template");
    const int64_t low = bounds[2] > 0 ? 0 : -1, high = bounds[2] > 0 ? size : size - 1;
    for (int i = 0; i < 2; i++) {
        if (!is_set[i])
            bounds[i] = (i == 0) == (bounds[2] > 0) ? low : high;
        else if (bounds[i] < 0)
            bounds[i] = bounds[i] + size < low ? low : bounds[i] + size;
        else if (bounds[i] > high)
            bounds[i] = high;
    }
    return 0;
}

static int evaluate_slice(evaluator *e, value *out, const node *n) {
    value object;
    int64_t b[3] = {0, 0, 0};
    int rc = evaluate(e, &object, n->child[0]);
    if (rc)
        return rc;
    const int is_text = object.type == AOEI_JINJA_STRING;
    if ((!is_text && object.type != AOEI_JINJA_LIST) || (!is_text && object.as.list->form > AOEI_JINJA_FORM_RANGE))
        return aoei_jinja_fail(e->run, AOE_EFORMAT, "the chat template takes a slice of %s; correct the template",
                               aoei_jinja_type_name(&object));
    if (is_text && (rc = aoei_jinja_work(e->run, object.as.text.len / 64)))
        return rc;
    const size_t size = is_text ? aoei_jinja_characters(object.as.text) : object.as.list->n;
    if ((rc = slice_bounds(e, n, (int64_t)size, b)) || (rc = aoei_jinja_work(e->run, 1 + size / 16)))
        return rc;
    if (is_text && b[2] > 0) {
        *out = aoei_jinja_string(b[1] > b[0] ? aoei_jinja_substring(object.as.text, (size_t)b[0], (size_t)b[1])
                                             : aoe_text_of(""));
        return 0;
    }
    if (is_text)
        return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED, "reversing a string is not supported; change the template");
    *out = aoei_jinja_new_list(&e->run->arena, object.as.list->form);
    for (int64_t i = b[0]; out->type == AOEI_JINJA_LIST && !rc && (b[2] > 0 ? i < b[1] : i > b[1]); i += b[2])
        rc = aoei_jinja_append(&e->run->arena, out->as.list, object.as.list->item[i]);
    return rc || out->type != AOEI_JINJA_LIST ? aoei_jinja_fail_limit(e->run) : 0;
}

static int is_number(const value *v) {
    return aoei_jinja_is_integer(v) || v->type == AOEI_JINJA_FLOAT;
}

static double number_of(const value *v) {
    return v->type == AOEI_JINJA_FLOAT ? v->as.number : (double)v->as.integer;
}

static int fail_operands(evaluator *e, aoe_text operator, const value * a, const value *b) {
    const value *undefined = a->type == AOEI_JINJA_UNDEFINED ? a : b->type == AOEI_JINJA_UNDEFINED ? b : NULL;
    if (undefined)
        return aoei_jinja_fail(
            e->run, AOE_EFORMAT, "the chat template uses '%.*s', which is undefined; correct the template",
            (int)(undefined->as.text.len < 60 ? undefined->as.text.len : 60), undefined->as.text.data);
    return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                           "the operator %.*s of %s and %s is not supported; change the template",
                           (int)operator.len, operator.data, aoei_jinja_type_name(a), aoei_jinja_type_name(b));
}

/* Sets *out to a + b. Returns 0 if the sum is not an int64_t. */
static int add_integers(int64_t *out, int64_t a, int64_t b) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return 0;
    *out = a + b;
    return 1;
}

/* Sets *out to a * b. Returns 0 if a factor is not an int32_t, because the product might then not be an int64_t. */
static int multiply_integers(int64_t *out, int64_t a, int64_t b) {
    if (a < INT32_MIN || a > INT32_MAX || b < INT32_MIN || b > INT32_MAX)
        return 0;
    *out = a * b;
    return 1;
}

/* Sets *out to the result of an arithmetic operator on integers, rounded down as in Python. Returns 0 if it is not
 * supported.
 */
static int integer_result(int64_t *out, aoe_text operator, int64_t a, int64_t b) {
    if (aoei_text_is(operator, "+"))
        return add_integers(out, a, b);
    if (aoei_text_is(operator, "-"))
        return b != INT64_MIN && add_integers(out, a, -b);
    if (aoei_text_is(operator, "*"))
        return multiply_integers(out, a, b);
    if (b == 0 || (a == INT64_MIN && b == -1) || (!aoei_text_is(operator, "//") && !aoei_text_is(operator, "%")))
        return 0;
    const int64_t remainder = a % b, down = remainder && (remainder < 0) != (b < 0);
    *out = aoei_text_is(operator, "%") ? remainder + (down ? b : 0) : a / b - down;
    return 1;
}

static int add_lists(evaluator *e, value *out, const aoei_jinja_list *a, const aoei_jinja_list *b) {
    *out = aoei_jinja_new_list(&e->run->arena, a->form);
    int rc = out->type != AOEI_JINJA_LIST;
    for (size_t i = 0; i < a->n && !rc; i++)
        rc = aoei_jinja_append(&e->run->arena, out->as.list, a->item[i]);
    for (size_t i = 0; i < b->n && !rc; i++)
        rc = aoei_jinja_append(&e->run->arena, out->as.list, b->item[i]);
    return rc ? aoei_jinja_fail_limit(e->run) : aoei_jinja_work(e->run, 1 + a->n + b->n);
}

/* Repeats a string. */
static int repeat(evaluator *e, value *out, aoe_text text, int64_t n) {
    aoe_text result = aoe_text_of("");
    int rc = 0;
    for (int64_t i = 0; i < n && !rc && text.len; i++)
        rc = aoei_jinja_join(e->run, &result, result, text);
    *out = aoei_jinja_string(result);
    return rc;
}

static int evaluate_binary(evaluator *e, value *out, const node *n) {
    value a, b;
    aoe_text left, right;
    int64_t i;
    int rc;
    if ((rc = evaluate(e, &a, n->child[0])) || (rc = evaluate(e, &b, n->child[1])))
        return rc;
    if (aoei_text_is(n->text, "~")) {
        if (!(rc = aoei_jinja_to_text(e->run, &left, &a)) && !(rc = aoei_jinja_to_text(e->run, &right, &b)) &&
            !(rc = aoei_jinja_join(e->run, &left, left, right)))
            *out = aoei_jinja_string(left);
        return rc;
    }
    const int plus = aoei_text_is(n->text, "+");
    if (plus && a.type == AOEI_JINJA_STRING && b.type == AOEI_JINJA_STRING) {
        rc = aoei_jinja_join(e->run, &left, a.as.text, b.as.text);
        *out = aoei_jinja_string(left);
        return rc;
    }
    if (plus && a.type == AOEI_JINJA_LIST && b.type == AOEI_JINJA_LIST && a.as.list->form == b.as.list->form &&
        a.as.list->form <= AOEI_JINJA_FORM_TUPLE)
        return add_lists(e, out, a.as.list, b.as.list);
    if (aoei_text_is(n->text, "*") && a.type == AOEI_JINJA_STRING && aoei_jinja_is_integer(&b))
        return repeat(e, out, a.as.text, b.as.integer);
    if (aoei_jinja_is_integer(&a) && aoei_jinja_is_integer(&b) &&
        integer_result(&i, n->text, a.as.integer, b.as.integer)) {
        *out = aoei_jinja_int(i);
        return 0;
    }
    if (is_number(&a) && is_number(&b) && (plus || aoei_text_is(n->text, "-"))) {
        *out = (value){.type = AOEI_JINJA_FLOAT, .as.number = number_of(&a) + (plus ? 1 : -1) * number_of(&b)};
        return 0;
    }
    return fail_operands(e, n->text, &a, &b);
}

static int evaluate_compare(evaluator *e, value *out, const node *n) {
    value left, right;
    int result = 1, order = 0, rc = evaluate(e, &left, n->child[0]);
    for (const node *o = n->child[1]; o && !rc && result; o = o->next) {
        if ((rc = evaluate(e, &right, o->child[0])))
            break;
        const aoe_text op = o->text;
        if (aoei_text_is(op, "==") || aoei_text_is(op, "!=")) {
            rc = aoei_jinja_compare(e->run, &result, &left, &right);
            result = result == (*op.data == '=');
        } else if (aoei_text_is(op, "in") || aoei_text_is(op, "not in")) {
            rc = aoei_jinja_contains(e->run, &result, &right, &left);
            result = result != (*op.data == 'n');
        } else if (!(rc = aoei_jinja_order(e->run, &order, &left, &right)))
            result = *op.data == '<' ? order < (op.len == 2) : order > -(op.len == 2);
        left = right;
    }
    *out = aoei_jinja_bool(result);
    return rc;
}

/* ----------------------------------------------------------------- calls */

static int call_macro(evaluator *e, value *out, const macro *m, const aoei_jinja_arguments *a) {
    aoei_buffer text = {0}, *const outer_out = e->out;
    scope inner = {.outer = m->outer}, *const outer = e->scope;
    size_t i = 0, used = 0;
    aoe_text result = {0};
    int rc = 0;
    e->scope = &inner;
    for (const node *p = m->definition->child[0]; p && !rc; p = p->next, i++) {
        const value *given = aoei_jinja_get_name(&a->keywords, p->text);
        value v = {.type = AOEI_JINJA_UNDEFINED, .as.text = p->text};
        used += given != NULL;
        if (i < a->n)
            v = a->item[i];
        else if (given)
            v = *given;
        else if (p->child[0])
            rc = evaluate(e, &v, p->child[0]);
        if (!rc)
            rc = set_variable(e, p->text, v);
    }
    if (!rc && (a->n > i || used < a->keywords.n))
        rc = aoei_jinja_fail(e->run, AOE_EFORMAT, "the macro '%.*s' has no such argument; correct the template",
                             (int)(m->definition->text.len < 60 ? m->definition->text.len : 60),
                             m->definition->text.data);
    e->out = &text;
    if (!rc)
        rc = execute(e, m->definition->child[1]);
    e->out = outer_out;
    e->scope = outer;
    if (rc)
        aoei_buffer_free(&text);
    else if (!(rc = aoei_jinja_take_buffer(e->run, &result, &text)))
        *out = aoei_jinja_string(result);
    return rc;
}

static int call_range(evaluator *e, value *out, const aoei_jinja_arguments *a) {
    int64_t b[3] = {0, 0, 1};
    for (size_t i = 0; i < a->n && i < 3; i++) {
        if (!aoei_jinja_is_integer(&a->item[i]))
            return aoei_jinja_fail(e->run, AOE_EFORMAT, "an argument of range is %s; correct the template",
                                   aoei_jinja_type_name(&a->item[i]));
        b[a->n == 1 ? 1 : i] = a->item[i].as.integer;
    }
    *out = aoei_jinja_new_list(&e->run->arena, AOEI_JINJA_FORM_RANGE);
    int rc = out->type != AOEI_JINJA_LIST;
    if (!a->n || a->n > 3 || a->keywords.n || !b[2] || b[2] > MAX_RANGE || b[2] < -MAX_RANGE || b[0] > MAX_RANGE ||
        b[0] < -MAX_RANGE || b[1] > MAX_RANGE || b[1] < -MAX_RANGE)
        return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                               "the function range is not supported with these arguments; change the template");
    for (int64_t i = b[0]; !rc && (b[2] > 0 ? i < b[1] : i > b[1]); i += b[2])
        rc = aoei_jinja_append(&e->run->arena, out->as.list, aoei_jinja_int(i)) || aoei_jinja_work(e->run, 1);
    return rc ? aoei_jinja_fail_limit(e->run) : 0;
}

static int call_function(evaluator *e, value *out, aoe_text name, const aoei_jinja_arguments *a) {
    if (aoei_text_is(name, "raise_exception")) {
        const aoe_text text =
            a->n && a->item[0].type == AOEI_JINJA_STRING ? a->item[0].as.text : aoe_text_of("(no message)");
        return aoei_jinja_fail(e->run, AOE_EFORMAT, "the chat template rejects the conversation: %.*s",
                               (int)(text.len < 300 ? text.len : 300), text.data);
    }
    if (aoei_text_is(name, "range"))
        return call_range(e, out, a);
    if ((aoei_text_is(name, "namespace") || aoei_text_is(name, "dict")) && !a->n) {
        *out = aoei_jinja_new_dict(&e->run->arena, *name.data == 'n' ? AOEI_JINJA_NAMESPACE : AOEI_JINJA_DICT);
        if (out->type == AOEI_JINJA_UNDEFINED)
            return aoei_jinja_fail_limit(e->run);
        for (size_t i = 0; i < a->keywords.n && *name.data == 'n'; i++)
            if (*a->keywords.key[i].as.text.data == '_')
                return aoei_jinja_fail(e->run, AOE_EFORMAT,
                                       "the attribute '%.*s' of a namespace starts with _; rename it",
                                       (int)a->keywords.key[i].as.text.len, a->keywords.key[i].as.text.data);
        *out->as.dict = a->keywords;
        return 0;
    }
    if (aoei_text_is(name, "strftime_now"))
        return aoei_jinja_fail(
            e->run, AOE_EUNSUPPORTED,
            "the chat template calls strftime_now, which is not supported, because embeddings would depend on "
            "the date; write a fixed date into the template");
    return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                           "the function '%.*s' is not supported with these arguments; change the template",
                           (int)name.len, name.data);
}

static int evaluate_call(evaluator *e, value *out, const node *n) {
    value function;
    aoei_jinja_arguments a;
    int rc;
    if ((rc = evaluate(e, &function, n->child[0])) || (rc = evaluate_arguments(e, &a, n->child[1])))
        return rc;
    if (function.type == AOEI_JINJA_METHOD)
        return aoei_jinja_method(e->run, out, function.as.text, function.self, &a);
    if (function.type == AOEI_JINJA_FUNCTION)
        return call_function(e, out, function.as.text, &a);
    if (function.type == AOEI_JINJA_MACRO)
        return call_macro(e, out, function.as.macro, &a);
    return aoei_jinja_fail(e->run, AOE_EFORMAT, "the chat template calls %s '%.*s'; correct the template",
                           aoei_jinja_type_name(&function),
                           (int)(function.type == AOEI_JINJA_UNDEFINED ? function.as.text.len : 0),
                           function.type == AOEI_JINJA_UNDEFINED ? function.as.text.data : "");
}

/* Filters and tests. */
static int evaluate_filter(evaluator *e, value *out, const node *n) {
    value v;
    aoei_jinja_arguments a;
    int rc, result = 0;
    if ((rc = evaluate(e, &v, n->child[0])) || (rc = evaluate_arguments(e, &a, n->child[1])))
        return rc;
    if (n->kind == AOEI_JINJA_FILTER)
        return aoei_jinja_filter(e->run, out, n->text, &v, &a);
    rc = aoei_jinja_test(e->run, &result, n->text, &v, &a);
    *out = aoei_jinja_bool(result);
    return rc;
}

/* The operators with one or two operands whose result is a boolean or an operand, and the signs. */
static int evaluate_logic(evaluator *e, value *out, const node *n) {
    int rc = evaluate(e, out, n->child[0]);
    if (rc)
        return rc;
    const int truth = aoei_jinja_truth(out);
    switch (n->kind) {
    case AOEI_JINJA_AND:
        return truth ? evaluate(e, out, n->child[1]) : 0;
    case AOEI_JINJA_OR:
        return truth ? 0 : evaluate(e, out, n->child[1]);
    case AOEI_JINJA_NOT:
        *out = aoei_jinja_bool(!truth);
        return 0;
    case AOEI_JINJA_CHOICE:
        if (truth)
            return evaluate(e, out, n->child[1]);
        *out = (value){.type = AOEI_JINJA_UNDEFINED, .as.text = aoe_text_of("an if without else")};
        return n->child[2] ? evaluate(e, out, n->child[2]) : 0;
    default:
        if (!aoei_jinja_is_integer(out) || out->as.integer == INT64_MIN)
            return fail_operands(e, aoe_text_of(n->kind == AOEI_JINJA_NEGATE ? "-" : "+"), out, out);
        *out = aoei_jinja_int(n->kind == AOEI_JINJA_NEGATE ? -out->as.integer : out->as.integer);
        return 0;
    }
}

static int evaluate_node(evaluator *e, value *out, const node *n) {
    value object, index;
    int rc;
    switch (n->kind) {
    case AOEI_JINJA_CONSTANT:
        *out = n->value;
        return 0;
    case AOEI_JINJA_VARIABLE:
        return look_up(e, out, n->text);
    case AOEI_JINJA_MAKE_LIST:
    case AOEI_JINJA_MAKE_TUPLE:
        return evaluate_items(e, out, n->child[0],
                              n->kind == AOEI_JINJA_MAKE_TUPLE ? AOEI_JINJA_FORM_TUPLE : AOEI_JINJA_FORM_LIST);
    case AOEI_JINJA_MAKE_DICT:
        return evaluate_dict(e, out, n->child[0]);
    case AOEI_JINJA_ATTRIBUTE:
        rc = evaluate(e, &object, n->child[0]);
        return rc ? rc : aoei_jinja_attribute(e->run, out, &object, n->text);
    case AOEI_JINJA_ITEM:
        if ((rc = evaluate(e, &object, n->child[0])) || (rc = evaluate(e, &index, n->child[1])))
            return rc;
        return aoei_jinja_item(e->run, out, &object, &index);
    case AOEI_JINJA_SLICE:
        return evaluate_slice(e, out, n);
    case AOEI_JINJA_CALL:
        return evaluate_call(e, out, n);
    case AOEI_JINJA_FILTER:
    case AOEI_JINJA_TEST:
        return evaluate_filter(e, out, n);
    case AOEI_JINJA_COMPARE:
        return evaluate_compare(e, out, n);
    case AOEI_JINJA_BINARY:
        return evaluate_binary(e, out, n);
    default:
        return evaluate_logic(e, out, n);
    }
}

static int evaluate(evaluator *e, value *out, const node *n) {
    int rc = aoei_jinja_work(e->run, 1);
    *out = (value){.type = AOEI_JINJA_UNDEFINED, .as.text = aoe_text_of("")};
    if (rc)
        return rc;
    e->run->line = n->line;
    if (++e->depth > MAX_DEPTH)
        rc = aoei_jinja_fail_limit(e->run);
    else
        rc = evaluate_node(e, out, n);
    e->depth--;
    return rc;
}

/* ------------------------------------------------------------ statements */

static int print(evaluator *e, aoe_text text) {
    aoei_buffer_append(e->out, text.data, text.len);
    e->run->arena.no_memory |= e->out->failed;
    return e->out->failed || e->out->len > e->run->arena.limit ? aoei_jinja_fail_limit(e->run)
                                                               : aoei_jinja_work(e->run, text.len / 64);
}

/* Sets the attributes of the variable `loop` for item i. */
static int set_loop(evaluator *e, value *loop, const aoei_jinja_list *items, size_t i) {
    const int64_t n = (int64_t)items->n, at = (int64_t)i;
    aoei_jinja_arena *a = &e->run->arena;
    if (loop->type != AOEI_JINJA_LOOP)
        *loop = aoei_jinja_new_dict(a, AOEI_JINJA_LOOP);
    if (loop->type != AOEI_JINJA_LOOP)
        return aoei_jinja_fail_limit(e->run);
    const value missing = {.type = AOEI_JINJA_UNDEFINED, .as.text = aoe_text_of("an item before or after the loop")};
    return aoei_jinja_set_name(a, loop->as.dict, "index", aoei_jinja_int(at + 1)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "index0", aoei_jinja_int(at)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "revindex", aoei_jinja_int(n - at)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "revindex0", aoei_jinja_int(n - at - 1)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "first", aoei_jinja_bool(i == 0)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "last", aoei_jinja_bool(at + 1 == n)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "length", aoei_jinja_int(n)) ||
                   aoei_jinja_set_name(a, loop->as.dict, "previtem", i ? items->item[i - 1] : missing) ||
                   aoei_jinja_set_name(a, loop->as.dict, "nextitem", at + 1 < n ? items->item[i + 1] : missing)
               ? aoei_jinja_fail_limit(e->run)
               : 0;
}

/* Removes the items for which the condition of the loop is false. */
static int filter_items(evaluator *e, const node *n, aoei_jinja_list **items) {
    const value kept = aoei_jinja_new_list(&e->run->arena, AOEI_JINJA_FORM_LIST);
    scope inner = {.outer = e->scope}, *const outer = e->scope;
    int rc = kept.type == AOEI_JINJA_LIST ? 0 : aoei_jinja_fail_limit(e->run);
    e->scope = &inner;
    for (size_t i = 0; i < (*items)->n && !rc; i++) {
        value passes;
        if ((rc = assign(e, n->child[0], (*items)->item[i])) || (rc = evaluate(e, &passes, n->child[4])))
            break;
        if (aoei_jinja_truth(&passes) && aoei_jinja_append(&e->run->arena, kept.as.list, (*items)->item[i]))
            rc = aoei_jinja_fail_limit(e->run);
    }
    e->scope = outer;
    *items = kept.as.list;
    return rc;
}

static int execute_for(evaluator *e, const node *n) {
    aoei_jinja_list *items;
    value sequence, loop = {.type = AOEI_JINJA_UNDEFINED};
    scope *const outer = e->scope;
    int rc, is_completed = 0; /* 1: the end of the body was reached in an iteration */
    if ((rc = evaluate(e, &sequence, n->child[1])) || (rc = aoei_jinja_elements(e->run, &items, &sequence)) ||
        (n->child[4] && (rc = filter_items(e, n, &items))))
        return rc;
    for (size_t i = 0; i < items->n && !rc; i++) {
        scope inner = {.outer = outer};
        e->scope = &inner;
        if (!(rc = set_loop(e, &loop, items, i)) && !(rc = set_variable(e, aoe_text_of("loop"), loop)) &&
            !(rc = assign(e, n->child[0], items->item[i])))
            rc = execute(e, n->child[2]);
        e->scope = outer;
        const jump leaving = e->jump;
        e->jump = NO_JUMP;
        is_completed |= leaving == NO_JUMP;
        if (leaving == BREAK)
            break;
    }
    return rc || is_completed ? rc : execute(e, n->child[3]);
}

/* Executes statements and sets *out to the text that they print. */
static int capture(evaluator *e, aoe_text *out, const node *first) {
    aoei_buffer text = {0}, *const outer_out = e->out;
    scope inner = {.outer = e->scope}, *const outer = e->scope;
    e->out = &text;
    e->scope = &inner;
    int rc = execute(e, first);
    e->out = outer_out;
    e->scope = outer;
    if (rc)
        aoei_buffer_free(&text);
    return rc ? rc : aoei_jinja_take_buffer(e->run, out, &text);
}

static int define_macro(evaluator *e, const node *n) {
    macro *m = aoei_jinja_take(&e->run->arena, sizeof *m);
    if (!m)
        return aoei_jinja_fail_limit(e->run);
    if (!e->scope->is_top)
        return aoei_jinja_fail(e->run, AOE_EUNSUPPORTED,
                               "a macro within a loop or a macro is not supported; change the template");
    *m = (macro){n, e->scope};
    return set_variable(e, n->text, (value){.type = AOEI_JINJA_MACRO, .as.macro = m});
}

static int execute_one(evaluator *e, const node *n) {
    value v;
    aoe_text text;
    int rc;
    switch (n->kind) {
    case AOEI_JINJA_PRINT_TEXT:
        return print(e, n->text);
    case AOEI_JINJA_PRINT:
        if (!(rc = evaluate(e, &v, n->child[0])) && !(rc = aoei_jinja_to_text(e->run, &text, &v)))
            rc = print(e, text);
        return rc;
    case AOEI_JINJA_IF:
        rc = evaluate(e, &v, n->child[0]);
        return rc ? rc : execute(e, n->child[aoei_jinja_truth(&v) ? 1 : 2]);
    case AOEI_JINJA_FOR:
        return execute_for(e, n);
    case AOEI_JINJA_SET:
        rc = evaluate(e, &v, n->child[1]);
        return rc ? rc : assign(e, n->child[0], v);
    case AOEI_JINJA_SET_BLOCK:
        rc = capture(e, &text, n->child[1]);
        return rc ? rc : assign(e, n->child[0], aoei_jinja_string(text));
    case AOEI_JINJA_DEFINE:
        return define_macro(e, n);
    case AOEI_JINJA_SCOPE:
        rc = capture(e, &text, n->child[0]);
        return rc ? rc : print(e, text);
    case AOEI_JINJA_UNSUPPORTED:
        return aoei_jinja_fail(
            e->run, AOE_EUNSUPPORTED,
            "the chat template uses a statement that is not supported, '%.*s'; change the chat template",
            (int)n->text.len, n->text.data);
    default:
        e->jump = n->kind == AOEI_JINJA_BREAK ? BREAK : CONTINUE;
        return 0;
    }
}

static int execute(evaluator *e, const node *first) {
    int rc = 0;
    if (++e->depth > MAX_DEPTH)
        rc = aoei_jinja_fail_limit(e->run);
    for (const node *n = first; n && !rc && e->jump == NO_JUMP; n = n->next) {
        e->run->line = n->line;
        if (!(rc = aoei_jinja_work(e->run, 1)))
            rc = execute_one(e, n);
    }
    e->depth--;
    return rc;
}

int aoei_jinja_render(aoei_jinja_run *r, aoei_buffer *out, const node *statements, const aoei_jinja_dict *variables) {
    const scope given = {.variables = *variables};
    scope top = {.outer = &given, .is_top = 1}; /* assignments of the template do not change the variables of the
                                                   caller */
    evaluator e = {.run = r, .out = out, .scope = &top};
    return execute(&e, statements);
}
