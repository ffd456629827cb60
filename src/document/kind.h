/* SPDX-License-Identifier: MIT
 * Recognizes the kind of a document by the extension of its name and by the beginning of its text.
 */
#pragma once

#include "aoe.h"

typedef enum aoei_document_kind {
    AOEI_DOCUMENT_AUTO, /* by name and text */
    AOEI_DOCUMENT_TEXT,
    AOEI_DOCUMENT_MARKDOWN,
    AOEI_DOCUMENT_HTML,
    AOEI_DOCUMENT_CODE,
} aoei_document_kind;

/* Returns the kind of the document, never AOEI_DOCUMENT_AUTO. The extension of `name` decides; upper and lower case are
 * equal. A document with an unknown extension is source code if its first line is "#!" and a path, HTML if it begins
 * with "<!doctype html" or "<html", and otherwise plain text. name: NULL: unknown. */
aoei_document_kind aoei_document_kind_of(const char *name, aoe_text text);
