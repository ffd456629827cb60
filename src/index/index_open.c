/* SPDX-License-Identifier: MIT
 * Opens, creates and closes an index, and compares its settings and its model with those of the caller.
 *
 * To recognize its model, an index stores the embeddings of a fixed text, once as a query and once as a document. The
 * embedder must compute the same vectors, except for rounding in other data types and instruction sets. Another model,
 * pooling or prompt, and a newer version of the same model, give other vectors.
 */
#include "index/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "index/changes.h"
#include "index/place.h"
#include "index/model_check.h"
#include "index/reader.h"
#include "index/update_plan.h"
#include "index/writer.h"

#define MAX_DIMS       65536
#define DEFAULT_TOKENS 400
#define MAX_WAIT       3600 /* seconds */
#define CREATE_TRIES   100

/* Compares the model of the embedder, if there is one, with that of the index. */
static int check_model(const aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    return index->embedder ? aoei_model_check(&index->settings, index->dir, index->embedder, o->model, err) : 0;
}

/* Compares the options with the settings of an existing index. */
static int check_settings(const aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    static const char *const stores[] = {"f32", "bf16", "int8"};
    const aoei_index_settings *s = &index->settings;
    if (o->passage_tokens != AOE_AUTO && o->passage_tokens != s->passage_tokens)
        return aoei_fail(err, AOE_EMISMATCH,
                         "%s: the passages of the index have %zu tokens, not %zu; create another index, or omit this "
                         "option",
                         index->dir, s->passage_tokens, o->passage_tokens);
    if (o->store != AOE_AUTO && o->store != (int)s->store)
        return aoei_fail(err, AOE_EMISMATCH,
                         "%s: the index stores vectors as %s, not %s; create another index, or omit this option",
                         index->dir, stores[s->store], stores[o->store]);
    if (o->stem != AOE_AUTO && !o->stem != !s->stem)
        return aoei_fail(err, AOE_EMISMATCH,
                         "%s: the index was created %s stemming; create another index, or omit this option", index->dir,
                         s->stem ? "with" : "without");
    return 0;
}

static int check_options(aoe_index_access access, const aoe_index_options *o, aoe_error *err) {
    if (access != AOE_INDEX_READ && access != AOE_INDEX_WRITE)
        return aoei_fail(err, AOE_EARG, "aoe_index_open: argument 'access' is %d; use a value of aoe_index_access",
                         (int)access);
    if (o->passage_tokens == 0 || o->passage_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "options.passage_tokens is %zu; use 1 or more", o->passage_tokens);
    if (o->store != AOE_AUTO && (o->store < AOE_INDEX_F32 || o->store > AOE_INDEX_INT8))
        return aoei_fail(err, AOE_EARG, "options.store is %d; use a value of aoe_index_store", o->store);
    if (!(o->wait >= 0 && o->wait <= MAX_WAIT))
        return aoei_fail(err, AOE_EARG, "options.wait is %g; use a number from 0 to %d", o->wait, MAX_WAIT);
    return 0;
}

/* ----------------------------------------------------------------- creation */

/* Fails if the directory exists, has files, and contains no index. */
static int check_foreign(const char *dir, const char *path, aoe_error *err) {
    char **names;
    size_t n;
    if (!aoei_exists(dir) || aoei_exists(path))
        return 0;
    const int rc = aoei_list_dir(&names, &n, dir, err);
    if (rc)
        return rc;
    aoei_list_free(names, n);
    return n == 0 ? 0
                  : aoei_fail(err, AOE_EEXIST,
                              "%s: the directory is not an index and not empty; choose another directory", dir);
}

/* Fails if a rollback journal names another file, as the journals of transactions on several databases do. SQLite would
 * delete that file. The name is at the end of the journal and is followed by the magic number of journals. */
static int check_journal(const char *path, aoe_error *err) {
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char end[sizeof magic];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : aoei_fail_errno(err, errno, "%s: cannot open the file", path);
    const off_t size = lseek(fd, 0, SEEK_END);
    const ssize_t n = size < (off_t)sizeof end ? 0 : pread(fd, end, sizeof end, size - (off_t)sizeof end);
    const int error = errno;
    (void)close(fd);
    if (size < 0 || n < 0)
        return aoei_fail_errno(err, error, "%s: cannot read the file", path);
    return n < (ssize_t)sizeof end || memcmp(end, magic, sizeof end) != 0
               ? 0
               : aoei_fail(err, AOE_EFORMAT,
                           "%s: this journal names another file, which SQLite would delete. The journals of an index "
                           "never do so; remove the index and create it again",
                           path);
}

/* Fails if a file of the index is a link, a pipe or a device. The directory may come from somebody else, and a link
 * would let the index read or overwrite another file. */
