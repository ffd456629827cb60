/* SPDX-License-Identifier: MIT
 * A parser by recursive descent, and the evaluation of the tree. Chains of `and` and `or` are one node with many
 * children, so the depth of the recursion depends only on parentheses and `not`. The negative operators != and
 * `not in` become "exists and not (equal or equal ...)".
 */
#include "index/where.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/plain_number.h"
#include "base/text_store.h"
#include "base/utf8.h"

typedef enum node_type { AND, OR, NOT, COMPARISON } node_type;

enum { NONE = -1 }; /* no node */

typedef struct node {
    node_type type;
    int child;                  /* first child; NONE for COMPARISON */
    int next;                   /* next child of the same parent, or NONE */
    aoei_comparison comparison; /* COMPARISON only */
} node;

struct aoei_where {
    node *node; /* [n], owned */
    size_t n, capacity;
    int root;          /* index in `node` */
    aoei_chunks texts; /* keys and values */
};

typedef enum token_type { END, WORD, KEY, TEXT, NUMBER, OPERATOR, OPEN, CLOSE, COMMA } token_type;

typedef struct token {
    token_type type;
    const char *start; /* in the condition */
    size_t len;        /* bytes in the condition, with quotes */
} token;

typedef struct parser {
    aoei_where *w;
    const char *text; /* the condition */
    token token;      /* the next token */
    size_t depth;
    aoe_error *err;
    int code; /* 0 or the code of the first error */
} parser;

/* ------------------------------------------------------------------ errors */

/* Position of a byte of the condition in characters, counted from 1. */
static size_t position_of(const parser *p, const char *at) {
    return aoei_utf8_chars(p->text, (size_t)(at - p->text)) + 1;
}

/* Fails at a place of the condition. what: what is wrong there and what to write. Returns NONE. */
static int fail_at(parser *p, const char *at, const char *what) {
    if (p->code)
        return NONE;
    const char *end = at + strlen(at);
    const size_t left = (size_t)(end - at), shown = aoei_utf8_prefix(at, left, 30);
    if (left)
        p->code = aoei_fail(p->err, AOE_EARG, "condition: %s at character %zu: %.*s%s", what, position_of(p, at),
                            (int)shown, at, shown < left ? "..." : "");
    else
        p->code = aoei_fail(p->err, AOE_EARG, "condition: %s at the end of \"%s\"", what, p->text);
    return NONE;
}

static int fail_memory(parser *p, size_t bytes) {
    if (!p->code)
        p->code = aoei_fail_nomem(p->err, bytes);
    return NONE;
}

/* ------------------------------------------------------------------ tokens */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns 1 if a key without backticks can begin with this byte. */
static int begins_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static size_t word_length(const char *s) {
    size_t n = 0;
    while (begins_word(s[n]) || (n && (is_digit(s[n]) || s[n] == '.' || s[n] == '-')))
        n++;
    return n;
}

static size_t skip_digits(const char *s, size_t n) {
    while (is_digit(s[n]))
        n++;
    return n;
}

/* Returns the length of a number, such as -1.5e3, or 0. */
static size_t number_length(const char *s) {
    size_t n = s[0] == '-';
    if (!is_digit(s[n]))
        return 0;
    n = skip_digits(s, n);
    if (s[n] == '.' && is_digit(s[n + 1]))
        n = skip_digits(s, n + 1);
    if (s[n] == 'e' || s[n] == 'E') {
        const size_t sign = n + 1 + (s[n + 1] == '-' || s[n + 1] == '+');
        if (is_digit(s[sign]))
            n = skip_digits(s, sign);
    }
    return begins_word(s[n]) || s[n] == '.' ? 0 : n;
}

/* Returns the length of a text in quotes with both quotes, or 0 if there is no closing quote. */
static size_t quoted_length(const char *s) {
    for (size_t n = 1; s[n]; n++)
        if (s[n] == s[0]) {
            if (s[n + 1] != s[0])
                return n + 1;
            n++;
        }
    return 0;
}

static size_t operator_length(const char *s) {
    static const char *const two[] = {"==", "!=", "<>", "<=", ">="};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(s, two[i], 2) == 0)
            return 2;
    return s[0] == '=' || s[0] == '<' || s[0] == '>';
}

