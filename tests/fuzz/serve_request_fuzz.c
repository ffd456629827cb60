/* SPDX-License-Identifier: MIT
 * Fuzzes the parser of request bodies with one table that has the keys of every API and every kind of field. A body is
 * either rejected with a message, which every family of errors can contain, or all its fields are in their ranges: the
 * texts are valid and are written so that they are read back, and the token ids are not negative. The same body is then
 * read with the fields of every route, and its documents as those of an index. No block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/answer.h"
#include "serve/documents.h"
#include "serve/request.h"
#include "serve/routes.h"

typedef struct settings {
    int truncate, direction;
    const char *prompt_name;
} settings;

typedef struct sentences {
    aoe_text source;
    aoei_inputs sentences;
} sentences;

typedef struct body {
    aoei_inputs inputs, input, texts, documents, ids;
    aoei_pairs pairs;
    sentences similarity;
    settings parameters;
    const char *model, *user, *index;
    aoe_text query, prompt;
    size_t dimensions, top_n;
    double threshold;
    int truncate, normalize, direction, encoding, input_type;
    unsigned types;
    aoei_strings names;
    json_t *options, *keep_alive;
} body;

static const aoei_field settings_fields[] = {
    {.name = "truncate", .kind = AOEI_FIELD_BOOL, .offset = offsetof(settings, truncate)},
    {.name = "truncation_direction",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(settings, direction),
     .choices = "Left|Right"},
    {.name = "prompt_name", .kind = AOEI_FIELD_STRING, .offset = offsetof(settings, prompt_name)},
};
static const aoei_field sentences_fields[] = {
    {.name = "source_sentence", .kind = AOEI_FIELD_TEXT, .offset = offsetof(sentences, source), .required = 1},
    {.name = "sentences", .kind = AOEI_FIELD_TEXTS, .offset = offsetof(sentences, sentences), .required = 1},
};
static const aoei_field fields[] = {
    {.name = "inputs", .kind = AOEI_FIELD_INPUTS, .offset = offsetof(body, inputs)},
    {.name = "input", .kind = AOEI_FIELD_INPUTS, .offset = offsetof(body, input)},
    {.name = "texts", .kind = AOEI_FIELD_TEXTS, .offset = offsetof(body, texts)},
    {.name = "documents", .kind = AOEI_FIELD_DOCUMENTS, .offset = offsetof(body, documents)},
    {.name = "ids", .kind = AOEI_FIELD_IDS, .offset = offsetof(body, ids)},
    {.name = "pairs", .kind = AOEI_FIELD_PAIRS, .offset = offsetof(body, pairs)},
    {.name = "similarity",
     .kind = AOEI_FIELD_OBJECT,
     .offset = offsetof(body, similarity),
     .fields = sentences_fields,
     .n_fields = 2},
    {.name = "parameters",
     .kind = AOEI_FIELD_OBJECT,
     .offset = offsetof(body, parameters),
     .fields = settings_fields,
     .n_fields = 3},
    {.name = "model", .kind = AOEI_FIELD_STRING, .offset = offsetof(body, model)},
    {.name = "user", .kind = AOEI_FIELD_STRING, .offset = offsetof(body, user)},
    {.name = "index", .kind = AOEI_FIELD_STRING, .offset = offsetof(body, index)},
    {.name = "query", .kind = AOEI_FIELD_TEXT, .offset = offsetof(body, query)},
    {.name = "prompt", .kind = AOEI_FIELD_TEXT, .offset = offsetof(body, prompt)},
    {.name = "dimensions", .kind = AOEI_FIELD_COUNT, .offset = offsetof(body, dimensions)},
    {.name = "top_n", .kind = AOEI_FIELD_COUNT, .offset = offsetof(body, top_n)},
    {.name = "threshold", .kind = AOEI_FIELD_NUMBER, .offset = offsetof(body, threshold)},
    {.name = "truncate", .kind = AOEI_FIELD_BOOL, .offset = offsetof(body, truncate)},
    {.name = "normalize", .kind = AOEI_FIELD_BOOL, .offset = offsetof(body, normalize)},
    {.name = "truncation_direction",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(body, direction),
     .choices = "Left|Right"},
    {.name = "encoding_format",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(body, encoding),
     .choices = "float|base64"},
    {.name = "input_type",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(body, input_type),
     .choices = "search_query|search_document|classification|clustering"},
    {.name = "embedding_types",
     .kind = AOEI_FIELD_CHOICES,
     .offset = offsetof(body, types),
     .choices = "float|int8|uint8|binary|ubinary|base64"},
    {.name = "names", .kind = AOEI_FIELD_STRINGS, .offset = offsetof(body, names)},
    {.name = "options", .kind = AOEI_FIELD_OBJECT, .offset = offsetof(body, options)},
    {.name = "keep_alive", .kind = AOEI_FIELD_ANY, .offset = offsetof(body, keep_alive)},
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static void require(int condition) {
    if (!condition)
        abort();
}

/* A text must be valid and equal to what is read back from its JSON string. */
static void check_text(aoe_text t) {
    aoei_buffer b = {0};
    json_t *again = NULL;
    require(t.data && t.data[t.len] == 0 && aoei_utf8_valid(t.data, t.len) == t.len);
    aoei_answer_string(&b, t);
    require(!b.failed && !aoei_json_parse(&again, b.data, b.len, "text", NULL));
    require(json_string_length(again) == t.len && !memcmp(json_string_value(again), t.data, t.len));
    json_decref(again);
    aoei_buffer_free(&b);
}

