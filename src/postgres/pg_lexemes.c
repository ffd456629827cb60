/* SPDX-License-Identifier: MIT
 * Calls the tokenizers of FTS5 directly, through a connection to an empty database in memory. The lexemes of a passage
 * are sorted by their bytes, so that equal words are adjacent.
 */
#include "postgres/pg_lexemes.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/sql.h"
#include "index/words.h"
#include "postgres/pg_binary.h"

/* An occurrence of a lexeme. */
typedef struct occurrence {
    size_t at, len;  /* bytes in aoei_pg_lexer.text */
    size_t position; /* number of the word in the text, counted from 1 */
    const char *s;   /* text + at; set before sorting */
} occurrence;

struct aoei_pg_lexer {
    sqlite3 *db; /* owned */
    fts5_tokenizer functions;
    Fts5Tokenizer *tokenizer; /* owned */
    aoei_buffer words;        /* result of aoei_words_text */
    aoei_buffer text;         /* lexemes of the current text, one after the other */
    occurrence *found;        /* [n] */
    size_t n, capacity;
};

int aoei_pg_lexer_create(aoei_pg_lexer **lexer, int stem, aoe_error *err) {
    const char *arguments[] = {"unicode61", "remove_diacritics", "2"};
    *lexer = NULL;
    aoei_pg_lexer *l = aoei_calloc(1, sizeof *l);
    if (!l)
        return aoei_fail_nomem(err, sizeof *l);
    void *context = NULL;
    fts5_api *api;
    int rc = sqlite3_open_v2(":memory:", &l->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL)
                 ? aoei_fail_nomem(err, 0)
                 : aoei_find_fts5(l->db, &api, err);
    if (!rc && (api->xFindTokenizer(api, stem ? "porter" : "unicode61", &context, &l->functions) != SQLITE_OK ||
                l->functions.xCreate(context, stem ? arguments : arguments + 1, stem ? 3 : 2, &l->tokenizer)))
        rc = aoei_fail_nomem(err, 0);
    if (rc)
        aoei_pg_lexer_free(l);
    else
        *lexer = l;
    return rc;
}

void aoei_pg_lexer_free(aoei_pg_lexer *lexer) {
    if (!lexer)
        return;
    if (lexer->tokenizer)
        lexer->functions.xDelete(lexer->tokenizer);
    sqlite3_close(lexer->db);
    aoei_buffer_free(&lexer->words);
    aoei_buffer_free(&lexer->text);
    aoei_free(lexer->found);
    aoei_free(lexer);
}

/* Receives one word of a text. */
static int add_occurrence(void *user, int flags, const char *word, int len, int start, int after) {
    aoei_pg_lexer *l = user;
    (void)flags;
    (void)start;
    (void)after;
    if (len <= 0)
        return SQLITE_OK;
    if (aoei_grow((void **)&l->found, &l->capacity, l->n, sizeof *l->found))
        return SQLITE_NOMEM;
    const size_t bytes = (size_t)len;
    l->found[l->n] = (occurrence){.at = l->text.len, .len = bytes, .position = l->n + 1};
    l->n++;
    return aoei_buffer_append(&l->text, word, bytes) ? SQLITE_NOMEM : SQLITE_OK;
}

/* Finds the lexemes of words. flags: FTS5_TOKENIZE_... */
static int tokenize(aoei_pg_lexer *l, int flags, aoe_text words, aoe_error *err) {
    l->n = 0;
    aoei_buffer_clear(&l->text);
    if (words.len > INT32_MAX)
        return aoei_fail(err, AOE_EARG, "a passage has %zu bytes of words; at most 2 GiB are possible", words.len);
    if (words.len == 0)
        return 0;
    if (l->functions.xTokenize(l->tokenizer, l, flags, words.data, (int)words.len, add_occurrence) != SQLITE_OK)
        return aoei_fail_nomem(err, 0);
    for (size_t i = 0; i < l->n; i++)
        l->found[i].s = l->text.data + l->found[i].at;
    return 0;
}

static int compare_lexemes(const occurrence *a, const occurrence *b) {
    const int order = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare(const void *a, const void *b) {
    const occurrence *x = a, *y = b;
    const int order = compare_lexemes(x, y);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

/* Appends the lexeme of found[i] with its positions. Returns the index of the next lexeme. */
static size_t put_lexeme(const aoei_pg_lexer *l, size_t i, aoei_buffer *out) {
    uint32_t position[AOEI_PG_POSITIONS];
    uint32_t n = 0;
    const occurrence *o = &l->found[i];
    size_t last = 0;
    for (; i < l->n && compare_lexemes(o, &l->found[i]) == 0; i++) {
        const size_t p = l->found[i].position < AOEI_PG_POSITION_MAX ? l->found[i].position : AOEI_PG_POSITION_MAX;
        if (p > last && n < AOEI_PG_POSITIONS)
            position[n++] = (uint32_t)p;
        last = p;
    }
    aoei_buffer_append(out, o->s, o->len);
    aoei_buffer_putc(out, 0);
    aoei_pg_put16(out, n);
    for (uint32_t k = 0; k < n; k++)
        aoei_pg_put16(out, position[k]);
    return i;
}

int aoei_pg_tsvector(aoei_pg_lexer *lexer, aoe_text text, aoei_buffer *out, size_t *words, aoe_error *err) {
    aoei_buffer_clear(&lexer->words);
    int rc = aoei_words_text(&lexer->words, text, err);
    if (!rc)
        rc = tokenize(lexer, FTS5_TOKENIZE_DOCUMENT, (aoe_text){lexer->words.data, lexer->words.len}, err);
    if (rc)
        return rc;
    *words = lexer->n;
    if (lexer->n)
        qsort(lexer->found, lexer->n, sizeof *lexer->found, compare);
    const size_t start = out->len;
    uint32_t n = 0;
    aoei_pg_put32(out, 0);
    for (size_t i = 0; i < lexer->n && out->len - start < AOEI_PG_LEXEME_BYTES; n++)
        i = put_lexeme(lexer, i, out);
    if (out->failed)
        return aoei_fail_nomem(err, out->len);
    for (size_t i = 0; i < 4; i++)
        out->data[start + i] = (char)(n >> (24 - 8 * i));
    return 0;
}

int aoei_pg_tsquery(aoei_pg_lexer *lexer, aoe_text word, int is_prefix, aoei_buffer *out, size_t *lexemes,
                    aoe_error *err) {
    const int rc = tokenize(lexer, FTS5_TOKENIZE_QUERY | (is_prefix ? FTS5_TOKENIZE_PREFIX : 0), word, err);
    if (rc)
        return rc;
    *lexemes = lexer->n;
    for (size_t i = 0; i < lexer->n; i++) {
        const occurrence *o = &lexer->found[i];
        if (i)
            aoei_buffer_append(out, " <-> ", 5);
        aoei_buffer_putc(out, '\'');
        for (size_t k = 0; k < o->len; k++) {
            if (o->s[k] == '\'' || o->s[k] == '\\')
                aoei_buffer_putc(out, o->s[k]);
            aoei_buffer_putc(out, o->s[k]);
        }
        aoei_buffer_putc(out, '\'');
        if (is_prefix && i + 1 == lexer->n)
            aoei_buffer_append(out, ":*", 2);
    }
    return out->failed ? aoei_fail_nomem(err, out->len) : 0;
}