/* Reads the next token, which starts at s or after white space. */
static void read_token(parser *p, const char *s) {
    while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
        s++;
    token t = {END, s, 0};
    if (*s == '\'' || *s == '"' || *s == '`') {
        t.type = *s == '`' ? KEY : TEXT;
        t.len = quoted_length(s);
        if (!t.len)
            (void)fail_at(p, s, "the closing quote is missing");
    } else if (*s == '(' || *s == ')' || *s == ',') {
        t.type = *s == '(' ? OPEN : *s == ')' ? CLOSE : COMMA;
        t.len = 1;
    } else if (begins_word(*s)) {
        t.type = WORD;
        t.len = word_length(s);
    } else if ((t.len = operator_length(s))) {
        t.type = OPERATOR;
    } else if ((t.len = number_length(s))) {
        t.type = NUMBER;
    } else if (*s) {
        (void)fail_at(p, s, "this is neither a key nor a value (write texts in quotes and unusual keys in backticks)");
    }
    if (p->code)
        t = (token){END, s, 0};
    p->token = t;
}

static void advance(parser *p) {
    read_token(p, p->token.start + p->token.len);
}

/* Returns 1 if the next token is the word `name` in small or capital letters. */
static int is_word(const parser *p, const char *name) {
    const token *t = &p->token;
    if (t->type != WORD || t->len != strlen(name))
        return 0;
    for (size_t i = 0; i < t->len; i++)
        if ((t->start[i] | 0x20) != name[i])
            return 0;
    return 1;
}

static int accept_word(parser *p, const char *name) {
    if (!is_word(p, name))
        return 0;
    advance(p);
    return 1;
}

static int is_operator_name(const parser *p) {
    static const char *const names[] = {"and", "or", "not", "in", "like", "exists"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(p, names[i]))
            return 1;
    return 0;
}

/* Returns the contents of the next token without quotes, and reads on. NULL: out of memory. */
static const char *take_text(parser *p) {
    const token t = p->token;
    const int quoted = t.type == TEXT || t.type == KEY;
    char *s = aoei_chunks_take(&p->w->texts, t.len + 1);
    if (!s) {
        (void)fail_memory(p, t.len + 1);
        return NULL;
    }
    size_t n = 0;
    for (size_t i = (size_t)quoted; i + (size_t)quoted < t.len; i++) {
        s[n++] = t.start[i];
        if (quoted && t.start[i] == t.start[0])
            i++; /* a doubled quote */
    }
    s[n] = 0;
    advance(p);
    return s;
}

/* ------------------------------------------------------------------- nodes */

static int add_node(parser *p, node_type type, int child) {
    aoei_where *w = p->w;
    if (p->code)
        return NONE;
    if (aoei_grow((void **)&w->node, &w->capacity, w->n, sizeof *w->node))
        return fail_memory(p, (w->n + 1) * sizeof *w->node);
    w->node[w->n] = (node){.type = type, .child = child, .next = NONE};
    return (int)w->n++;
}

static int add_comparison(parser *p, const aoei_comparison *c) {
    const int i = add_node(p, COMPARISON, NONE);
    if (i != NONE)
        p->w->node[i].comparison = *c;
    return i;
}

/* Makes `next` the next child after `child`. */
static void append_node(parser *p, int child, int next) {
    if (child != NONE)
        p->w->node[child].next = next;
}

/* Returns a node for "exists key and not `positive`". */
static int add_negative(parser *p, const aoei_comparison *c, int positive) {
    aoei_comparison exists = *c;
    exists.type = AOEI_EXISTS;
    exists.value = NULL;
    exists.is_number = 0;
    const int first = add_comparison(p, &exists), second = add_node(p, NOT, positive);
    append_node(p, first, second);
    return add_node(p, AND, first);
}

/* ----------------------------------------------------------------- grammar */

static int parse_condition(parser *p);

static void parse_key(parser *p, aoei_comparison *c) {
    if (p->token.type == TEXT || p->token.type == NUMBER) {
        (void)fail_at(p, p->token.start, "a comparison begins with a key; unusual keys are written in backticks");
        return;
    }
    if ((p->token.type != WORD && p->token.type != KEY) || is_operator_name(p)) {
        (void)fail_at(p, p->token.start, "a key is missing (write it in backticks if it is the name of an operator)");
        return;
    }
    c->position = position_of(p, p->token.start);
    c->is_quoted = p->token.type == KEY;
    c->key = take_text(p);
}

