/* SPDX-License-Identifier: MIT
 * Tests the conversion of files to UTF-8 and the detection of files without text.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "document/file_text.h"

/* Converts `in` and compares the result with `out`; NULL means that the file has no text for readers. */
static void check(const char *in, size_t len, const char *out) {
    char *data = aoei_strndup(in, len);
    size_t size = len;
    int is_textless = -1;
    assert_non_null(data);
    assert_int_equal(aoei_file_text(&data, &size, &is_textless, NULL), 0);
    assert_int_equal(is_textless, out == NULL);
    if (out) {
        assert_int_equal(size, strlen(out));
        assert_memory_equal(data, out, size + 1);
    }
    aoei_free(data);
}
#define CHECK(in, out) check(in, sizeof in - 1, out)

static void keeps_texts(void **state) {
    (void)state;
    CHECK("", "");
    CHECK("a\n\tb\r\n\f\x1b[1mx\n", "a\n\tb\r\n\f\x1b[1mx\n");
    CHECK("gr\xc3\xbc\xc3\x9f\xe2\x82\xac\n", "gr\xc3\xbc\xc3\x9f\xe2\x82\xac\n");
    CHECK("\xef\xbb\xbf# Title\n", "# Title\n");
}

static void converts_utf16(void **state) {
    (void)state;
    CHECK("\xff\xfeH\0\xfc\0\n\0", "H\xc3\xbc\n");
    CHECK("\xfe\xff\0H\0\xfc\0\n", "H\xc3\xbc\n");
    CHECK("\xff\xfe\x3d\xd8\x00\xde"
          "a\0b\0c\0d\0",
          "\xf0\x9f\x98\x80"
          "abcd");
    /* an unpaired surrogate, and half a character at the end */
    CHECK("\xff\xfe\x3d\xd8"
          "a\0b",
          "\xef\xbf\xbd"
          "a\xef\xbf\xbd");
}

static void replaces_invalid_bytes(void **state) {
    (void)state;
    CHECK("Die Br\xfc"
          "cke ist schmal.\n",
          "Die Br\xef\xbf\xbd"
          "cke ist schmal.\n");
    CHECK("an interrupted character at the end \xe2\x82", "an interrupted character at the end \xef\xbf\xbd");
}

static void detects_binary_files(void **state) {
    (void)state;
    CHECK("text\0text", NULL);
    CHECK("\x7f"
          "ELF\x02\x01\x01\x03\x04",
          NULL);
    CHECK("\x89PNG\r\n\x1a\n\x80\x81", NULL);
    CHECK("\xff\xfe\0\0H\0\0\0", NULL);      /* UTF-32 */
    CHECK("\xcf\xf0\xe8\xe2\xe5\xf2", NULL); /* Windows-1251 */
    char late[70001];
    memset(late, 'a', sizeof late);
    late[70000] = 0; /* a NUL after the sample */
    check(late, sizeof late, NULL);
}

static int convert(void *arg) {
    const aoe_text *in = arg;
    char *data = aoei_strndup(in->data, in->len);
    size_t size = in->len;
    int is_textless;
    if (!data)
        return AOE_ENOMEM;
    const int code = aoei_file_text(&data, &size, &is_textless, NULL);
    aoei_free(data);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    aoe_text latin = aoe_text_of("Die Br\xfc"
                                 "cke ist schmal.\n"),
             utf16 = {"\xff\xfeH\0\xfc\0\n\0", 8};
    assert_true(test_alloc_failures(convert, &latin, 0) > 0);
    assert_true(test_alloc_failures(convert, &utf16, 0) > 0);
}

static void detects_pictures(void **state) {
    (void)state;
    CHECK("<svg xmlns='http://www.w3.org/2000/svg'><text>a</text></svg>\n", NULL);
    CHECK("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN'>\n<svg>\n</svg>", NULL);
    CHECK("<!-- a > b --> <!---->\n<svg\nwidth='1'/>", NULL);
    CHECK("<svga>", "<svga>");
    CHECK("<html><svg></svg></html>", "<html><svg></svg></html>");
    CHECK("<?xml version='1.0'?><note>svg</note>", "<?xml version='1.0'?><note>svg</note>");
    CHECK("The element <svg> is a picture.", "The element <svg> is a picture.");
    CHECK("<svg", "<svg");
    CHECK("<?xml", "<?xml");
    CHECK("<!-- no end", "<!-- no end");
}

/* Checks a file of at least n bytes that consists of copies of `line`. */
static void check_lines(const char *line, size_t n, int is_text) {
    aoei_buffer b = {0};
    while (b.len < n)
        aoei_buffer_printf(&b, "%s\n", line);
    assert_int_equal(b.failed, 0);
    check(b.data, b.len, is_text ? b.data : NULL);
    aoei_buffer_free(&b);
}

static void detects_numbers(void **state) {
    (void)state;
    check_lines("1250 0.7312 -1.5e-03 12 7", 4096, 0);
    check_lines("1250 0.7312 -1.5e-03 12 7", 2000, 1); /* small files may have few letters */
    check_lines("2026-11-29 10:31:02 error 17 in unit 3", 4096, 1);
    check_lines("0312 445566 Smith", 4096, 1);
    check_lines("12,5 \xe9\x83\xa8\xe7\xbd\xb2", 4096, 1); /* other scripts are letters */
    check_lines("|---|---|", 4096, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_texts),
                                       cmocka_unit_test(converts_utf16),
                                       cmocka_unit_test(replaces_invalid_bytes),
                                       cmocka_unit_test(detects_binary_files),
                                       cmocka_unit_test(detects_pictures),
                                       cmocka_unit_test(detects_numbers),
                                       cmocka_unit_test(survives_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
