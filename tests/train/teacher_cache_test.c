/* SPDX-License-Identifier: MIT
 * Tests the vectors of teachers: those of several teachers, those of repeated texts, and the cache. The vectors in the
 * cache are rounded to bf16 and are not computed again, also after an interruption. Other texts and other teachers have
 * other files. Unusable files, a directory that cannot be written and a full disk give one error, without a partial
 * file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "base/bf16.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/path.h"
#include "modeldir/safetensors_writer.h"
#include "table/texts.h"
#include "train/teacher.h"
#include "train/teacher_cache.h"

enum { BLOCK = 4096 /* texts of a file */, MAX_DIMS = 32 };

/* Two teachers with 20 and 12 components, a directory for the cache, and the numbers in the messages of the last
 * call. */
typedef struct fixture {
    char *dir, *cache, *teacher[2]; /* owned */
    aoe_context *ctx;
    size_t found, total; /* numbers in the messages about the cache, added over the teachers */
    size_t reported;     /* number of texts in the last event */
    size_t stop_at;      /* the event callback stops the computation after this number of texts; 0: never */
} fixture;

static int on_event(void *user, const aoe_train_event *e) {
    fixture *f = user;
    assert_int_equal(e->kind, AOE_TRAIN_EMBED);
    assert_true(e->texts > 0 && e->texts <= e->all_texts && e->seconds >= 0 && aoei_exists(e->path));
    f->reported = e->texts;
    return f->stop_at && e->texts >= f->stop_at;
}

static void on_log(void *user, aoe_log_level level, const char *message) {
    fixture *f = user;
    static const char all[] = ": reading the teacher's embeddings of ";
    const char *at = strstr(message, ": "), *read = strstr(message, all);
    unsigned long found, total;
    (void)level;
    if (read && sscanf(read + sizeof all - 1, "%lu", &total) == 1) {
        f->found += total;
        f->total += total;
    }
    if (at && strstr(at, "embeddings were in the cache") && sscanf(at + 2, "%lu of %lu", &found, &total) == 2) {
        f->found += found;
        f->total += total;
    }
}

static char *write_teacher(const fixture *f, const char *name, size_t hidden, uint32_t seed) {
    tiny_model shape = tiny_defaults();
    shape.hidden = hidden;
    shape.layers = 1;
    shape.intermediate = 8;
    shape.seed = seed;
    char *path = test_path(f->dir, name);
    tiny_model_write(path, &shape);
    return path;
}

static void begin(fixture *f) {
    memset(f, 0, sizeof *f);
    const aoe_context_options o = {.struct_size = sizeof o, .threads = 2, .log = on_log, .log_user = f};
    assert_int_equal(aoe_context_create(&f->ctx, &o, NULL), 0);
    f->dir = tiny_dir_create();
    f->cache = test_path(f->dir, "cache");
    f->teacher[0] = write_teacher(f, "large", 20, 1);
    f->teacher[1] = write_teacher(f, "small", 12, 2);
}

static void end(fixture *f) {
    aoe_context_destroy(f->ctx);
    free(f->cache);
    free(f->teacher[0]);
    free(f->teacher[1]);
    test_dir_remove(f->dir);
}

static void load(const fixture *f, aoei_examples *e, const char *name, const char *text) {
    aoe_error err = {0};
    char *path = test_write_text(f->dir, name, text);
    if (aoei_texts_load(e, path, NULL, &err))
        fail_msg("%s", err.message);
    free(path);
}

/* Computes the vectors of n files with these teachers. Returns the error code. The caller calls
 * aoei_teacher_destroy. */
static int embed(fixture *f, aoei_teacher *t, const char *const *teachers, const char *cache,
                 const aoei_examples *files, size_t n, aoe_error *err) {
    const char *dirs[AOE_MAX_TEACHERS] = {teachers[0], teachers[1]};
    f->found = f->total = 0;
    aoe_training_args args;
    aoe_training_args_defaults(&args);
    args.batch_tokens = 256;
    args.event = on_event;
    args.event_user = f;
    const int code = aoei_teacher_open(t, f->ctx, dirs, AOE_DTYPE_F32, cache, err);
    return code ? code : aoei_teacher_embed(t, f->ctx, &args, files, n, err);
}