static void parse_value(parser *p, aoei_comparison *c) {
    if (p->token.type == WORD) {
        (void)fail_at(p, p->token.start, "a value must be a number or a text in quotes");
        return;
    }
    if (p->token.type != TEXT && p->token.type != NUMBER) {
        (void)fail_at(p, p->token.start, "a number or a text in quotes is missing");
        return;
    }
    const int is_number = p->token.type == NUMBER;
    c->value = take_text(p);
    c->is_number = c->value && (is_number || aoei_is_plain_number((aoe_text){c->value, strlen(c->value)}));
}

/* Parses the list of `in`. */
static int parse_list(parser *p, aoei_comparison *c) {
    int first = NONE, last = NONE;
    if (p->token.type != OPEN)
        return fail_at(p, p->token.start, "\"(\" is missing after \"in\"");
    c->type = AOEI_EQUAL;
    do {
        advance(p);
        parse_value(p, c);
        const int item = add_comparison(p, c);
        append_node(p, last, item);
        last = item;
        first = first == NONE ? item : first;
    } while (!p->code && p->token.type == COMMA);
    if (p->token.type != CLOSE)
        return fail_at(p, p->token.start, "\",\" or \")\" is missing in the list of values");
    advance(p);
    return add_node(p, OR, first);
}

static int parse_like(parser *p, aoei_comparison *c) {
    if (p->token.type != TEXT)
        return fail_at(p, p->token.start, "a pattern in quotes is missing after \"like\"");
    if (p->token.len - 2 > AOEI_LIKE_BYTES) /* the length includes the quotes */
        return fail_at(p, p->token.start, "a pattern of \"like\" is longer than 1,000 bytes");
    c->type = AOEI_LIKE;
    c->value = take_text(p);
    return add_comparison(p, c);
}

/* Parses an operator sign and its value. */
static int parse_operator(parser *p, aoei_comparison *c) {
    const token t = p->token;
    if (t.type != OPERATOR)
        return fail_at(p, t.start, "an operator is missing (=, !=, <, <=, >, >=, in, like)");
    const char a = t.start[0], b = t.len == 2 ? t.start[1] : 0;
    const int is_negative = a == '!' || (a == '<' && b == '>');
    if (is_negative || a == '=')
        c->type = AOEI_EQUAL;
    else if (a == '<')
        c->type = b ? AOEI_LESS_OR_EQUAL : AOEI_LESS;
    else
        c->type = b ? AOEI_GREATER_OR_EQUAL : AOEI_GREATER;
    advance(p);
    parse_value(p, c);
    const int i = add_comparison(p, c);
    return is_negative ? add_negative(p, c, i) : i;
}

static int parse_comparison(parser *p) {
    aoei_comparison c = {0};
    if (accept_word(p, "exists")) {
        parse_key(p, &c);
        c.type = AOEI_EXISTS;
        return add_comparison(p, &c);
    }
    parse_key(p, &c);
    if (p->code)
        return NONE;
    const int is_negative = accept_word(p, "not");
    int i;
    if (accept_word(p, "in"))
        i = parse_list(p, &c);
    else if (accept_word(p, "like"))
        i = parse_like(p, &c);
    else if (is_negative)
        return fail_at(p, p->token.start, "\"in\" or \"like\" is missing after \"not\"");
    else
        return parse_operator(p, &c);
    return is_negative ? add_negative(p, &c, i) : i;
}

static int parse_negation(parser *p) {
    const int is_not = is_word(p, "not");
    if (!is_not && p->token.type != OPEN)
        return parse_comparison(p);
    if (p->depth == AOEI_WHERE_DEPTH)
        return fail_at(p, p->token.start, "there are too many nested parentheses");
    p->depth++;
    advance(p);
    int i;
    if (is_not) {
        const int child = parse_negation(p);
        i = add_node(p, NOT, child);
    } else {
        i = parse_condition(p);
        if (p->token.type == CLOSE)
            advance(p);
        else
            (void)fail_at(p, p->token.start, "\"and\", \"or\" or \")\" is missing");
    }
    p->depth--;
    return i;
}

/* Parses elements that are joined by the word `name` into one node. */
static int parse_chain(parser *p, const char *name, node_type type, int (*element)(parser *)) {
    const int first = element(p);
    int last = first, more = 0;
    while (!p->code && accept_word(p, name)) {
        const int i = element(p);
        append_node(p, last, i);
        last = i;
        more = 1;
    }
    return more ? add_node(p, type, first) : first;
}

static int parse_conjunction(parser *p) {
    return parse_chain(p, "and", AND, parse_negation);
}

