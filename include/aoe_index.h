/* SPDX-License-Identifier: MIT
 * aoe_index.h: stores documents and their embeddings in a directory on disk, and searches them by meaning, by words, or
 * by both. docs/search.md describes the directory, the ranking and all guarantees. This interface is experimental: it
 * may change before version 1.0.
 *
 * An index is a directory with an SQLite database and files of vectors. Any number of threads and processes may search
 * an index while one writer changes it. A search uses the last commit. After a crash, a killed process or a full disk,
 * the last commit can be opened.
 */
#ifndef AOE_INDEX_H
#define AOE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open index. Several threads may search one index at the same time. Functions that change it are called by one
 * thread at a time, and no other thread uses the index during aoe_index_close. An index borrows its embedder. A child
 * process that fork() created must not use an index of its parent; it opens the index again. */
typedef struct aoe_index aoe_index;

typedef enum aoe_index_access {
    AOE_INDEX_READ, /* the index must exist, and it is not changed */
    AOE_INDEX_WRITE /* the index is created if it does not exist; only one writer at a time, among all processes */
} aoe_index_access;

/* What is stored of a vector, in addition to its int8 codes and its signs, for the final scores. */
typedef enum aoe_index_store {
    AOE_INDEX_F32,  /* float32 */
    AOE_INDEX_BF16, /* bfloat16 */
    AOE_INDEX_INT8  /* nothing; the scores are those of the int8 codes */
} aoe_index_store;

/* The first three settings are stored in a new index and cannot be changed later. Opening an existing index with other
 * values fails. AOE_AUTO stands for the setting of the index. */
typedef struct aoe_index_options {
    size_t struct_size;    /* set by aoe_index_options_defaults */
    size_t passage_tokens; /* tokens of a passage; AOE_AUTO (default): 400 in a new index. A passage never exceeds the
                              maximum length of the model */
    int store;             /* an aoe_index_store; AOE_AUTO (default): AOE_INDEX_F32 in a new index */
    int stem;              /* 1: English words are reduced to their stems (Porter) for lexical search; 0: they are not;
                              AOE_AUTO (default): 1 in a new index */
    const char *model;     /* name of the model, for messages and for aoe_index_model; NULL (default): unknown */
    int create_only;       /* 1: opening fails with AOE_EEXIST if the index exists; default 0 */
    int repair; /* 1: an index whose vector files are damaged is opened, so that aoe_index_verify can repair it; default
                   0: opening it fails */
    aoe_log_fn log; /* receives each message; NULL (default): messages are discarded */
    void *log_user; /* first argument of log */
    double wait;    /* seconds to wait for another process that writes to the index or has locked its database, at most
                       3600; default 3. On a network file system, at least 5 seconds for a locked database */
} aoe_index_options;

AOE_OPTIONS(aoe_index_options);

/* Opens the index in the directory `dir`. embedder: its model must be the model of the index; required for creating an
 * index. NULL: texts cannot be embedded, so only lexical search and maintenance are possible, and aoe_index_add needs
 * vectors. access: AOE_INDEX_WRITE waits options.wait seconds while another process writes to the index. On a network
 * file system, readers and the writer wait for each other. An index in a read-only directory can be read. The caller
 * calls aoe_index_close. Errors: AOE_ENOENT (AOE_INDEX_READ: there is no index), AOE_EEXIST (another process writes to
 * the index; options.create_only; the directory is not empty and is not an index), AOE_EMISMATCH (other settings;
 * another model, prompt, pooling or embedding size), AOE_EFORMAT (damaged, or a database of another program),
 * AOE_EUNSUPPORTED (created by a newer version, or on a machine with another byte order; a network or read-only file
 * system needs a writer first), AOE_EIO (also if another program has locked the database), AOE_ENOSPC. */
