/* SPDX-License-Identifier: MIT
 * Tests the recognition of kinds of documents.
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
