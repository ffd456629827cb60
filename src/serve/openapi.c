/* SPDX-License-Identifier: MIT
 * Writes the OpenAPI document. The schema of a body accepts what aoei_request_parse accepts: keys that are not required
 * may be null, and other keys are allowed. Every error of a family of routes has the same schema, so the statuses of an
 * operation refer to one response per family.
 */
#include "serve/openapi.h"

#include <string.h>

static void put(aoei_buffer *b, const char *s) {
    (void)aoei_buffer_append(b, s, strlen(s));
}

/* Appends "name": with the quotation marks. */
static void put_key(aoei_buffer *b, const char *name) {
    aoei_answer_cstring(b, name);
    put(b, ":");
}

/* Appends a comma, except before the first element of a list. */
static void put_comma(aoei_buffer *b, int *n) {
    if ((*n)++)
        put(b, ",");
}

/* ----------------------------------------------------------------- schemas */

#define TEXT           "{\"type\":\"string\"}"
#define ANY_OF         "\"anyOf\":["
#define FILLED         "\"type\":\"array\",\"minItems\":1" /* a list that is not empty */
#define TEXTS          "{" FILLED ",\"items\":" TEXT "}"
#define IDS            "{" FILLED ",\"items\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":2147483647}}"
#define EMPTY_OR_TEXTS "\"anyOf\":[" TEXT ",{\"type\":\"array\",\"items\":" TEXT "}]"
#define ID_LISTS       "{" FILLED ",\"items\":" IDS "}"
#define DOCUMENT                                                                                                       \
    "{\"anyOf\":[" TEXT ",{\"type\":\"object\",\"required\":[\"text\"],\"properties\":{\"text\":" TEXT "}}]}"
#define PAIR "{\"type\":\"array\",\"items\":" TEXT ",\"minItems\":1,\"maxItems\":2}"

/* The schemas of the kinds, without the opening bracket; NULL: depends on the field. */
static const char *const schemas[] = {
    [AOEI_FIELD_STRING] = "\"type\":\"string\"",
    [AOEI_FIELD_TEXT] = "\"type\":\"string\"",
    [AOEI_FIELD_BOOL] = "\"type\":\"boolean\"",
    [AOEI_FIELD_COUNT] = NULL,
    [AOEI_FIELD_NUMBER] = "\"type\":\"number\"",
    [AOEI_FIELD_CHOICE] = NULL,
    [AOEI_FIELD_CHOICES] = NULL,
    [AOEI_FIELD_INPUTS] = "\"anyOf\":[" TEXT "," TEXTS "," IDS "," ID_LISTS "]",
    [AOEI_FIELD_TEXTS] = "\"anyOf\":[" TEXT "," TEXTS "]",
    [AOEI_FIELD_DOCUMENTS] = FILLED ",\"items\":" DOCUMENT,
    [AOEI_FIELD_IDS] = "\"anyOf\":[" IDS "," ID_LISTS "]",
    [AOEI_FIELD_PAIRS] = "\"anyOf\":[" TEXT "," PAIR ",{" FILLED ",\"items\":" PAIR "}]",
    [AOEI_FIELD_STRINGS] = "\"type\":\"array\",\"items\":" TEXT,
    [AOEI_FIELD_OBJECT] = NULL,
    [AOEI_FIELD_ANY] = "",
};

static const char *const families[] = {
    [AOEI_TEI] = "TextEmbeddingsInferenceError",
    [AOEI_OPENAI] = "OpenAIError",
    [AOEI_COHERE] = "CohereError",
    [AOEI_OLLAMA] = "OllamaError",
};

