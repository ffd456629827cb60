/* SPDX-License-Identifier: MIT
 * A recursive-descent parser with the grammar and the precedences of jinja2.parser.
 */
#include "jinja/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jinja/lex.h"

enum { MAX_DEPTH = 120 };

typedef aoei_jinja_node node;

typedef struct parser {
    const aoei_jinja_token *token; /* next token */
    aoei_jinja_arena *arena;
    const char *name;
    aoe_error *err;
    int rc;    /* first error */
    int depth; /* nesting of statements and expressions */
    int loops; /* number of enclosing loops */
} parser;

static node *fail(parser *p, int code, const char *what, aoe_text text) {
    if (!p->rc)
        p->rc = aoei_fail(p->err, code, "%s:%u: %s%s%.*s%s; %s", p->name, p->token->line, what, text.len ? " '" : "",
                          (int)(text.len < 60 ? text.len : 60), text.len ? text.data : "", text.len ? "'" : "",
                          code == AOE_EUNSUPPORTED ? "change the chat template" : "correct the chat template");
    return NULL;
}

static node *unexpected(parser *p) {
    return p->token->type == AOEI_JINJA_END
               ? fail(p, AOE_EFORMAT, "the chat template ends within a statement", (aoe_text){0})
               : fail(p, AOE_EFORMAT, "unexpected syntax", p->token->text);
}

static node *make(parser *p, aoei_jinja_kind kind, node *a, node *b) {
    if (p->rc)
        return NULL;
    node *n = aoei_jinja_take(p->arena, sizeof *n);
    if (!n) {
        p->rc = p->arena->no_memory
                    ? aoei_fail_nomem(p->err, p->arena->used)
                    : aoei_fail(p->err, AOE_EUNSUPPORTED, "%s: the chat template is too large", p->name);
        return NULL;
    }
    n->kind = kind;
    n->line = p->token->line;
    n->child[0] = a;
    n->child[1] = b;
    return n;
}

static node *make_named(parser *p, aoei_jinja_kind kind, aoe_text text, node *a, node *b) {
    node *n = make(p, kind, a, b);
    if (n)
        n->text = text;
    return n;
}

static int is_operator(const parser *p, const char *s) {
    return p->token->type == AOEI_JINJA_OPERATOR && aoei_text_is(p->token->text, s);
}

static int is_name(const parser *p, const char *s) {
    return p->token->type == AOEI_JINJA_NAME && aoei_text_is(p->token->text, s);
}

static void advance(parser *p) {
    if (p->token->type != AOEI_JINJA_END)
        p->token++;
}

/* Skips the operator or the name `s` if it is the next token. */
static int accept(parser *p, const char *s) {
    const int found = !p->rc && (is_operator(p, s) || is_name(p, s));
    if (found)
        advance(p);
    return found;
}

static void expect(parser *p, const char *s) {
    if (!p->rc && !accept(p, s))
        unexpected(p);
}

static aoe_text take_name(parser *p) {
    const aoe_text text = p->token->text;
    if (p->token->type != AOEI_JINJA_NAME)
        unexpected(p);
    else
        advance(p);
    return text;
}

/* Enters a level of nesting. Returns 0, and sets an error, if the nesting is too deep or an error occurred before. */
static int enter(parser *p) {
    if (++p->depth > MAX_DEPTH)
        fail(p, AOE_EUNSUPPORTED, "the nesting is too deep", (aoe_text){0});
    return !p->rc;
}

/* Appends `item` to the list that ends at **tail. */
static void append(node ***tail, node *item) {
    if (item) {
        **tail = item;
        *tail = &item->next;
    }
}

/* ------------------------------------------------------------- expressions */

static node *parse_expression(parser *p);
static node *parse_unary(parser *p, int with_filters);

