/* SPDX-License-Identifier: MIT
 * Fuzzes the validation, decoding and encoding of UTF-8 and compares them with utf8proc. Also checks that an error
 * message that contains the input is one line of valid UTF-8.
 */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "../support/support.h"
#include "base/error.h"
#include "base/utf8.h"

/* Returns the offset of the first byte that is invalid according to utf8proc, or `size` if all bytes are valid. Aborts
 * if aoe decodes or encodes a valid character differently from utf8proc. */
static size_t utf8proc_valid(const uint8_t *data, size_t size) {
    size_t i = 0;
    while (i < size) {
        utf8proc_int32_t cp;
        utf8proc_ssize_t n = utf8proc_iterate(data + i, (utf8proc_ssize_t)(size - i), &cp);
        if (n <= 0)
            break;
        uint32_t got;
        char back[4];
        if (aoei_utf8_decode((const char *)data + i, size - i, &got) != (size_t)n || got != (uint32_t)cp ||
            aoei_utf8_encode(got, back) != (size_t)n || memcmp(back, data + i, (size_t)n) != 0)
            abort();
        i += (size_t)n;
    }
    return i;
}

static void check_message(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    aoe_error err;
    aoei_fail(&err, AOE_EFORMAT, "%s", text);
    size_t len = strlen(err.message);
    if (aoei_utf8_valid(err.message, len) != len || strpbrk(err.message, "\n\r\t\033"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (aoei_utf8_valid((const char *)data, size) != utf8proc_valid(data, size))
        abort();
    check_message(data, size);
    return 0;
}
