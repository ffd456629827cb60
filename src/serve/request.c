/* SPDX-License-Identifier: MIT
 * Reads the JSON body of a request by a table of fields. The nesting depth is checked by a scan of the bytes before the
 * document is parsed. The keys of an object are then read in their order, in one pass over the document; texts, and
 * arrays of texts and ids, are copied to one block each. The document, which can need many times the memory of the
 * body, can then be freed, so that requests which wait for a model do not keep it.
 */
#include "serve/request.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json_decode.h"
#include "base/utf8.h"

enum {
    MOST_FIELDS = 64, /* one bit per field */
    WITHIN = 64,      /* bytes of the path of an object, such as "parameters." */
    SHOWN = 40        /* bytes of a wrong value that a message shows */
};

#define NONE       SIZE_MAX /* no index */
#define A_TOKEN_ID "a token id, an integer from 0 to 2147483647"

/* Where a value is read. */
typedef struct reader {
    aoei_request *r;
    aoe_error *err;
    char within[WITHIN]; /* path of the enclosing objects, each followed by a point; "" at the top */
} reader;

/* --------------------------------------------------------------- messages */

static const char *type_name(const json_t *v) {
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return json_array_size(v) ? "a list" : "an empty list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "null";
    }
}

static const char *expected(aoei_field_kind kind) {
    switch (kind) {
    case AOEI_FIELD_STRING:
    case AOEI_FIELD_TEXT:
        return "a string";
    case AOEI_FIELD_BOOL:
        return "true or false";
    case AOEI_FIELD_COUNT:
        return "an integer from 0 to 2147483648";
    case AOEI_FIELD_NUMBER:
        return "a number";
    case AOEI_FIELD_CHOICE:
        return "a string";
    case AOEI_FIELD_CHOICES:
        return "a list of strings";
    case AOEI_FIELD_INPUTS:
        return "a text, a list of texts, a list of token ids, or a list of such lists";
    case AOEI_FIELD_TEXTS:
        return "a text or a list of texts";
    case AOEI_FIELD_DOCUMENTS:
        return "a list of texts or of objects with the key \"text\"";
    case AOEI_FIELD_IDS:
        return "a list of token ids, or a list of such lists";
    case AOEI_FIELD_PAIRS:
        return "a text, two texts, or a list of lists of one or two texts";
    case AOEI_FIELD_STRINGS:
        return "a list of strings";
    case AOEI_FIELD_OBJECT:
        return "an object";
    default:
        return "a value";
    }
}

/* A value of this kind in an example. */
static const char *sample(aoei_field_kind kind) {
    switch (kind) {
    case AOEI_FIELD_BOOL:
        return "true";
    case AOEI_FIELD_COUNT:
    case AOEI_FIELD_NUMBER:
        return "10";
    case AOEI_FIELD_DOCUMENTS:
    case AOEI_FIELD_STRINGS:
    case AOEI_FIELD_CHOICES:
    case AOEI_FIELD_INPUTS:
    case AOEI_FIELD_TEXTS:
        return "[\"a text\", \"another text\"]";
    case AOEI_FIELD_IDS:
        return "[101, 102]";
    case AOEI_FIELD_PAIRS:
        return "[\"a text\", \"another text\"]";
    case AOEI_FIELD_OBJECT:
        return "{...}";
    case AOEI_FIELD_ANY:
        return "...";
    default:
        return "\"a text\"";
    }
}

/* Copies a key of the client as printable ASCII without commas. */
static void copy_key(char *to, size_t size, const char *within, const char *key) {
    size_t n = 0;
    for (int part = 0; part < 2; part++)
        for (const char *s = part ? key : within; *s && n + 1 < size; s++)
            to[n++] = (char)(*s > 0x20 && *s < 0x7F && *s != ',' ? *s : '?');
    to[n] = 0;
}

/* Reports a value of the wrong type. wanted: what the value must be. at: "" or the place inside the value, such as
 * "[3]"; is: what it is */
static int fail_value(reader *x, const aoei_field *f, const char *at, const char *wanted, const char *is) {
    copy_key(x->r->key, sizeof x->r->key, x->within, f->name);
    return aoei_fail(x->err, AOE_EFORMAT, "`%s`%s must be %s; it is %s", x->r->key, at, wanted, is);
}