/* Asserts that the vectors of all texts are equal. */
static void assert_equal_vectors(const aoei_teacher *a, const aoei_teacher *b, const aoei_examples *files) {
    float x[MAX_DIMS], y[MAX_DIMS];
    assert_true(a->dims == b->dims && a->dims <= MAX_DIMS && a->files == b->files);
    for (size_t i = 0; i < a->files; i++)
        for (size_t k = 0; k < files[i].n_texts; k++) {
            aoei_teacher_read(a, i, k, x);
            aoei_teacher_read(b, i, k, y);
            assert_memory_equal(x, y, a->dims * sizeof *x);
        }
}

static const char two_texts[] = "the old cat\na dog runs\n", three_texts[] = "the old cat\na dog runs\nb c\n";

/* Without a cache, the vector of a single teacher is its embedding, and that of several teachers is the concatenation
 * of their embeddings divided by their norms. The cache contains the embeddings rounded to bf16. */
static void values(void **state) {
    fixture f;
    aoei_examples e[2];
    aoe_error err = {0};
    (void)state;
    begin(&f);
    load(&f, &e[0], "a.txt", two_texts);
    load(&f, &e[1], "b.txt", three_texts);
    const char *first[2] = {f.teacher[0], NULL}, *second[2] = {f.teacher[1], NULL},
               *both[2] = {f.teacher[0], f.teacher[1]};
    for (int cached = 0; cached < 2; cached++) {
        aoei_teacher one = {0}, other = {0}, pair = {0};
        const char *cache = cached ? f.cache : NULL;
        if (embed(&f, &one, first, cache, e, 2, &err) || embed(&f, &other, second, cache, e, 2, &err) ||
            embed(&f, &pair, both, cache, e, 2, &err))
            fail_msg("%s", err.message);
        assert_true(one.dims == 20 && other.dims == 12 && pair.dims == 32);
        assert_int_equal(f.found, cached ? 10 : 0);
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < e[i].n_texts; k++) {
                float x[20], y[12], z[MAX_DIMS];
                double xx = 0, yy = 0;
                aoei_teacher_read(&one, i, k, x);
                aoei_teacher_read(&other, i, k, y);
                aoei_teacher_read(&pair, i, k, z);
                for (size_t c = 0; c < 20; c++)
                    xx += (double)x[c] * (double)x[c];
                for (size_t c = 0; c < 12; c++)
                    yy += (double)y[c] * (double)y[c];
                for (size_t c = 0; c < 32; c++)
                    assert_true(
                        fabs((double)z[c] - (c < 20 ? (double)x[c] / sqrt(xx) : (double)y[c - 20] / sqrt(yy))) <= 1e-7);
                for (size_t c = 0; c < 20 && cached; c++)
                    assert_true(aoei_bf16_to_f32(aoei_bf16_from_f32(x[c])) >= x[c] &&
                                aoei_bf16_to_f32(aoei_bf16_from_f32(x[c])) <= x[c]);
            }
        if (cached) { /* the rounded embeddings are those that are computed without a cache */
            aoei_teacher exact = {0};
            float x[20], y[20];
            assert_int_equal(embed(&f, &exact, first, NULL, e, 2, &err), 0);
            aoei_teacher_read(&exact, 1, 2, x);
            aoei_teacher_read(&one, 1, 2, y);
            for (size_t c = 0; c < 20; c++) {
                const float want = aoei_bf16_to_f32(aoei_bf16_from_f32(x[c]));
                assert_memory_equal(&y[c], &want, sizeof want);
            }
            aoei_teacher_destroy(&exact);
        }
        aoei_teacher_destroy(&one);
        aoei_teacher_destroy(&other);
        aoei_teacher_destroy(&pair);
    }
    assert_int_equal(test_count_entries(f.cache), 4); /* two teachers, two files */
    aoei_examples_free(&e[0]);
    aoei_examples_free(&e[1]);
    end(&f);
}

/* A text that occurs several times in a file is embedded once. Every occurrence has the vector that the text has in a
 * file without repetitions. The messages and the progress count distinct texts. The cache has the same file for
 * both. */
