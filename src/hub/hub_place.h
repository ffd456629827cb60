/* SPDX-License-Identifier: MIT
 * Writes the entries of the Hub's cache that are not blobs: the files of a snapshot, references, the record of files
 * that do not exist, and CACHEDIR.TAG. base/hub_cache.h describes the layout.
 */
#pragma once

#include "base/hub_cache.h"

/* A file of a snapshot. */
typedef struct aoei_hub_place {
    const char *blob; /* path of the blob, borrowed */
    const char *etag; /* name of the blob, borrowed */
    const char *path; /* path in the snapshot, borrowed; its parent directories may be missing */
    size_t depth;     /* number of directories of the path inside the snapshot */
    uint64_t size;    /* bytes */
    int no_links;     /* 1: symbolic links are not used */
} aoei_hub_place;

/* Returns 1 if the snapshot already contains the file: a link to the blob, or a regular file, with the right size. */
int aoei_hub_is_placed(const aoei_hub_place *p);
/* Adds the file to the snapshot, replacing an older entry: a relative symbolic link to the blob. If the file system has
 * no symbolic links, the blob itself becomes the file if it is new (`fresh`), and otherwise a copy of it, as in
 * huggingface_hub. The entry appears atomically. Errors: AOE_EIO, AOE_ENOSPC, AOE_ENOMEM. */
int aoei_hub_place_file(const aoei_hub_place *p, int fresh, aoe_error *err);

/* Replaces FOLDER/refs/REVISION by the commit, unless it contains the commit. Errors: AOE_EIO, AOE_ENOSPC,
 * AOE_ENOMEM. */
int aoei_hub_write_ref(const char *folder, const char *revision, const char *commit, aoe_error *err);
/* Creates the empty file FOLDER/.no_exist/COMMIT/NAME, which records that the revision has no file of this name, so
 * that Python programs do not request it. Errors: AOE_EIO, AOE_ENOSPC, AOE_ENOMEM. */
int aoei_hub_write_absent(const char *folder, const char *commit, const char *name, aoe_error *err);
/* Creates ROOT/CACHEDIR.TAG, which tells backup programs that ROOT is a cache, unless it exists. Errors: AOE_EIO,
 * AOE_ENOSPC, AOE_ENOMEM. */
int aoei_hub_write_tag(const char *root, aoe_error *err);
