/* SPDX-License-Identifier: MIT
 * Small indexes for tests: a tiny model, documents of a few words, and a text form of all contents, so that two indexes
 * can be compared.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_index.h"

/* A tiny model and its embedder for all tests of a program, which calls cmocka_run_group_tests(tests,
 * tiny_index_begin, tiny_index_end). tiny_index_dir: an empty directory for each test program. */
extern aoe_embedder *tiny_index_embedder;
extern char *tiny_index_dir;
int tiny_index_begin(void **state);
int tiny_index_end(void **state);

/* Returns the path of a new index in tiny_index_dir, which does not exist. The caller frees it. */
char *tiny_index_path(void);
/* Opens an index with the tiny model. Fails the test on an error. o may be NULL. */
aoe_index *tiny_index_open(const char *path, aoe_index_access access, const aoe_index_options *o);
/* Adds a document without metadata. Returns the code of aoe_index_add. */
int tiny_index_add(aoe_index *index, const char *name, const char *text, aoe_error *err);
/* Returns the text of document number i in version `version`: 2 to 60 words in one or more passages. The next call
 * overwrites the result. */
const char *tiny_index_text(uint32_t i, uint32_t version);
/* Returns a text that describes all documents, passages, vectors and metadata of the last commit, and the word index:
 * the words of each passage in their order, and its number of words. The text is independent of the ids and rows in the
 * index. The caller frees it. */
char *tiny_index_dump(aoe_index *index);
/* Opens the index for reading, and returns its text; NULL if it cannot be opened (the error is in *err). */
char *tiny_index_dump_path(const char *path, aoe_error *err);
