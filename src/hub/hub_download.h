/* SPDX-License-Identifier: MIT
 * Downloads one file of a model into the cache: the blob, which is verified and resumed after an interruption, and its
 * entry in the snapshot.
 */
#pragma once

#include "hub/hub_access.h"

typedef struct aoei_hub_target {
    const char *id;       /* "ORG/NAME", borrowed */
    const char *commit;   /* borrowed */
    const char *folder;   /* ROOT/models--ORG--NAME, borrowed */
    const char *locks;    /* ROOT/.locks/models--ORG--NAME, borrowed */
    const char *snapshot; /* FOLDER/snapshots/COMMIT, borrowed */
    uint64_t base;        /* bytes of the files before this one, for the progress callback */
    uint64_t *downloaded; /* bytes that were downloaded are added */
} aoei_hub_target;

/* Downloads `path`, a safe path (base/hub_cache.h), unless the cache contains it. *size is set to its size. If the
 * download is cancelled or fails, the downloaded part stays in the cache, and the next call continues it. A file that
 * another process is downloading is awaited. Errors: see aoe_hub_pull. */
int aoei_hub_download(aoei_hub_access *a, const aoei_hub_target *t, const char *path, uint64_t *size, aoe_error *err);