static const char *const error_schemas[] = {
    [AOEI_TEI] = "{\"type\":\"object\",\"required\":[\"error\",\"error_type\"],\"properties\":{\"error\":" TEXT
                 ",\"error_type\":{\"type\":\"string\",\"enum\":[\"Unhealthy\",\"Backend\",\"Overloaded\","
                 "\"Validation\",\"Tokenizer\",\"Empty\"]}}}",
    [AOEI_OPENAI] = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"object\","
                    "\"required\":[\"message\",\"type\"],\"properties\":{\"message\":" TEXT ",\"type\":" TEXT
                    ",\"param\":{\"type\":\"string\",\"nullable\":true},\"code\":{\"type\":\"string\","
                    "\"nullable\":true}}}}}",
    [AOEI_COHERE] = "{\"type\":\"object\",\"required\":[\"message\"],\"properties\":{\"message\":" TEXT "}}",
    [AOEI_OLLAMA] = "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":" TEXT "}}",
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* Appends "enum":[...]. null: null is one of the values. */
static void put_choices(aoei_buffer *b, const char *choices, int null) {
    int n = 0;
    put(b, "\"type\":\"string\",\"enum\":[");
    for (const char *s = choices; *s;) {
        const size_t len = strcspn(s, "|");
        put_comma(b, &n);
        aoei_answer_string(b, (aoe_text){s, len});
        s += len + (s[len] == '|');
    }
    put(b, null ? ",null]" : "]");
}

static void put_object(aoei_buffer *b, const aoei_field *fields, size_t n_fields);

/* Appends the schema of a field. nullable: null is allowed, too */
static void put_field(aoei_buffer *b, const aoei_field *f, int nullable) {
    const char *schema = f->may_be_empty ? EMPTY_OR_TEXTS : schemas[f->kind];
    put(b, "{");
    /* OpenAPI 3.0 allows `nullable` only in a schema with a type, so null is one more alternative of others */
    const int alternatives = schema && !strncmp(schema, ANY_OF, sizeof ANY_OF - 1);
    if (nullable && alternatives) {
        put(b, ANY_OF "{\"type\":\"string\",\"enum\":[null],\"nullable\":true},");
        put(b, schema + sizeof ANY_OF - 1);
    } else if (schema)
        put(b, schema);
    else if (f->kind == AOEI_FIELD_COUNT)
        (void)aoei_buffer_printf(b, "\"type\":\"integer\",\"minimum\":%zu,\"maximum\":%.0f", f->min, AOEI_COUNT_MAX);
    else if (f->kind == AOEI_FIELD_CHOICE)
        put_choices(b, f->choices, nullable);
    else if (f->kind == AOEI_FIELD_OBJECT)
        put_object(b, f->fields, f->n_fields);
    else {
        put(b, "\"type\":\"array\",\"items\":{");
        put_choices(b, f->choices, 0);
        put(b, "}");
    }
    if (nullable && f->kind != AOEI_FIELD_ANY && !alternatives)
        put(b, ",\"nullable\":true");
    if (f->help) {
        put(b, f->kind == AOEI_FIELD_ANY ? "" : ",");
        put_key(b, "description");
        aoei_answer_cstring(b, f->help);
    }
    put(b, "}");
}

/* Appends the schema of an object without its brackets. */
static void put_object(aoei_buffer *b, const aoei_field *fields, size_t n_fields) {
    int n = 0, required = 0;
    put(b, "\"type\":\"object\"");
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].required) {
            put(b, required++ ? "," : ",\"required\":[");
            aoei_answer_cstring(b, fields[i].name);
        }
    put(b, required ? "]" : "");
    if (!n_fields)
        return;
    put(b, ",\"properties\":{");
    for (size_t i = 0; i < n_fields; i++) {
        put_comma(b, &n);
        put_key(b, fields[i].name);
        put_field(b, fields + i, !fields[i].required);
    }
    put(b, "}");
}

/* -------------------------------------------------------------- operations */

/* The routes of one method of one path, in a table. */
typedef struct operation {
    const aoei_route *routes; /* [n] table; borrowed */
    size_t n;                 /* number of routes in the table */
    const aoei_route *first;  /* first route of the operation */
} operation;

static int is_same(const aoei_route *a, const aoei_route *b) {
    return !strcmp(a->path, b->path) && !strcmp(a->method, b->method);
}

/* Returns the next route of the operation after r, or NULL. */
static const aoei_route *next_of(const operation *o, const aoei_route *r) {
    for (r++; r < o->routes + o->n; r++)
        if (is_same(r, o->first))
            return r;
    return NULL;
}