static void repeated_texts(void **state) {
    static const size_t same[] = {0, 1, 0, 2, 1, 1}; /* index of each text of the first file in the second file */
    fixture f;
    aoei_examples e[2];
    aoe_error err = {0};
    (void)state;
    begin(&f);
    load(&f, &e[0], "repeated.txt", "the old cat\na dog runs\nthe old cat\nb c\na dog runs\na dog runs\n");
    load(&f, &e[1], "distinct.txt", three_texts);
    const char *teachers[2] = {f.teacher[0], NULL};
    for (int cached = 0; cached < 2; cached++) {
        aoei_teacher repeated = {0}, distinct = {0};
        const char *cache = cached ? f.cache : NULL;
        assert_int_equal(embed(&f, &repeated, teachers, cache, &e[0], 1, &err), 0);
        assert_int_equal(f.reported, 3);
        assert_int_equal(embed(&f, &distinct, teachers, cache, &e[1], 1, &err), 0);
        assert_true(repeated.fingerprint == distinct.fingerprint);
        for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
            float x[MAX_DIMS], y[MAX_DIMS];
            aoei_teacher_read(&repeated, 0, i, x);
            aoei_teacher_read(&distinct, 0, same[i], y);
            assert_memory_equal(x, y, repeated.dims * sizeof *x);
        }
        aoei_teacher_destroy(&repeated);
        aoei_teacher_destroy(&distinct);
    }
    assert_int_equal(test_count_entries(f.cache), 1);
    aoei_examples_free(&e[0]);
    aoei_examples_free(&e[1]);
    end(&f);
}

/* A second run reads all vectors from the cache. Other texts, another order of the texts, and other settings of the
 * teacher have other files; another directory of the teacher or of the data has the same files. */
static void keys(void **state) {
    static const char *const texts[] = {two_texts, three_texts, "a dog runs\nthe old cat\n",
                                        "the old\n cat a dog runs\n"};
    enum { N = sizeof texts / sizeof *texts };
    fixture f;
    aoei_examples e[N];
    aoei_teacher t[N], again;
    aoe_error err = {0};
    (void)state;
    begin(&f);
    const char *teachers[2] = {f.teacher[0], NULL};
    for (size_t i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "%zu.txt", i);
        load(&f, &e[i], name, texts[i]);
        assert_int_equal(embed(&f, &t[i], teachers, f.cache, &e[i], 1, &err), 0);
        assert_int_equal(f.found, 0);
        assert_int_equal(test_count_entries(f.cache), i + 1);
        for (size_t k = 0; k < i; k++)
            assert_true(t[k].fingerprint != t[i].fingerprint);
    }
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(embed(&f, &again, teachers, f.cache, &e[i], 1, &err), 0);
        assert_true(f.found == e[i].n_texts && f.total == e[i].n_texts && again.fingerprint == t[i].fingerprint);
        assert_equal_vectors(&again, &t[i], &e[i]);
        aoei_teacher_destroy(&again);
    }
    char *moved = test_path(f.dir, "moved");
    assert_int_equal(rename(f.teacher[0], moved), 0);
    teachers[0] = moved;
    assert_int_equal(embed(&f, &again, teachers, f.cache, &e[0], 1, &err), 0);
    assert_int_equal(f.found, 2);
    aoei_teacher_destroy(&again);
    free(test_write_text(moved, "aoe.json", "{\"format_version\": 1, \"pooling\": \"cls\"}"));
    assert_int_equal(embed(&f, &again, teachers, f.cache, &e[0], 1, &err), 0);
    assert_true(f.found == 0 && again.fingerprint != t[0].fingerprint);
    assert_int_equal(test_count_entries(f.cache), N + 1);
    aoei_teacher_destroy(&again);
    for (size_t i = 0; i < N; i++) {
        aoei_teacher_destroy(&t[i]);
        aoei_examples_free(&e[i]);
    }
    free(moved);
    end(&f);
}

/* If the second of two files cannot be written, or if the computation is stopped before it, the first one is in the
 * cache, and the next run continues with the second. The last file of a list of texts contains fewer texts. */