/* Parses arguments after "(" up to ")". */
static node *parse_arguments(parser *p) {
    node *first = NULL, **tail = &first;
    while (!p->rc && !accept(p, ")")) {
        if (first)
            expect(p, ",");
        if (accept(p, ")"))
            break;
        if (is_operator(p, "**"))
            return fail(p, AOE_EUNSUPPORTED, "arguments with ** are not supported", (aoe_text){0});
        if (accept(p, "*")) {
            append(&tail, make(p, AOEI_JINJA_SPREAD, parse_expression(p), NULL));
            continue;
        }
        const aoei_jinja_token *next = p->token->type == AOEI_JINJA_NAME ? p->token + 1 : p->token;
        if (next != p->token && next->type == AOEI_JINJA_OPERATOR && aoei_text_is(next->text, "=")) {
            const aoe_text key = take_name(p);
            advance(p);
            node *value = parse_expression(p);
            append(&tail, make_named(p, AOEI_JINJA_KEYWORD, key, value, NULL));
        } else {
            append(&tail, parse_expression(p));
        }
    }
    return first;
}

/* Parses the items of a list, a tuple or a mapping up to the bracket `end`. */
static node *parse_items(parser *p, const char *end, int pairs) {
    node *first = NULL, **tail = &first;
    while (!p->rc && !accept(p, end)) {
        if (first)
            expect(p, ",");
        if (accept(p, end))
            break;
        append(&tail, parse_expression(p));
        if (pairs) {
            expect(p, ":");
            append(&tail, parse_expression(p));
        }
    }
    return first;
}

/* Parses "(": a tuple, or an expression in parentheses. */
static node *parse_parentheses(parser *p) {
    if (accept(p, ")"))
        return make(p, AOEI_JINJA_MAKE_TUPLE, NULL, NULL);
    node *first = parse_expression(p);
    if (!p->rc && !is_operator(p, ",")) {
        expect(p, ")");
        return first;
    }
    node **tail = first ? &first->next : &first;
    while (!p->rc && !accept(p, ")")) {
        expect(p, ",");
        if (accept(p, ")"))
            break;
        append(&tail, parse_expression(p));
    }
    return make(p, AOEI_JINJA_MAKE_TUPLE, first, NULL);
}

static node *constant(parser *p, aoei_jinja_value value) {
    node *n = make(p, AOEI_JINJA_CONSTANT, NULL, NULL);
    if (n)
        n->value = value;
    return n;
}

/* Parses adjacent string literals, which are one string. */
static node *parse_string(parser *p) {
    aoe_text text = p->token->text;
    for (advance(p); p->token->type == AOEI_JINJA_TEXT; advance(p)) {
        char *both = aoei_jinja_take(p->arena, text.len + p->token->text.len + 1);
        if (!both)
            return fail(p, AOE_EUNSUPPORTED, "a string is too long", (aoe_text){0});
        memcpy(both, text.data, text.len);
        memcpy(both + text.len, p->token->text.data, p->token->text.len);
        text = (aoe_text){both, text.len + p->token->text.len};
    }
    return constant(p, aoei_jinja_string(text));
}

static node *parse_number(parser *p) {
    char digits[32];
    const aoe_text text = p->token->text;
    if (text.len >= sizeof digits)
        return fail(p, AOE_EUNSUPPORTED, "a number is too long", text);
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    errno = 0;
    const aoei_jinja_value value = p->token->type == AOEI_JINJA_REAL
                                       ? (aoei_jinja_value){.type = AOEI_JINJA_FLOAT, .as.number = strtod(digits, NULL)}
                                       : aoei_jinja_int(strtoll(digits, NULL, 10));
    if (errno || (p->token->type == AOEI_JINJA_WHOLE && text.len > 1 && *digits == '0' && value.as.integer))
        return fail(p, AOE_EUNSUPPORTED, "a number is not supported", text);
    advance(p);
    return constant(p, value);
}

