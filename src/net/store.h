/* SPDX-License-Identifier: MIT
 * A cache file in SQLite: responses of servers by key, and results computed from them by kind and key.
 *
 * - Every put is a transaction: a process that is killed at any moment leaves complete entries. Several processes and
 *   threads may use one file at once (write-ahead log; a writer waits up to 60 s for another).
 * - Stored for each response: status, final URL, body (zstd with a checksum), the headers content-type, etag,
 *   last-modified and link, and the time. Requests are never stored, so the file contains no token of a request.
 * - The application id identifies the file as a cache of aoe, user_version is its schema. A database of another program or
 *   of a newer aoe is rejected and not changed.
 * - A full disk, a damaged file and a locked file are reported as errors that name the file and what to do.
 */
#ifndef AOEI_NET_STORE_H
#define AOEI_NET_STORE_H

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/http.h"

typedef struct aoei_store aoei_store; /* thread-safe */

/* Opens the cache. Creates the file if it does not exist, readable only by its owner; does not create its directory. Errors
 * of this and the following functions: AOE_ENOENT, AOE_EIO, AOE_ENOSPC, AOE_EFORMAT (damaged, or not a cache),
 * AOE_EUNSUPPORTED (newer schema), AOE_ENOMEM. */
int aoei_store_open(aoei_store **s, const char *path, aoe_error *err);
void aoei_store_close(aoei_store *s); /* accepts NULL */

/* A key consists of arbitrary bytes: a URL, or method, URL and body of a request. */

/* Fills r as a request would (r->url is the final URL), and *time with the seconds since 1970 of the last put or touch.
 * Returns 1 if found, 0 if not, negative for an error. */
int aoei_store_get(aoei_store *s, aoe_text key, aoei_http_response *r, int64_t *time, aoe_error *err);
/* Stores a response and replaces an existing one with this key. */
int aoei_store_put(aoei_store *s, aoe_text key, const aoei_http_response *r, int64_t time, aoe_error *err);
/* Records that the response with this key is still valid at `time`. */
int aoei_store_touch(aoei_store *s, aoe_text key, int64_t time, aoe_error *err);

/* Results: bytes that the caller defines. Returns 1 and replaces *value if found, 0 if not, negative for an error. */
int aoei_store_result_get(aoei_store *s, const char *kind, aoe_text key, aoei_buffer *value, aoe_error *err);
int aoei_store_result_put(aoei_store *s, const char *kind, aoe_text key, aoe_text value, aoe_error *err);

#endif
