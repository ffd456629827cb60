/* SPDX-License-Identifier: MIT
 * Character references of HTML, such as "&amp;", "&#8364;" and "&#x20AC;".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decodes the character reference at the beginning of s[len] into *cp. Returns its length in bytes, or 0 if there is no
 * known reference; s then stands for itself. A number that is not a character becomes U+FFFD. The semicolon may be
 * missing after numbers and after the names of characters up to U+00FF. */
size_t aoei_html_entity(const char *s, size_t len, uint32_t *cp);