static node *parse_primary(parser *p) {
    static const struct {
        const char *name;
        aoei_jinja_value value;
    } constants[] = {{"true", {.type = AOEI_JINJA_BOOL, .as.integer = 1}},
                     {"True", {.type = AOEI_JINJA_BOOL, .as.integer = 1}},
                     {"false", {.type = AOEI_JINJA_BOOL, .as.integer = 0}},
                     {"False", {.type = AOEI_JINJA_BOOL, .as.integer = 0}},
                     {"none", {.type = AOEI_JINJA_NONE}},
                     {"None", {.type = AOEI_JINJA_NONE}}};
    if (p->rc)
        return NULL;
    if (p->token->type == AOEI_JINJA_TEXT)
        return parse_string(p);
    if (p->token->type == AOEI_JINJA_WHOLE || p->token->type == AOEI_JINJA_REAL)
        return parse_number(p);
    if (accept(p, "("))
        return parse_parentheses(p);
    if (accept(p, "["))
        return make(p, AOEI_JINJA_MAKE_LIST, parse_items(p, "]", 0), NULL);
    if (accept(p, "{"))
        return make(p, AOEI_JINJA_MAKE_DICT, parse_items(p, "}", 1), NULL);
    if (p->token->type != AOEI_JINJA_NAME)
        return unexpected(p);
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (accept(p, constants[i].name))
            return constant(p, constants[i].value);
    const aoe_text name = take_name(p);
    return make_named(p, AOEI_JINJA_VARIABLE, name, NULL, NULL);
}

/* Parses an index or a slice after "[". */
static node *parse_subscript(parser *p, node *object) {
    node *part[3] = {NULL, NULL, NULL};
    int n = 0, colons = 0;
    while (!p->rc && !accept(p, "]")) {
        if (accept(p, ":")) {
            if (++colons == 3)
                return unexpected(p);
            n = colons;
        } else if (part[n]) {
            return fail(p, AOE_EUNSUPPORTED, "an index of this form is not supported", (aoe_text){0});
        } else {
            part[n] = parse_expression(p);
        }
    }
    node *out = make(p, colons ? AOEI_JINJA_SLICE : AOEI_JINJA_ITEM, object, part[0]);
    if (!p->rc && !colons && !part[0])
        return unexpected(p);
    if (out && colons) {
        out->child[2] = part[1];
        out->child[3] = part[2];
    }
    return out;
}

/* Parses attributes, indices and calls after an expression. */
static node *parse_postfix(parser *p, node *n) {
    while (!p->rc) {
        if (accept(p, ".")) {
            if (p->token->type == AOEI_JINJA_WHOLE) {
                n = make(p, AOEI_JINJA_ITEM, n, parse_number(p));
                continue;
            }
            const aoe_text name = take_name(p);
            n = make_named(p, AOEI_JINJA_ATTRIBUTE, name, n, NULL);
        } else if (accept(p, "[")) {
            n = parse_subscript(p, n);
        } else if (accept(p, "(")) {
            n = make(p, AOEI_JINJA_CALL, n, parse_arguments(p));
        } else {
            break;
        }
    }
    return n;
}

/* Parses the test after "is". */
static node *parse_test(parser *p, node *value) {
    const int negated = accept(p, "not");
    const aoe_text name = take_name(p);
    node *arguments = NULL;
    if (is_operator(p, "."))
        return fail(p, AOE_EUNSUPPORTED, "this test is not supported", name);
    if (accept(p, "(")) {
        arguments = parse_arguments(p);
    } else if (is_name(p, "is")) {
        return fail(p, AOE_EFORMAT, "tests with 'is' cannot be chained; add parentheses", (aoe_text){0});
    } else if (p->token->type == AOEI_JINJA_TEXT || p->token->type == AOEI_JINJA_WHOLE ||
               p->token->type == AOEI_JINJA_REAL || is_operator(p, "[") || is_operator(p, "{") ||
               (p->token->type == AOEI_JINJA_NAME && !is_name(p, "else") && !is_name(p, "or") && !is_name(p, "and"))) {
        arguments = parse_postfix(p, parse_primary(p));
    }
    node *n = make_named(p, AOEI_JINJA_TEST, name, value, arguments);
    return negated ? make(p, AOEI_JINJA_NOT, n, NULL) : n;
}

