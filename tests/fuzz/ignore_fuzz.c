/* SPDX-License-Identifier: MIT
 * Fuzzes patterns of .gitignore files. The input is a file of patterns, then U+0001, then a path. A comment at the end
 * of the file must not change the result, and a negated copy of a pattern must match the same paths as the pattern. No
 * block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "document/ignore.h"

/* Compares the path with one pattern of the file, and with the same pattern after '!'. */
static void compare_negated(aoe_text line, aoe_text path, int is_dir) {
    char negated[512] = "!";
    aoei_ignore a = {.n = 0}, b = {.n = 0};
    if (line.len + 2 > sizeof negated || !line.len || *line.data == '#' || *line.data == '!')
        return;
    memcpy(negated + 1, line.data, line.len);
    if (aoei_ignore_add(&a, line, NULL) || aoei_ignore_add(&b, (aoe_text){negated, line.len + 1}, NULL))
        abort();
    const int found = aoei_ignore_find(&a, path, is_dir) == AOEI_IGNORE_EXCLUDED;
    if (found != (aoei_ignore_find(&b, path, is_dir) == AOEI_IGNORE_INCLUDED))
        abort();
    aoei_ignore_free(&a);
    aoei_ignore_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    const char *s = (const char *)data, *cut = size ? memchr(s, 1, size) : NULL;
    const size_t len = cut ? (size_t)(cut - s) : size, rest = cut ? size - len - 1 : 0;
    const aoe_text path = {cut ? cut + 1 : "a/b", cut ? rest : 3};
    aoei_ignore list = {.n = 0};
    aoe_error err = {0};
    const int code = aoei_ignore_add_file(&list, (aoe_text){s, len}, "f", &err);
    if (code != err.code || (code && code != AOE_EFORMAT))
        abort();
    for (int is_dir = 0; is_dir < 2; is_dir++) {
        const aoei_ignore_match before = aoei_ignore_find(&list, path, is_dir);
        if (aoei_ignore_add_file(&list, aoe_text_of("# comment\n"), "g", NULL) ||
            before != aoei_ignore_find(&list, path, is_dir))
            abort();
        const char *lf = len ? memchr(s, '\n', len) : NULL;
        compare_negated((aoe_text){s, lf ? (size_t)(lf - s) : len}, path, is_dir);
    }
    aoei_ignore_free(&list);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
