/* SPDX-License-Identifier: MIT
 * A search computes the embedding of its query in the thread of its call, and changes of indexes are made by one thread
 * after another (aoe_server.writing). Nothing that a client sends is used as a path, and conditions and patterns on
 * absolute paths are rejected, because their answers would tell where the files are.
 */
#include "serve/search_routes.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/query_words.h"
#include "serve/documents.h"
#include "serve/hit_json.h"
#include "serve/indexes.h"
#include "serve/job.h"

enum { ADD_AT_ONCE = 32 /* documents that are added before the server looks whether it stops */ };

/* Answers with an error of an index. */
static void fail(aoei_call *c, int code, const aoe_error *err) {
    static const char condition[] = "condition: ";
    char message[sizeof err->message];
    const int is_condition = !strncmp(err->message, condition, sizeof condition - 1);
    aoei_call_name_keys(err->message + (is_condition ? sizeof condition - 1 : 0), NULL, message, sizeof message);
    aoei_call_fail(c,
                   code == AOE_EARG     ? AOEI_VALIDATION
                   : code == AOE_ENOENT ? AOEI_NOT_FOUND
                   : code == AOE_ENOMEM ? AOEI_INTERNAL
                                        : AOEI_UNHEALTHY,
                   "%s%s", is_condition ? "`where`: " : "", message);
}

/* ------------------------------------------------------------------ search */

typedef struct search_body {
    aoe_text query;
    const char *index;
    size_t k;
    int mode;
    const char *where;
    double min_score;
    aoei_strings path;
    int fast, explain;
} search_body;

const aoei_field aoei_search_fields[AOEI_SEARCH_FIELDS] = {
    {.name = "query",
     .kind = AOEI_FIELD_TEXT,
     .offset = offsetof(search_body, query),
     .required = 1,
     .help = "Text to search for."},
    {.name = "index",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(search_body, index),
     .help = "Name of the index (GET /indexes); without it, the first index of the server."},
    {.name = "k",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(search_body, k),
     .help = "Maximum number of passages, from 1 to 1000 (default 10)."},
    {.name = "mode",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(search_body, mode),
     .choices = "hybrid|dense|lexical",
     .help = "By meaning and by words (default), by meaning, or by words."},
    {.name = "where",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(search_body, where),
     .help = "Condition on metadata, such as year >= 2020 and lang = 'en'."},
    {.name = "min_score",
     .kind = AOEI_FIELD_NUMBER,
     .offset = offsetof(search_body, min_score),
     .help = "Passages with a lower score are left out."},
    {.name = "path",
     .kind = AOEI_FIELD_STRINGS,
     .offset = offsetof(search_body, path),
     .help = "Patterns for the names of documents, such as src/, *.md or !tests/."},
    {.name = "fast",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(search_body, fast),
     .help = "Scan the signs of the vectors: faster, but not exact."},
    {.name = "explain",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(search_body, explain),
     .help = "Add the ranks and scores of both searches."},
};

/* Returns the length of a text in quotes at s, with both quotes or up to the end. */
static size_t skip_quoted(const char *s) {
    const char *end = strchr(s + 1, *s);
    return end ? (size_t)(end - s) + 1 : strlen(s);
}

/* Returns 1 if a condition has the key `path`, whose values are absolute paths. */
static int uses_path(const char *where) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    while (*where) {
        size_t n = 1;
        if (*where == '\'' || *where == '"') {
            n = skip_quoted(where);
        } else if (*where == '`') {
            n = skip_quoted(where);
            if (n == strlen("`path`") && !strncmp(where, "`path`", n))
                return 1;
        } else if (strchr(letters, *where) || (unsigned char)*where >= 0x80) {
            n = 0;
            while (where[n] && (strchr(letters, where[n]) || (unsigned char)where[n] >= 0x80))
                n++;
            if (n == strlen("path") && !strncmp(where, "path", n))
                return 1;
        }
        where += n;
    }
    return 0;
}

/* Checks what the search itself does not. Returns 0, or 1 after answering the error. */
static int check_search(aoei_call *c, const search_body *body) {
    if (!body->k || body->k > AOEI_SEARCH_MOST) {
        aoei_call_fail(c, AOEI_VALIDATION, "`k` is %zu, but must be from 1 to %d", body->k, AOEI_SEARCH_MOST);
        return 1;
    }
    if (body->where && uses_path(body->where)) {
        aoei_call_fail(c, AOEI_VALIDATION,
                       "`where`: the key path stands for absolute paths, which the server does not tell; use the key "
                       "name");
        return 1;
    }
    for (size_t i = 0; i < body->path.n; i++) {
        const char *pattern = body->path.value[i];
        if (pattern[pattern[0] == '!'] == '/') {
            aoei_call_fail(c, AOEI_VALIDATION,
                           "`path`: the server does not tell absolute paths; begin patterns with the name of a "
                           "document or folder");
            return 1;
        }
    }
    return 0;
}

