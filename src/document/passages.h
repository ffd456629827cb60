/* SPDX-License-Identifier: MIT
 * Splits the text of a document into passages, the units that are embedded, searched and shown. The result depends only
 * on the text and the options. The time is linear in the length of the text.
 */
#pragma once

#include "document/kind.h"
#include "document/outline.h"
#include "document/segments.h"

typedef struct aoei_passage {
    aoe_text text;          /* a part of the clean text (HTML: of the visible text), owned by aoei_passages */
    const char *heading;    /* path of headings, "A > B"; "" if there is none; owned by aoei_passages */
    size_t line, last_line; /* first and last line in the document, counted from 1 */
    size_t tokens;          /* approximate number of tokens of heading and text */
} aoei_passage;

typedef struct aoei_heading { /* heading of a section */
    char *text;               /* owned; NULL: no passage needs it */
    size_t tokens;            /* with one token for the newline; 0 if the text is "" */
} aoei_heading;

typedef struct aoei_passages { /* a zeroed struct is empty */
    aoei_passage *passage;     /* [n] in the order of the document */
    size_t n, capacity;
    char *title;      /* title in the front matter or in <title>, or the first heading; "" if there is none; owned */
    size_t shortened; /* bytes of data that were removed (aoei_shorten_data) */
    aoei_outline outline;   /* contains the text */
    aoei_heading *headings; /* [outline.n_sections] owned; NULL: the document has no passages */
} aoei_passages;

typedef struct aoei_passage_options {
    aoei_document_kind kind;
    const char *name;  /* name of the document; decides the kind AOEI_DOCUMENT_AUTO, and is the first part of the
                          headings  of source code; NULL: unknown */
    const char *title; /* first part of the headings of other documents; NULL: the title in the document, if any */
    int name_as_title; /* 1: `name` is the name of a file. It is the first part of the headings of a document without a
                          title that does not begin with a heading */
    size_t tokens;     /* number of tokens of the text of a passage to aim at, such as 400 */
    size_t longest;    /* maximum number of tokens of heading, newline and text, without special tokens; at least 32 */
    aoei_count_tokens_fn count;
    void *user;
} aoei_passage_options;

/* Splits the text into passages and sets p, whose earlier contents are not freed. A document without visible text has
 * no passages. The text that is embedded for a passage is its heading, a newline, and its text, or only its text if the
 * heading is "".
 * - The sum of the tokens of the parts of a passage, which are counted once, is at most 90% of `longest`.
 * - All text is in a passage, except front matter, and the data that aoei_shorten_data removes.
 * - A passage ends at the best break between half of the limit and the limit (outline.h).
 * - A passage overlaps the next by about 15% of the limit, unless the next begins with a heading or with a definition
 *   without indentation.
 * - Code blocks and tables that fit into a passage are not divided.
 * On failure, p is empty. Errors: AOE_ENOMEM, AOE_EUNSUPPORTED (4 GiB or more), AOE_EARG (longest is below 32), and
 * errors of `count`. */
int aoei_passages_split(aoei_passages *p, aoe_text text, const aoei_passage_options *o, aoe_error *err);
void aoei_passages_free(aoei_passages *p);
