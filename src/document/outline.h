/* SPDX-License-Identifier: MIT
 * The lines of a document, and its sections. The outline of a kind of document (markdown_outline.h, code_outline.h,
 * html_text.h) decides how good the break before each line is, which lines belong together, and which section a line
 * belongs to. The units segments.h and passages.h know only the outline.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

/* Weights of a break before a line. A better break has a higher weight. */
enum {
    AOEI_BREAK_NONE = 0, /* only if nothing else is possible */
    AOEI_BREAK_BAD = 1,  /* inside a line, or after a heading */
    AOEI_BREAK_LINE = 4,
    AOEI_BREAK_SENTENCE = 12,
    AOEI_BREAK_ITEM = 15,  /* before an item of a list */
    AOEI_BREAK_INTRO = 20, /* between "For example:" and a block */
    AOEI_BREAK_BLANK = 40,
    AOEI_BREAK_RULE = 60,    /* a horizontal rule */
    AOEI_BREAK_BLOCK = 65,   /* before and after a code block or a table */
    AOEI_BREAK_HEADING = 75, /* a heading of level 6; each higher level adds 5 */
};

enum {
    AOEI_LINE_BLANK = 1,   /* at least one blank line is before the line */
    AOEI_LINE_PROSE = 2,   /* the line may be split at ends of sentences */
    AOEI_LINE_HEADING = 4, /* the line is a heading, or the underline of a heading */
    AOEI_LINE_FRESH = 8,   /* a passage that begins here does not overlap the previous passage */
    AOEI_LINE_ITEM = 16,   /* the line begins an item of a list */
    AOEI_LINE_RULE = 32,   /* the line is a horizontal rule */
};

typedef struct aoei_outline_line { /* a line that is not blank */
    uint32_t start, len;           /* bytes of the text, without the newline and white space before it */
    uint32_t line;                 /* line number in the document, counted from 1 */
    uint32_t section;              /* index of the section that contains the line */
    uint32_t block;  /* number of the code block or table that contains the line, counted from 1; 0: none */
    uint16_t indent; /* columns of white space at the beginning */
    uint8_t weight;  /* of the break before the line, AOEI_BREAK_* or a value between them */
    uint8_t flags;   /* AOEI_LINE_* */
} aoei_outline_line;

typedef struct aoei_section {
    uint32_t parent;     /* index of the parent; section 0 is the whole document and its own parent */
    uint32_t level;      /* 1 to 6 for headings; 0 for section 0 */
    uint32_t title, len; /* position of its title in `titles`, and its length in bytes */
} aoei_section;

typedef struct aoei_outline { /* a zeroed struct is empty */
    aoei_buffer text;         /* clean text */
    aoei_outline_line *line;  /* [n_lines] */
    aoei_section *section;    /* [n_sections]; at least section 0 after aoei_outline_lines */
    size_t n_lines, n_sections;
    size_t lines_capacity, sections_capacity;
    aoei_buffer titles;
    char *title;       /* title of the document in the document itself, owned; NULL: it has none */
    uint32_t n_blocks; /* number of blocks so far */
} aoei_outline;

/* Splits o->text into lines. Errors: AOE_ENOMEM, AOE_EUNSUPPORTED (the text has 4 GiB or more). */
int aoei_outline_lines(aoei_outline *o, aoe_error *err);
/* Adds a section. The title is copied, with each run of white space as one space, up to 100 bytes. Returns its index in
 * *section. Errors: AOE_ENOMEM. */
int aoei_outline_section(aoei_outline *o, uint32_t parent, uint32_t level, const char *title, size_t len,
                         uint32_t *section, aoe_error *err);
/* Begins a section with the heading line i. *section: the current section, which is replaced by the new one. The parent
 * is the innermost open section with a lower level. Errors: AOE_ENOMEM. */
int aoei_outline_heading(aoei_outline *o, size_t i, uint32_t level, const char *title, size_t len, uint32_t *section,
                         aoe_error *err);
/* Sets the weights of all lines by the flags and blocks of the lines. level: [n_lines] level of a heading, or 0. */
void aoei_outline_weigh(aoei_outline *o, const uint8_t *level);
/* Writes the path of a section to path[size]: "FIRST > ... > LAST". first: first part; NULL or "": none. The
 * parts after it are left out as long as they only repeat it or a piece of it, as in "Setup - Manual > Setup". If the
 * path is too long, parts are left out from the middle, and then the end is truncated between characters. size must be
 * at least 16. */
void aoei_outline_path(const aoei_outline *o, const char *first, uint32_t section, char *path, size_t size);
/* Copies a title of len bytes to out[size]: one space for each run of white space; a longer title ends with "...". */
void aoei_outline_title(const char *s, size_t len, char *out, size_t size);
void aoei_outline_free(aoei_outline *o);
