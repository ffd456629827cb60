/* SPDX-License-Identifier: MIT
 * One array holds the metadata of all documents; a first pass over the list counts them.
 */
#include "serve/documents.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/distinct.h"
#include "base/error.h"
#include "base/utf8.h"
#include "serve/answer.h"

enum { NUMBER = 40 /* bytes of the text of a number with its NUL */ };

/* One document that is being read. */
typedef struct reader {
    aoei_documents *d;
    size_t i; /* index of the document */
    aoe_index_document *document;
    aoe_index_field *field; /* next unused element of the array of all metadata */
    aoe_error *err;
} reader;

static const char fields_key[] = "fields";

static int is_own_key(const char *key) {
    return !strcmp(key, "id") || !strcmp(key, "text") || !strcmp(key, "title");
}

/* Returns the key under which metadata are stored: that of a built-in key gets a prefix, as in aoe_index_update. */
static const char *key_of(const char *key) {
    static const char *const prefixed[] = {"meta.name", "meta.path", "meta.ext", "meta.modified"};
    for (size_t i = 0; i < sizeof prefixed / sizeof *prefixed; i++)
        if (!strcmp(prefixed[i] + strlen("meta."), key))
            return prefixed[i];
    return key;
}

/* Returns the number of values of the metadata of an object. */
static size_t count_values(const json_t *object, int is_document) {
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)object, key, value) {
        if (is_document && is_own_key(key))
            continue;
        if (is_document && !strcmp(key, fields_key))
            n += count_values(value, 0);
        else
            n += json_is_array(value) ? json_array_size(value) : 1;
    }
    return n;
}

/* ------------------------------------------------------------------ values */

static int fail_key(const reader *r, const char *key, const char *what) {
    char shown[4 * 60];
    const size_t n = aoei_utf8_prefix(key, strlen(key), sizeof shown / 4);
    for (size_t i = 0; i < n; i++)
        shown[i] = (unsigned char)key[i] < 0x20 ? '?' : key[i]; /* a message is one line */
    return aoei_fail(r->err, AOE_EARG, "document %zu: `%.*s` %s", r->i + 1, (int)n, shown, what);
}

/* Returns a copy of a text, or NULL after an error. */
static char *copy(reader *r, const char *text, size_t len) {
    char *s = aoei_chunks_take(&r->d->memory, len + 1);
    if (!s) {
        aoei_fail_nomem(r->err, len + 1);
        return NULL;
    }
    memcpy(s, text, len);
    s[len] = 0;
    return s;
}

/* Sets *text to a number as the client could have written it. */
static int read_number(reader *r, const json_t *value, aoe_text *text) {
    aoei_buffer b = {0};
    if (json_is_integer(value))
        aoei_buffer_printf(&b, "%lld", (long long)json_integer_value(value));
    else
        aoei_answer_double(&b, json_real_value(value));
    char *s = b.failed ? NULL : copy(r, b.data, b.len);
    *text = aoe_text_of(s);
    const size_t len = b.len;
    aoei_buffer_free(&b);
    return s ? AOE_OK : aoei_fail_nomem(r->err, len);
}

static int add_value(reader *r, const char *key, const json_t *value) {
    aoe_text text;
    if (json_is_string(value)) {
        text = (aoe_text){json_string_value(value), json_string_length(value)};
    } else if (json_is_boolean(value)) {
        text = aoe_text_of(json_is_true(value) ? "true" : "false");
    } else if (json_is_number(value)) {
        if (read_number(r, value, &text))
            return AOE_ENOMEM;
    } else {
        return fail_key(r, key, "must be a text, a number, true, false, or a list of these");
    }
    *r->field++ = (aoe_index_field){key_of(key), text};
    r->document->n_fields++;
    return AOE_OK;
}

/* Adds the metadata of an object; null is no value. */
static int add_values(reader *r, const json_t *object, int is_document) {
    const char *key;
    json_t *value;
    int code = AOE_OK;
    json_object_foreach((json_t *)object, key, value) {
        if ((is_document && is_own_key(key)) || json_is_null(value))
            continue;
        if (!*key)
            return fail_key(r, key, "is not a key; a key must not be empty");
        if (is_document && !strcmp(key, fields_key)) {
            code = json_is_object(value) ? add_values(r, value, 0) : fail_key(r, key, "must be an object");
        } else if (!json_is_array(value)) {
            code = add_value(r, key, value);
        } else {
            for (size_t i = 0; i < json_array_size(value) && !code; i++)
                code = add_value(r, key, json_array_get(value, i));
        }
        if (code)
            return code;
    }
    return AOE_OK;
}