static int check_files(const char *dir, aoe_error *err) {
    char **names;
    size_t n;
    int rc = aoei_list_dir(&names, &n, dir, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < n; i++) {
        struct stat st;
        if (strncmp(names[i], AOEI_INDEX_DATABASE, strlen(AOEI_INDEX_DATABASE)) != 0 &&
            strncmp(names[i], "vectors-", 8) != 0)
            continue;
        char *path = aoei_path_join(dir, names[i]);
        if (!path)
            rc = aoei_fail_nomem(err, strlen(dir));
        else if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: this is a symbolic link or a special file, but an index contains only regular files; "
                           "remove it, or create the index in another directory",
                           path);
        else if (strcmp(names[i], AOEI_INDEX_DATABASE "-journal") == 0)
            rc = check_journal(path, err);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return rc;
}

/* Creates the tables, and the vector files of the first generation, in the open transaction of the writer. */
static int create(aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    aoei_index_settings s = {0};
    if (!index->embedder)
        return aoei_fail(err, AOE_EARG, "%s: creating an index needs an embedder", index->dir);
    int rc = aoei_model_describe(&s, index->embedder, o->model, err);
    if (!rc && s.dims > MAX_DIMS)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: embeddings have %zu components, but an index supports at most %d",
                       index->dir, s.dims, MAX_DIMS);
    if (!rc && !(s.place = aoei_place_identity(index->dir)))
        rc = aoei_fail_nomem(err, 0);
    if (!rc && getrandom(&s.id, sizeof s.id, 0) != (ssize_t)sizeof s.id)
        rc = aoei_fail_errno(err, errno, "cannot read a random number");
    s.passage_tokens = o->passage_tokens == AOE_AUTO ? DEFAULT_TOKENS : o->passage_tokens;
    s.store = o->store == AOE_AUTO ? AOE_INDEX_F32 : (aoe_index_store)o->store;
    s.stem = o->stem == AOE_AUTO || o->stem;
    aoei_time_now(s.created);
    if (!rc)
        rc = aoei_schema_create(&index->writer->db, &s, err);
    aoei_vector_header h[3];
    const size_t n = aoei_view_headers(h, &s, 1);
    for (size_t i = 0; !rc && i < n; i++) {
        aoei_vector_file f = {0};
        char *path = aoei_vector_path(index->dir, h[i].type, 1);
        rc = path ? aoei_vector_file_create(&f, path, &h[i], err) : aoei_fail_nomem(err, 0);
        aoei_vector_file_close(&f);
        aoei_free(path);
    }
    aoei_index_settings_free(&s);
    return rc;
}

/* Chooses the journal of the database. The journal and auto_vacuum are settings of the file; auto_vacuum always writes
 * to it, and has an effect only in a new one. */