static int parse_condition(parser *p) {
    return parse_chain(p, "or", OR, parse_conjunction);
}

int aoei_where_parse(aoei_where **w, const char *text, aoe_error *err) {
    *w = NULL;
    const size_t len = strlen(text);
    if (len > AOEI_WHERE_BYTES)
        return aoei_fail(err, AOE_EARG, "condition: it has %zu bytes; at most %d are allowed", len, AOEI_WHERE_BYTES);
    const size_t valid = aoei_utf8_valid(text, len);
    if (valid < len)
        return aoei_fail(err, AOE_EARG, "condition: byte %zu is not valid UTF-8", valid + 1);
    parser p = {.text = text, .err = err};
    p.w = aoei_calloc(1, sizeof *p.w);
    if (!p.w)
        return aoei_fail_nomem(err, sizeof *p.w);
    read_token(&p, text);
    p.w->root = parse_condition(&p);
    if (!p.code && p.token.type != END)
        (void)fail_at(&p, p.token.start, "\"and\" or \"or\" is missing");
    if (p.code) {
        aoei_where_free(p.w);
        return p.code;
    }
    *w = p.w;
    return 0;
}

/* ---------------------------------------------------------------- paths */

/* Returns a comparison of a document with the pattern path[len] of aoe_index_search_options, followed by `end`, which
 * is a part of a pattern of `like`. */
static int add_path_like(parser *p, const char *path, size_t len, const char *end) {
    const size_t most = 2 * len + strlen(end) + 1;
    char *like = aoei_chunks_take(&p->w->texts, most);
    size_t n = 0;
    if (!like)
        return fail_memory(p, most);
    for (size_t i = 0; i < len; i++) {
        if (path[i] == '%' || path[i] == '_' || path[i] == '\\')
            like[n++] = '\\';
        like[n++] = (char)(path[i] == '*' ? '%' : path[i] == '?' ? '_' : path[i]);
    }
    memcpy(like + n, end, strlen(end) + 1);
    return add_comparison(p,
                          &(aoei_comparison){.type = AOEI_LIKE, .key = *path == '/' ? "path" : "name", .value = like});
}

/* Returns a node for one pattern: the file with this path, and the files below the folder with this path. */
static int add_path(parser *p, const char *path, size_t len) {
    if (path[len - 1] == '/')
        return add_path_like(p, path, len, "%");
    const int file = add_path_like(p, path, len, "");
    if (path[len - 1] == '*')
        return file;
    append_node(p, file, add_path_like(p, path, len, "/%"));
    return add_node(p, OR, file);
}

static int check_path(const char *path, size_t i, aoe_error *err) {
    const char *text = path && *path == '!' ? path + 1 : path;
    const size_t len = text ? strlen(text) : 0;
    if (!len)
        return aoei_fail(err, AOE_EARG, "pattern %zu of options.path is empty; give the path of a folder or file",
                         i + 1);
    if (len > AOEI_LIKE_BYTES)
        return aoei_fail(err, AOE_EARG, "pattern %zu of options.path has more than 1,000 bytes", i + 1);
    if (aoei_utf8_valid(text, len) < len)
        return aoei_fail(err, AOE_EARG, "pattern %zu of options.path is not valid UTF-8", i + 1);
    return 0;
}

/* Adds the patterns to the tree: root and (one of the patterns) and not (one with !). root: NONE if there is none. */
static int add_paths(parser *p, int root, const char *const *path, size_t n) {
    int first[2] = {NONE, NONE}, last[2] = {NONE, NONE}; /* of the patterns without and with ! */
    for (size_t i = 0; i < n && !p->code; i++) {
        p->code = check_path(path[i], i, p->err);
        if (p->code)
            return NONE;
        const int without = *path[i] == '!', at = add_path(p, path[i] + without, strlen(path[i] + without));
        append_node(p, last[without], at);
        first[without] = first[without] == NONE ? at : first[without];
        last[without] = at;
    }
    const int with = first[0] == NONE ? NONE : add_node(p, OR, first[0]);
    const int any = first[1] == NONE ? NONE : add_node(p, OR, first[1]);
    const int without = any == NONE ? NONE : add_node(p, NOT, any);
    const int part[3] = {root, with, without};
    int child = NONE, end = NONE;
    for (size_t i = 0; i < 3; i++) {
        if (part[i] == NONE)
            continue;
        append_node(p, end, part[i]);
        child = child == NONE ? part[i] : child;
        end = part[i];
    }
    return add_node(p, AND, child);
}

