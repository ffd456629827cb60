/* SPDX-License-Identifier: MIT
 * The letters that stand for bytes in byte-level vocabularies (GPT-2's): the
 * printable bytes of Latin-1 are their own, the others are U+0100 and on, in order.
 */
#ifndef AOEI_TOKENIZER_BYTE_LETTERS_H
#define AOEI_TOKENIZER_BYTE_LETTERS_H

#include <stdint.h>

#define AOEI_BYTE_LETTER_SPACE "\xc4\xa0" /* U+0120, the letter of the space */

static inline int aoei_byte_is_letter(unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
}

/* Below U+0144. */
static inline uint32_t aoei_byte_letter(unsigned char byte) {
    const unsigned b = byte;
    if (aoei_byte_is_letter(b))
        return b;
    /* 0 to 32, 127 to 160, 173 */
    return b <= 32 ? 256 + b : b <= 160 ? 256 + 33 + (b - 127) : 256 + 33 + 34;
}

#endif
