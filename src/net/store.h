/* SPDX-License-Identifier: MIT
 * What was fetched, kept in one SQLite file: answers of servers by key, and results computed from them by kind and key.
 *
 * - Every put is a transaction: a process killed at any moment leaves what it had put, whole. Several processes and
 *   threads may use one file at once (write-ahead log; a writer waits up to 60 s for another).
 * - Kept of an answer: status, final URL, body (zstd, with a checksum), the headers content-type, etag, last-modified and
 *   link, and the time. Never a request: no token can be in it.
 * - The file says what it is (application id) and which schema it has (user_version): another program's database
 *   and one of a newer aoe are refused untouched.
 * - A full disk, a damaged file, a locked one: one error that names the file and what to do.
 */
#ifndef AOEI_NET_STORE_H
#define AOEI_NET_STORE_H

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "net/http.h"

typedef struct aoei_store aoei_store; /* shared by threads */

/* Creates the file where there is none, readable by its owner alone, not its directory. Errors: AOE_ENOENT, AOE_EIO,
 * AOE_ENOSPC, AOE_EFORMAT (damaged, or no store), AOE_EUNSUPPORTED (newer schema), AOE_ENOMEM; the calls below have the same.
 */
int aoei_store_open(aoei_store **s, const char *path, aoe_error *err);
void aoei_store_close(aoei_store *s); /* NULL accepted */

/* Keys are any bytes, kept whole: a URL, or method, URL and body of a request. */

/* Fills r (as a request would; r->url is the final URL) and *time, seconds since 1970 of the last put or touch.
 * 1: found; 0: not there; negative: an error. */
int aoei_store_get(aoei_store *s, aoe_text key, aoei_http_response *r, int64_t *time, aoe_error *err);
/* Puts an answer in, in the place of what is there under the key. */
int aoei_store_put(aoei_store *s, aoe_text key, const aoei_http_response *r, int64_t time, aoe_error *err);
/* The answer under the key is still right at this time. */
int aoei_store_touch(aoei_store *s, aoe_text key, int64_t time, aoe_error *err);

/* Results: bytes of the caller's own making. 1: found, *value replaced; 0: not there; negative: an error. */
int aoei_store_result_get(aoei_store *s, const char *kind, aoe_text key, aoei_buffer *value, aoe_error *err);
int aoei_store_result_put(aoei_store *s, const char *kind, aoe_text key, aoe_text value, aoe_error *err);

#endif