/* Writes the answer to a search. */
static int append_hits(aoei_buffer *b, const search_body *body, const aoe_index_hits *hits, aoe_error *err) {
    aoei_query_words words;
    const int code = aoei_query_words_create(&words, hits, (aoe_text){0}, err);
    aoei_buffer_printf(b, "{\"query\":");
    aoei_answer_string(b, body->query);
    aoei_buffer_printf(b, ",\"hits\":[");
    for (size_t i = 0; i < hits->n && !code; i++) {
        aoei_buffer_printf(b, "%s", i ? "," : "");
        aoei_answer_hit(b, &hits->hit[i], &words, body->explain);
    }
    aoei_buffer_printf(b, "]}");
    aoei_query_words_free(&words);
    return code;
}

/* Searches an open index. */
static int search(aoei_call *c, const search_body *body, aoei_open_index *open, aoei_buffer *b, aoe_error *err) {
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.k = body->k;
    o.mode = (aoe_index_mode)body->mode;
    o.where = body->where && *body->where ? body->where : NULL;
    o.min_score = body->min_score;
    o.fast = body->fast;
    o.path = body->path.value;
    o.n_paths = body->path.n;
    int code = aoe_index_search(open->index, body->query, &o, &hits, err);
    if (code)
        return aoei_indexes_fail(c->server->indexes, open, code, err);
    code = append_hits(b, body, &hits, err);
    aoe_index_hits_free(&hits);
    return code;
}

void aoei_route_search(aoei_call *c) {
    search_body body = {.k = 10, .mode = AOE_INDEX_HYBRID, .min_score = (double)NAN};
    aoei_open_index *open = NULL;
    aoei_buffer b = {0};
    aoe_error err = {0};
    if (aoei_call_parse(c, &body) || check_search(c, &body))
        return;
    if (aoei_exchange_is_gone(c->x)) {
        aoei_call_fail(c, AOEI_UNHEALTHY, "the client closed the connection");
        return;
    }
    int code = aoei_indexes_acquire(c->server->indexes, body.index, body.mode != AOE_INDEX_LEXICAL, &open, &err);
    if (!code)
        code = search(c, &body, open, &b, &err);
    if (open)
        aoei_exchange_note(c->x, open->name, 1, 0);
    aoei_indexes_release(c->server->indexes, open);
    if (!code) {
        aoei_call_answer(c, &b);
        return;
    }
    aoei_buffer_free(&b);
    fail(c, code, &err);
}

/* ----------------------------------------------------------------- indexes */

/* Appends the description of an index, or why it cannot be used. */
static void append_index(aoei_call *c, aoei_buffer *b, const char *name) {
    aoei_indexes *indexes = c->server->indexes;
    aoei_open_index *open = NULL;
    aoe_index_stats stats;
    aoe_error err = {0};
    char model[256] = "";
    int code = aoei_indexes_acquire(indexes, name, 0, &open, &err);
    if (!code)
        code = aoei_indexes_stats(indexes, open, &stats, model, sizeof model, &err);
    aoei_buffer_printf(b, "{\"name\":");
    aoei_answer_cstring(b, name);
    if (code) {
        aoei_buffer_printf(b, ",\"documents\":null,\"passages\":null,\"dims\":null,\"model\":null,\"writable\":false,"
                              "\"error\":");
        aoei_answer_cstring(b, err.message);
    } else {
        aoei_buffer_printf(b, ",\"documents\":%zu,\"passages\":%zu,\"dims\":%zu,\"model\":", stats.documents,
                           stats.passages, stats.dims);
        aoei_answer_cstring(b, *model ? model : NULL);
        aoei_buffer_printf(b, ",\"writable\":%s", c->server->o.writable && !stats.sources ? "true" : "false");
    }
    aoei_buffer_putc(b, '}');
    aoei_indexes_release(indexes, open);
}

void aoei_route_indexes(aoei_call *c) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "{\"indexes\":[");
    for (size_t i = 0; i < aoei_indexes_count(c->server->indexes); i++) {
        aoei_buffer_printf(&b, "%s", i ? "," : "");
        append_index(c, &b, aoei_indexes_name(c->server->indexes, i));
    }
    aoei_buffer_printf(&b, "]}");
    aoei_call_answer(c, &b);
}

/* ------------------------------------------------------------------- write */

typedef struct add_body {
    const json_t *documents;
} add_body;

const aoei_field aoei_add_fields[AOEI_ADD_FIELDS] = {
    {.name = "documents",
     .kind = AOEI_FIELD_ANY,
     .offset = offsetof(add_body, documents),
     .required = 1,
     .help = "List of documents: objects with the keys id, text, title (optional), and metadata. The body may also be "
             "this list itself."},
};

/* A change of an index. */
typedef struct change {
    aoei_call *c;
    const aoei_documents *documents; /* NULL: a document is removed */
    const char *id;
    size_t before, removed;
    aoe_index_stats after;
} change;

