/* SPDX-License-Identifier: MIT
 * What a line of a list begins with: "1.", "(b)", "- ", "**2)**", "Sentence 3:", "第一句：" ... in the
 * numerals of many scripts. Reads one line; which lines make a list is parse_sentences.c's business.
 */
#ifndef AOEI_ANNOTATE_LIST_MARKER_H
#define AOEI_ANNOTATE_LIST_MARKER_H

#include <stddef.h>

#include "aoe.h"

typedef enum aoei_marker_kind {
    AOEI_MARKER_NONE,
    AOEI_MARKER_NUMBER, /* 1.  2)  (3)  [4]  5:  ①  一、 */
    AOEI_MARKER_LABEL,  /* Sentence 1: */
    AOEI_MARKER_LETTER, /* a)  B. */
    AOEI_MARKER_ROMAN,  /* ii.  III) */
    AOEI_MARKER_BARE,   /* a number and a space: a list only together with others */
    AOEI_MARKER_BULLET
} aoei_marker_kind;

typedef struct aoei_marker {
    aoei_marker_kind kind;
    size_t number; /* its place in the list by what it says; 0 for bullets */
    size_t letter; /* of ROMAN: the number it would be as a letter, 0: none */
    size_t bytes;  /* of the line up to the item's text */
} aoei_marker;

/* line: without white space in front. AOEI_MARKER_NONE when it begins with none of them. */
aoei_marker aoei_marker_read(aoe_text line);

/* A number in digits of any script, circled, or in Chinese numerals at the start of s: its bytes, 0: none. At most three
 * digits. */
size_t aoei_marker_numeral(aoe_text s, size_t *number);

#endif
