/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: index/sql index/schema index/view index/place index/model_check
 * Tests that an index is created, opened and rejected: by one writer and many readers, with another model or other
 * settings, in a read-only directory, on a network file system, and if its files are damaged or of other programs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/checks.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/dir.h"
#include "base/lock.h"
#include "index/place.h"
#include "index/reader.h"

static int open_code(const char *path, aoe_index_access access, const aoe_index_options *o) {
    aoe_index *index;
    const int rc = aoe_index_open(&index, path, access, tiny_index_embedder, o, &err);
    assert_true((rc == 0) == (index != NULL));
    aoe_index_close(index);
    return rc;
}

static char *new_index(size_t documents) {
    char *path = tiny_index_path(), name[16];
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.model = "tiny";
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    for (uint32_t i = 0; i < documents; i++) {
        snprintf(name, sizeof name, "d%u", i);
        check(tiny_index_add(index, name, tiny_index_text(i, 0), &err));
    }
    check(aoe_index_commit(index, &err));
    aoe_index_close(index);
    return path;
}

/* Changes the database of an index with SQL. */
static void change(const char *path, const char *sql) {
    char *name = test_path(path, "index.db");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(name);
}

static void test_settings(void **state) {
    (void)state;
    char *path = tiny_index_path(), name[64];
    assert_int_equal(open_code(path, AOE_INDEX_READ, NULL), AOE_ENOENT);
    assert_message("there is no index");
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.model = "tiny model";
    o.store = AOE_INDEX_BF16;
    o.passage_tokens = 50;
    check(open_code(path, AOE_INDEX_WRITE, &o));
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    check(aoe_index_model(path, name, sizeof name, &err));
    assert_string_equal(name, "tiny model");
    assert_int_equal(aoe_index_model(path, name, 5, &err), AOE_EARG);
    o.passage_tokens = 60;
    assert_int_equal(open_code(path, AOE_INDEX_READ, &o), AOE_EMISMATCH);
    assert_message("50 tokens, not 60");
    o.passage_tokens = 50;
    o.store = AOE_INDEX_F32;
    assert_int_equal(open_code(path, AOE_INDEX_READ, &o), AOE_EMISMATCH);
    assert_message("bf16, not f32");
    o.store = AOE_AUTO;
    o.stem = 0;
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, &o), AOE_EMISMATCH);
    o.stem = AOE_AUTO;
    o.create_only = 1;
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, &o), AOE_EEXIST);
    o.passage_tokens = 0;
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, &o), AOE_EARG);
    assert_int_equal(open_code(path, (aoe_index_access)77, NULL), AOE_EARG);
    assert_message("argument 'access' is 77");
    free(path);
    path = test_path(tiny_index_dir, "model"); /* a directory with other files */
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, NULL), AOE_EEXIST);
    assert_message("not an index and not empty");
    free(path);
}

static void test_other_model(void **state) {
    (void)state;
    char *path = new_index(1), *dir = test_path(tiny_index_dir, "model");
    aoe_context *context;
    aoe_model *model;
    aoe_embedder *e;
    aoe_index *index;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    check(aoe_context_create(&context, NULL, &err));
    o.pooling = AOE_POOLING_CLS;
    check(aoe_model_open(&model, context, dir, &o, &err));
    check(aoe_embedder_create(&e, model, NULL, &err));
    assert_int_equal(aoe_index_open(&index, path, AOE_INDEX_READ, e, NULL, &err), AOE_EMISMATCH);
    assert_message("'tiny'");
    assert_message("pooling cls");
    check(aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, &err));
    assert_int_equal(aoe_index_set_embedder(index, e, &err), AOE_EMISMATCH);
    assert_message("pooling cls");
    check(aoe_index_set_embedder(index, tiny_index_embedder, &err));
    assert_int_equal(aoe_index_set_embedder(index, tiny_index_embedder, &err), AOE_EARG);
    assert_message("has an embedder");
    assert_int_equal(aoe_index_set_embedder(index, NULL, &err), AOE_EARG);
    aoe_index_close(index);
    check(aoe_embedder_set_dims(e, 8, &err));
    assert_int_equal(aoe_index_open(&index, path, AOE_INDEX_WRITE, e, NULL, &err), AOE_EMISMATCH);
    assert_message("16 components");
    aoe_embedder_destroy(e);
    aoe_model_close(model);
    aoe_context_destroy(context);
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    free(dir);
    free(path);
}