static int set_journal(aoe_index *index, int is_new, aoe_error *err) {
    aoei_db *d = &index->writer->db;
    const int rc = is_new ? aoei_db_run(d, "PRAGMA auto_vacuum = INCREMENTAL", err) : 0;
    if (rc)
        return rc;
    if (!aoei_place_is_network(index->dir))
        return aoei_db_run(
            d, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 4194304", err);
    /* With an exclusive lock, SQLite does not need shared memory to read a write-ahead log. cache_spill: without it, a
     * transaction would lock out readers as soon as the cache is full. */
    return aoei_db_run(d,
                       "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA locking_mode = NORMAL; "
                       "PRAGMA synchronous = FULL; PRAGMA cache_spill = OFF; SELECT count(*) FROM sqlite_master",
                       err);
}

/* Opens the database for writing, and creates the tables if it is new. */
static int open_database(aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    aoei_db *d = &index->writer->db;
    int is_new = 0;
    int rc = aoei_db_open(d, index->path, AOEI_DB_WRITE, aoei_reader_wait(index->dir, index->wait_ms), err);
    if (!rc)
        rc = aoei_schema_check(d, &is_new, err); /* before the journal of a foreign database is changed */
    if (!rc)
        rc = set_journal(index, is_new, err);
    if (!rc)
        rc = aoei_db_run(d, "BEGIN IMMEDIATE", err);
    if (!rc)
        rc = aoei_schema_check(d, &is_new, err);
    if (!rc && !is_new && o->create_only)
        rc = aoei_fail(err, AOE_EEXIST, "%s: the index exists; choose another directory", index->dir);
    if (!rc && is_new)
        rc = create(index, o, err);
    if (!rc)
        rc = aoei_db_run(d, "COMMIT", err);
    if (rc && d->db)
        (void)sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
    if (!rc && is_new)
        rc = aoei_sync_dir(index->dir, err);
    if (!rc)
        rc = aoei_index_settings_read(d, &index->settings, err);
    return rc;
}

/* Makes the directory, and locks it. A process that fails to create an index removes its directory again. */
static int lock_dir(aoe_index *index, aoe_error *err) {
    int rc = AOE_ENOENT;
    for (int i = 0; rc == AOE_ENOENT && i < CREATE_TRIES; i++) {
        aoei_index_writer_detach(index->writer, index->dir);
        index->writer = NULL;
        rc = index->embedder ? aoei_make_dir(index->dir, err) : 0;
        if (rc)
            return rc;
        rc = aoei_index_writer_attach(&index->writer, index->dir, index->wait_ms, err);
    }
    return rc;
}

/* Fails if this process cannot write to the index. SQLite would report another error on a read-only file system. */
static int check_access(const aoe_index *index, aoe_error *err) {
    if (access(index->dir, W_OK) || (aoei_exists(index->path) && access(index->path, W_OK)))
        return aoei_fail_errno(err, errno, "%s: cannot write to the index", index->dir);
    return 0;
}

static int open_writer(aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    int rc = 0;
    if (!index->embedder && !aoei_exists(index->path))
        rc = aoei_fail(err, AOE_EARG, "%s: there is no index, and creating one needs an embedder", index->dir);
    if (!rc)
        rc = lock_dir(index, err);
    if (!rc)
        rc = check_access(index, err);
    if (!rc)
        rc = check_files(index->dir, err);
    if (!rc)
        rc = check_foreign(index->dir, index->path, err);
    if (!rc)
        rc = open_database(index, o, err);
    if (!rc)
        rc = check_settings(index, o, err);
    return rc ? rc : aoei_index_writer_open_files(index, err);
}

/* --------------------------------------------------------------------- open */

static int fail_missing(const char *dir, aoe_error *err) {
    return aoei_fail(err, AOE_ENOENT, "%s: there is no index; create it, for example with `aoe index`", dir);
}

/* Reads the settings without an open index. */
static int read_settings(const char *dir, const char *path, int wait_ms, aoei_index_settings *s, aoe_error *err) {
    aoei_db db = {0};
    int immutable, is_new = 0;
    if (!aoei_exists(path))
        return fail_missing(dir, err);
    int rc = check_files(dir, err);
    if (!rc)
        rc = aoei_reader_connect(&db, dir, path, wait_ms, &immutable, err);
    if (!rc)
        rc = aoei_db_run(&db, "BEGIN", err);
    if (!rc)
        rc = aoei_schema_check(&db, &is_new, err);
    if (!rc && is_new)
        rc = fail_missing(dir, err);
    if (!rc)
        rc = aoei_index_settings_read(&db, s, err);
    aoei_db_close(&db);
    return rc;
}

static int open_reader(aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    if (o->create_only || o->repair)
        return aoei_fail(err, AOE_EARG, "%s: options.create_only and options.repair need AOE_INDEX_WRITE", index->dir);
    const int rc = read_settings(index->dir, index->path, index->wait_ms, &index->settings, err);
    return rc ? rc : check_settings(index, o, err);
}

/* Opens the parts of an index. Maps its files once, so that damage is found now. */
static int open_parts(aoe_index *index, const aoe_index_options *o, aoe_error *err) {
    int rc = index->access == AOE_INDEX_WRITE ? open_writer(index, o, err) : open_reader(index, o, err);
    if (!rc)
        rc = check_model(index, o, err);
    aoei_reader *r = NULL;
    if (!rc)
        rc = aoei_reader_begin_damaged(&r, index, err);
    aoei_reader_end(r);
    return rc;
}

int aoe_index_open(aoe_index **index, const char *dir, aoe_index_access access, aoe_embedder *embedder,
                   const aoe_index_options *o, aoe_error *err) {
    if (index)
        *index = NULL;
    AOEI_CHECK(err, index, dir);
    AOEI_OPTIONS(aoe_index_options, o, err);
    int rc = check_options(access, o, err);
    if (rc)
        return rc;
    aoe_index *x = aoei_calloc(1, sizeof *x);
    if (!x)
        return aoei_fail_nomem(err, sizeof *x);
    aoei_mutex_init(&x->lock);
    x->access = access;
    x->embedder = embedder;
    x->log = (aoei_log){o->log, o->log_user};
    x->repair = o->repair;
    x->wait_ms = (int)(o->wait * 1000);
    x->dir = aoei_strdup(dir);
    x->path = aoei_path_join(dir, AOEI_INDEX_DATABASE);
    x->model = o->model ? aoei_strdup(o->model) : NULL;
    rc = x->dir && x->path && (x->model || !o->model) ? open_parts(x, o, err) : aoei_fail_nomem(err, strlen(dir));
    if (rc) {
        aoe_index_close(x);
        return rc;
    }
    *index = x;
    return 0;
}

int aoe_index_set_embedder(aoe_index *index, aoe_embedder *embedder, aoe_error *err) {
    AOEI_CHECK(err, index, embedder);
    if (index->embedder)
        return aoei_fail(err, AOE_EARG, "%s: the index has an embedder; open the index again for another one",
                         index->dir);
    const int rc = aoei_model_check(&index->settings, index->dir, embedder, NULL, err);
    if (!rc)
        index->embedder = embedder;
    return rc;
}

void aoe_index_close(aoe_index *index) {
    if (!index)
        return;
    aoei_changes_free(index->changes);
    aoei_update_plan_destroy(index->compared);
    aoei_readers_close(index);
    aoei_view_release(index->view);
    aoei_index_writer_detach(index->writer, index->dir);
    aoei_index_settings_free(&index->settings);
    aoei_mutex_destroy(&index->lock);
    aoei_free(index->model);
    aoei_free(index->path);
    aoei_free(index->dir);
    aoei_free(index);
}

int aoe_index_model(const char *dir, char *name, size_t size, aoe_error *err) {
    AOEI_CHECK(err, dir, name);
    aoei_index_settings s = {0};
    char *path = aoei_path_join(dir, AOEI_INDEX_DATABASE);
    int rc = path ? read_settings(dir, path, 1000 * AOEI_WAIT_SECONDS, &s, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc && strlen(s.model) >= size)
        rc = aoei_fail(err, AOE_EARG, "the name of the model has %zu bytes, but the buffer only %zu", strlen(s.model),
                       size);
    if (!rc)
        (void)snprintf(name, size, "%s", s.model);
    aoei_index_settings_free(&s);
    aoei_free(path);
    return rc;
}

/* -------------------------------------------------------------------- stats */

static uint64_t file_size(const char *path) {
    struct stat st;
    return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* Adds up the sizes of the files of an index. */
static int add_sizes(const aoe_index *index, aoe_index_stats *stats, aoe_error *err) {
    char **names;
    size_t n;
    const int rc = aoei_list_dir(&names, &n, index->dir, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        char *path = aoei_path_join(index->dir, names[i]);
        const int is_database = strncmp(names[i], AOEI_INDEX_DATABASE, strlen(AOEI_INDEX_DATABASE)) == 0;
        const int is_vectors = strncmp(names[i], "vectors-", 8) == 0;
        if (path && is_database)
            stats->database_bytes += file_size(path);
        if (path && is_vectors)
            stats->vector_bytes += file_size(path);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return 0;
}

static int count_rows(aoei_db *d, const char *sql, size_t *count, aoe_error *err) {
    int64_t n;
    const int rc = aoei_db_number(d, sql, &n, err);
    *count = rc || n < 0 ? 0 : (size_t)n;
    return rc;
}

typedef struct numbers {
    aoe_index_stats *stats;
    aoei_index_state state;
} numbers;

/* An aoei_read_fn. */
static int read_numbers(void *user, aoei_reader *r, aoe_error *err) {
    numbers *x = user;
    int rc = aoei_index_state_read(&r->db, &x->state, err);
    if (!rc)
        rc = count_rows(&r->db, "SELECT count(*) FROM documents", &x->stats->documents, err);
    return rc ? rc : count_rows(&r->db, "SELECT count(*) FROM sources", &x->stats->sources, err);
}

int aoe_index_get_stats(aoe_index *index, aoe_index_stats *stats, aoe_error *err) {
    AOEI_CHECK(err, index, stats);
    AOEI_RESULT(aoe_index_stats, stats, err);
    numbers x = {.stats = stats};
    int rc = aoei_reader_run(index, 1, read_numbers, &x, err);
    if (!rc)
        rc = add_sizes(index, stats, err);
    if (rc)
        return rc;
    const aoei_index_state state = x.state;
    char *place = aoei_place_identity(index->dir);
    if (!place)
        return aoei_fail_nomem(err, 0);
    aoei_mutex_lock(&index->lock);
    stats->created_here = strcmp(place, index->settings.place) == 0 && !aoei_place_is_foreign(index->dir, index->path);
    aoei_mutex_unlock(&index->lock);
    aoei_free(place);
    memcpy(index->created, index->settings.created, sizeof index->created);
    memcpy(index->updated, state.updated, sizeof index->updated);
    stats->passages = (size_t)state.live; /* counting the rows of the database would take milliseconds */
    stats->dims = index->settings.dims;
    stats->removed_rows = (size_t)(state.rows - state.live);
    stats->store = index->settings.store;
    stats->passage_tokens = index->settings.passage_tokens;
    stats->stem = index->settings.stem;
    stats->model = index->settings.model;
    stats->created = index->created;
    stats->updated = index->updated;
    stats->commits = state.commits;
    return 0;
}
