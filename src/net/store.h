/* SPDX-License-Identifier: MIT
 * A cache file, which is an SQLite database. It stores HTTP responses under a key. It also stores results that the
 * caller computes from responses, under a kind and a key. The kind is a string, such as "chat", that separates the
 * results of different callers.
 *
 * - Every function that writes runs in one transaction, so a process that is killed leaves only complete entries.
 *   Several processes and threads may use one file at once (write-ahead log; a writer waits up to 60 s for another
 *   writer).
 * - The file contains for each response: status, URL after redirects, body (compressed with zstd, with a checksum), the
 *   headers content-type, etag, last-modified and link, and the time. Requests are not stored, so the file does not
 *   contain the tokens that were sent.
 * - SQLite's application_id identifies the file as a cache of aoe, and user_version is the version of its schema.
 *   Opening a database of another program or of a newer version of aoe fails and does not change the database.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/http.h"

typedef struct aoei_store aoei_store; /* an open cache file; several threads may use it at the same time */

/* Opens the cache. If the file does not exist, it is created with permissions for its owner only. Its directory must
 * exist. Errors of this and the following functions: AOE_ENOENT, AOE_EIO, AOE_ENOSPC, AOE_EFORMAT (damaged, or not a
 * cache), AOE_EUNSUPPORTED (newer schema), AOE_ENOMEM. */
int aoei_store_open(aoei_store **s, const char *path, aoe_error *err);
void aoei_store_close(aoei_store *s); /* accepts NULL */

/* In the functions below, a key consists of arbitrary bytes, for example the URL of a request. Times are seconds since
 * 1970. */

/* Reads the response with this key. Sets *r like aoei_http_send, and *time to the time of the last aoei_store_put or
 * aoei_store_touch. Returns 1 if the response was found, 0 if it was not found, or a negative error code. */
int aoei_store_get(aoei_store *s, aoe_text key, aoei_http_response *r, int64_t *time, aoe_error *err);
/* Stores a response. An existing response with this key is replaced. */
int aoei_store_put(aoei_store *s, aoe_text key, const aoei_http_response *r, int64_t time, aoe_error *err);
/* Records that the response with this key is still valid at `time`. */
int aoei_store_touch(aoei_store *s, aoe_text key, int64_t time, aoe_error *err);

/* Reads the result with this kind and key into *value. The caller defines the meaning of its bytes. Returns 1 if the
 * result was found, 0 if it was not found, or a negative error code. */
int aoei_store_result_get(aoei_store *s, const char *kind, aoe_text key, aoei_buffer *value, aoe_error *err);
/* Stores a result. An existing result with this kind and key is replaced. */
int aoei_store_result_put(aoei_store *s, const char *kind, aoe_text key, aoe_text value, aoe_error *err);