/* A second writer gets an error, in this and in another process, and readers do not wait. */
static void test_two_writers(void **state) {
    (void)state;
    char *path = new_index(2);
    aoe_index *writer = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, NULL), AOE_EEXIST);
    char part[64];
    snprintf(part, sizeof part, "another process (%ld) is writing", (long)getpid());
    assert_message(part);
    check(tiny_index_add(writer, "new", "a b c", &err));
    char *before = tiny_index_dump_path(path, &err);
    assert_non_null(before);
    assert_null(strstr(before, "new|"));
    check(aoe_index_commit(writer, &err));
    char *after = tiny_index_dump_path(path, &err);
    assert_non_null(strstr(after, "new|"));
    aoe_index_close(writer);
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    free(before);
    free(after);
    free(path);
}

/* Two processes create the same index at the same time: both succeed, one after the other. */
static void test_two_creators(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        char *path = tiny_index_path();
        pid_t child[2];
        for (int k = 0; k < 2; k++) {
            child[k] = fork();
            if (child[k] == 0) {
                aoe_index *index;
                int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, NULL);
                rc = rc ? rc : tiny_index_add(index, k ? "one" : "two", "a b", NULL);
                rc = rc ? rc : aoe_index_commit(index, NULL);
                aoe_index_close(index);
                _exit(rc ? 1 : 0);
            }
        }
        for (int k = 0; k < 2; k++) {
            int status;
            assert_int_equal(waitpid(child[k], &status, 0), child[k]);
            assert_int_equal(status, 0);
        }
        char *dump = tiny_index_dump_path(path, &err);
        assert_non_null(dump);
        assert_non_null(strstr(dump, "one|"));
        assert_non_null(strstr(dump, "two|"));
        free(dump);
        free(path);
    }
}

/* A process waits for another one, which then fails to create the index and removes the directory. */
static void test_removed_directory(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoei_lock lock;
    check(aoei_make_dir(path, &err));
    check(aoei_lock_dir(&lock, path, &err));
    const pid_t child = fork();
    if (child == 0) {
        aoe_index *index;
        int rc = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, NULL);
        rc = rc ? rc : tiny_index_add(index, "one", "a b", NULL);
        rc = rc ? rc : aoe_index_commit(index, NULL);
        aoe_index_close(index);
        _exit(rc ? 1 : 0);
    }
    usleep(200000); /* so that the child probably waits; the result does not depend on it */
    check(aoei_remove_tree(path, &err));
    aoei_unlock(&lock);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *dump = tiny_index_dump_path(path, &err);
    assert_non_null(dump);
    assert_non_null(strstr(dump, "one|"));
    free(dump);
    free(path);
}

typedef struct reading {
    aoe_index *index;
    int *stop;
    size_t views;
} reading;

static void *read_views(void *arg) {
    reading *x = arg;
    uint64_t last = 0;
    while (!__atomic_load_n(x->stop, __ATOMIC_ACQUIRE) || x->views < 10) {
        aoei_reader *r;
        int64_t n = 0;
        aoe_error error;
        if (aoei_reader_begin(&r, x->index, &error))
            return "aoei_reader_begin failed";
        /* the view and the tables belong to the same commit */
        if (aoei_db_number(&r->db, "SELECT count(*) FROM passages", &n, &error) || (size_t)n != r->view->live_rows ||
            r->view->commits < last)
            return "the view does not match the tables";
        last = r->view->commits;
        aoei_reader_end(r);
        x->views++;
    }
    return NULL;
}

/* Threads read while another index object of this process commits and compacts. */
static void test_readers(void **state) {
    (void)state;
    enum { THREADS = 3 };
    char *path = new_index(5), name[16];
    int stop = 0;
    aoe_index *writer = tiny_index_open(path, AOE_INDEX_WRITE, NULL),
              *reader = tiny_index_open(path, AOE_INDEX_READ, NULL);
    pthread_t thread[THREADS];
    reading x[THREADS];
    for (int i = 0; i < THREADS; i++) {
        x[i] = (reading){reader, &stop, 0};
        assert_int_equal(pthread_create(&thread[i], NULL, read_views, &x[i]), 0);
    }
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "d%u", i % 7);
        check(tiny_index_add(writer, name, tiny_index_text(i, 3), &err));
        check(aoe_index_commit(writer, &err));
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) {
        void *failure;
        assert_int_equal(pthread_join(thread[i], &failure), 0);
        if (failure)
            fail_msg("%s", (const char *)failure);
    }
    aoe_index_close(reader);
    aoe_index_close(writer);
    free(path);
}

