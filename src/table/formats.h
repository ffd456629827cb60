/* SPDX-License-Identifier: MIT
 * Recognizes the format of a file from its name and from its first bytes. One table lists the file name extensions of
 * tables and lists of texts, of documents, and of files that must be converted before aoe can read them.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"

/* Sets *format to the format that the extension of a file name determines; a final .gz or .zst is removed first, and
 * case is ignored. *format is AOE_TABLE_AUTO if the name has no extension or an unknown one, and AOE_TABLE_TXT for "-"
 * (standard input). Errors: AOE_EARG for the extension of a document (.md, .html, .py), which can be one text or one
 * text per line, and for the extension of a file that must be converted (.parquet, .pdf, .zip); the message says
 * how. */
int aoei_format_of_name(aoe_table_format *format, const char *path, aoe_error *err);

/* Checks that a file with the first bytes s[len] contains text. Errors: AOE_EFORMAT if these bytes belong to a
 * compressed file, an archive, a database or another known binary file, or to text in UTF-16 or UTF-32; the message
 * names the format and the conversion. name: file name for messages. */
int aoei_format_check_bytes(const char *s, size_t len, const char *name, aoe_error *err);