static node *parse_filters(parser *p, node *n) {
    while (!p->rc) {
        if (accept(p, "|")) {
            const aoe_text name = take_name(p);
            if (is_operator(p, "."))
                return fail(p, AOE_EUNSUPPORTED, "this filter is not supported", name);
            n = make_named(p, AOEI_JINJA_FILTER, name, n, accept(p, "(") ? parse_arguments(p) : NULL);
        } else if (accept(p, "is")) {
            n = parse_test(p, n);
        } else if (accept(p, "(")) {
            n = make(p, AOEI_JINJA_CALL, n, parse_arguments(p));
        } else {
            break;
        }
    }
    return n;
}

static node *parse_unary(parser *p, int with_filters) {
    node *n = NULL;
    if (!enter(p)) {
        p->depth--;
        return NULL;
    }
    if (accept(p, "-"))
        n = make(p, AOEI_JINJA_NEGATE, parse_unary(p, 0), NULL);
    else if (accept(p, "+"))
        n = make(p, AOEI_JINJA_POSITIVE, parse_unary(p, 0), NULL);
    else
        n = parse_primary(p);
    n = parse_postfix(p, n);
    p->depth--;
    return with_filters ? parse_filters(p, n) : n;
}

/* The binary operators in ascending order of precedence. */
static const struct { const char *operator[4]; } levels[] = {{{"+", "-"}}, {{"~"}}, {{"*", "/", "//", "%"}}, {{"**"}}};
enum { LEVELS = sizeof levels / sizeof *levels };

static node *parse_binary(parser *p, size_t level) {
    node *left = level == LEVELS ? parse_unary(p, 1) : parse_binary(p, level + 1);
    while (level < LEVELS && !p->rc) {
        size_t i = 0;
        while (i < 4 && levels[level].operator[i] && !is_operator(p, levels[level].operator[i]))
            i++;
        if (i == 4 || !levels[level].operator[i])
            break;
        const aoe_text operator= p->token->text;
        advance(p);
        left = make_named(p, AOEI_JINJA_BINARY, operator, left, parse_binary(p, level + 1));
    }
    return left;
}

static node *parse_compare(parser *p) {
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">=", "in"};
    node *left = parse_binary(p, 0), *first = NULL, **tail = &first;
    while (!p->rc) {
        aoe_text operator= p->token->text;
        size_t i = 0;
        const size_t n = sizeof operators / sizeof *operators;
        while (i < n && !is_operator(p, operators[i]) && !is_name(p, operators[i]))
            i++;
        if (i == n && is_name(p, "not") && p->token[1].type == AOEI_JINJA_NAME &&
            aoei_text_is(p->token[1].text, "in")) {
            advance(p);
            operator= aoe_text_of("not in");
        } else if (i == n) {
            break;
        }
        advance(p);
        append(&tail, make_named(p, AOEI_JINJA_OPERAND, operator, parse_binary(p, 0), NULL));
    }
    return first ? make(p, AOEI_JINJA_COMPARE, left, first) : left;
}

static node *parse_not(parser *p) {
    node *n;
    if (!accept(p, "not"))
        return parse_compare(p);
    n = enter(p) ? make(p, AOEI_JINJA_NOT, parse_not(p), NULL) : NULL;
    p->depth--;
    return n;
}

static node *parse_and(parser *p) {
    node *left = parse_not(p);
    while (accept(p, "and"))
        left = make(p, AOEI_JINJA_AND, left, parse_not(p));
    return left;
}

static node *parse_or(parser *p) {
    node *left = parse_and(p);
    while (accept(p, "or"))
        left = make(p, AOEI_JINJA_OR, left, parse_and(p));
    return left;
}

static node *parse_expression(parser *p) {
    if (!enter(p)) {
        p->depth--;
        return NULL;
    }
    node *n = parse_or(p);
    while (accept(p, "if")) {
        node *condition = parse_or(p), *choice = make(p, AOEI_JINJA_CHOICE, condition, n);
        if (accept(p, "else") && choice)
            choice->child[2] = parse_expression(p);
        n = choice;
    }
    p->depth--;
    return n;
}

/* Parses an expression, or a tuple without parentheses. `parse` parses its elements. */
static node *parse_tuple(parser *p, node *(*parse)(parser *)) {
    node *first = parse(p), **tail = first ? &first->next : &first;
    if (p->rc || !is_operator(p, ","))
        return first;
    while (!p->rc && accept(p, ",") && p->token->type != AOEI_JINJA_TAG_END && p->token->type != AOEI_JINJA_EXPR_END)
        append(&tail, parse(p));
    return make(p, AOEI_JINJA_MAKE_TUPLE, first, NULL);
}

