/* SPDX-License-Identifier: MIT
 * The database has the tables `documents` and `words` of an index. Each text is a document with one passage, whose ids
 * are the number of the text, and whose name is this number with leading zeros, so that names are ordered like numbers.
 */
#include "index/word_index.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "index/fusion.h"
#include "index/schema.h"

int aoei_word_index_create(aoei_word_index *w, aoe_error *err) {
    *w = (aoei_word_index){0};
    float probe = 1;
    char none[] = "";
    const aoei_index_settings settings = {.dims = 1,
                                          .passage_tokens = 1,
                                          .stem = 1,
                                          .model = none,
                                          .pooling = none,
                                          .query_prompt = none,
                                          .document_prompt = none,
                                          .place = none,
                                          .query_probe = &probe,
                                          .document_probe = &probe};
    int code = aoei_db_open(&w->db, ":memory:", AOEI_DB_WRITE, 0, err);
    if (!code)
        code = aoei_lexical_register(&w->db, err);
    if (!code)
        code = aoei_db_run(&w->db, "BEGIN", err);
    if (!code)
        code = aoei_schema_create(&w->db, &settings, err);
    if (!code)
        aoei_locator_init(&w->locator, &w->db);
    return code;
}

static int add_document(aoei_word_index *w, uint32_t number, aoe_error *err) {
    sqlite3_stmt *s;
    char name[16];
    const int code = aoei_db_prepare(&w->db,
                                     "INSERT INTO documents (id, name, first_passage, first_row, n_passages, hash) "
                                     "VALUES (?1, ?2, ?1, ?1, 1, 0)",
                                     &s, err);
    if (code)
        return code;
    (void)snprintf(name, sizeof name, "%010u", (unsigned)number);
    (void)sqlite3_bind_int64(s, 1, number);
    aoei_bind_string(s, 2, name);
    return aoei_db_finish(&w->db, s, err);
}

int aoei_word_index_add(aoei_word_index *w, uint32_t number, aoe_text text, aoe_error *err) {
    sqlite3_stmt *s;
    aoei_buffer words = {0};
    int code = add_document(w, number, err);
    if (!code)
        code = aoei_words_text(&words, text, err);
    if (!code)
        code = aoei_db_prepare(&w->db, "INSERT INTO words (rowid, w) VALUES (?1, ?2)", &s, err);
    if (!code) {
        (void)sqlite3_bind_int64(s, 1, number);
        aoei_bind_text(s, 2, (aoe_text){words.data, words.len});
        code = aoei_db_finish(&w->db, s, err);
    }
    aoei_buffer_free(&words);
    return code;
}

int aoei_word_index_finish(aoei_word_index *w, aoe_error *err) {
    const int code = aoei_db_run(&w->db, "COMMIT", err);
    return code ? code : aoei_lengths_read(&w->lengths, &w->db, err);
}

void aoei_word_index_free(aoei_word_index *w) {
    aoei_locator_destroy(&w->locator);
    aoei_lengths_free(w->lengths);
    aoei_db_close(&w->db);
    *w = (aoei_word_index){0};
}

static int search(aoei_word_index *w, aoei_lexical *l, aoe_text query, size_t k, aoe_error *err) {
    return aoei_lexical_search(l, &w->db, w->lengths, query, NULL, k, &w->locator, err);
}

int aoei_word_index_search(aoei_word_index *w, aoe_text query, size_t k, aoei_neighbor *best, aoe_error *err) {
    aoei_lexical l = {0};
    const int code = search(w, &l, query, k, err);
    aoei_best_clear(best, k);
    for (size_t i = 0; !code && i < l.n_best && i < k; i++)
        best[i] = (aoei_neighbor){(float)l.best[i].score, (uint32_t)l.best[i].passage};
    aoei_lexical_free(&l);
    return code;
}

int aoei_word_index_fuse(aoei_word_index *w, aoe_text query, aoei_weights weights, size_t k, aoei_neighbor *best,
                         aoe_error *err) {
    aoei_lexical l = {0};
    const size_t depth = k > AOEI_FUSION_DEPTH ? k : AOEI_FUSION_DEPTH;
    int code = search(w, &l, query, depth, err);
    aoei_ranked *dense = aoei_malloc_array(k + 1, sizeof *dense);
    aoei_found *found = aoei_malloc_array(k + l.n_best + 1, sizeof *found);
    if (!code && (!dense || !found))
        code = aoei_fail_nomem(err, (k + l.n_best) * sizeof *found);
    size_t n = 0;
    for (; !code && n < k && best[n].text != AOEI_NO_TEXT; n++) {
        dense[n] = (aoei_ranked){.passage = best[n].text, .score = best[n].score};
        code = aoei_locate_passage(&w->locator, dense[n].passage, &dense[n].place, err);
    }
    if (!code) {
        n = aoei_fuse(found, (aoei_fusion_list){.best = dense, .n = n, .weight = weights.dense},
                      aoei_lexical_list(&l, weights.lexical));
        aoei_best_clear(best, k);
        for (size_t i = 0; i < n && i < k; i++)
            best[i] = (aoei_neighbor){(float)found[i].ranked.score, (uint32_t)found[i].ranked.passage};
    }
    aoei_free(dense);
    aoei_free(found);
    aoei_lexical_free(&l);
    return code;
}