static void put_body_schema(aoei_buffer *b, const aoei_route *r) {
    put(b, "{");
    put_object(b, r->fields, r->n_fields);
    put(b, "}");
}

static void put_answer_schema(aoei_buffer *b, const aoei_route *r) {
    put(b, r->type && strcmp(r->type, "application/json") != 0 ? TEXT : r->answer ? r->answer : "{}");
}

/* Appends a schema of the operation: that of its route, or the schemas of its routes as alternatives. */
static void put_schemas(aoei_buffer *b, const operation *o, void (*one)(aoei_buffer *, const aoei_route *)) {
    int n = 0;
    if (!next_of(o, o->first)) {
        one(b, o->first);
        return;
    }
    put(b, "{\"anyOf\":[");
    for (const aoei_route *r = o->first; r; r = next_of(o, r)) {
        put_comma(b, &n);
        one(b, r);
    }
    put(b, "]}");
}

/* Appends the identifier of an operation, such as post_v1_embeddings. */
static void put_id(aoei_buffer *b, const aoei_route *r) {
    put(b, "\"operationId\":\"");
    for (const char *s = r->method; *s; s++)
        (void)aoei_buffer_putc(b, (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s));
    for (const char *s = r->path; *s; s++)
        (void)aoei_buffer_putc(b, strchr("/{}.-", *s) ? '_' : *s);
    put(b, "\"");
}

/* Appends the parameters in the path, and, for a GET, those of the query. */
static void put_parameters(aoei_buffer *b, const aoei_route *r) {
    int n = 0;
    put(b, ",\"parameters\":[");
    for (const char *s = r->path; (s = strchr(s, '{')); s++) {
        put_comma(b, &n);
        put(b, "{\"in\":\"path\",\"required\":true,\"schema\":" TEXT ",\"name\":");
        aoei_answer_string(b, (aoe_text){s + 1, strcspn(s + 1, "}")});
        put(b, "}");
    }
    for (size_t i = 0; i < r->n_fields && !strcmp(r->method, "GET"); i++) {
        put_comma(b, &n);
        put(b, "{\"in\":\"query\",\"name\":");
        aoei_answer_cstring(b, r->fields[i].name);
        put(b, r->fields[i].required ? ",\"required\":true,\"schema\":" : ",\"schema\":");
        put_field(b, r->fields + i, 0);
        put(b, "}");
    }
    put(b, "]");
}

/* Returns 1 if the route can fail with this kind of error. */
static int can_fail(const aoei_route *r, aoei_error_kind kind, int has_body) {
    switch (kind) {
    case AOEI_UNHEALTHY:
    case AOEI_INTERNAL:
        return 1;
    case AOEI_UNAUTHORIZED:
        return !(r->flags & AOEI_ROUTE_OPEN);
    case AOEI_FORBIDDEN:
    case AOEI_CONFLICT:
        return (r->flags & AOEI_ROUTE_WRITES) != 0;
    case AOEI_NOT_FOUND:
        return strchr(r->path, '{') != NULL || has_body;
    case AOEI_METHOD:
        return 0;
    case AOEI_BACKEND:
        return strcmp(r->method, "GET") != 0;
    default:
        return has_body;
    }
}

/* Returns 1 if a route can fail with this status. */
static int has_status(const aoei_route *r, int status) {
    const int has_body = r->n_fields > 0 && strcmp(r->method, "GET") != 0;
    int used = 0;
    for (int kind = AOEI_UNHEALTHY; kind <= AOEI_INTERNAL; kind++)
        used |= aoei_answer_status(r->family, (aoei_error_kind)kind) == status &&
                can_fail(r, (aoei_error_kind)kind, has_body);
    return used;
}

/* Appends the errors of the operation with this status, if there are any. The routes of an operation may have errors of
 * several families. */
