/* SPDX-License-Identifier: MIT
 * Finds the document of a passage or of a row of the vector files, and defines the order of hits with equal scores:
 * by the bytes of the document's name, then by the position in the document. So the order does not depend on the order
 * in which documents were added. A locator remembers what it found, for one search.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mutex.h"
#include "base/text_store.h"
#include "index/sql.h"

/* A document with passages. */
typedef struct aoei_located {
    const char *name;      /* owned by the locator */
    int64_t document;      /* id */
    int64_t first_passage; /* id of its first passage */
    int64_t first_row;     /* row of its first passage */
    int64_t n;             /* number of passages */
} aoei_located;

typedef struct aoei_locator {
    aoei_db *db;         /* borrowed */
    aoei_mutex lock;     /* protects all fields: the scan of vectors calls aoei_locate_order in several threads */
    aoei_located **slot; /* [slots] hash table of passages and rows; the elements are in `chunks`. NULL: empty */
    int64_t *key;        /* [slots] passage p: 2 p; row r: 2 r + 1 */
    size_t slots, used;
    aoei_chunks chunks;
    int code; /* the first error in aoei_locate_order, or 0 */
    aoe_error err;
} aoei_locator;

void aoei_locator_init(aoei_locator *l, aoei_db *db);
void aoei_locator_destroy(aoei_locator *l); /* accepts a zeroed struct */

/* Finds the document of a passage or of a live row. Errors: AOE_EFORMAT (there is none), AOE_ENOMEM, AOE_EIO. */
int aoei_locate_passage(aoei_locator *l, int64_t passage, const aoei_located **out, aoe_error *err);
int aoei_locate_row(aoei_locator *l, int64_t row, const aoei_located **out, aoe_error *err);

/* An aoei_order_fn (vectors/best.h) for rows; user: the locator. After an error, which is stored in the locator, the
 * order is that of the rows. */
int aoei_locate_order(void *user, uint32_t a, uint32_t b);