static void test_damaged_database(void **state) {
    (void)state;
    static const struct {
        const char *sql, *message;
        int code;
    } cases[] = {
        {"PRAGMA user_version = 2", "format version 2", AOE_EUNSUPPORTED},
        {"PRAGMA application_id = 5", "another program", AOE_EFORMAT},
        {"UPDATE meta SET value = 4000000 WHERE key = 'rows'", "damaged", AOE_EFORMAT},
        {"UPDATE meta SET value = -1 WHERE key = 'rows'", "rows is out of range", AOE_EFORMAT},
        {"UPDATE meta SET value = 'x' WHERE key = 'dims'", "dims is out of range", AOE_EFORMAT},
        {"UPDATE meta SET value = 17 WHERE key = 'dims'", "wrong size", AOE_EFORMAT},
        {"UPDATE meta SET value = 9 WHERE key = 'generation'", "damaged", AOE_EFORMAT},
        {"UPDATE meta SET value = 0 WHERE key = 'generation'", "generation is out of range", AOE_EFORMAT},
        {"UPDATE meta SET value = x'ff' WHERE key = 'dead'", "removed vectors has the wrong size", AOE_EFORMAT},
        {"UPDATE meta SET value = 1 WHERE key = 'live'", "removed vectors is wrong", AOE_EFORMAT},
        {"UPDATE meta SET value = 12 WHERE key = 'id'", "another index", AOE_EFORMAT},
        {"UPDATE meta SET value = 7 WHERE key = 'store'", "store is out of range", AOE_EFORMAT},
        {"DELETE FROM meta WHERE key = 'model'", "model is missing", AOE_EFORMAT},
        {"DROP TABLE meta", "no such table", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = new_index(3);
        change(path, cases[i].sql);
        for (int access = AOE_INDEX_READ; access <= AOE_INDEX_WRITE; access++) {
            assert_int_equal(open_code(path, (aoe_index_access)access, NULL), cases[i].code);
            assert_message(cases[i].message);
            assert_message(path);
        }
        free(path);
    }
}

static void test_other_files(void **state) {
    (void)state;
    char *path = new_index(1), *db = test_path(path, "index.db");
    free(test_write_text(path, "index.db",
                         "This is a text file and no database, but it is longer than a header of SQLite, "
                         "which has one hundred bytes."));
    assert_int_equal(open_code(path, AOE_INDEX_READ, NULL), AOE_EFORMAT);
    assert_message("not an SQLite database");
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, NULL), AOE_EFORMAT);
    free(db);
    free(path);
    path = new_index(1);
    char *vectors = test_path(path, "vectors-1.signs");
    assert_int_equal(unlink(vectors), 0);
    assert_int_equal(open_code(path, AOE_INDEX_READ, NULL), AOE_EFORMAT);
    assert_message("damaged");
    assert_int_equal(open_code(path, AOE_INDEX_WRITE, NULL), AOE_EFORMAT);
    free(vectors);
    free(path);
    path = new_index(30);
    db = test_path(path, "index.db");
    assert_int_equal(truncate(db, 9000), 0);
    assert_true(open_code(path, AOE_INDEX_READ, NULL) == AOE_EFORMAT);
    free(db);
    free(path);
}

/* A directory that cannot be written: in a child process without the rights of root. */
static void test_read_only(void **state) {
    (void)state;
    char *path = new_index(3), *want = tiny_index_dump_path(path, &err), *db = test_path(path, "index.db");
    assert_int_equal(chmod(tiny_index_dir, 0755) | chmod(db, 0444) | chmod(path, 0555), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(3);
        aoe_error error = {0};
        char *got = tiny_index_dump_path(path, &error);
        aoe_index *index;
        const int equal = got && strcmp(got, want) == 0;
        if (!equal)
            fprintf(stderr, "%s\n", error.message);
        const int code = aoe_index_open(&index, path, AOE_INDEX_WRITE, tiny_index_embedder, NULL, &error);
        _exit(!equal ? 1 : code == AOE_EIO ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(path, 0755) | chmod(db, 0644), 0);
    assert_int_equal(status, 0);
    free(db);
    free(want);
    free(path);
}

/* On a network file system, a rollback journal is used, and the same changes are possible. */
static void test_network(void **state) {
    (void)state;
    char *local = new_index(2), *want = tiny_index_dump_path(local, &err);
    aoei_place_assume_network(1);
    char *got = tiny_index_dump_path(local, &err); /* a log that is empty */
    assert_string_equal(got, want);
    free(got);
    aoe_index *index = tiny_index_open(local, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "new", "a b", &err));
    got = tiny_index_dump_path(local, &err); /* while the writer has changes */
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
    check(aoe_index_commit(index, &err));
    got = tiny_index_dump_path(local, &err);
    assert_non_null(strstr(got, "new|"));
    free(got);
    char *log = test_path(local, "index.db-wal");
    assert_int_equal(access(log, F_OK), -1);
    aoe_index_close(index);
    /* a log that a writer on a local disk left */
    aoei_place_assume_network(0);
    index = tiny_index_open(local, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "more", "b c", &err));
    check(aoe_index_commit(index, &err));
    assert_int_equal(access(log, F_OK), 0);
    aoei_place_assume_network(1);
    assert_int_equal(open_code(local, AOE_INDEX_READ, NULL), AOE_EUNSUPPORTED);
    assert_message("network file system");
    aoei_place_assume_network(0);
    aoe_index_close(index);
    free(log);
    free(want);
    free(local);
}