static int fail_type(reader *x, const aoei_field *f, const json_t *v) {
    return fail_value(x, f, "", expected(f->kind), type_name(v));
}

/* Reports element i of a list, or element j of this element if j is not NONE. */
static int fail_element(reader *x, const aoei_field *f, size_t i, size_t j, const char *wanted, const json_t *v) {
    char at[64];
    if (j == NONE)
        snprintf(at, sizeof at, "[%zu]", i);
    else
        snprintf(at, sizeof at, "[%zu][%zu]", i, j);
    return fail_value(x, f, at, wanted, type_name(v));
}

/* Writes an example of a body with the required fields to text, or with the first field if none is required. */
static void write_example(aoei_buffer *text, const aoei_field *fields, size_t n_fields) {
    int n = 0;
    for (int pass = 0; pass < 2 && !n; pass++)
        for (size_t i = 0; i < n_fields && !(pass && n); i++)
            if (pass || fields[i].required)
                (void)aoei_buffer_printf(text, "%s\"%s\": %s", n++ ? ", " : "{", fields[i].name,
                                         sample(fields[i].kind));
    (void)aoei_buffer_printf(text, n ? "}" : "{}");
}

/* Reports a body that is not an object with the required fields. what: the problem */
static int fail_body(aoe_error *err, const char *what, const aoei_field *fields, size_t n_fields) {
    aoei_buffer text = {0};
    write_example(&text, fields, n_fields);
    const int rc = text.failed ? aoei_fail_nomem(err, text.len)
                               : aoei_fail(err, AOE_EFORMAT, "%s; send a JSON object such as %s", what, text.data);
    aoei_buffer_free(&text);
    return rc;
}

/* ----------------------------------------------------------------- arrays */

/* Allocates an array of the request. Returns NULL after it has reported an error. */
static void *take(reader *x, size_t n, size_t size) {
    aoei_request *r = x->r;
    void *block = NULL;
    if (!aoei_grow((void **)&r->blocks, &r->capacity, r->n_blocks, sizeof *r->blocks))
        block = aoei_malloc_array(n, size);
    if (block)
        r->blocks[r->n_blocks++] = block;
    else
        aoei_fail_nomem(x->err, n);
    return block;
}

static aoe_text text_of(const json_t *v) {
    return (aoe_text){json_string_value(v), json_string_length(v)};
}

/* Copies the bytes of texts to the end of one another, each followed by NUL. Elements without data stay as they are. */
static void copy_texts(aoe_text *texts, size_t n, char **to) {
    for (size_t i = 0; i < n; i++)
        if (texts[i].data) {
            memcpy(*to, texts[i].data, texts[i].len);
            (*to)[texts[i].len] = 0;
            texts[i].data = *to;
            *to += texts[i].len + 1;
        }
}

/* Moves n texts of the document to a block of the request. Their bytes are those of a body, so that sums of their
 * lengths do not overflow. */
static int keep_texts(reader *x, aoe_text *texts, size_t n) {
    size_t bytes = n;
    for (size_t i = 0; i < n; i++)
        bytes += texts[i].len;
    char *block = take(x, bytes, 1);
    if (!block)
        return AOE_ENOMEM;
    copy_texts(texts, n, &block);
    return 0;
}

/* Reads v, a list of texts, or one text. If f is a list of documents, objects with the key "text" are texts, too. */
static int read_texts(reader *x, const aoei_field *f, const json_t *v, aoei_inputs *in) {
    const int one = json_is_string(v), documents = f->kind == AOEI_FIELD_DOCUMENTS;
    *in = (aoei_inputs){.n = one ? 1 : json_array_size(v), .is_single = one, .is_set = 1};
    in->text = in->n ? take(x, in->n, sizeof *in->text) : NULL;
    if (in->n && !in->text)
        return AOE_ENOMEM;
    for (size_t i = 0; i < in->n; i++) {
        const json_t *item = one ? v : json_array_get(v, i);
        if (documents && json_is_object(item))
            item = json_object_get(item, "text") ? json_object_get(item, "text") : item;
        if (!json_is_string(item))
            return fail_element(x, f, i, NONE, documents ? "a text or an object with the key \"text\"" : "a text",
                                item);
        in->text[i] = text_of(item);
        in->total_bytes += in->text[i].len;
    }
    return keep_texts(x, in->text, in->n);
}