/* -------------------------------------------------------------- statements */

static node *parse_statements(parser *p, const char *const ends[]);

static void expect_tag_end(parser *p) {
    if (!p->rc && p->token->type != AOEI_JINJA_TAG_END)
        unexpected(p);
    if (!p->rc)
        advance(p);
}

/* Parses statements up to {% end %}, including the tag. */
static node *parse_block(parser *p, const char *end) {
    const char *const ends[] = {end, NULL};
    expect_tag_end(p);
    node *body = parse_statements(p, ends);
    expect(p, end);
    expect_tag_end(p);
    return body;
}

/* Parses the target of an assignment: a name, an attribute of a namespace, or a tuple of names. */
static node *parse_target(parser *p, int with_attribute) {
    node *first = NULL, **tail = &first;
    const int parenthesis = accept(p, "(");
    do {
        const aoe_text name = take_name(p);
        append(&tail, make_named(p, AOEI_JINJA_VARIABLE, name, NULL, NULL));
    } while (!p->rc && accept(p, ",") && p->token->type == AOEI_JINJA_NAME);
    if (parenthesis)
        expect(p, ")");
    if (p->rc || !first)
        return NULL;
    if (with_attribute && !first->next && accept(p, ".")) {
        const aoe_text name = take_name(p);
        return make_named(p, AOEI_JINJA_ATTRIBUTE, name, first, NULL);
    }
    return first->next ? make(p, AOEI_JINJA_MAKE_TUPLE, first, NULL) : first;
}

static node *parse_set(parser *p) {
    node *target = parse_target(p, 1);
    if (accept(p, "=")) {
        node *n = make(p, AOEI_JINJA_SET, target, parse_tuple(p, parse_expression));
        expect_tag_end(p);
        return n;
    }
    if (is_operator(p, "|"))
        return fail(p, AOE_EUNSUPPORTED, "a filter in {% set %} is not supported", (aoe_text){0});
    return make(p, AOEI_JINJA_SET_BLOCK, target, parse_block(p, "endset"));
}

/* Parses {% if %} after the word "if" or "elif". */
static node *parse_if(parser *p) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    node *condition = enter(p) ? parse_tuple(p, parse_or) : NULL;
    node *n = make(p, AOEI_JINJA_IF, condition, NULL);
    expect_tag_end(p);
    node *body = parse_statements(p, ends), *other = NULL;
    if (accept(p, "elif")) {
        other = parse_if(p);
    } else {
        if (accept(p, "else"))
            other = parse_block(p, "endif");
        else {
            expect(p, "endif");
            expect_tag_end(p);
        }
    }
    p->depth--;
    if (n) {
        n->child[1] = body;
        n->child[2] = other;
    }
    return n;
}

static node *parse_for(parser *p) {
    static const char *const ends[] = {"else", "endfor", NULL};
    node *target = parse_target(p, 0);
    expect(p, "in");
    node *sequence = parse_tuple(p, parse_or), *condition = accept(p, "if") ? parse_expression(p) : NULL;
    if (is_name(p, "recursive"))
        return fail(p, AOE_EUNSUPPORTED, "a recursive loop is not supported", (aoe_text){0});
    node *n = make(p, AOEI_JINJA_FOR, target, sequence);
    expect_tag_end(p);
    p->loops++;
    node *body = parse_statements(p, ends), *other = NULL;
    p->loops--;
    if (accept(p, "else"))
        other = parse_block(p, "endfor");
    else {
        expect(p, "endfor");
        expect_tag_end(p);
    }
    if (n) {
        n->child[2] = body;
        n->child[3] = other;
        n->child[4] = condition;
    }
    return n;
}