static void check_inputs(const aoei_inputs *in, int ids_allowed) {
    size_t bytes = 0, ids = 0;
    require(!in->is_single || in->n == 1);
    require(in->n == 0 || (in->text != NULL) != (in->ids != NULL));
    require(ids_allowed || !in->ids);
    require(in->is_set || !in->n);
    for (size_t i = 0; i < in->n; i++) {
        if (in->text) {
            check_text(in->text[i]);
            bytes += in->text[i].len;
            continue;
        }
        for (size_t j = 0; j < in->n_ids[i]; j++)
            require(in->ids[i][j] >= 0);
        ids += in->n_ids[i];
    }
    require(bytes == in->total_bytes && ids == in->total_ids);
}

static void check_body(const body *v, const aoei_request *r) {
    check_inputs(&v->inputs, 1);
    check_inputs(&v->input, 1);
    check_inputs(&v->texts, 0);
    check_inputs(&v->documents, 0);
    require(!v->documents.is_single && (!v->ids.n || v->ids.ids));
    check_inputs(&v->ids, 1);
    check_inputs(&v->similarity.sentences, 0);
    for (size_t i = 0; i < v->pairs.n; i++) {
        check_text(v->pairs.first[i]);
        if (v->pairs.second[i].data)
            check_text(v->pairs.second[i]);
    }
    for (size_t i = 0; i < v->names.n; i++)
        require(v->names.value[i] != NULL);
    require(v->dimensions <= (size_t)AOEI_COUNT_MAX && v->top_n <= (size_t)AOEI_COUNT_MAX);
    require((v->truncate | v->normalize | 1) == 1 && v->direction >= 0 && v->direction < 2 && v->encoding >= 0 &&
            v->encoding < 2 && v->input_type >= 0 && v->input_type < 4 && v->types < 64);
    require(!v->options || json_is_object(v->options));
    require((r->n_ignored > 0) == (*r->ignored != 0) && strlen(r->ignored) < sizeof r->ignored);
    for (const char *s = r->ignored; *s; s++)
        require(*s >= ' ' && *s < 0x7F);
}

static void check_error(const aoei_request *r, const aoe_error *err) {
    require(*err->message && !strchr(err->message, '\n') && strlen(r->key) < sizeof r->key && !r->root);
    for (int family = AOEI_TEI; family <= AOEI_OLLAMA; family++) {
        aoei_buffer b = {0};
        json_t *parsed = NULL;
        aoei_answer_error_of(&b, (aoei_family)family, 400, r->is_malformed ? AOEI_MALFORMED : AOEI_VALIDATION,
                             err->message, r->key);
        require(!b.failed && !aoei_json_parse(&parsed, b.data, b.len, "error", NULL));
        json_decref(parsed);
        aoei_buffer_free(&b);
    }
}

/* Reads a body with the fields of every route. The structs of their values are not known here, but are smaller than the
 * memory that they get. */
static void check_routes(aoe_text text) {
    for (size_t i = 0; i < aoei_n_routes; i++) {
        const aoei_route *route = &aoei_routes[i];
        uint64_t values[128] = {0};
        aoei_request r;
        aoe_error err = {0};
        for (size_t k = 0; k < route->n_fields; k++)
            require(route->fields[k].offset < sizeof values / 2);
        const int rc = aoei_request_parse(&r, text, route->fields, route->n_fields, values, &err);
        require(rc == err.code && (rc == 0 || rc == AOE_EFORMAT));
        if (rc)
            check_error(&r, &err);
        aoei_request_free(&r);
    }
}

/* Reads the value of `documents`, or the whole body, as documents that a client adds to an index. */
static void check_documents(aoe_text text) {
    json_t *root = NULL;
    aoei_documents d;
    aoe_error err = {0};
    if (aoei_json_parse(&root, text.data, text.len, "body", NULL))
        return;
    const json_t *list = json_object_get(root, "documents");
    const int rc = aoei_documents_read(&d, list ? list : root, &err);
    require(rc == err.code && (rc == 0 || (rc == AOE_EARG && *err.message && !strchr(err.message, '\n'))));
    for (size_t i = 0; i < d.n && !rc; i++) {
        check_text((aoe_text){d.document[i].name, strlen(d.document[i].name)});
        check_text(d.document[i].text);
        for (size_t k = 0; k < d.document[i].n_fields; k++) {
            require(d.document[i].field[k].key[0] != 0);
            check_text(d.document[i].field[k].value);
        }
    }
    aoei_documents_free(&d);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    aoei_request r;
    body v = {0};
    aoe_error err = {0};
    const int rc = aoei_request_parse(&r, (aoe_text){(const char *)data, size}, fields, N_FIELDS, &v, &err);
    require(rc == err.code && (rc == 0 || rc == AOE_EFORMAT));
    if (rc)
        check_error(&r, &err);
    else
        check_body(&v, &r);
    aoei_request_free(&r);
    check_routes((aoe_text){(const char *)data, size});
    check_documents((aoe_text){(const char *)data, size});
    require(aoei_alloc_live() == live);
    return 0;
}
