/* SPDX-License-Identifier: MIT
 * Copies documents into a queue and divides them into passages.
 */
#include "index/queue.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"

/* -------------------------------------------------------------------- hashes */

static uint64_t hash_text(uint64_t h, aoe_text text) {
    const uint64_t len = text.len;
    h = aoei_hash(h, &len, sizeof len); /* so that the end of a text is a part of the hash */
    return aoei_hash(h, text.data, text.len);
}

uint64_t aoei_passage_hash(aoe_text heading, aoe_text text) {
    return hash_text(hash_text(AOEI_HASH_START, heading), text);
}

/* Returns the hash of everything but the name and the vector. */
static uint64_t content_hash(const aoe_index_document *d) {
    const unsigned char kind = (unsigned char)d->kind;
    uint64_t h = hash_text(AOEI_HASH_START, d->text);
    h = aoei_hash(h, &kind, 1);
    h = hash_text(h, aoe_text_of(d->title));
    for (size_t i = 0; i < d->n_fields; i++) {
        h = hash_text(h, aoe_text_of(d->field[i].key));
        h = hash_text(h, d->field[i].value);
    }
    return h;
}

uint64_t aoei_document_hash(const aoe_index_document *d, size_t dims) {
    const uint64_t h = content_hash(d);
    return d->vector ? aoei_hash(h, d->vector, dims * sizeof *d->vector) : h;
}

uint64_t aoei_given_hash(const aoe_index_document *d) {
    return content_hash(d) | 1;
}

/* --------------------------------------------------------------------- check */

static int check_text(const char *name, const char *what, aoe_text text, aoe_error *err) {
    const size_t bad = aoei_utf8_valid(text.data, text.len);
    return bad == text.len ? 0
                           : aoei_fail(err, AOE_EFORMAT,
                                       "%s: the %s of the document is not valid UTF-8 at byte %zu; "
                                       "convert it to UTF-8",
                                       name, what, bad);
}

int aoei_document_check(const aoe_index_document *d, aoe_error *err) {
    if (!d->name || !d->name[0])
        return aoei_fail(err, AOE_EFORMAT, "a document has no name; set document.name");
    if (d->kind < AOE_INDEX_AUTO || d->kind > AOE_INDEX_CODE)
        return aoei_fail(err, AOE_EARG, "%s: document.kind is %d; use a value of aoe_index_kind", d->name,
                         (int)d->kind);
    if ((d->text.len && !d->text.data) || (d->n_fields && !d->field))
        return aoei_fail(err, AOE_EARG, "%s: document.text or document.field is NULL", d->name);
    int rc = check_text(d->name, "name", aoe_text_of(d->name), err);
    if (!rc)
        rc = check_text(d->name, "text", d->text, err);
    if (!rc && d->title)
        rc = check_text(d->name, "title", aoe_text_of(d->title), err);
    for (size_t i = 0; !rc && i < d->n_fields; i++) {
        const aoe_index_field *f = &d->field[i];
        if (!f->key || !f->key[0] || (f->value.len && !f->value.data))
            return aoei_fail(err, AOE_EFORMAT, "%s: field %zu of the document has no key or no value", d->name, i);
        rc = check_text(d->name, "metadata", aoe_text_of(f->key), err);
        if (!rc)
            rc = check_text(d->name, "metadata", f->value, err);
    }
    return rc;
}

/* --------------------------------------------------------------------- queue */

/* Returns a copy of a text, followed by a NUL; NULL if out of memory. */
static char *copy(aoei_queue *q, aoe_text text) {
    char *p = aoei_chunks_take(&q->chunks, text.len + 1);
    if (!p)
        return NULL;
    if (text.len)
        memcpy(p, text.data, text.len);
    p[text.len] = 0;
    q->bytes += text.len;
    return p;
}

static int add_passage(aoei_queue *q, const char *heading, aoe_text text, size_t line, size_t last_line,
                       aoe_error *err) {
    const size_t len = strlen(heading), start = len ? len + 1 : 0;
    char *full = aoei_chunks_take(&q->chunks, start + text.len + 1);
    if (!full || aoei_grow((void **)&q->passage, &q->passage_capacity, q->n_passages, sizeof *q->passage))
        return aoei_fail_nomem(err, text.len);
    if (len) {
        memcpy(full, heading, len);
        full[len] = '\n';
    }
    if (text.len)
        memcpy(full + start, text.data, text.len);
    full[start + text.len] = 0;
    q->bytes += start + text.len;
    aoei_queued_passage *p = &q->passage[q->n_passages++];
    *p = (aoei_queued_passage){.full = {full, start + text.len},
                               .text = {full + start, text.len},
                               .heading = {full, len},
                               .line = line,
                               .last_line = last_line};
    p->hash = aoei_passage_hash(p->heading, p->text);
    return 0;
}

