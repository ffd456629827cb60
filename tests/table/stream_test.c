/* SPDX-License-Identifier: MIT
 * covers: table/lines
 * Tests reading of byte streams and of lines. The files may be compressed, concatenated, truncated or corrupt. Other
 * tests cover line ends, byte order marks, and invalid UTF-8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "table/lines.h"
#include "table/stream.h"

/* Reads the file to its end, with at most `step` bytes per call. Returns 0 or an error code. *out is set to the bytes
 * that were read; the caller frees *out. */
static int read_all(const char *path, size_t step, char **out, size_t *size, aoe_error *err) {
    aoei_stream *s;
    *out = NULL;
    *size = 0;
    int rc = aoei_stream_open(&s, path, err);
    if (rc)
        return rc;
    for (size_t capacity = 0;;) {
        if (capacity < *size + step) {
            capacity = 2 * (*size + step);
            *out = realloc(*out, capacity);
            assert_non_null(*out);
        }
        size_t got;
        rc = aoei_stream_read(s, *out + *size, step, &got, err);
        if (rc || !got)
            break;
        *size += got;
    }
    aoei_stream_close(s);
    return rc;
}

static void expect_contents(const char *path, size_t step, const char *want, size_t want_size) {
    aoe_error err = {0};
    char *got;
    size_t size;
    int rc = read_all(path, step, &got, &size, &err);
    if (rc)
        fail_msg("%s", err.message);
    assert_int_equal(size, want_size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void expect_failure(const char *path, int code, const char *message) {
    aoe_error err = {0};
    char *got;
    size_t size;
    assert_int_equal(read_all(path, 4096, &got, &size, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, message))
        fail_msg("expected a message with \"%s\", found \"%s\"", message, err.message);
    assert_non_null(strstr(err.message, path));
    free(got);
    assert_int_equal(read_all(path, 1, &got, &size, NULL), code);
    free(got);
}

/* Returns 300,000 pseudo-random bytes of text, which compress only moderately. The caller frees the bytes. */
static char *big_text(size_t *size) {
    *size = 300000;
    char *text = malloc(*size);
    assert_non_null(text);
    unsigned x = 1;
    for (size_t i = 0; i < *size; i++) {
        x = x * 1103515245u + 12345u;
        text[i] = "abcdefghijklmnop\n qrstuvwxyzABCDE"[(x >> 16) % 32];
    }
    return text;
}

static void test_codecs_by_name(void **state) {
    (void)state;
    assert_int_equal(aoei_codec_of("a.tsv"), AOEI_CODEC_PLAIN);
    assert_int_equal(aoei_codec_of("a.tsv.gz"), AOEI_CODEC_GZIP);
    assert_int_equal(aoei_codec_of("a.tsv.GZ"), AOEI_CODEC_GZIP);
    assert_int_equal(aoei_codec_of("a.zst"), AOEI_CODEC_ZSTD);
    assert_int_equal(aoei_codec_of(".gz"), AOEI_CODEC_PLAIN);
    assert_int_equal(aoei_codec_of("gz"), AOEI_CODEC_PLAIN);
}

static void test_round_trips(void **state) {
    (void)state;
    size_t size, gz_size, zst_size;
    char *text = big_text(&size);
    char *gz = test_gzip(text, size, &gz_size), *zst = test_zstd(text, size, &zst_size);
    char *paths[] = {test_write(test_dir, "a.txt", text, size), test_write(test_dir, "a.txt.gz", gz, gz_size),
                     test_write(test_dir, "a.txt.zst", zst, zst_size)};
    for (size_t i = 0; i < 3; i++) {
        expect_contents(paths[i], 7, text, size);
        expect_contents(paths[i], 1 << 20, text, size);
        free(paths[i]);
    }
    free(text);
    free(gz);
    free(zst);
}

typedef char *(*compress_fn)(const void *data, size_t size, size_t *out_size);

/* Returns the concatenation of two texts that were compressed separately. The caller frees the result. */
static char *two_parts(compress_fn compress, size_t *size) {
    size_t a, b;
    char *first = compress("hello ", 6, &a), *second = compress("world\n", 6, &b);
    char *both = malloc(a + b);
    assert_non_null(both);
    memcpy(both, first, a);
    memcpy(both + a, second, b);
    *size = a + b;
    free(first);
    free(second);
    return both;
}

static void test_concatenated(void **state) {
    (void)state;
    size_t size;
    char *gz = two_parts(test_gzip, &size);
    char *path = test_write(test_dir, "two.gz", gz, size);
    expect_contents(path, 100, "hello world\n", 12);
    free(gz);
    free(path);
    char *zst = two_parts(test_zstd, &size);
    path = test_write(test_dir, "two.zst", zst, size);
    expect_contents(path, 3, "hello world\n", 12);
    free(zst);
    free(path);
}

/* Writes the result of two_parts to the file `name`, truncated at every byte in turn. Asserts that reading fails,
 * unless the file is truncated exactly after its first part. */
static void check_truncation(compress_fn compress, const char *name, const char *codec) {
    size_t size, first;
    free(compress("hello ", 6, &first));
    char *both = two_parts(compress, &size);
    for (size_t end = 0; end < size; end++) {
        char *path = test_write(test_dir, name, both, end);
        char message[100];
        snprintf(message, sizeof message, "%s: the %s data are incomplete: the file ends at byte %zu; ", name, codec,
                 end);
        if (end == first)
            expect_contents(path, 100, "hello ", 6);
        else
            expect_failure(path, AOE_EFORMAT, message);
        free(path);
    }
    free(both);
}

static void test_truncated(void **state) {
    (void)state;
    check_truncation(test_gzip, "cut.gz", "gzip");
    check_truncation(test_zstd, "cut.zst", "zstd");
}

static void test_corrupt(void **state) {
    (void)state;
    size_t size, gz_size;
    char *text = big_text(&size);
    char *gz = test_gzip(text, size, &gz_size);
    gz[gz_size - 6] ^= 1; /* changes the checksum */
    char *path = test_write(test_dir, "bad.gz", gz, gz_size);
    expect_failure(path, AOE_EFORMAT, "bad.gz: corrupt gzip data near byte ");
    free(path);
    free(gz);
    free(text);
    path = test_write_text(test_dir, "plain.gz", "this is not gzip data at all\n");
    expect_failure(
        path, AOE_EFORMAT,
        "plain.gz: the file is not compressed with gzip, although its name ends in .gz; remove this extension");
    free(path);
    path = test_write_text(test_dir, "plain.zst", "this is not zstd data at all\n");
    expect_failure(path, AOE_EFORMAT,
                   "plain.zst: the file is not compressed with zstd, although its name ends in .zst");
    free(path);
    gz = test_gzip("x\n", 2, &gz_size);
    gz = realloc(gz, gz_size + 5);
    assert_non_null(gz);
    memcpy(gz + gz_size, "waste", 5);
    path = test_write(test_dir, "tail.gz", gz, gz_size + 5);
    expect_failure(path, AOE_EFORMAT, "corrupt gzip data");
    free(path);
    free(gz);
}

static void test_missing_file_and_directory(void **state) {
    (void)state;
    char *path = test_path(test_dir, "nothing.tsv");
    expect_failure(path, AOE_ENOENT, "nothing.tsv: no such file; check the path");
    free(path);
    expect_failure(test_dir, AOE_EIO, ": this is a directory; give the path of a file");
}

/* Writes data[size] to the file `name` in the test directory and opens a line reader on it. */
static aoei_lines *lines_of(const char *name, const char *data, size_t size) {
    aoe_error err = {0};
    aoei_lines *l;
    char *path = test_write(test_dir, name, data, size);
    if (aoei_lines_open(&l, path, &err))
        fail_msg("%s", err.message);
    free(path);
    return l;
}

/* Asserts that the next line has this text, this line number and this byte offset. eol: number of bytes of its line
 * end. */
static void expect_line(aoei_lines *l, const char *text, size_t len, size_t eol, size_t number, size_t offset) {
    aoe_error err = {0};
    aoei_line line;
    int rc = aoei_lines_next(l, &line, &err);
    if (rc != 1)
        fail_msg("expected a line, found code %d: %s", rc, err.message);
    assert_int_equal(line.len, len);
    assert_memory_equal(line.data, text, len);
    assert_int_equal(line.eol, eol);
    assert_int_equal(line.number, number);
    assert_int_equal(line.offset, offset);
}

static void expect_end(aoei_lines *l) {
    aoei_line line;
    assert_int_equal(aoei_lines_next(l, &line, NULL), 0);
    assert_int_equal(aoei_lines_next(l, &line, NULL), 0);
    aoei_lines_close(l);
}

static void test_line_ends(void **state) {
    (void)state;
    aoei_lines *l = lines_of("l.txt", "one\ntwo\r\n\nth\rree\r\r\n\r\nlast\0\r", 27);
    expect_line(l, "one", 3, 1, 1, 0);
    expect_line(l, "two", 3, 2, 2, 4);
    expect_line(l, "", 0, 1, 3, 9);
    expect_line(l, "th\rree\r", 7, 2, 4, 10);
    expect_line(l, "", 0, 2, 5, 19);
    expect_line(l, "last\0\r", 6, 0, 6, 21);
    expect_end(l);
    expect_end(lines_of("empty.txt", "", 0));
}

static void test_byte_order_mark(void **state) {
    (void)state;
    aoei_lines *l = lines_of("bom.txt", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n", 14);
    expect_line(l, "one", 3, 1, 1, 3);
    expect_line(l, "\xEF\xBB\xBFtwo", 6, 1, 2, 7);
    expect_end(l);
    expect_end(lines_of("only.txt", "\xEF\xBB\xBF", 3));
    l = lines_of("blank.txt", "\xEF\xBB\xBF\n", 4);
    expect_line(l, "", 0, 1, 1, 3);
    expect_end(l);
}

static void test_long_lines(void **state) {
    (void)state;
    size_t size = 3000000;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    text[2] = '\n';
    text[size - 2] = '\n';
    aoei_lines *l = lines_of("long.txt", text, size);
    expect_line(l, text, 2, 1, 1, 0);
    expect_line(l, text + 3, size - 5, 1, 2, 3);
    expect_line(l, "x", 1, 0, 3, size - 1);
    expect_end(l);
    free(text);
}

static void test_invalid_utf8(void **state) {
    (void)state;
    static const char text[] = "good \xC3\xA9\nalso good\nbad \xC3\x28 here\n";
    size_t gz_size;
    char *gz = test_gzip(text, sizeof text - 1, &gz_size);
    const char *names[] = {"utf.txt", "utf.txt.gz"}; /* the offset in the message refers to the decompressed text */
    for (size_t i = 0; i < 2; i++) {
        aoei_lines *l = lines_of(names[i], i ? gz : text, i ? gz_size : sizeof text - 1);
        expect_line(l, "good \xC3\xA9", 7, 1, 1, 0);
        expect_line(l, "also good", 9, 1, 2, 8);
        aoe_error err = {0};
        aoei_line line;
        char want[200];
        snprintf(want, sizeof want,
                 "%s/%s: invalid UTF-8 at byte 22, in line 3; convert the file to UTF-8, for example with iconv",
                 test_dir, names[i]);
        assert_int_equal(aoei_lines_next(l, &line, &err), AOE_EFORMAT);
        assert_string_equal(err.message, want);
        aoei_lines_close(l);
    }
    free(gz);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codecs_by_name), cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_concatenated),   cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_corrupt),        cmocka_unit_test(test_missing_file_and_directory),
        cmocka_unit_test(test_line_ends),      cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_invalid_utf8),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
