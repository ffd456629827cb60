/* SPDX-License-Identifier: MIT
 * Fuzzes the contents of files: their conversion to UTF-8, and the front matter of the result. The text must be valid
 * UTF-8, and values must be inside the text, in its order. No block may be leaked.
 *
 * covers: document/file_text
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "document/file_text.h"
#include "document/front_matter.h"

static void check_fields(const aoei_front_matter *m, const char *text, size_t size) {
    const char *last = text;
    if (m->n > AOEI_FRONT_MATTER_FIELDS || !m->lost != !m->lost_line)
        abort();
    for (size_t i = 0; i < m->n; i++) {
        const aoe_text value = m->field[i].value;
        const size_t len = strlen(m->field[i].key);
        if (!len || len > AOEI_FRONT_MATTER_KEY || aoei_utf8_valid(m->field[i].key, len) != len || !value.len ||
            value.data < last || value.data + value.len > text + size || memchr(value.data, '\n', value.len))
            abort();
        last = value.data + value.len; /* values are in the order of the text */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    char *text = aoei_strndup((const char *)data, size);
    aoei_front_matter m = {.n = 0};
    int is_binary;
    if (!text)
        return 0;
    if (aoei_file_text(&text, &size, &is_binary, NULL))
        abort();
    if (!is_binary) {
        if (text[size] || aoei_utf8_valid(text, size) != size || memchr(text, 0, size))
            abort();
        if (aoei_front_matter_read(&m, (aoe_text){text, size}, NULL))
            abort();
        check_fields(&m, text, size);
    }
    aoei_front_matter_free(&m);
    aoei_free(text);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
