/* SPDX-License-Identifier: MIT
 * A source of an update: a folder, a table or a single file, its record in the index, and the names of its documents.
 */
#pragma once

#include "aoe_index.h"
#include "document/folder.h"
#include "index/records.h"

/* Values of aoei_source_record.kind. */
enum {
    AOEI_SOURCE_FOLDER = 1,
    AOEI_SOURCE_TABLE = 2, /* a table, or a .txt file with one text per line */
    AOEI_SOURCE_FILE = 3,  /* one document */
    AOEI_SOURCE_KIND = 15, /* mask of the values above */
    AOEI_SOURCE_LONG = 16  /* flag: the names of the documents have a prefix, because there are several sources */
};

typedef struct aoei_update_source {
    aoei_source_record record;     /* owned; record.id is 0 before it is written */
    const aoe_index_source *given; /* argument of aoe_index_update, borrowed; NULL: a recorded source */
    aoei_folder *folder;           /* its files; a table is a folder with one file. Owned */
    char *prefix;        /* prefix of the names of its documents; "" or a path with a slash at its end; owned */
    const char **nested; /* [n_nested] relative paths of other sources inside this folder, which are left out;
                            the array is owned, the paths are borrowed */
    size_t n_nested;
    int is_new_record; /* 1: the record must be written */
    int force;         /* 1: all files must be read again, because the names or columns changed */
} aoei_update_source;

/* Returns the kind without flags. */
int aoei_source_kind(const aoei_update_source *s);
/* Sets the path (absolute, without symbolic links), the kind, the columns and the patterns of s->record from an
 * argument of aoe_index_update. Errors: AOE_EARG, AOE_ENOENT, AOE_EIO, AOE_ENOMEM. */
int aoei_source_describe(aoei_update_source *s, const aoe_index_source *given, aoe_error *err);
/* Returns 1 if both records have equal columns and patterns. */
int aoei_source_equal(const aoei_source_record *a, const aoei_source_record *b);
/* Lists the files of the source. skip: directory of the index. progress: see aoei_folder_options. Errors: see
 * aoei_folder_open. */
int aoei_source_list(aoei_update_source *s, const char *skip, int (*progress)(void *user, size_t files), void *user,
                     aoe_error *err);
/* Sets s->prefix. base: folder that contains the directory of the index. is_single: 1 if the index has no other
 * source; the prefix is then empty. Otherwise, it is the path of the source relative to base, or the absolute path if
 * the source is not inside base. */
int aoei_source_set_prefix(aoei_update_source *s, const char *base, int is_single, aoe_error *err);
/* Returns 1 if a file belongs to a source inside this folder. */
int aoei_source_is_nested(const aoei_update_source *s, const aoei_file *file);
void aoei_source_free(aoei_update_source *s); /* frees the members; accepts a zeroed struct */
