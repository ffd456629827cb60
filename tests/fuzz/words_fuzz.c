/* SPDX-License-Identifier: MIT
 * Fuzzes the words of passages and queries. The words must be valid UTF-8, have at most AOEI_WORD_MAX characters, and
 * must not depend on what follows a blank. FTS5 must accept every query. A passage must contain every word that the
 * same text has as a query, if the tokenizer of FTS5 finds a word in it.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "index/words.h"

static sqlite3 *db;
static sqlite3_stmt *insert, *search, *count, *undo;

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
        abort();
    return s;
}

static void open_table(void) {
    if (sqlite3_open(":memory:", &db) ||
        sqlite3_exec(db,
                     "CREATE VIRTUAL TABLE words USING fts5(w, tokenize='unicode61 remove_diacritics 2');"
                     "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
                     NULL, NULL, NULL))
        abort();
    insert = prepare("INSERT INTO words(rowid, w) VALUES(1, ?1)");
    search = prepare("SELECT count(*) FROM words WHERE words MATCH ?1");
    count = prepare("SELECT count(*) FROM vocabulary");
    undo = prepare("DELETE FROM words WHERE rowid = 1");
}

static int step(sqlite3_stmt *s, const aoei_buffer *text) {
    if (text && sqlite3_bind_text(s, 1, text->data, (int)text->len, SQLITE_STATIC))
        abort();
    const int code = sqlite3_step(s);
    const int value = code == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
    if (sqlite3_reset(s) || (code != SQLITE_ROW && code != SQLITE_DONE))
        abort();
    return value;
}

static void check_words(const aoei_buffer *words) {
    const size_t len = words->len;
    if (!len)
        return;
    if (aoei_utf8_valid(words->data, len) != len || words->data[len - 1] != ' ' || memchr(words->data, '"', len))
        abort();
    for (size_t at = 0; at < len;) {
        const size_t end = (size_t)((const char *)memchr(words->data + at, ' ', len - at) - words->data);
        const size_t n = aoei_utf8_chars(words->data + at, end - at);
        if (n == 0 || n > AOEI_WORD_MAX)
            abort();
        at = end + 1;
    }
}

/* Searches for each word of the query in the passage. Words that unicode61 does not accept are not found: some letters
 * are newer than its tables. */
static void check_search(const aoei_words *w, const aoei_buffer *passage) {
    aoei_buffer term = {0}, plain = {0};
    for (size_t i = 0; i < w->n; i++) {
        const char *word = w->text.data + w->word[i].at;
        aoei_buffer_clear(&term);
        (void)aoei_buffer_append(&term, word, w->word[i].len);
        step(insert, &term);
        const int is_word = step(count, NULL) > 0;
        step(undo, NULL);
        aoei_buffer_clear(&term);
        aoei_words_quote(&term, w, &w->word[i]);
        step(insert, passage);
        if (step(search, &term) != is_word)
            abort();
        step(undo, NULL);
        aoei_words_plain(&plain, word, w->word[i].len);
    }
    if (plain.len && aoei_utf8_valid(plain.data, plain.len) != plain.len)
        abort();
    aoei_buffer_free(&term);
    aoei_buffer_free(&plain);
}

const size_t fuzz_mutations = 4000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!db)
        open_table();
    int64_t live = aoei_alloc_live();
    const aoe_text text = {(const char *)data, size};
    aoei_buffer passage = {0};
    aoei_words w = {0};
    if (aoei_words_text(&passage, text, NULL) || aoei_words_query(&w, text, NULL))
        abort();
    check_words(&passage);
    check_words(&w.text);
    if (w.n <= 16) { /* SQLite keeps some of the memory that it allocates */
        const int64_t before = aoei_alloc_live();
        check_search(&w, &passage);
        live += aoei_alloc_live() - before;
    }
    aoei_words_free(&w);
    aoei_buffer_free(&passage);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