/* Copies list i of a field to `to`. i: NONE if the client sent only one list */
static int read_id_list(reader *x, const aoei_field *f, size_t i, const json_t *list, int32_t *to) {
    const size_t n = json_array_size(list);
    for (size_t j = 0; j < n; j++) {
        const json_t *id = json_array_get(list, j);
        const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value > INT32_MAX)
            return i == NONE ? fail_element(x, f, j, NONE, A_TOKEN_ID, id) : fail_element(x, f, i, j, A_TOKEN_ID, id);
        to[j] = (int32_t)value;
    }
    return 0;
}

/* Reads v, a list of lists of ids, or one list of ids that is not empty. */
static int read_ids(reader *x, const aoei_field *f, const json_t *v, aoei_inputs *in) {
    const int one = !json_is_array(json_array_get(v, 0));
    const size_t n = one ? 1 : json_array_size(v);
    *in = (aoei_inputs){.n = n, .is_single = one, .is_set = 1};
    for (size_t i = 0; i < n; i++) {
        const json_t *list = one ? v : json_array_get(v, i);
        if (!json_is_array(list))
            return fail_element(x, f, i, NONE, "a list of token ids", list);
        in->total_ids += json_array_size(list);
    }
    int32_t *ids = take(x, in->total_ids, sizeof *ids);
    if (!ids || !(in->ids = take(x, n, sizeof *in->ids)) || !(in->n_ids = take(x, n, sizeof *in->n_ids)))
        return AOE_ENOMEM;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        const json_t *list = one ? v : json_array_get(v, i);
        in->ids[i] = ids;
        in->n_ids[i] = json_array_size(list);
        ids += in->n_ids[i];
        rc = read_id_list(x, f, one ? NONE : i, list, in->ids[i]);
    }
    return rc;
}

static int read_inputs(reader *x, const aoei_field *f, const json_t *v, aoei_inputs *in) {
    const json_t *first = json_array_get(v, 0); /* NULL if v is not a list, or is empty */
    const int is_text = json_is_string(v) || json_is_string(first) || (first && f->kind == AOEI_FIELD_DOCUMENTS);
    const int is_ids = first && !is_text && (json_is_number(first) || json_is_array(first));
    const int texts = f->kind != AOEI_FIELD_IDS, ids = f->kind == AOEI_FIELD_INPUTS || f->kind == AOEI_FIELD_IDS;
    if (json_is_array(v) && !first) {
        *in = (aoei_inputs){.is_set = 1};
        return 0;
    }
    if (is_text && texts && !(json_is_string(v) && f->kind == AOEI_FIELD_DOCUMENTS))
        return read_texts(x, f, v, in);
    if (is_ids && ids)
        return read_ids(x, f, v, in);
    return first ? fail_value(x, f, "", expected(f->kind),
                              is_text  ? "a list of texts"
                              : is_ids ? "a list of numbers or lists"
                                       : "a list of other values")
                 : fail_type(x, f, v);
}

/* Stores element i, a list of one or two texts, or a text. Returns 0, or -1 if it is something else. */
static int store_pair(aoei_pairs *pairs, size_t i, const json_t *v) {
    const size_t n = json_array_size(v);
    const json_t *first = json_is_string(v) ? v : json_array_get(v, 0), *second = json_array_get(v, 1);
    if (!json_is_string(first) || n > 2 || (second && !json_is_string(second)))
        return -1;
    pairs->first[i] = text_of(first);
    pairs->second[i] = second ? text_of(second) : (aoe_text){NULL, 0};
    return 0;
}