/* Adds the documents in parts, so that a server that stops, or a client that is gone, need not wait for all. Nothing
 * was added then, because only the end commits. */
static int add_documents(void *user, aoe_index *writer, aoe_error *err) {
    change *h = user;
    const aoei_documents *d = h->documents;
    h->after = (aoe_index_stats){.struct_size = sizeof h->after};
    int code = aoe_index_get_stats(writer, &h->after, err);
    h->before = h->after.documents;
    for (size_t i = 0; i < d->n && !code; i += ADD_AT_ONCE) {
        if (atomic_load(&h->c->server->state) == AOEI_STOPPING || aoei_exchange_is_gone(h->c->x))
            return aoei_fail(err, AOE_ECANCELLED, "the server stops, or the client closed the connection");
        code = aoe_index_add(writer, d->document + i, d->n - i < ADD_AT_ONCE ? d->n - i : ADD_AT_ONCE, err);
    }
    if (!code)
        code = aoe_index_commit(writer, err);
    return code ? code : aoe_index_get_stats(writer, &h->after, err);
}

static int remove_document(void *user, aoe_index *writer, aoe_error *err) {
    change *h = user;
    int code = aoe_index_remove(writer, &h->id, 1, &h->removed, err);
    if (!code && h->removed)
        code = aoe_index_commit(writer, err);
    h->after = (aoe_index_stats){.struct_size = sizeof h->after};
    return code ? code : aoe_index_get_stats(writer, &h->after, err);
}

/* Opens the index of the path of the call and changes it. Returns 0, or 1 after answering the error. */
static int change_index(aoei_call *c, change *h) {
    aoei_indexes *indexes = c->server->indexes;
    aoei_open_index *open = NULL;
    aoe_error err = {0};
    const int adds = h->documents != NULL;
    int code = aoei_indexes_acquire(indexes, c->param[0], adds, &open, &err);
    if (!code && open->sources) {
        aoei_call_fail(c, AOEI_CONFLICT,
                       "the index '%s' is made of files or tables, which would be read again; change these, or use an "
                       "index to which all documents are sent",
                       open->name);
        aoei_indexes_release(indexes, open);
        return 1;
    }
    if (!code)
        code = aoei_indexes_change(indexes, open, adds, adds ? add_documents : remove_document, h, &err);
    if (open)
        aoei_exchange_note(c->x, open->name, adds ? h->documents->n : 1, 0);
    aoei_indexes_release(indexes, open);
    if (code)
        fail(c, code, &err);
    return code != 0;
}

/* Writes the body of a request that is a list as an object with the key `documents`. */
static aoe_text wrap_list(aoe_text body, aoei_buffer *b) {
    size_t i = 0;
    while (i < body.len && strchr(" \t\r\n", body.data[i]) && body.data[i])
        i++;
    if (i == body.len || body.data[i] != '[')
        return body;
    aoei_buffer_printf(b, "{\"documents\":");
    aoei_buffer_append(b, body.data, body.len);
    aoei_buffer_putc(b, '}');
    return b->failed ? body : (aoe_text){b->data, b->len};
}

void aoei_route_index_add(aoei_call *c) {
    add_body body = {0};
    aoei_documents documents = {0};
    aoei_buffer wrapped = {0}, b = {0};
    aoe_error err = {0};
    change h = {.c = c, .documents = &documents};
    const int failed =
        aoei_call_load_body(c, wrap_list(aoei_exchange_body(c->x), &wrapped)) || aoei_call_parse(c, &body);
    aoei_buffer_free(&wrapped);
    if (failed)
        return;
    int code = aoei_documents_read(&documents, body.documents, &err);
    if (code)
        fail(c, code, &err);
    else if (!aoei_call_check_count(c, documents.n, 0, "documents") && !change_index(c, &h)) {
        const size_t added = h.after.documents - h.before;
        aoei_buffer_printf(&b, "{\"added\":%zu,\"replaced\":%zu,\"documents\":%zu,\"passages\":%zu}", added,
                           documents.n - added, h.after.documents, h.after.passages);
        aoei_call_answer(c, &b);
    }
    aoei_documents_free(&documents);
}

void aoei_route_index_remove(aoei_call *c) {
    aoei_buffer b = {0};
    aoe_error err = {0};
    change h = {.c = c, .id = c->param[1]};
    const int code = aoei_documents_check_id(aoe_text_of(h.id), &err);
    if (code) {
        fail(c, code, &err);
        return;
    }
    if (change_index(c, &h))
        return;
    if (!h.removed) {
        aoei_call_fail(c, AOEI_NOT_FOUND, "the index '%.100s' has no document '%.200s'", c->param[0], h.id);
        return;
    }
    aoei_buffer_printf(&b, "{\"removed\":%zu,\"documents\":%zu,\"passages\":%zu}", h.removed, h.after.documents,
                       h.after.passages);
    aoei_call_answer(c, &b);
}
