/* SPDX-License-Identifier: MIT
 * Tests the documented rules for unusual files of a folder: those that cannot be read or change while they are read,
 * invalid UTF-8, a line of 100 MB, and names with newlines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/update_index.h"
#include "base/alloc.h"

/* Writes a file with a line of `n` bytes, in which `unit` is repeated, and a line "needle". */
static void add_long(const char *name, const char *unit, size_t n) {
    add(name, "");
    char *path = test_path(base, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const size_t len = strlen(unit), block = len * 4096;
    char *text = malloc(block);
    assert_non_null(text);
    for (size_t i = 0; i < 4096; i++)
        memcpy(text + i * len, unit, len);
    for (size_t done = 0; done < n; done += block)
        assert_int_equal(fwrite(text, 1, block < n - done ? block : n - done, f), block < n - done ? block : n - done);
    fputs("\nneedle\n", f);
    assert_int_equal(fclose(f), 0);
    free(text);
    free(path);
}

/* Returns the highest memory of the process until now, in bytes. */
static size_t peak(void) {
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (size_t)u.ru_maxrss << 10;
}

/* Checks that the only document has from `least` to `most` passages, one of which contains `part`, and that the word
 * "needle" is found in line 2. */
static void check_needle(size_t least, size_t most, const char *part) {
    aoe_index_stats s = {.struct_size = sizeof s};
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_LEXICAL;
    check(aoe_index_get_stats(index_, &s, &err));
    assert_int_equal(s.documents, 1);
    assert_in_range(s.passages, least, most);
    char *dump = tiny_index_dump(index_);
    assert_has(dump, part);
    free(dump);
    check(aoe_index_search(index_, aoe_text_of("needle"), &o, &hits, &err));
    assert_in_range(hits.n, 1, 2); /* passages overlap */
    assert_int_equal(hits.hit[0].last_line, 2);
    assert_has(hits.hit[0].text.data, "needle");
    aoe_index_hits_free(&hits);
}

static void divides_long_lines(void **state) {
    (void)state;
    const size_t n = 100000000, before = peak();
    begin("long1");
    add_long("docs/data.txt", "x", n); /* a run without spaces is cut after 1,000 bytes */
    (void)counts("docs", 1, 0, 0, 0);
    check_needle(1, 100, "xxx ...");
    end();
    begin("long2");
    add_long("docs/data.min.js", "abc(d, e); ", n); /* a line of source code is cut after 4,000 bytes */
    (void)counts("docs", 1, 0, 0, 0);
    check_needle(1, 1000, "abc(d, e); ");
    end();
#if !TEST_SANITIZED
    assert_true(peak() - before < 3 * n);
#else
    (void)before;
#endif
    begin("long3");
    add_long("docs/prose.txt", "One word and another word. ", n / 200); /* prose is divided into passages */
    (void)counts("docs", 1, 0, 0, 0);
    check_needle(1000, n, "One word and another word. ");
    end();
}

/* A file that cannot be read leaves the index until it can be read again. The superuser can read all files, so the test
 * is another user meanwhile. */
static void leaves_out_unreadable_files(void **state) {
    (void)state;
    begin("unreadable");
    add("docs/a.md", "a b c");
    add("docs/b.md", "b c d");
    (void)counts("docs", 2, 0, 0, 0);
    char *path = test_path(base, "docs/b.md");
    assert_int_equal(chmod(path, 0) + chmod(tiny_index_dir, 0755), 0);
    if (geteuid() == 0 && setegid(65534) + seteuid(65534))
        skip();
    aoe_index_update_result r;
    const int code = update(NULL, NULL, &r);
    if (getuid() == 0)
        assert_int_equal(seteuid(0) + setegid(0), 0);
    check(code);
    assert_int_equal(r.removed, 1);
    assert_int_equal(r.skipped_unreadable, 1);
    assert_has(messages, "docs/b.md cannot be read");
    assert_names("a.md;");
    assert_int_equal(chmod(path, 0600), 0);
    (void)counts(NULL, 1, 0, 0, 1);
    free(path);
    end();
}

/* A file that changes while it is read keeps its earlier text. The program that converts the file changes it. */
static void keeps_the_text_of_changing_files(void **state) {
    (void)state;
    begin("changing");
    char *program = test_path(base, "bin/convert");
    add("bin/convert", "#!/bin/sh\ncat \"$1\"\n");
    assert_int_equal(chmod(program, 0755), 0);
    add("docs/a.up", "earlier text");
    const char *const argv[] = {program, "-"};
    const aoe_index_filter f = {sizeof f, "*.up", argv, 2};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.filter = &f;
    o.n_filters = 1;
    aoe_index_update_result r;
    check(update("docs", &o, &r));
    assert_int_equal(r.added, 1);
    add("docs/a.up", "a text that changes");
    add("bin/convert", "#!/bin/sh\ncat \"$1\"\necho more >>\"$1\"\n");
    check(update(NULL, &o, &r));
    assert_int_equal(r.changed, 0);
    assert_int_equal(r.removed, 0);
    assert_int_equal(r.skipped_other, 1);
    assert_has(messages, "docs/a.up changed while it was read");
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "earlier text");
    free(dump);
    add("bin/convert", "#!/bin/sh\ncat \"$1\"\n");
    check(update(NULL, &o, &r));
    assert_int_equal(r.changed, 1);
    dump = tiny_index_dump(index_);
    assert_has(dump, "a text that changes");
    free(dump);
    free(program);
    end();
}

static void reads_invalid_text(void **state) {
    (void)state;
    begin("invalid");
    add("docs/a.md", "caf\xe9 and na\xefve words, and many others after them");
    (void)counts("docs", 1, 0, 0, 0);
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "caf\xef\xbf\xbd and na\xef\xbf\xbdve words");
    free(dump);
    end();
}

static void leaves_out_bad_names(void **state) {
    (void)state;
    begin("names");
    add("docs/a.md", "a");
    add("docs/b\nc.md", "b");
    add("docs/d\xff.md", "d");
    aoe_index_update_result r = counts("docs", 1, 0, 0, 0);
    assert_int_equal(r.skipped_other, 2);
    assert_has(messages, "has a name with control characters or invalid UTF-8");
    assert_names("a.md;");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides_long_lines),
        cmocka_unit_test(leaves_out_unreadable_files),
        cmocka_unit_test(keeps_the_text_of_changing_files),
        cmocka_unit_test(reads_invalid_text),
        cmocka_unit_test(leaves_out_bad_names),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
