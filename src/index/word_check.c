/* SPDX-License-Identifier: MIT
 * Each occurrence of a word (word, passage, position) has a hash. The sums of the hashes of all occurrences that the
 * texts have, and of all occurrences that FTS5 lists, must be equal; so the occurrences need no memory and no order.
 *
 * FTS5 lists the occurrences by reading its pages one after the other. A search finds a word through an index of these
 * pages, so each word is also looked up.
 */
#include "index/word_check.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "index/lengths.h"
#include "index/words.h"

/* Number of occurrences, and the sum of their hashes modulo 2^64. */
typedef struct occurrences {
    uint64_t n, sum;
} occurrences;

typedef struct check {
    aoei_db *d;
    fts5_tokenizer functions;
    Fts5Tokenizer *tokenizer; /* owned */
    aoei_lengths *lengths;    /* owned */
    aoei_buffer words;        /* words of the current passage, owned */
    int64_t passage;          /* id of the current passage */
    int64_t position;         /* of the next word in the passage */
    occurrences texts, found;
} check;

static void add(occurrences *o, const void *word, size_t len, int64_t passage, int64_t position) {
    const uint64_t h = aoei_hash(aoei_hash(AOEI_HASH_START, word, len), &passage, sizeof passage);
    o->n++;
    o->sum += aoei_hash(h, &position, sizeof position);
}

/* ------------------------------------------------------------------- texts */

static int open_tokenizer(check *c, int stem, aoe_error *err) {
    const char *arguments[] = {"unicode61", "remove_diacritics", "2"};
    fts5_api *api;
    void *context;
    const int code = aoei_find_fts5(c->d->db, &api, err);
    if (code)
        return code;
    return api->xFindTokenizer(api, stem ? "porter" : "unicode61", &context, &c->functions) != SQLITE_OK ||
                   c->functions.xCreate(context, stem ? arguments : arguments + 1, stem ? 3 : 2, &c->tokenizer)
               ? aoei_fail_nomem(err, 0)
               : 0;
}

/* Receives one word of a passage. */
static int add_word(void *user, int flags, const char *word, int len, int start, int after) {
    check *c = user;
    (void)flags;
    (void)start;
    (void)after;
    add(&c->texts, word, (size_t)len, c->passage, c->position++);
    return SQLITE_OK;
}

/* Adds the occurrences of a passage. Sets *damage if the recorded number of its words is wrong. */
static int add_passage(check *c, aoe_text heading, aoe_text text, const char **damage, aoe_error *err) {
    aoei_buffer_clear(&c->words);
    int code = aoei_words_text(&c->words, heading, err);
    if (code == 0)
        code = aoei_words_text(&c->words, text, err);
    if (code || c->words.len > INT32_MAX)
        return code ? code : aoei_fail_nomem(err, c->words.len);
    c->position = 0;
    if (c->words.len && c->functions.xTokenize(c->tokenizer, c, FTS5_TOKENIZE_DOCUMENT, c->words.data,
                                               (int)c->words.len, add_word) != SQLITE_OK)
        return aoei_fail_nomem(err, c->words.len);
    if (c->passage < 0 || (uint64_t)c->passage >= c->lengths->n || c->lengths->words[c->passage] != c->position)
        *damage = "the word index has a wrong number of words of a passage";
    return 0;
}

static int add_passages(check *c, const char **damage, aoe_error *err) {
    sqlite3_stmt *stmt;
    size_t n = 0;
    int code = aoei_db_prepare(c->d, "SELECT id, heading, text FROM passages", &stmt, err);
    while (code == 0 && (code = aoei_db_step(c->d, stmt, err)) == 1) {
        c->passage = sqlite3_column_int64(stmt, 0);
        code = add_passage(c, aoei_column_text(stmt, 1), aoei_column_text(stmt, 2), damage, err);
        n++;
    }
    aoei_db_reset(stmt);
    if (code == 0 && !*damage && n != c->lengths->passages)
        *damage = "the word index has another number of passages";
    return code;
}

/* ------------------------------------------------------------- word index */

/* Compares the number of passages that contain the word with the number that a search finds. */
static int look_up(check *c, const aoei_buffer *word, int64_t passages, const char **damage, aoe_error *err) {
    sqlite3_stmt *stmt;
    int code = aoei_db_prepare(c->d, "SELECT doc FROM vocabulary WHERE term = ?1", &stmt, err);
    if (code)
        return code;
    aoei_bind_text(stmt, 1, (aoe_text){word->data, word->len});
    code = aoei_db_step(c->d, stmt, err);
    if (code >= 0 && (code == 0 || sqlite3_column_int64(stmt, 0) != passages))
        *damage = "the word index does not find a word";
    aoei_db_reset(stmt);
    return code < 0 ? code : 0;
}

/* Adds the occurrences that FTS5 lists, ordered by words and then by passages. */
static int list(check *c, aoei_buffer *word, const char **damage, aoe_error *err) {
    sqlite3_stmt *stmt;
    int64_t passages = 0, last = 0;
    int code = aoei_db_prepare(c->d, "SELECT term, doc, \"offset\" FROM temp.word_occurrences", &stmt, err);
    while (code == 0 && (code = aoei_db_step(c->d, stmt, err)) == 1) {
        const aoe_text term = aoei_column_text(stmt, 0);
        const int64_t passage = sqlite3_column_int64(stmt, 1);
        const int is_new = !passages || term.len != word->len || memcmp(term.data, word->data, term.len) != 0;
        code = is_new && passages ? look_up(c, word, passages, damage, err) : 0;
        if (is_new) {
            passages = 0;
            aoei_buffer_clear(word);
            if (code == 0 && aoei_buffer_append(word, term.data, term.len))
                code = aoei_fail_nomem(err, term.len);
        }
        passages += !passages || passage != last;
        last = passage;
        add(&c->found, term.data, term.len, passage, sqlite3_column_int64(stmt, 2));
    }
    aoei_db_reset(stmt);
    return code == 0 && passages ? look_up(c, word, passages, damage, err) : code;
}

static int list_words(check *c, const char **damage, aoe_error *err) {
    aoei_buffer word = {0};
    int code = aoei_db_run(c->d,
                           "PRAGMA query_only = OFF; CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_occurrences USING "
                           "fts5vocab(main, words, instance)",
                           err);
    if (code == 0)
        code = list(c, &word, damage, err);
    aoei_buffer_free(&word);
    const int after = aoei_db_run(c->d, "PRAGMA query_only = ON", code ? NULL : err);
    return code ? code : after;
}

/* ------------------------------------------------------------------- check */

int aoei_word_check(aoei_db *d, int stem, const char **damage, aoe_error *err) {
    check c = {.d = d};
    *damage = NULL;
    int code = open_tokenizer(&c, stem, err);
    if (code == 0)
        code = aoei_lengths_read(&c.lengths, d, err);
    if (code == 0)
        code = add_passages(&c, damage, err);
    if (code == 0 && !*damage)
        code = list_words(&c, damage, err);
    if (code == 0 && !*damage && (c.texts.n != c.found.n || c.texts.sum != c.found.sum))
        *damage = "the word index differs from the texts";
    if (code == AOE_EFORMAT) {
        *damage = "the word index is malformed";
        code = 0;
    }
    if (c.tokenizer)
        c.functions.xDelete(c.tokenizer);
    aoei_lengths_free(c.lengths);
    aoei_buffer_free(&c.words);
    return code;
}