static void interruption(void **state) {
    enum { EXTRA = 5, N = BLOCK + EXTRA };
    fixture f;
    aoei_examples e;
    aoei_teacher t, plain;
    aoe_error err = {0};
    (void)state;
    begin(&f);
    char *text = malloc((size_t)N * 16), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        at += sprintf(at, "%c %c %c\n", 'a' + (char)(i % 26), 'a' + (char)(i / 26 % 26), 'a' + (char)(i / 676 % 26));
    const char *teachers[2] = {f.teacher[1], NULL};
    load(&f, &e, "long.txt", text);
    assert_int_equal(e.n_texts, N);
    aoei_examples first = e;
    first.n_texts = BLOCK;
    aoei_io_fail_at(0, 0);
    assert_int_equal(embed(&f, &t, teachers, f.cache, &first, 1, &err), 0);
    const uint64_t operations = aoei_io_count();
    aoei_teacher_destroy(&t);
    assert_int_equal(aoei_remove_tree(f.cache, NULL), 0);
    aoei_io_fail_at(operations + 2, EIO);
    assert_int_equal(embed(&f, &t, teachers, f.cache, &e, 1, &err), AOE_EIO);
    aoei_io_fail_at(0, 0);
    assert_non_null(strstr(err.message, f.cache));
    aoei_teacher_destroy(&t);
    assert_int_equal(test_count_entries(f.cache), 1);
    assert_int_equal(aoei_remove_tree(f.cache, NULL), 0);
    f.stop_at = BLOCK + 1; /* the texts of the first file have been embedded, and those of the second one are */
    assert_int_equal(embed(&f, &t, teachers, f.cache, &e, 1, &err), AOE_ECANCELLED);
    assert_non_null(strstr(err.message, f.teacher[1]));
    aoei_teacher_destroy(&t);
    assert_int_equal(test_count_entries(f.cache), 1);
    f.stop_at = 0;
    if (embed(&f, &t, teachers, f.cache, &e, 1, &err))
        fail_msg("%s", err.message);
    assert_true(f.found == BLOCK && f.total == N && f.reported == N);
    assert_int_equal(embed(&f, &plain, teachers, NULL, &e, 1, &err), 0);
    for (size_t i = BLOCK - 3; i < N; i++) {
        float x[12], y[12];
        aoei_teacher_read(&t, 0, i, x);
        aoei_teacher_read(&plain, 0, i, y);
        for (size_t c = 0; c < 12; c++) {
            const float want = aoei_bf16_to_f32(aoei_bf16_from_f32(y[c]));
            assert_memory_equal(&x[c], &want, sizeof want);
        }
    }
    aoei_teacher_destroy(&plain);
    aoei_teacher_destroy(&t);
    aoei_examples_free(&e);
    free(text);
    end(&f);
}

/* Asserts that the cache, whose only file is `path`, gives an error that names the file. */
static void expect_damaged(fixture *f, const aoei_examples *e, const char *path) {
    aoei_teacher t;
    aoe_error err = {0};
    const char *teachers[2] = {f->teacher[0], NULL};
    assert_int_equal(embed(f, &t, teachers, f->cache, e, 1, &err), AOE_EFORMAT);
    aoei_teacher_destroy(&t);
    assert_true(!strncmp(err.message, path, strlen(path)));
    if (!strstr(err.message, "the file is damaged, or does not contain teacher embeddings (bf16 [2, 20]); delete it"))
        fail_msg("%s", err.message);
}

