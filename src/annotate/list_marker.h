/* SPDX-License-Identifier: MIT
 * Markers at the start of list items, such as "1.", "(b)", "- ", "**2)**", "Sentence 3:", "第一句：" ... in the numerals of
 * many scripts. The functions read one line; parse_sentences.c decides which lines form a list.
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
    AOEI_MARKER_BARE,   /* number and a space: a marker only if other lines also have markers */
    AOEI_MARKER_BULLET
} aoei_marker_kind;

typedef struct aoei_marker {
    aoei_marker_kind kind;
    size_t number; /* position in the list that the marker states; 0 for bullets */
    size_t letter; /* AOEI_MARKER_ROMAN: position if the marker is read as a letter; 0: it is not a single letter */
    size_t bytes;  /* length of the marker: bytes before the text of the item */
} aoei_marker;

/* Reads the marker of a line without leading white space. The kind is AOEI_MARKER_NONE if there is no marker. */
aoei_marker aoei_marker_read(aoe_text line);

/* Reads a number of up to three digits at the start of s: digits of any script, circled digits or Chinese numerals. Returns
 * its length in bytes; 0 if there is none. */
size_t aoei_marker_numeral(aoe_text s, size_t *number);

#endif
