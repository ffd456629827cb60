/* SPDX-License-Identifier: MIT
 * Compaction and verification as public functions.
 *
 * Verification reads everything: the pages of the database, the checksums of the vectors, the hashes of the texts, and
 * the numbers that connect documents, passages and vectors. It compares the word index with the texts. A writer also
 * lets FTS5 check the structure of the word index, because this needs a statement that could write.
 */
#include <stdio.h>
#include <string.h>

#include "aoe_index.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "index/compact.h"
#include "index/extents.h"
#include "index/index_write.h"
#include "index/queue.h"
#include "index/reader.h"
#include "index/word_check.h"
#include "index/writer.h"

/* What a verification found. */
typedef struct findings {
    char first[512];  /* the first damage, or "" */
    size_t documents; /* documents with damaged texts */
    size_t suspects;  /* documents with a wrong checksum; as it is that of many vectors, only some are damaged */
    int structure;    /* 1: damage that repairing does not remove */
    int64_t *given;   /* [n_given] ids of the damaged documents whose vectors the caller gave; owned */
    size_t n_given, given_capacity;
} findings;

int aoe_index_compact(aoe_index *index, aoe_error *err) {
    AOEI_CHECK(err, index);
    int rc = aoei_write_begin(index, err); /* also fails if the index is open for reading */
    if (!rc)
        rc = aoei_write_commit(index, err);
    return rc ? rc : aoei_compact(index, AOEI_COMPACT_IDS, err);
}

static void found(findings *f, const char *what, const char *name) {
    if (!f->first[0])
        (void)snprintf(f->first, sizeof f->first, "%s%s%.300s", what, name ? " " : "", name ? name : "");
}

/* Lets SQLite check its pages and the relation between tables and their indexes. */
static int check_pages(aoei_db *d, findings *f, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(d, "PRAGMA integrity_check(1)", &stmt, err);
    if (!rc)
        rc = aoei_db_step(d, stmt, err);
    if (rc < 0)
        return rc;
    const aoe_text result = rc == 1 ? aoei_column_text(stmt, 0) : (aoe_text){"", 0};
    if (strcmp(result.data, "ok") != 0) {
        found(f, "the database is malformed:", result.data);
        f->structure = 1;
    }
    aoei_db_reset(stmt);
    return 0;
}

/* Compares the numbers of documents, passages and rows. */
static int check_numbers(aoei_db *d, const aoei_view *v, findings *f, aoe_error *err) {
    static const char wrong[] =
        "SELECT name FROM documents WHERE n_passages < 0 OR (n_passages > 0 AND (first_passage IS NULL OR first_row IS "
        "NULL)) OR n_passages <> (SELECT count(*) FROM passages p WHERE p.id >= first_passage AND p.id < first_passage "
        "+ n_passages AND p.document = documents.id AND p.row = first_row + p.id - first_passage) LIMIT 1";
    sqlite3_stmt *stmt;
    int64_t passages, sum;
    int rc = aoei_db_prepare(d, wrong, &stmt, err);
    if (!rc && (rc = aoei_db_step(d, stmt, err)) == 1) {
        found(f, "the passages do not belong to the document", aoei_column_text(stmt, 0).data);
        f->structure = 1;
        aoei_db_reset(stmt);
        rc = 0;
    }
    if (!rc)
        rc = aoei_db_number(d, "SELECT count(*) FROM passages", &passages, err);
    if (!rc)
        rc = aoei_db_number(d, "SELECT total(n_passages) FROM documents", &sum, err);
    if (!rc && (passages != sum || (uint64_t)passages != v->live_rows)) {
        found(f, "the numbers of passages and vectors differ", NULL);
        f->structure = 1;
    }
    return rc;
}

/* Returns 1 if one of the rows of a document is damaged or does not belong to documents. */
static int has_bad_row(const aoei_view *v, const uint64_t *bad, int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; i++)
        if (!aoei_view_is_live(v, (size_t)i) || (bad[i / 64] >> (i % 64) & 1))
            return 1;
    return 0;
}

static int add_given(findings *f, int64_t document, aoe_error *err) {
    if (aoei_grow((void **)&f->given, &f->given_capacity, f->n_given, sizeof *f->given))
        return aoei_fail_nomem(err, f->n_given * sizeof *f->given);
    f->given[f->n_given++] = document;
    return 0;
}

/* Checks the checksums of the vectors, and counts the documents to which wrong ones belong. */
static int check_vectors(aoei_db *d, const aoei_view *v, findings *f, aoe_error *err) {
    uint64_t *bad;
    size_t n_bad;
    sqlite3_stmt *stmt;
    int rc = aoei_extents_check(&bad, &n_bad, d, v, err);
    if (rc)
        return rc;
    rc = aoei_db_prepare(d,
                         "SELECT name, first_row, n_passages, id, EXISTS (SELECT 1 FROM passages p WHERE p.id = "
                         "first_passage AND p.given <> 0) FROM documents WHERE n_passages > 0 ORDER BY name",
                         &stmt, err);
    while (!rc && (rc = aoei_db_step(d, stmt, err)) == 1) {
        const int64_t first = sqlite3_column_int64(stmt, 1), n = sqlite3_column_int64(stmt, 2);
        rc = 0;
        if (first < 0 || n > (int64_t)v->rows || first > (int64_t)v->rows - n || has_bad_row(v, bad, first, n)) {
            found(f, "a checksum of vectors is wrong, among them those of the document",
                  aoei_column_text(stmt, 0).data);
            f->suspects++;
            if (sqlite3_column_int(stmt, 4))
                rc = add_given(f, sqlite3_column_int64(stmt, 3), err);
        }
    }
    if (rc)
        aoei_db_reset(stmt);
    aoei_free(bad);
    return rc;
}

