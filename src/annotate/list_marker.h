/* SPDX-License-Identifier: MIT
 * Reads the markers at the start of list items, such as "1.", "(b)", "- ", "**2)**", "Sentence 3:" or "第一句：".
 * Numbers may be written in the digits of many scripts. The functions read one line at a time; parse_sentences.c
 * decides which lines form a list.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

typedef enum aoei_marker_kind {
    AOEI_MARKER_NONE,
    AOEI_MARKER_NUMBER, /* 1.  2)  (3)  [4]  5:  ①  一、 */
    AOEI_MARKER_LABEL,  /* Sentence 1: */
    AOEI_MARKER_LETTER, /* a)  B. */
    AOEI_MARKER_ROMAN,  /* ii.  III) */
    /* number and a space, such as "1 text"; such a line is a list item only if other lines begin with a number and a
     * space */
    AOEI_MARKER_BARE,
    AOEI_MARKER_BULLET
} aoei_marker_kind;

typedef struct aoei_marker {
    aoei_marker_kind kind;
    size_t number; /* number of the item as written in the marker; 0 for bullets */
    /* AOEI_MARKER_ROMAN: if the numeral is a single letter, the position of this letter in the alphabet (9 for "i)"),
     * because the marker may be a letter instead of a numeral; otherwise 0 */
    size_t letter;
    size_t bytes; /* length of the marker in bytes, including the spaces before the text of the item */
} aoei_marker;

/* Reads the marker of a line without leading white space. If there is no marker, the kind of the result is
 * AOEI_MARKER_NONE. */
aoei_marker aoei_marker_read(aoe_text line);

/* Reads a number at the start of s and sets *number to it. The number consists of up to three digits (of any script
 * that models use in lists), or it is a single character such as ①, or a Chinese numeral. Returns the length of the
 * number in bytes, or 0 if there is no number. */
size_t aoei_marker_numeral(aoe_text s, size_t *number);