static int read_pairs(reader *x, const aoei_field *f, const json_t *v, aoei_pairs *pairs) {
    const int one = !json_is_array(v) || json_is_string(json_array_get(v, 0));
    const size_t n = one ? 1 : json_array_size(v);
    *pairs = (aoei_pairs){.n = n, .is_single = one, .is_set = 1};
    if (!n)
        return 0;
    if (!(pairs->first = take(x, n, sizeof *pairs->first)) || !(pairs->second = take(x, n, sizeof *pairs->second)))
        return AOE_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = one ? v : json_array_get(v, i);
        if (one ? store_pair(pairs, 0, item) : !json_is_array(item) || store_pair(pairs, i, item))
            return one ? fail_type(x, f, v) : fail_element(x, f, i, NONE, "a list of one or two texts", item);
    }
    return keep_texts(x, pairs->first, n) || keep_texts(x, pairs->second, n) ? AOE_ENOMEM : 0;
}

static int read_strings(reader *x, const aoei_field *f, const json_t *v, aoei_strings *out) {
    if (!json_is_array(v))
        return fail_type(x, f, v);
    *out = (aoei_strings){.n = json_array_size(v)};
    out->value = out->n ? take(x, out->n, sizeof *out->value) : NULL;
    if (out->n && !out->value)
        return AOE_ENOMEM;
    for (size_t i = 0; i < out->n; i++) {
        const json_t *item = json_array_get(v, i);
        aoe_text text = text_of(item);
        if (!json_is_string(item) || memchr(text.data, 0, text.len))
            return fail_element(x, f, i, NONE, "a string without NUL", item);
        if (keep_texts(x, &text, 1))
            return AOE_ENOMEM;
        out->value[i] = text.data;
    }
    return 0;
}

/* ---------------------------------------------------------------- choices */

/* Reports a string v that is not in f->choices. at: see fail_value */
static int fail_choice(reader *x, const aoei_field *f, const json_t *v, const char *at) {
    aoei_buffer names = {0};
    char is[SHOWN + 8];
    for (const char *s = f->choices; *s; s += strspn(s, "|")) {
        const int n = (int)strcspn(s, "|");
        (void)aoei_buffer_printf(&names, "%s\"%.*s\"", s == f->choices ? "" : s[n] ? ", " : " or ", n, s);
        s += n;
    }
    snprintf(is, sizeof is, "\"%.*s\"", SHOWN, json_string_value(v));
    const int rc = names.failed ? aoei_fail_nomem(x->err, names.len) : fail_value(x, f, at, names.data, is);
    aoei_buffer_free(&names);
    return rc;
}

/* Sets *index to the index of the string v in f->choices. Returns 0, or reports an error. at: see fail_value */
static int read_choice(reader *x, const aoei_field *f, const json_t *v, const char *at, int *index) {
    if (!json_is_string(v))
        return fail_value(x, f, at, "a string", type_name(v));
    int i = 0;
    for (const char *s = f->choices; *s; i++) {
        const size_t n = strcspn(s, "|");
        if (json_string_length(v) == n && !strncasecmp(s, json_string_value(v), n)) {
            *index = i;
            return 0;
        }
        s += n + (s[n] == '|');
    }
    return fail_choice(x, f, v, at);
}

static int read_choices(reader *x, const aoei_field *f, const json_t *v, unsigned *set) {
    if (!json_is_array(v))
        return fail_type(x, f, v);
    *set = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        char at[32];
        int index = 0;
        snprintf(at, sizeof at, "[%zu]", i);
        const int rc = read_choice(x, f, json_array_get(v, i), at, &index);
        if (rc)
            return rc;
        *set |= 1U << index;
    }
    return 0;
}

/* ---------------------------------------------------------------- numbers */

static int read_count(reader *x, const aoei_field *f, const json_t *v, size_t *out) {
    const double value = json_number_value(v);
    if (!json_is_number(v))
        return fail_type(x, f, v);
    if (!(value >= 0) || value > AOEI_COUNT_MAX || floor(value) < value) {
        char is[32];
        snprintf(is, sizeof is, "%.15g", value);
        return fail_value(x, f, "", expected(f->kind), is);
    }
    *out = (size_t)value;
    return 0;
}

static int read_string(reader *x, const aoei_field *f, const json_t *v, const char **out) {
    if (!json_is_string(v))
        return fail_type(x, f, v);
    aoe_text text = text_of(v);
    if (memchr(text.data, 0, text.len))
        return fail_value(x, f, "", "a string without NUL", "a string with NUL");
    if (keep_texts(x, &text, 1))
        return AOE_ENOMEM;
    *out = text.data;
    return 0;
}

