/* SPDX-License-Identifier: MIT
 * Metadata from the front matter of a Markdown file: YAML between two lines "---", or TOML between two lines "+++".
 * A scalar is one field. A list, in one line as [a, b] or with one "- item" per line, is several fields with one key. A
 * value inside a map, or below a TOML header [table], has the key "outer.inner". Everything else is counted as lost:
 * texts of several lines, {maps} and [[lists]] in one line, quoted texts with escapes, anchors, aliases and tags.
 */
#pragma once

#include "aoe.h"
#include "aoe_index.h"
#include "base/buffer.h"

enum {
    AOEI_FRONT_MATTER_FIELDS = 128, /* maximum number of fields; further ones are lost */
    AOEI_FRONT_MATTER_KEY = 200     /* maximum size of a key in bytes */
};

/* A zeroed struct is empty. It can be used for many files. */
typedef struct aoei_front_matter {
    aoe_index_field field[AOEI_FRONT_MATTER_FIELDS]; /* [n] values are borrowed from the text; keys from `keys` */
    size_t n;
    size_t lost;      /* number of entries that are not in `field` */
    size_t lost_line; /* line of the first one, counted from 1; 0: none */
    aoei_buffer keys; /* owned */
} aoei_front_matter;

/* Replaces the fields by those of a text, which is valid UTF-8. If a key occurs twice in a map, the first line counts.
 * Errors: AOE_ENOMEM. */
int aoei_front_matter_read(aoei_front_matter *m, aoe_text text, aoe_error *err);
void aoei_front_matter_free(aoei_front_matter *m); /* accepts a zeroed struct */