static void test_place(void **state) {
    (void)state;
    char *path = new_index(1), *copy = tiny_index_path();
    assert_int_equal(mkdir(copy, 0777), 0);
    test_copy_dir(path, copy);
    aoe_index *index = tiny_index_open(copy, AOE_INDEX_READ, NULL);
    aoe_index_stats stats = {.struct_size = sizeof stats};
    check(aoe_index_get_stats(index, &stats, &err));
    assert_int_equal(stats.created_here, 0);
    assert_string_equal(stats.model, "tiny");
    assert_int_equal(stats.documents, 1);
    assert_true(stats.database_bytes > 4096 && stats.vector_bytes > 3 * 64);
    aoe_index_close(index);
    assert_int_equal(aoei_place_is_network("/nonexistent"), 0);
    free(path);
    free(copy);
}

/* An index that another user can change is like a copy. */
static void test_owner(void **state) {
    (void)state;
    static const char *const names[] = {"", "index.db"};
    if (geteuid() != 0)
        skip(); /* only the superuser can give files away */
    char *path = new_index(1);
    for (size_t i = 0; i < 2; i++) {
        char *file = test_path(path, names[i]);
        for (int own = 0; own < 2; own++) {
            assert_int_equal(chown(file, own ? 0 : 65534, (gid_t)-1), 0);
            aoe_index *index = tiny_index_open(path, AOE_INDEX_READ, NULL);
            aoe_index_stats stats = {.struct_size = sizeof stats};
            check(aoe_index_get_stats(index, &stats, &err));
            assert_int_equal(stats.created_here, own);
            aoe_index_close(index);
        }
        free(file);
    }
    free(path);
}

/* Opens the index in each way, which must fail because of a link, and checks that the victim did not change. */
static void check_link(const char *path, const char *name, const char *victim, int is_dangling) {
    char *link = test_path(path, name);
    (void)unlink(link);
    assert_int_equal(symlink(victim, link), 0);
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    for (int i = 0; i < 3; i++) {
        o.repair = i == 1;
        const int code = open_code(path, i == 2 ? AOE_INDEX_READ : AOE_INDEX_WRITE, &o);
        if (i == 2 && is_dangling && code == AOE_ENOENT)
            continue; /* index.db does not exist for a reader */
        assert_int_equal(code, AOE_EFORMAT);
        assert_message("symbolic link");
        assert_message(name);
    }
    free(link);
}

/* The files of an index of somebody else may be links to other files, which must not be read or changed. */
static void test_links(void **state) {
    (void)state;
    static const char *const names[] = {"index.db", "vectors-1.codes", "vectors-1.values", "index.db-wal"};
    char *victim = test_write(tiny_index_dir, "victim", "precious", 8), *missing = test_path(tiny_index_dir, "missing");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = new_index(2);
        check_link(path, names[i], victim, 0);
        check_link(path, names[i], missing, i == 0);
        free(path);
    }
    /* an index that is created: its database is empty */
    char *path = tiny_index_path(), *writer = test_path(path, "writer");
    assert_int_equal(mkdir(path, 0777), 0);
    char *db = test_write(path, "index.db", "", 0);
    check_link(path, "vectors-1.codes", victim, 0);
    char *link = test_path(path, "vectors-1.codes");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink(victim, writer), 0); /* is replaced */
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    assert_int_equal(mkfifo(writer, 0666), 0); /* opening it for writing would wait for a reader */
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    size_t size;
    char *text = test_read(victim, &size);
    assert_int_equal(size, 8);
    assert_memory_equal(text, "precious", 8);
    assert_int_equal(access(missing, F_OK), -1);
    free(text);
    free(link);
    free(writer);
    free(db);
    free(path);
    free(victim);
    free(missing);
}

