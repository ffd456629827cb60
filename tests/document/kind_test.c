/* SPDX-License-Identifier: MIT
 * Tests the recognition of kinds of documents and of binary files.
 */
#include <string.h>

#include "../support/support.h"
#include "document/kind.h"

static void test_kinds(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        aoei_document_kind kind;
    } cases[] = {
        {"a.md", "", AOEI_DOCUMENT_MARKDOWN},
        {"dir.html/README.Markdown", "", AOEI_DOCUMENT_MARKDOWN},
        {"INDEX.HTM", "plain", AOEI_DOCUMENT_HTML},
        {"src/x.c", "", AOEI_DOCUMENT_CODE},
        {"x.py", "", AOEI_DOCUMENT_CODE},
        {"x.tsx", "", AOEI_DOCUMENT_CODE},
        {"x/Makefile", "", AOEI_DOCUMENT_CODE},
        {"CMakeLists.txt", "", AOEI_DOCUMENT_CODE},
        {"notes.txt", "<html>", AOEI_DOCUMENT_TEXT},
        {"README", "Text", AOEI_DOCUMENT_TEXT},
        {"README", "\xEF\xBB\xBF\r\n <!DOCTYPE html><p>", AOEI_DOCUMENT_HTML},
        {NULL, "<html lang=\"en\">", AOEI_DOCUMENT_HTML},
        {"run", "#!/bin/sh\n", AOEI_DOCUMENT_CODE},
        {"run", "#! /usr/bin/env python3\n", AOEI_DOCUMENT_CODE},
        {".c", "", AOEI_DOCUMENT_TEXT}, /* a hidden file without an extension */
        {"a.", "", AOEI_DOCUMENT_TEXT},
        {"a.xyz", "", AOEI_DOCUMENT_TEXT},
        {"a.json", "", AOEI_DOCUMENT_TEXT},
        {NULL, "", AOEI_DOCUMENT_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (aoei_document_kind_of(cases[i].name, aoe_text_of(cases[i].text)) != cases[i].kind)
            fail_msg("case %zu: expected kind %d", i, (int)cases[i].kind);
}

static int binary(const char *data, size_t len) {
    return aoei_document_is_binary((aoe_text){data, len});
}

static void test_binary(void **state) {
    (void)state;
    char text[1000];
    assert_false(binary("", 0));
    assert_false(aoei_document_is_binary((aoe_text){NULL, 0}));
    assert_false(binary("text\r\n\t\x1B[31mred\f", 16));
    assert_true(binary("text\0", 5));
    assert_false(binary("\xFF\xFEt\0e\0", 6));     /* UTF-16 */
    assert_true(binary("\xFF\xFE\0\0t\0\0\0", 8)); /* UTF-32 */
    memset(text, 'a', sizeof text);
    memset(text, '\xE9', 100); /* Latin-1 text has few letters with accents */
    assert_false(binary(text, sizeof text));
    text[100] = '\xE9';
    assert_true(binary(text, sizeof text));
    memset(text, 1, 100);
    text[100] = 'a';
    assert_false(binary(text, 1000));
    memset(text, 1, 101);
    assert_true(binary(text, 1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_binary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