AOE_API int aoe_index_open(aoe_index **index, const char *dir, aoe_index_access access,
                           aoe_embedder *AOE_NULLABLE embedder, const aoe_index_options *AOE_NULLABLE o,
                           aoe_error *AOE_NULLABLE err);
/* Sets the embedder of an index that was opened without one, so that a program can open the index first, and its model
 * at the same time as aoe_index_is_current and aoe_index_preload run in another thread. No other thread may search or
 * change the index during the call. Errors: AOE_EMISMATCH (see aoe_index_open), AOE_EARG (the index has an embedder),
 * and those of aoe_embed. */
AOE_API int aoe_index_set_embedder(aoe_index *index, aoe_embedder *embedder, aoe_error *AOE_NULLABLE err);
/* Closes the index. Changes that were not committed are lost. */
AOE_API void aoe_index_close(aoe_index *AOE_NULLABLE index);
/* Writes the name of the model that options.model contained when the index in `dir` was created to name[size],
 * NUL-terminated; "" if unknown. The program can then open this model for aoe_index_open. Errors: see aoe_index_open;
 * AOE_EARG (size is too small). */
AOE_API int aoe_index_model(const char *dir, char *name, size_t size, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------------ documents */

typedef struct aoe_index_field { /* metadata of a document */
    const char *key;             /* such as "year" */
    aoe_text value;              /* a value with the form of a number is compared as a number */
} aoe_index_field;

/* Format of a document, which decides where it is divided into passages. */
typedef enum aoe_index_kind {
    AOE_INDEX_AUTO, /* by the extension of the name: .md, .html, source code; otherwise plain text */
    AOE_INDEX_TEXT, /* plain text */
    AOE_INDEX_MARKDOWN,
    AOE_INDEX_HTML, /* only the visible text is stored */
    AOE_INDEX_CODE  /* source code */
} aoe_index_kind;

typedef struct aoe_index_document {
    size_t struct_size; /* set by the caller */
    const char *name;   /* identifies the document; a document with the same name is replaced. UTF-8, not empty */
    aoe_text text;
    aoe_index_kind kind;
    const char *title;            /* first part of the heading of each passage; NULL: none */
    const aoe_index_field *field; /* [n_fields] metadata; NULL if n_fields is 0 */
    size_t n_fields;
    const float *vector; /* [D] embedding of the document, which becomes one passage; NULL: the passages are embedded */
} aoe_index_document;

/* Adds or replaces n documents. Other readers see them after aoe_index_commit. A passage whose text is already in the
 * index keeps its vector. A document that is equal to the one in the index is not changed. If the function fails, no
 * document of this call was added; if the message says that the changes since the last commit are lost, nothing else
 * was added either. Errors: AOE_EFORMAT (invalid UTF-8, no name), AOE_ENUMERIC (a vector is not finite), AOE_EARG (the
 * index is open for reading; a document needs an embedder), AOE_EIO, AOE_ENOSPC. */
AOE_API int aoe_index_add(aoe_index *index, const aoe_index_document *documents, size_t n, aoe_error *AOE_NULLABLE err);
/* Removes documents by name. A name that ends with '/' stands for all documents whose names begin with it. A file of a
 * folder can also be given by its absolute path, and the files of a folder by its absolute path with '/' at its end.
 * *removed is set to the number of documents that existed. If the function fails, no document of this call was
 * removed. */
AOE_API int aoe_index_remove(aoe_index *index, const char *const *names, size_t n, size_t *AOE_NULLABLE removed,
                             aoe_error *AOE_NULLABLE err);
/* Makes the changes since the last commit durable, and visible to other readers. If many vectors of removed passages
 * have accumulated, the index is then compacted. If the function fails, the changes since the last commit are lost (if
 * the message says that they may be lost, a later opening decides), and the index remains usable. Errors: AOE_EIO,
 * AOE_ENOSPC. */
AOE_API int aoe_index_commit(aoe_index *index, aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------- folders and tables */

/* A folder of documents, a table, or a .txt file with one text per line. */
typedef struct aoe_index_source {
    size_t struct_size; /* set by the caller */
    const char *path;
    const char *text_column;    /* tables: column of texts; NULL: "text", or the only column with a recognized name */
    const char *id_column;      /* tables: column with the names of documents; NULL: a name is FILE:LINE */
    const char *const *exclude; /* [n_exclude] patterns as in .gitignore; NULL (default): those of the record of this
                                   path, or none */
    size_t n_exclude;
    const float *vectors; /* tables: [n_vectors, D] embeddings computed elsewhere, one per row; NULL: computed */
    size_t n_vectors;     /* must be the number of rows of the table, if `vectors` is not NULL */
} aoe_index_source;

/* A program that converts files to text. It is started without a shell, and writes UTF-8 text to its standard
 * output. */
typedef struct aoe_index_filter {
    size_t struct_size;      /* set by the caller */
    const char *pattern;     /* names of files, such as "*.pdf" */
    const char *const *argv; /* [n] program and arguments; each argument "-" is replaced by the path of the file */
    size_t n;
} aoe_index_filter;

typedef struct aoe_index_progress {
    size_t struct_size;          /* set by the library */
    size_t files, total_files;   /* files that are finished, and all files that were found */
    uint64_t bytes, total_bytes; /* bytes of these files */
    size_t passages;             /* passages embedded so far */
    const char *file;            /* current file, borrowed for the call */
} aoe_index_progress;

typedef struct aoe_index_update_options {
    size_t struct_size;             /* set by aoe_index_update_options_defaults */
    const aoe_index_filter *filter; /* [n_filters] programs in addition to pdftotext and pandoc; NULL (default): none */
    size_t n_filters;
    double budget; /* seconds; 0 (default): no limit. If reading and embedding what changed would take longer, the rest
                      is left out, and result.left_out counts it */
    double commit_seconds; /* time between commits; default 30 */
    int own_only;          /* 1: only sources inside the folder that contains the index; default 0 */
    int (*progress)(void *user, const aoe_index_progress *progress); /* returns 0 to continue; otherwise the
                                                                        finished files are committed, and the function
                                                                        returns AOE_ECANCELLED; NULL (default): none */
    void *user;                                                      /* first argument of progress */
    aoe_index *compared; /* the same index, open for reading, for which aoe_index_is_current found a difference: its
                            list of files is used up instead of making it again, unless the index has changed since
                            then; NULL (default): none */
} aoe_index_update_options;

AOE_OPTIONS(aoe_index_update_options);

typedef struct aoe_index_update_result {
    size_t struct_size;                        /* set by the caller */
    size_t added, changed, removed, unchanged; /* documents */
    size_t passages;                           /* passages written */
    size_t reused;                             /* how many of them have a vector that was already in the index */
    size_t skipped_binary, skipped_unreadable, skipped_program, skipped_other; /* files that were not indexed: without
                                                                                  text, unreadable files, files whose
                                                                                  program is missing or failed, others
                                                                                */
    size_t left_out;         /* changed files that options.budget left out */
    size_t tokens;           /* tokens of the passages that were embedded */
    size_t missing_programs; /* files of skipped_program whose program is not installed */
    size_t skipped_large, skipped_special, skipped_link, skipped_name; /* files of skipped_other: with more than
                                                                          256 MiB; devices, FIFOs and sockets; symbolic
                                                                          links to missing files or out of the folder;
                                                                          names with control characters or invalid
                                                                          UTF-8. The rest changed while it was read */
    size_t computed; /* new or changed rows whose vectors the model computed, although vectors were given for the other
                        rows of their table; a warning names the table */
} aoe_index_update_result;

/* Brings the index up to date with its sources, and commits: adds what is new, replaces what changed, and removes what
 * is gone. sources: [n] are recorded in the index, or replace the record of the same path; n = 0: only the recorded
 * sources. With n > 0, a recorded source that does not exist and is not in `sources` keeps its documents, and the log
 * names it. Changes before the call are committed first. If the index was copied or moved and `sources` contains all of
 * its sources outside the folder that contains it, its new place is recorded (aoe_index_stats.created_here), with the
 * name of the model in aoe_index_options.
 *
 * A file is read only if its size, its times or its inode differ from the record, or if it was modified less than two
 * seconds before it was recorded. It is replaced only if its contents changed. A renamed file keeps its vectors.
 *
 * The name of a document is its path relative to the source. If the index has several sources, the name begins with
 * the path of the source, relative to the folder that contains the index if the source is inside it. Fields: ext (such
 * as "md"), modified (such as "2026-01-31T12:00:00Z"), and YAML or TOML front matter: the items of a list are
 * several values of a key, and a value in a map has the key "outer.inner". The keys name, path, ext and modified of
 * front matter become "meta.name", "meta.path", "meta.ext" and "meta.modified".
 *
 * Errors: AOE_ENOENT (a source does not exist, or a folder contains no files any more although the index has some; in
 * the first case nothing is changed, in the second case the documents of this folder are kept), AOE_EFORMAT (a table
 * without the column of texts; a bad row; a damaged ignore file), AOE_EARG, AOE_EIO, AOE_ENOSPC, AOE_ECANCELLED. After
 * an error, the index is that of the last commit of this call. Files that cannot be read are no error: result counts
 * them, and the log names the first ones. docs/search.md has all rules. */
AOE_API int aoe_index_update(aoe_index *index, const aoe_index_source *AOE_NULLABLE sources, size_t n,
                             const aoe_index_update_options *AOE_NULLABLE o,
                             aoe_index_update_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Sets *is_current to 1 if aoe_index_update without sources would change nothing and log nothing, otherwise to 0. It is
 * also 0 if files have new times, but an update would find that their contents did not change. Compares the files of
 * the recorded sources with the records of the last commit, and reads no file. Writes nothing and takes no lock, so the
 * index can be open for reading, and other threads can search it during the call. o: filter, n_filters, own_only,
 * progress and user as in aoe_index_update; the other options are ignored. Errors: AOE_ENOENT (a source does not
 * exist), AOE_EFORMAT (the index or an ignore file is damaged), AOE_EARG (the index has no source), AOE_EIO,
 * AOE_ECANCELLED. */
AOE_API int aoe_index_is_current(aoe_index *index, const aoe_index_update_options *AOE_NULLABLE o, int *is_current,
                                 aoe_error *AOE_NULLABLE err);
/* Removes the record of the source with this path, which need not exist any more, and its documents. *removed is set to
 * their number. aoe_index_commit makes the change durable. Errors: AOE_ENOENT (the index has no such source), and those
 * of aoe_index_remove. */
AOE_API int aoe_index_remove_source(aoe_index *index, const char *path, size_t *AOE_NULLABLE removed,
                                    aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------------------ search */

typedef enum aoe_index_mode {
    AOE_INDEX_HYBRID, /* reciprocal rank fusion of the two others */
    AOE_INDEX_DENSE,  /* cosine of embeddings */
    AOE_INDEX_LEXICAL /* BM25 of words */
} aoe_index_mode;

typedef struct aoe_index_search_options {
    size_t struct_size;  /* set by aoe_index_search_options_defaults */
    size_t k;            /* maximum number of hits; default 10 */
    aoe_index_mode mode; /* default AOE_INDEX_HYBRID */
    const char *where;   /* condition on metadata, such as "year >= 2020 and lang = 'en'"; NULL (default): none */
    double min_score;    /* hits with a lower score are left out; NaN (default): none. The score is the cosine (DENSE),
                            BM25 (LEXICAL) or the fused score (HYBRID), which is at most 0.0492 with these weights;
                            docs/search-ranking.md has measured values */
    double dense_weight, lexical_weight; /* HYBRID: weights of the two halves; default 1 and 0.8 */
    int fast; /* 1: scan the signs of the vectors instead of the int8 codes, which is faster but not exact; default 0 */
    /* Patterns for the documents to search, such as "src/"; NULL (default): all documents. A pattern is compared with
     * the name of a document and with its path in the indexed folder or, if it begins with a slash, with the absolute
     * path of its file. It stands for a file or for everything below a folder. * matches any characters, also slashes,
     * ? one character, and ASCII letters of both cases are equal. One pattern must match; documents that match one with
     * ! before it are left out. */
    const char *const *path; /* [n_paths] */
    size_t n_paths;
} aoe_index_search_options;

AOE_OPTIONS(aoe_index_search_options);

typedef struct aoe_index_hit {
    size_t struct_size;           /* set by the library */
    const char *id;               /* id of the passage, 12 hexadecimal digits, a hash of document name and position */
    const char *name;             /* name of the document */
    const char *path;             /* path of its file, absolute; NULL: the document is not a file */
    const char *heading;          /* path of headings, "A > B"; "" if there is none */
    aoe_text text;                /* the passage */
    size_t line, last_line;       /* lines of the passage in the document, counted from 1; 0: unknown */
    double score;                 /* score of options.mode; NaN: not the result of a search */
    size_t dense_rank;            /* rank by cosine, counted from 1; 0: not among the first ones */
    size_t lexical_rank;          /* rank by BM25, counted from 1; 0: not among the first ones */
    double cosine, bm25;          /* scores of both halves; NaN: not computed */
    const aoe_index_field *field; /* [n_fields] metadata of the document */
    size_t n_fields;
} aoe_index_hit;

typedef struct aoe_index_hits {
    size_t struct_size;       /* set by the caller */
    void *memory;             /* private */
    size_t n;                 /* number of hits */
    const aoe_index_hit *hit; /* [n] best first; owned by this struct, with all strings */
    const char *const *term;  /* [n_terms] words of the query that were searched; owned by this struct */
    size_t n_terms;
    int stems; /* 1: passages were searched for words with the same English stems as these words */
} aoe_index_hits;

/* Finds the best passages for a query. hits: the caller sets struct_size and calls aoe_index_hits_free; after a
 * failure, it is empty. Hits with equal scores are ordered by the name of their document, then by their position. If
 * mode is HYBRID and the query has no words, or the index was opened without an embedder, the hits are those of the
 * other half alone. Errors: AOE_EARG (an option is out of range, the condition is wrong, the query is empty or not
 * valid UTF-8, mode is DENSE and there is no embedder), AOE_EFORMAT (the index is damaged), AOE_EIO, AOE_ENOMEM, and
 * those of aoe_embed_queries. */
AOE_API int aoe_index_search(aoe_index *index, aoe_text query, const aoe_index_search_options *AOE_NULLABLE o,
                             aoe_index_hits *hits, aoe_error *AOE_NULLABLE err);
/* Like n calls of aoe_index_search in the same state of the index, but the queries are embedded together and the
 * vectors are scanned once for many queries. queries, hits: [n]. If the function fails, all hits are empty. */
AOE_API int aoe_index_search_many(aoe_index *index, const aoe_text *queries, size_t n,
                                  const aoe_index_search_options *AOE_NULLABLE o, aoe_index_hits *hits,
                                  aoe_error *AOE_NULLABLE err);
/* Reads what the first search by words would read: the lengths of all passages. A call is never necessary, but can save
 * time if it runs in another thread. Errors: AOE_EFORMAT (the index is damaged), AOE_EIO, AOE_ENOMEM. */
AOE_API int aoe_index_preload(aoe_index *index, aoe_error *AOE_NULLABLE err);
/* Frees the hits. The struct can be used for another search. */
AOE_API void aoe_index_hits_free(aoe_index_hits *AOE_NULLABLE hits);
/* Reads the passages of a document that contain one of `count` lines from `line` on; line = 0: all of its passages.
 * name_or_id: the name of a document, the absolute path of its file, or the id of a passage, for which the lines are
 * ignored. The hits are in the order of the document, and their scores are NaN. If passages of several documents have
 * the same id (a hash of 48 bits), the hits are all of them. Errors: AOE_ENOENT (there is no such
 * document, passage or line), and those of aoe_index_search. */
AOE_API int aoe_index_get(aoe_index *index, const char *name_or_id, size_t line, size_t count, aoe_index_hits *hits,
                          aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------------ maintenance */

typedef struct aoe_index_stats {
    size_t struct_size;         /* set by the caller */
    size_t documents, passages; /* number of documents and passages */
    size_t dims;                /* D */
    size_t removed_rows;        /* vectors of removed passages that are still in the files */
    size_t sources;             /* recorded folders and tables */
    uint64_t database_bytes;    /* size of the database, with its journal */
    uint64_t vector_bytes;      /* size of the vector files */
    aoe_index_store store;
    size_t passage_tokens;
    int stem;
    const char *model;             /* name of the model, "" if unknown; owned by the index */
    const char *created, *updated; /* times of the creation and of the last commit, in ISO 8601, UTC; owned by the index
                                      until the next call */
    uint64_t commits;              /* number of commits */
    int created_here; /* 1: the directory was created on this machine at this place, or aoe_index_update has recorded
                         this place, and its files belong to the effective user or to root; 0: it is a copy, or another
                         user can change it, so that the paths of its sources may be those of somebody else */
} aoe_index_stats;

/* Sets *stats to numbers of the last commit. */
AOE_API int aoe_index_get_stats(aoe_index *index, aoe_index_stats *stats, aoe_error *AOE_NULLABLE err);
/* Commits, and rewrites the vector files without removed rows, the word index in one segment, and the database without
 * free pages. Readers of earlier commits are not disturbed. If the function fails after the commit, the index is
 * unchanged. Errors: AOE_EFORMAT (the index is damaged), AOE_EARG (open for reading), AOE_EIO, AOE_ENOSPC. */
AOE_API int aoe_index_compact(aoe_index *index, aoe_error *AOE_NULLABLE err);
/* Commits, reads the whole index and compares it with its checksums. repair: 1: passages with damaged vectors are
 * embedded again, and the word index is built again; this needs AOE_INDEX_WRITE and an embedder. Errors: AOE_EFORMAT
 * (the index is damaged; the message contains the first damage, the largest possible number of damaged documents,
 * because a checksum is that of many vectors, and what to do), AOE_EARG (cannot be repaired without an embedder),
 * AOE_EIO, AOE_ENOSPC. */
AOE_API int aoe_index_verify(aoe_index *index, int repair, aoe_error *AOE_NULLABLE err);
/* Sets *recall to the share of the k nearest neighbors that the fast scan also finds, over n_queries stored vectors
 * that are drawn with a fixed seed; 1 if the index is empty. Errors: AOE_EARG (no embedder; k or n_queries is 0). */
AOE_API int aoe_index_recall(aoe_index *index, size_t k, size_t n_queries, double *recall, aoe_error *AOE_NULLABLE err);

/* Receives a passage and its vector[D]; both are borrowed until it returns. Returns 0 to continue; otherwise the
 * iteration ends with this value, and the function may fill *err. */
typedef int (*aoe_index_passage_fn)(void *user, const aoe_index_hit *passage, const float *vector,
                                    aoe_error *AOE_NULLABLE err);
/* Calls fn with each passage of the last commit, in the order of document names and positions. The fields for scores
 * are NaN. Errors: AOE_EFORMAT (damaged), AOE_EIO, and those of fn. */
AOE_API int aoe_index_each(aoe_index *index, aoe_index_passage_fn fn, void *AOE_NULLABLE user,
                           aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