/* Compares the hashes of all texts. */
static int check_texts(aoei_db *d, findings *f, aoe_error *err) {
    sqlite3_stmt *stmt;
    int64_t last = -1;
    int rc = aoei_db_prepare(d,
                             "SELECT p.heading, p.text, p.hash, p.document, coalesce(d.name, '') FROM passages p LEFT "
                             "JOIN documents d ON d.id = p.document ORDER BY p.id",
                             &stmt, err);
    while (!rc && (rc = aoei_db_step(d, stmt, err)) == 1) {
        const uint64_t hash = aoei_passage_hash(aoei_column_text(stmt, 0), aoei_column_text(stmt, 1));
        rc = 0;
        if (hash == (uint64_t)sqlite3_column_int64(stmt, 2) || sqlite3_column_int64(stmt, 3) == last)
            continue;
        last = sqlite3_column_int64(stmt, 3);
        found(f, "a text differs from its hash in the document", aoei_column_text(stmt, 4).data);
        f->structure = 1;
        f->documents++;
    }
    if (rc)
        aoei_db_reset(stmt);
    return rc;
}

/* Compares the word index with the texts. */
static int compare_words(const aoe_index *index, aoei_db *d, findings *f, aoe_error *err) {
    const char *damage;
    const int rc = aoei_word_check(d, index->settings.stem, &damage, err);
    if (!rc && damage)
        found(f, damage, NULL);
    return rc;
}

/* Lets FTS5 check the structure of the word index. */
static int check_words(aoe_index *index, findings *f, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    if (!w || w->in_transaction)
        return 0;
    const int rc = aoei_db_run(&w->db, "INSERT INTO words (words) VALUES ('integrity-check')", err);
    if (rc != AOE_EFORMAT)
        return rc;
    found(f, "the word index is malformed", NULL);
    return 0;
}

/* Fails if something is damaged. */
static int report(const aoe_index *index, const findings *f, aoe_error *err) {
    char count[64] = "";
    const size_t n = f->documents + f->suspects;
    if (!f->first[0])
        return 0;
    if (n)
        (void)snprintf(count, sizeof count, " (%s%zu damaged document%s)", f->suspects > 1 ? "up to " : "", n,
                       n == 1 ? "" : "s");
    return aoei_fail(err, AOE_EFORMAT, "%s: the index is damaged: %s%s; %s", index->dir, f->first, count,
                     f->structure ? "create the index again" : "repair the index, which needs its model");
}

static int verify(aoe_index *index, findings *f, aoe_error *err) {
    aoei_reader *r;
    int rc = aoei_reader_begin_damaged(&r, index, err);
    if (rc)
        return rc;
    rc = check_pages(&r->db, f, err);
    if (!rc)
        rc = check_numbers(&r->db, r->view, f, err);
    if (!rc)
        rc = check_vectors(&r->db, r->view, f, err);
    if (!rc)
        rc = check_texts(&r->db, f, err);
    if (!rc)
        rc = compare_words(index, &r->db, f, err);
    int changed;
    rc = aoei_reader_finish(r, rc, &changed, err);
    return rc ? rc : check_words(index, f, err);
}

/* Records that the model computed the vectors of documents for which the caller had given them, so that the caller can
 * give them again. */
static int forget_given(aoe_index *index, const findings *f, aoe_error *err) {
    static const char *const sql[] = {"UPDATE documents SET hash = 0 WHERE id = ?1",
                                      "UPDATE passages SET given = 0 WHERE document = ?1"};
    sqlite3_stmt *stmt;
    int rc = f->n_given ? aoei_write_begin(index, err) : 0;
    for (size_t i = 0; !rc && i < 2 * f->n_given; i++) {
        rc = aoei_db_prepare(&index->writer->db, sql[i % 2], &stmt, err);
        if (rc)
            break;
        (void)sqlite3_bind_int64(stmt, 1, f->given[i / 2]);
        rc = aoei_db_finish(&index->writer->db, stmt, err);
    }
    if (rc || !f->n_given)
        return rc;
    aoei_log_write(&index->log, AOE_LOG_WARNING,
                   "%s: the damaged vectors of %zu document%s had been given; the model computed them, so give them "
                   "again",
                   index->dir, f->n_given, f->n_given == 1 ? "" : "s");
    return aoei_write_commit(index, err);
}

/* Repairs what was found, and verifies again. */
static int repair_found(aoe_index *index, const findings *before, aoe_error *err) {
    findings f = {.first = ""};
    int rc = aoei_compact(index, AOEI_COMPACT_REPAIR, err);
    if (rc)
        return rc;
    index->repair = 0;
    rc = forget_given(index, before, err);
    if (!rc)
        rc = verify(index, &f, err);
    aoei_free(f.given);
    return rc ? rc : report(index, &f, err);
}

int aoe_index_verify(aoe_index *index, int repair, aoe_error *err) {
    AOEI_CHECK(err, index);
    findings f = {.first = ""};
    if (repair && (!index->writer || !index->embedder))
        return aoei_fail(err, AOE_EARG, "%s: repairing an index needs AOE_INDEX_WRITE and an embedder", index->dir);
    int rc = index->writer && index->writer->in_transaction ? aoei_write_commit(index, err) : 0;
    if (!rc)
        rc = verify(index, &f, err);
    if (!rc && f.first[0])
        rc = !repair || f.structure ? report(index, &f, err) : repair_found(index, &f, err);
    aoei_free(f.given);
    return rc;
}