/* Changes a database to the journal mode DELETE and writes a journal that an interrupted transaction on two databases
 * would have left, with the name of the file that lists their journals. Opening the database with SQLite deletes that
 * file. */
static void write_super_journal(const char *db, const char *victim) {
    sqlite3 *c;
    assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
    assert_int_equal(sqlite3_exec(c, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(c), SQLITE_OK);
    size_t size;
    char *bytes = test_read(db, &size), *path = NULL;
    const unsigned page = (unsigned char)bytes[16] * 256u + (unsigned char)bytes[17], name = (unsigned)strlen(victim);
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned sum = 0;
    for (unsigned i = 0; i < name; i++)
        sum += (unsigned char)victim[i];
    /* header of a sector: number of records, nonce, pages of the database, sizes of a sector and a page */
    unsigned char journal[4096] = {0};
    const uint32_t header[] = {htonl(0), htonl(1), htonl((uint32_t)(size / page)), htonl(512), htonl(page)};
    const uint32_t lock_page = htonl(0x40000000 / page + 1), end[] = {htonl(name), htonl(sum)};
    memcpy(journal, magic, 8);
    memcpy(journal + 8, header, sizeof header);
    memcpy(journal + 512, &lock_page, 4);
    memcpy(journal + 516, victim, name);
    memcpy(journal + 516 + name, end, 8);
    memcpy(journal + 524 + name, magic, 8);
    assert_true(asprintf(&path, "%s-journal", db) > 0);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(journal, 1, 532 + name, f), 532 + name);
    assert_int_equal(fclose(f), 0);
    free(path);
    free(bytes);
}

/* A journal of somebody else may name a file of the user, which SQLite would delete. */
static void test_journal(void **state) {
    (void)state;
    char *victim = test_write(tiny_index_dir, "precious", "precious", 8);
    char *path = new_index(2), *db = test_path(path, "index.db");
    write_super_journal(db, victim);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(open_code(path, i ? AOE_INDEX_READ : AOE_INDEX_WRITE, NULL), AOE_EFORMAT);
        assert_message("index.db-journal");
        assert_int_equal(access(victim, F_OK), 0);
    }
    /* the journal does what this test says: SQLite deletes the file */
    sqlite3 *c;
    assert_int_equal(sqlite3_open(db, &c), SQLITE_OK);
    assert_int_equal(sqlite3_exec(c, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(c), SQLITE_OK);
    assert_int_equal(access(victim, F_OK), -1);
    check(open_code(path, AOE_INDEX_WRITE, NULL));
    free(db);
    free(path);
    free(victim);
}

/* A reader without locks notices that a write-ahead log appears. */
static void test_new_log(void **state) {
    (void)state;
    char *path = new_index(2), *before = tiny_index_dump_path(path, &err), *db = test_path(path, "index.db");
    int ready[2], go[2];
    assert_int_equal(pipe(ready) | pipe(go), 0);
    assert_int_equal(chmod(tiny_index_dir, 0755) | chmod(db, 0444) | chmod(path, 0555), 0);
    const pid_t child = fork();
    if (child == 0) {
        char c = 0;
        if (getuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(3);
        aoe_index *index;
        if (aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, NULL))
            _exit(4);
        char *first = tiny_index_dump(index);
        if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
            _exit(5);
        char *second = tiny_index_dump(index);
        _exit(strcmp(first, before) != 0 ? 1 : strcmp(first, second) == 0 ? 2 : 0);
    }
    char c;
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(chmod(path, 0755) | chmod(db, 0644), 0);
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    check(tiny_index_add(index, "new", "a b", &err));
    check(aoe_index_commit(index, &err));
    assert_int_equal(write(go[1], &c, 1), 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    aoe_index_close(index);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++)
        (void)(close(ready[i]) | close(go[i]));
    free(db);
    free(before);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings),
                                       cmocka_unit_test(test_other_model),
                                       cmocka_unit_test(test_two_writers),
                                       cmocka_unit_test(test_two_creators),
                                       cmocka_unit_test(test_readers),
                                       cmocka_unit_test(test_damaged_database),
                                       cmocka_unit_test(test_other_files),
                                       cmocka_unit_test(test_read_only),
                                       cmocka_unit_test(test_network),
                                       cmocka_unit_test(test_place),
                                       cmocka_unit_test(test_owner),
                                       cmocka_unit_test(test_links),
                                       cmocka_unit_test(test_journal),
                                       cmocka_unit_test(test_new_log),
                                       cmocka_unit_test(test_removed_directory)};
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
