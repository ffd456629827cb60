/* SPDX-License-Identifier: MIT
 * Metadata from the front matter of a Markdown file: lines "key: value" between two lines "---" (YAML), or lines
 * "key = value" between two lines "+++" (TOML). Only simple lines are read: a key without indentation, and a value
 * that is a plain or quoted scalar, or a list of them on one line, such as [a, b]. Other lines are ignored; the text is
 * not changed.
 */
#pragma once

#include "aoe.h"
#include "aoe_index.h"
#include "base/buffer.h"

enum { AOEI_FRONT_MATTER_FIELDS = 32 /* maximum number of fields; further ones are ignored */ };

/* A zeroed struct is empty. It can be used for many files. */
typedef struct aoei_front_matter {
    aoe_index_field field[AOEI_FRONT_MATTER_FIELDS]; /* [n] values are borrowed from the text; keys from `keys` */
    size_t n;
    aoei_buffer keys; /* owned */
} aoei_front_matter;

/* Replaces the fields by those of a text, which is valid UTF-8. If a key occurs twice, the first line counts. Errors:
 * AOE_ENOMEM. */
int aoei_front_matter_read(aoei_front_matter *m, aoe_text text, aoe_error *err);
void aoei_front_matter_free(aoei_front_matter *m); /* accepts a zeroed struct */