/* ---------------------------------------------------------------- objects */

static int read_object(reader *x, json_t *object, const aoei_field *fields, size_t n_fields, char *out);

/* Reads the object v of a field with its own fields. */
static int read_nested(reader *x, const aoei_field *f, json_t *v, char *out) {
    reader inner = {x->r, x->err, ""};
    if (!json_is_object(v))
        return fail_type(x, f, v);
    const int n = snprintf(inner.within, sizeof inner.within, "%s%s.", x->within, f->name);
    assert(n > 0 && n < WITHIN);
    (void)n;
    return read_object(&inner, v, f->fields, f->n_fields, out);
}

/* Reads the value v of a field into the struct out. */
static int read_value(reader *x, const aoei_field *f, json_t *v, char *out) {
    void *member = out + f->offset;
    switch (f->kind) {
    case AOEI_FIELD_STRING:
        return read_string(x, f, v, member);
    case AOEI_FIELD_TEXT:
        if (!json_is_string(v))
            return fail_type(x, f, v);
        *(aoe_text *)member = text_of(v);
        return keep_texts(x, member, 1);
    case AOEI_FIELD_BOOL:
        if (!json_is_boolean(v))
            return fail_type(x, f, v);
        *(int *)member = json_is_true(v);
        return 0;
    case AOEI_FIELD_COUNT:
        return read_count(x, f, v, member);
    case AOEI_FIELD_NUMBER:
        if (!json_is_number(v))
            return fail_type(x, f, v);
        *(double *)member = json_number_value(v);
        return 0;
    case AOEI_FIELD_CHOICE:
        return read_choice(x, f, v, "", member);
    case AOEI_FIELD_CHOICES:
        return read_choices(x, f, v, member);
    case AOEI_FIELD_INPUTS:
    case AOEI_FIELD_TEXTS:
    case AOEI_FIELD_DOCUMENTS:
    case AOEI_FIELD_IDS:
        return read_inputs(x, f, v, member);
    case AOEI_FIELD_PAIRS:
        return read_pairs(x, f, v, member);
    case AOEI_FIELD_STRINGS:
        return read_strings(x, f, v, member);
    case AOEI_FIELD_OBJECT:
        if (f->fields)
            return read_nested(x, f, v, member);
        if (!json_is_object(v))
            return fail_type(x, f, v);
        *(json_t **)member = v;
        return 0;
    case AOEI_FIELD_ANY:
        *(json_t **)member = v;
        return 0;
    }
    return 0;
}

/* Adds a key without a field to the list of the request. */
static void add_ignored(reader *x, const char *key) {
    char name[64];
    char *list = x->r->ignored;
    const size_t used = strlen(list), size = sizeof x->r->ignored;
    copy_key(name, sizeof name, x->within, *key ? key : "\"\"");
    const size_t n = strlen(name);
    x->r->n_ignored++;
    if (used + n + 2 + sizeof ", ..." <= size) {
        memcpy(list + used, ", ", used ? 2 : 0);
        memcpy(list + used + (used ? 2 : 0), name, n + 1);
    } else if (used < 3 || strcmp(list + used - 3, "...") != 0) {
        memcpy(list + used, ", ...", sizeof ", ...");
    }
}

/* Reads the keys of an object into the struct out. */
static int read_object(reader *x, json_t *object, const aoei_field *fields, size_t n_fields, char *out) {
    uint64_t seen = 0;
    const char *key;
    json_t *v;
    assert(n_fields <= MOST_FIELDS);
    json_object_foreach(object, key, v) {
        size_t i = 0;
        while (i < n_fields && strcmp(fields[i].name, key) != 0)
            i++;
        if (json_is_null(v))
            continue;
        if (i == n_fields) {
            add_ignored(x, key);
            continue;
        }
        seen |= (uint64_t)1 << i;
        const int rc = read_value(x, fields + i, v, out);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < n_fields; i++)
        if (fields[i].required && !(seen >> i & 1)) {
            char what[96];
            copy_key(x->r->key, sizeof x->r->key, x->within, fields[i].name);
            snprintf(what, sizeof what, "`%s` is missing", x->r->key);
            return *x->within ? aoei_fail(x->err, AOE_EFORMAT, "%s; add it, such as \"%s\": %s", what, fields[i].name,
                                          sample(fields[i].kind))
                              : fail_body(x->err, what, fields, n_fields);
        }
    return 0;
}