/* --------------------------------------------------------------- documents */

int aoei_documents_check_id(aoe_text id, aoe_error *err) {
    if (!id.len || id.len > AOEI_ID_BYTES)
        return aoei_fail(err, AOE_EARG, "the id of a document must have 1 to %d bytes, but this one has %zu",
                         AOEI_ID_BYTES, id.len);
    for (size_t i = 0; i < id.len; i++)
        if ((unsigned char)id.data[i] < 0x20 || id.data[i] == 0x7f)
            return aoei_fail(err, AOE_EARG, "the id of a document must not contain control characters");
    if (id.data[0] == '/' || id.data[id.len - 1] == '/')
        return aoei_fail(err, AOE_EARG, "the id of a document must not begin or end with '/'");
    return AOE_OK;
}

static int read_id(reader *r, const json_t *value) {
    aoe_text id = {0};
    aoe_error inner = {0};
    if (json_is_integer(value)) {
        if (read_number(r, value, &id))
            return AOE_ENOMEM;
    } else if (json_is_string(value)) {
        id = (aoe_text){json_string_value(value), json_string_length(value)};
    } else {
        return fail_key(r, "id", value ? "must be a text or an integer" : "is missing");
    }
    if (aoei_documents_check_id(id, &inner))
        return aoei_fail(r->err, AOE_EARG, "document %zu: %s", r->i + 1, inner.message);
    r->document->name = id.data;
    return AOE_OK;
}

/* Reads the title, which may be missing. */
static int read_title(reader *r, const json_t *value) {
    if (!value || json_is_null(value))
        return AOE_OK;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
        return fail_key(r, "title", "must be a text without the character NUL");
    r->document->title = json_string_value(value);
    return AOE_OK;
}

static int read_document(reader *r, const json_t *value) {
    if (!json_is_object(value))
        return aoei_fail(r->err, AOE_EARG, "document %zu must be an object with the keys `id` and `text`", r->i + 1);
    const json_t *text = json_object_get(value, "text");
    *r->document = (aoe_index_document){.struct_size = sizeof *r->document, .field = r->field};
    int code = read_id(r, json_object_get(value, "id"));
    if (code)
        return code;
    if (!json_is_string(text))
        return fail_key(r, "text", text ? "must be a text" : "is missing");
    r->document->text = (aoe_text){json_string_value(text), json_string_length(text)};
    if (aoei_utf8_is_blank(r->document->text.data, r->document->text.len))
        return fail_key(r, "text", "is empty");
    code = read_title(r, json_object_get(value, "title"));
    return code ? code : add_values(r, value, 1);
}

/* Fails if two documents have the same id: which of them remains would depend on their order. */
static int check_distinct(const aoei_documents *d, aoe_error *err) {
    aoei_distinct seen = {.n = 0};
    int code = AOE_OK;
    for (size_t i = 0, before, index; i < d->n && !code; i++) {
        before = seen.n;
        code = aoei_distinct_add(&seen, aoe_text_of(d->document[i].name), 1, &index, err);
        if (!code && seen.n == before)
            code = aoei_fail(err, AOE_EARG, "document %zu: another document of the request has the id '%.100s', too",
                             i + 1, d->document[i].name);
    }
    aoei_distinct_free(&seen);
    return code;
}

int aoei_documents_read(aoei_documents *d, const json_t *list, aoe_error *err) {
    size_t values = 0;
    *d = (aoei_documents){0};
    if (!json_is_array(list))
        return aoei_fail(err, AOE_EARG, "`documents` must be a list of documents");
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++)
        values += count_values(json_array_get(list, i), 1);
    d->document = aoei_calloc(n + 1, sizeof *d->document);
    d->field = aoei_calloc(values + 1, sizeof *d->field);
    if (!d->document || !d->field)
        return aoei_fail_nomem(err, n * sizeof *d->document + values * sizeof *d->field);
    reader r = {.d = d, .field = d->field, .err = err};
    int code = AOE_OK;
    for (; d->n < n && !code; d->n++) {
        r.i = d->n;
        r.document = &d->document[d->n];
        code = read_document(&r, json_array_get(list, d->n));
    }
    return code ? code : check_distinct(d, err);
}

void aoei_documents_free(aoei_documents *d) {
    aoei_free(d->document);
    aoei_free(d->field);
    aoei_chunks_free(&d->memory);
    *d = (aoei_documents){0};
}