int aoei_where_create(aoei_where **w, const char *text, const char *const *path, size_t n_paths, aoe_error *err) {
    const int has_text = text && !aoei_utf8_is_blank(text, strlen(text));
    int code = 0;
    *w = NULL;
    if (has_text)
        code = aoei_where_parse(w, text, err);
    if (code || !n_paths)
        return code;
    parser p = {.w = *w ? *w : aoei_calloc(1, sizeof *p.w), .err = err};
    if (!p.w)
        return aoei_fail_nomem(err, sizeof *p.w);
    p.w->root = add_paths(&p, has_text ? p.w->root : NONE, path, n_paths);
    *w = p.code ? NULL : p.w;
    if (p.code)
        aoei_where_free(p.w);
    return p.code;
}

void aoei_where_free(aoei_where *w) {
    if (!w)
        return;
    aoei_free(w->node);
    aoei_chunks_free(&w->texts);
    aoei_free(w);
}

/* -------------------------------------------------------------- evaluation */

typedef struct evaluation {
    const aoei_where *w;
    aoei_comparison_fn fn;
    void *user;
    size_t n;     /* bits of a bitmap */
    size_t words; /* words of a bitmap */
    aoe_error *err;
} evaluation;

static int eval_node(const evaluation *e, int i, uint64_t *bits);

/* Evaluates the children of an AND or OR node. */
static int eval_children(const evaluation *e, const node *parent, uint64_t *bits) {
    const int is_and = parent->type == AND;
    uint64_t *more = aoei_malloc_array(e->words, sizeof *more);
    if (!more)
        return aoei_fail_nomem(e->err, e->words * sizeof *more);
    int code = eval_node(e, parent->child, bits);
    for (int i = e->w->node[parent->child].next; !code && i != NONE; i = e->w->node[i].next) {
        code = eval_node(e, i, more);
        for (size_t k = 0; !code && k < e->words; k++)
            bits[k] = is_and ? bits[k] & more[k] : bits[k] | more[k];
    }
    aoei_free(more);
    return code;
}

/* Sets `bits` to the documents that satisfy node i. */
static int eval_node(const evaluation *e, int i, uint64_t *bits) {
    const node *x = &e->w->node[i];
    if (x->type == AND || x->type == OR)
        return eval_children(e, x, bits);
    if (x->type == COMPARISON) {
        for (size_t k = 0; k < e->words; k++)
            bits[k] = 0;
        return e->fn(e->user, &x->comparison, bits, e->n, e->err);
    }
    const int code = eval_node(e, x->child, bits);
    for (size_t k = 0; k < e->words; k++)
        bits[k] = ~bits[k];
    if (e->n % 64)
        bits[e->words - 1] &= (UINT64_C(1) << e->n % 64) - 1;
    return code;
}

int aoei_where_eval(const aoei_where *w, aoei_comparison_fn fn, void *user, uint64_t *bits, size_t n, aoe_error *err) {
    const evaluation e = {w, fn, user, n, n / 64 + (n % 64 != 0), err};
    return eval_node(&e, w->root, bits);
}

/* ------------------------------------------------------------------- visit */

typedef struct visit {
    const aoei_where *w;
    aoei_where_fn fn;
    void *user;
    aoe_error *err;
} visit;

static int visit_node(const visit *v, int i, aoei_where_element parent) {
    const node *x = &v->w->node[i];
    if (x->type == COMPARISON)
        return v->fn(v->user, AOEI_WHERE_COMPARISON, parent, &x->comparison, v->err);
    const aoei_where_element begin = x->type == AND  ? AOEI_WHERE_BEGIN_AND
                                     : x->type == OR ? AOEI_WHERE_BEGIN_OR
                                                     : AOEI_WHERE_BEGIN_NOT;
    int code = v->fn(v->user, begin, begin, NULL, v->err);
    for (int k = x->child; !code && k != NONE; k = v->w->node[k].next) {
        if (k != x->child)
            code = v->fn(v->user, AOEI_WHERE_NEXT, begin, NULL, v->err);
        if (!code)
            code = visit_node(v, k, begin);
    }
    return code ? code : v->fn(v->user, AOEI_WHERE_END, begin, NULL, v->err);
}

int aoei_where_visit(const aoei_where *w, aoei_where_fn fn, void *user, aoe_error *err) {
    const visit v = {w, fn, user, err};
    return visit_node(&v, w->root, AOEI_WHERE_COMPARISON);
}