static node *parse_macro(parser *p) {
    const aoe_text name = take_name(p);
    node *first = NULL, **tail = &first;
    const int loops = p->loops;
    expect(p, "(");
    while (!p->rc && !accept(p, ")")) {
        if (first)
            expect(p, ",");
        const aoe_text parameter = take_name(p);
        node *value = accept(p, "=") ? parse_expression(p) : NULL;
        append(&tail, make_named(p, AOEI_JINJA_VARIABLE, parameter, value, NULL));
    }
    p->loops = 0;
    node *n = make_named(p, AOEI_JINJA_DEFINE, name, first, parse_block(p, "endmacro"));
    p->loops = loops;
    return n;
}

static node *parse_jump(parser *p, aoei_jinja_kind kind) {
    if (!p->loops)
        return fail(p, AOE_EFORMAT, "{% break %} or {% continue %} is not in a loop", (aoe_text){0});
    node *n = make(p, kind, NULL, NULL);
    expect_tag_end(p);
    return n;
}

/* Parses {% call %}. Templates use it for tools, so it is an error only if it is executed. */
static node *parse_call_block(parser *p) {
    if (accept(p, "("))
        (void)parse_arguments(p);
    (void)parse_expression(p);
    (void)parse_block(p, "endcall");
    return make_named(p, AOEI_JINJA_UNSUPPORTED, aoe_text_of("call"), NULL, NULL);
}

/* Parses the statement of a tag, whose first word is the next token. */
static node *parse_statement(parser *p) {
    node *n = NULL;
    if (!enter(p))
        n = NULL;
    else if (accept(p, "if"))
        n = parse_if(p);
    else if (accept(p, "for"))
        n = parse_for(p);
    else if (accept(p, "set"))
        n = parse_set(p);
    else if (accept(p, "macro"))
        n = parse_macro(p);
    else if (accept(p, "generation"))
        n = make(p, AOEI_JINJA_SCOPE, parse_block(p, "endgeneration"), NULL);
    else if (accept(p, "call"))
        n = parse_call_block(p);
    else if (accept(p, "break"))
        n = parse_jump(p, AOEI_JINJA_BREAK);
    else if (accept(p, "continue"))
        n = parse_jump(p, AOEI_JINJA_CONTINUE);
    else if (p->token->type == AOEI_JINJA_NAME)
        n = fail(p, AOE_EUNSUPPORTED, "the chat template uses a statement that is not supported,", p->token->text);
    else
        n = unexpected(p);
    p->depth--;
    return n;
}

/* Parses statements until a tag that begins with one of the words `ends`, whose "{%" is skipped. ends: NULL: until the
 * end of the template. */
static node *parse_statements(parser *p, const char *const ends[]) {
    node *first = NULL, **tail = &first;
    while (!p->rc) {
        const aoei_jinja_token *t = p->token;
        if (t->type == AOEI_JINJA_END) {
            if (ends)
                fail(p, AOE_EFORMAT, "the chat template ends before", aoe_text_of(ends[0]));
            break;
        }
        advance(p);
        if (t->type == AOEI_JINJA_DATA) {
            append(&tail, make_named(p, AOEI_JINJA_PRINT_TEXT, t->text, NULL, NULL));
        } else if (t->type == AOEI_JINJA_EXPR) {
            append(&tail, make(p, AOEI_JINJA_PRINT, parse_tuple(p, parse_expression), NULL));
            if (!p->rc && p->token->type != AOEI_JINJA_EXPR_END)
                unexpected(p);
            advance(p);
        } else {
            for (size_t i = 0; ends && ends[i]; i++)
                if (is_name(p, ends[i]))
                    return first;
            append(&tail, parse_statement(p));
        }
    }
    return first;
}

int aoei_jinja_parse(aoei_jinja_node **out, aoei_jinja_arena *arena, aoe_text source, const char *name,
                     aoe_error *err) {
    aoei_jinja_tokens tokens = {0};
    *out = NULL;
    int rc = aoei_jinja_lex(&tokens, arena, source, name, err);
    if (!rc) {
        parser p = {.token = tokens.token, .arena = arena, .name = name, .err = err};
        *out = parse_statements(&p, NULL);
        rc = p.rc;
    }
    aoei_free(tokens.token);
    return rc;
}