/* ------------------------------------------------------------------- body */

/* Returns the maximum depth of nested objects and lists in a body, which need not be valid. */
static size_t nesting(aoe_text body) {
    size_t depth = 0, most = 0;
    for (size_t i = 0; i < body.len; i++) {
        const char c = body.data[i];
        if (c == '"') {
            for (i++; i < body.len && body.data[i] != '"'; i++)
                i += body.data[i] == '\\';
        } else if (c == '[' || c == '{') {
            depth++;
            most = depth > most ? depth : most;
        } else if (c == ']' || c == '}') {
            depth -= depth > 0;
        }
    }
    return most;
}

/* Parses the document of a body. */
static int parse_document(aoei_request *r, aoe_text body, const aoei_field *fields, size_t n_fields, aoe_error *err) {
    const size_t valid = aoei_utf8_valid(body.data, body.len), depth = nesting(body);
    json_error_t error;
    int no_memory = 0;
    r->is_malformed = 1;
    if (body.len == 0)
        return fail_body(err, "the body is empty", fields, n_fields);
    if (valid < body.len)
        return aoei_fail(err, AOE_EFORMAT, "the body is not valid UTF-8 (byte %zu); encode the JSON text in UTF-8",
                         valid);
    r->is_malformed = 0;
    if (depth > AOEI_REQUEST_DEPTH)
        return aoei_fail(err, AOE_EFORMAT, "the body is nested %zu deep; the maximum is %d", depth, AOEI_REQUEST_DEPTH);
    r->root = aoei_json_decode(body.data, body.len, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error,
                               &no_memory);
    if (no_memory)
        return aoei_fail_nomem(err, body.len);
    r->is_malformed = 0;
    if (!r->root && json_error_code(&error) == json_error_numeric_overflow)
        return aoei_fail(err, AOE_EFORMAT, "the body has a number that is out of range: line %d: %s (byte %d)",
                         error.line, error.text, error.position);
    if (!r->root && json_error_code(&error) == json_error_duplicate_key)
        return aoei_fail(err, AOE_EFORMAT, "the body has a key twice: line %d: %s (byte %d); remove one", error.line,
                         error.text, error.position);
    r->is_malformed = !r->root;
    if (!r->root)
        return aoei_fail(err, AOE_EFORMAT, "the body is not valid JSON: line %d: %s (byte %d); correct the JSON text",
                         error.line, error.text, error.position);
    if (!json_is_object(r->root)) {
        char what[64];
        snprintf(what, sizeof what, "the body is %s, not an object", type_name(r->root));
        return fail_body(err, what, fields, n_fields);
    }
    return 0;
}

int aoei_request_load(aoei_request *r, aoe_text body, const aoei_field *fields, size_t n_fields, aoe_error *err) {
    *r = (aoei_request){0};
    const int rc = parse_document(r, body, fields, n_fields, err);
    if (rc)
        aoei_request_free(r);
    return rc;
}

int aoei_request_read(aoei_request *r, const aoei_field *fields, size_t n_fields, void *out, aoe_error *err) {
    aoe_error own = {0};
    reader x = {r, err ? err : &own, ""};
    const int rc = read_object(&x, r->root, fields, n_fields, out);
    if (rc)
        aoei_request_free(r);
    return rc;
}

int aoei_request_parse(aoei_request *r, aoe_text body, const aoei_field *fields, size_t n_fields, void *out,
                       aoe_error *err) {
    const int rc = aoei_request_load(r, body, fields, n_fields, err);
    return rc ? rc : aoei_request_read(r, fields, n_fields, out, err);
}

void aoei_request_free_document(aoei_request *r) {
    json_decref(r->root);
    r->root = NULL;
}

void aoei_request_free(aoei_request *r) {
    for (size_t i = 0; i < r->n_blocks; i++)
        aoei_free(r->blocks[i]);
    aoei_free(r->blocks);
    aoei_request_free_document(r);
    r->blocks = NULL;
    r->n_blocks = r->capacity = 0;
}