/* Writes a safetensors file with a bf16 matrix of zeros and, if `hash` is not NULL, a tensor of this name. */
static void write_matrix(const char *path, size_t rows, size_t cols, const char *hash) {
    const aoei_st_entry entries[] = {{.name = "vectors", .dtype = AOEI_ST_BF16, .n_dims = 2, .shape = {rows, cols}},
                                     {.name = hash ? hash : "hash", .dtype = AOEI_ST_I64, .n_dims = 1, .shape = {1}}};
    aoei_st_writer *w;
    const char zeros[2 * MAX_DIMS * MAX_DIMS] = {0};
    assert_int_equal(aoei_st_writer_open(&w, path, entries, hash ? 2 : 1, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, zeros, rows * cols * sizeof(aoei_bf16), NULL), 0);
    if (hash)
        assert_int_equal(aoei_st_writer_write(w, zeros, sizeof(int64_t), NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
}

static void damaged_files(void **state) {
    fixture f;
    aoei_examples e;
    aoei_teacher t;
    aoe_error err = {0};
    char **names;
    size_t n, size;
    (void)state;
    begin(&f);
    load(&f, &e, "a.txt", two_texts);
    const char *teachers[2] = {f.teacher[0], NULL};
    assert_int_equal(embed(&f, &t, teachers, f.cache, &e, 1, &err), 0);
    aoei_teacher_destroy(&t);
    assert_int_equal(aoei_list_dir(&names, &n, f.cache, NULL), 0);
    assert_int_equal(n, 1);
    char *path = test_path(f.cache, names[0]), *good = test_read(path, &size);
    assert_non_null(strstr(names[0], ".safetensors"));
    for (size_t kept = 0; kept < size; kept += kept < 16 ? 3 : size / 7) { /* truncated files */
        free(test_write(f.cache, names[0], good, kept));
        expect_damaged(&f, &e, path);
    }
    for (size_t at = size - 80; at < size; at += 13) { /* changed values of vectors and of the hash */
        char *bad = malloc(size);
        assert_non_null(bad);
        memcpy(bad, good, size);
        bad[at] ^= 4;
        free(test_write(f.cache, names[0], bad, size));
        free(bad);
        expect_damaged(&f, &e, path);
    }
    free(test_write_text(f.cache, names[0], "a text file of another program, which is not a safetensors file"));
    expect_damaged(&f, &e, path);
    write_matrix(path, 3, 20, "hash");
    expect_damaged(&f, &e, path);
    write_matrix(path, 2, 12, "hash");
    expect_damaged(&f, &e, path);
    write_matrix(path, 2, 20, NULL);
    expect_damaged(&f, &e, path);
    write_matrix(path, 2, 20, "checksum");
    expect_damaged(&f, &e, path);
    write_matrix(path, 2, 20, "hash"); /* the hash is wrong */
    expect_damaged(&f, &e, path);
    assert_int_equal(remove(path), 0);
    assert_int_equal(embed(&f, &t, teachers, f.cache, &e, 1, &err), 0);
    aoei_teacher_destroy(&t);
    char *again = test_read(path, NULL);
    assert_memory_equal(again, good, size);
    free(again);
    free(good);
    free(path);
    aoei_list_free(names, n);
    aoei_examples_free(&e);
    end(&f);
}

/* A directory that cannot be created, because a file has its name, and a text without tokens. */
static void other_errors(void **state) {
    fixture f;
    aoei_examples e;
    aoei_teacher t;
    aoe_error err = {0};
    (void)state;
    begin(&f);
    load(&f, &e, "a.txt", two_texts);
    const char *teachers[2] = {f.teacher[0], NULL};
    char *file = test_write_text(f.dir, "file", ""), *inside = test_path(file, "cache");
    assert_int_equal(embed(&f, &t, teachers, file, &e, 1, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, file));
    aoei_teacher_destroy(&t);
    assert_int_not_equal(embed(&f, &t, teachers, inside, &e, 1, &err), 0);
    assert_non_null(strstr(err.message, file));
    aoei_teacher_destroy(&t);
    free(inside);
    free(file);
    aoei_examples_free(&e);
    end(&f);
}

/* Parts compute disjoint blocks of all files, which together are those of one process. */
static void parts(void **state) {
    enum { N = 2 * BLOCK + 5, PARTS = 3 };
    fixture f;
    aoei_examples e[2];
    aoei_teacher t, whole;
    aoe_error err = {0};
    (void)state;
    begin(&f);
    char *text = malloc((size_t)N * 16), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < N; i++)
        at += sprintf(at, "%c %c %c\n", 'a' + (char)(i % 26), 'a' + (char)(i / 26 % 26), 'a' + (char)(i / 676 % 26));
    load(&f, &e[0], "long.txt", text);
    load(&f, &e[1], "short.txt", "the cat\nthe dog\n");
    const char *teachers[AOE_MAX_TEACHERS] = {f.teacher[0], f.teacher[1]};
    aoe_training_args args;
    aoe_training_args_defaults(&args);
    args.event = on_event;
    args.event_user = &f;
    const size_t texts[PARTS] = {BLOCK + 2, BLOCK, 5}, files[PARTS] = {4, 6, 8}; /* blocks 0 and 3; 1; 2 */
    for (size_t i = 0; i < PARTS; i++)
        for (int again = 0; again < 2; again++) {
            f.reported = f.found = f.total = 0;
            assert_int_equal(aoei_teacher_open(&t, f.ctx, teachers, AOE_DTYPE_F32, f.cache, &err), 0);
            t.part = (aoei_part){i, PARTS};
            if (aoei_teacher_embed(&t, f.ctx, &args, e, 2, &err))
                fail_msg("%s", err.message);
            aoei_teacher_destroy(&t);
            assert_int_equal(f.reported, texts[i]);
            assert_int_equal(f.found, again ? 2 * texts[i] : 0);
            assert_int_equal(test_count_entries(f.cache), files[i]);
        }
    assert_int_equal(embed(&f, &t, teachers, f.cache, e, 2, &err), 0);
    assert_int_equal(f.found, 2 * (N + 2)); /* nothing was computed */
    char *other = test_path(f.dir, "other");
    assert_int_equal(embed(&f, &whole, teachers, other, e, 2, &err), 0);
    assert_equal_vectors(&t, &whole, e);
    aoei_teacher_destroy(&t);
    aoei_teacher_destroy(&whole);
    aoei_examples_free(&e[0]);
    aoei_examples_free(&e[1]);
    free(other);
    free(text);
    end(&f);
}

/* Opening the teachers creates no directory, because runs are also checked without being started
 * (aoe_train_check_data). */
static void open_writes_nothing(void **state) {
    fixture f;
    aoei_teacher t;
    aoe_error err = {0};
    (void)state;
    begin(&f);
    const char *teachers[AOE_MAX_TEACHERS] = {f.teacher[0], f.teacher[1]};
    if (aoei_teacher_open(&t, f.ctx, teachers, AOE_DTYPE_F32, f.cache, &err))
        fail_msg("%s", err.message);
    assert_false(aoei_exists(f.cache));
    aoei_teacher_destroy(&t);
    char *file = test_write_text(f.dir, "file", "");
    assert_int_equal(aoei_teacher_open(&t, f.ctx, teachers, AOE_DTYPE_F32, file, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "options.teacher_cache: "));
    aoei_teacher_destroy(&t);
    free(file);
    end(&f);
}

/* Arguments of embed_once. */
typedef struct attempt {
    fixture f;
    aoei_examples e;
} attempt;

static int embed_once(void *arg) {
    attempt *a = arg;
    aoei_teacher t;
    const char *teachers[2] = {a->f.teacher[0], a->f.teacher[1]};
    const int code = embed(&a->f, &t, teachers, a->f.cache, &a->e, 1, NULL);
    aoei_teacher_destroy(&t);
    return code;
}

/* After a failure, the cache contains only complete files. */
static void after_failure(void *arg, int code) {
    attempt *a = arg;
    char **names;
    size_t n = 0;
    if (aoei_is_dir(a->f.cache)) {
        assert_int_equal(aoei_list_dir(&names, &n, a->f.cache, NULL), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(strlen(names[i]) == 28 && !strcmp(names[i] + 16, ".safetensors"));
        aoei_list_free(names, n);
    }
    assert_true(n <= 2 && (code || n == 2));
    if (!code)
        return;
    assert_int_equal(embed_once(a), 0); /* reads the complete files and computes the others */
    assert_int_equal(aoei_remove_tree(a->f.cache, NULL), 0);
}

static void full_disk(void **state) {
    static const int errors[] = {ENOSPC, EIO};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        attempt a;
        begin(&a.f);
        load(&a.f, &a.e, "a.txt", two_texts);
        assert_true(test_io_failures(embed_once, after_failure, &a, errors[i]) >= 6);
        aoei_examples_free(&a.e);
        end(&a.f);
    }
}

static int embed_in_new_cache(void *arg) {
    attempt *a = arg;
    const int code = aoei_remove_tree(a->f.cache, NULL);
    return code ? code : embed_once(arg);
}

static void out_of_memory(void **state) {
    attempt a;
    (void)state;
    begin(&a.f);
    load(&a.f, &a.e, "a.txt", two_texts);
    assert_true(test_alloc_failures_published(embed_in_new_cache, &a, 60) > 100);
    aoei_examples_free(&a.e);
    end(&a.f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values),       cmocka_unit_test(repeated_texts),
                                       cmocka_unit_test(keys),         cmocka_unit_test(interruption),
                                       cmocka_unit_test(parts),        cmocka_unit_test(damaged_files),
                                       cmocka_unit_test(other_errors), cmocka_unit_test(open_writes_nothing),
                                       cmocka_unit_test(full_disk),    cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests_name("teacher_cache", tests, NULL, NULL);
}