static size_t count_lines(aoe_text text) {
    size_t lines = 1;
    for (size_t i = 0; i + 1 < text.len; i++)
        lines += text.data[i] == '\n';
    return lines;
}

/* Adds the passages of a document to the queue, whose rows have memory for them afterwards. */
static int add_passages(aoei_queue *q, const aoe_index_document *d, int64_t file, size_t dims, aoe_index_store store,
                        aoe_error *err) {
    int rc;
    if (d->vector) {
        const size_t i = q->n_passages;
        rc = add_passage(q, d->title ? d->title : "", d->text, 1, count_lines(d->text), err);
        if (!rc)
            rc = aoei_rows_reserve(&q->rows, q->n_passages, dims, store, err);
        if (!rc && (rc = aoei_rows_encode(&q->rows, i, d->vector, err)))
            (void)aoei_error_prefix(err, "%s", d->name);
        if (!rc)
            q->passage[i].given = aoei_given_hash(d);
        return rc;
    }
    rc = aoei_splitter_split(&q->splitter, &q->passages, d, file != 0 && d->kind != AOE_INDEX_TEXT, err);
    if (rc) {
        if (rc != AOE_ECANCELLED)
            (void)aoei_error_prefix(err, "%s", d->name);
        return rc;
    }
    for (size_t i = 0; !rc && i < q->passages.n; i++) {
        const aoei_passage *p = &q->passages.passage[i];
        rc = add_passage(q, p->heading, p->text, p->line, p->last_line, err);
    }
    aoei_passages_free(&q->passages); /* the queue has copies of the texts */
    return rc ? rc : aoei_rows_reserve(&q->rows, q->n_passages, dims, store, err);
}

static int add_fields(aoei_queue *q, const aoe_index_document *d, aoe_error *err) {
    for (size_t i = 0; i < d->n_fields; i++) {
        const char *key = copy(q, aoe_text_of(d->field[i].key)), *value = copy(q, d->field[i].value);
        if (!key || !value || aoei_grow((void **)&q->field, &q->field_capacity, q->n_fields, sizeof *q->field))
            return aoei_fail_nomem(err, d->field[i].value.len);
        q->field[q->n_fields++] = (aoe_index_field){key, {value, d->field[i].value.len}};
    }
    return 0;
}

int aoei_queue_add(aoei_queue *q, const aoe_index_document *d, int64_t file, size_t dims, aoe_index_store store,
                   aoe_error *err) {
    const size_t first = q->n_passages, first_field = q->n_fields;
    const char *name = copy(q, aoe_text_of(d->name)), *title = d->title ? copy(q, aoe_text_of(d->title)) : NULL;
    int rc = 0;
    if (!name || (d->title && !title) ||
        aoei_grow((void **)&q->document, &q->document_capacity, q->n_documents, sizeof *q->document))
        rc = aoei_fail_nomem(err, strlen(d->name));
    if (!rc)
        rc = add_passages(q, d, file, dims, store, err);
    if (!rc)
        rc = add_fields(q, d, err);
    if (rc) {
        q->n_passages = first;
        q->n_fields = first_field;
        return rc;
    }
    q->document[q->n_documents++] = (aoei_queued_document){.name = name,
                                                           .title = title,
                                                           .file = file,
                                                           .hash = aoei_document_hash(d, dims),
                                                           .first = first,
                                                           .n = q->n_passages - first,
                                                           .first_field = first_field,
                                                           .n_fields = d->n_fields};
    return 0;
}

int aoei_queue_contains(const aoei_queue *q, const char *name) {
    for (size_t i = 0; i < q->n_documents; i++)
        if (strcmp(q->document[i].name, name) == 0)
            return 1;
    return 0;
}

void aoei_queue_clear(aoei_queue *q) {
    q->n_documents = q->n_passages = q->n_fields = q->bytes = 0;
    aoei_chunks_free(&q->chunks);
}

void aoei_queue_free(aoei_queue *q) {
    aoei_queue_clear(q);
    aoei_free(q->document);
    aoei_free(q->passage);
    aoei_free(q->field);
    aoei_rows_free(&q->rows);
    aoei_passages_free(&q->passages);
    aoei_splitter_free(&q->splitter);
    *q = (aoei_queue){0};
}
