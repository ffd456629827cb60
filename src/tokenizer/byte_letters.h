/* SPDX-License-Identifier: MIT
 * Defines the letters that represent bytes in byte-level vocabularies, as in GPT-2. A printable Latin-1 character
 * represents its own byte. The other bytes are represented by the letters U+0100, U+0101, ..., in ascending order of
 * the bytes.
 */
#pragma once

#include <stdint.h>

#define AOEI_BYTE_LETTER_SPACE "\xc4\xa0" /* U+0120, the letter of the space byte */

static inline int aoei_byte_is_letter(unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
}

/* Returns the letter of a byte, a code point below U+0144. */
static inline uint32_t aoei_byte_letter(unsigned char byte) {
    const unsigned b = byte;
    if (aoei_byte_is_letter(b))
        return b;
    /* the bytes that are not printable: 0 to 32, 127 to 160, and 173 */
    return b <= 32 ? 256 + b : b <= 160 ? 256 + 33 + (b - 127) : 256 + 33 + 34;
}

/* Returns the byte of a letter, or -1 if the code point is no letter of a byte. */
static inline int aoei_letter_byte(uint32_t cp) {
    if (cp < 256)
        return aoei_byte_is_letter(cp) ? (int)cp : -1;
    const int i = cp < 256 + 68 ? (int)cp - 256 : -1;
    return i < 33 ? i : i < 67 ? 127 + (i - 33) : 173;
}