static void put_error(aoei_buffer *b, const operation *o, int status) {
    unsigned used = 0;
    int n = 0;
    for (const aoei_route *r = o->first; r; r = next_of(o, r))
        used |= has_status(r, status) ? 1U << r->family : 0;
    if (!used)
        return;
    (void)aoei_buffer_printf(b, ",\"%d\":{", status);
    if (!(used & (used - 1))) { /* one family */
        while (used >>= 1)
            n++;
        (void)aoei_buffer_printf(b, "\"$ref\":\"#/components/responses/%s\"}", families[n]);
        return;
    }
    put(b, "\"description\":\"The request failed.\",\"content\":{\"application/json\":{\"schema\":{\"anyOf\":[");
    for (int i = 0; i < N_FAMILIES; i++)
        if (used & 1U << i)
            (void)aoei_buffer_printf(b, "%s{\"$ref\":\"#/components/schemas/%s\"}", n++ ? "," : "", families[i]);
    put(b, "]}}}}");
}

static void put_responses(aoei_buffer *b, const operation *o) {
    const aoei_route *r = o->first;
    put(b, ",\"responses\":{\"200\":{\"description\":\"The answer.\",\"content\":{");
    put_key(b, r->type ? r->type : "application/json");
    put(b, "{\"schema\":");
    put_schemas(b, o, put_answer_schema);
    put(b, "}}}");
    for (int status = 400; status < 600; status++)
        put_error(b, o, status);
    put(b, "}");
}

static void put_operation(aoei_buffer *b, const operation *o) {
    const aoei_route *r = o->first;
    const int has_body = r->n_fields > 0 && strcmp(r->method, "GET") != 0;
    for (const char *s = r->method; *s; s++)
        (void)aoei_buffer_putc(b, (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s));
    put(b, "\":{");
    put_id(b, r);
    if (r->summary) {
        put(b, ",\"summary\":");
        aoei_answer_cstring(b, r->summary);
    }
    put(b, r->flags & AOEI_ROUTE_OPEN ? ",\"security\":[]" : "");
    put_parameters(b, r);
    if (has_body) {
        put(b, ",\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{\"schema\":");
        put_schemas(b, o, put_body_schema);
        put(b, "}}}");
    }
    put_responses(b, o);
    put(b, "}");
}

/* Appends all operations of the path of routes[at], unless an earlier route has the same path. */
static void put_path(aoei_buffer *b, const aoei_route *routes, size_t n, size_t at, int *n_paths) {
    int operations = 0;
    for (size_t i = 0; i < at; i++)
        if (!strcmp(routes[i].path, routes[at].path))
            return;
    put_comma(b, n_paths);
    put_key(b, routes[at].path);
    put(b, "{");
    for (size_t i = at; i < n; i++) {
        size_t first = at;
        while (first < i && !is_same(routes + first, routes + i))
            first++;
        if (first == i && !strcmp(routes[i].path, routes[at].path)) {
            put(b, operations++ ? ",\"" : "\"");
            put_operation(b, &(operation){routes, n, routes + i});
        }
    }
    put(b, "}");
}

void aoei_openapi(aoei_buffer *b, const aoei_route *routes, size_t n) {
    int n_paths = 0;
    put(b, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"aoe\",\"description\":\"Embeddings, similarities, scores and "
           "search.\",\"license\":{\"name\":\"MIT\"},\"version\":");
    aoei_answer_cstring(b, aoe_version());
    put(b, "},\"security\":[{},{\"key\":[]}],\"paths\":{");
    for (size_t i = 0; i < n; i++)
        put_path(b, routes, n, i, &n_paths);
    put(b, "},\"components\":{\"securitySchemes\":{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":"
           "\"The API key, if the server has one.\"}},\"schemas\":{");
    for (int i = 0; i < N_FAMILIES; i++)
        (void)aoei_buffer_printf(b, "%s\"%s\":%s", i ? "," : "", families[i], error_schemas[i]);
    put(b, "},\"responses\":{");
    for (int i = 0; i < N_FAMILIES; i++)
        (void)aoei_buffer_printf(b,
                                 "%s\"%s\":{\"description\":\"The request failed.\",\"content\":{\"application/json\":"
                                 "{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}}",
                                 i ? "," : "", families[i], families[i]);
    put(b, "}}}\n");
}
