/* SPDX-License-Identifier: MIT
 * Compares names of tokenizer classes.
 */
#include "tokenizer/tokenizer_class.h"

#include <string.h>

int aoei_tokenizer_class_is(const char *written, const char *name) {
    const size_t len = strlen(name);
    return written && !strncmp(written, name, len) && (!written[len] || !strcmp(written + len, "Fast"));
}
