/* SPDX-License-Identifier: MIT
 * The headers of an HTTP response, and parsers for the headers that aoe uses: Link, Retry-After and x-ratelimit-*. Data from
 * the server is limited in size and not trusted: an invalid value counts as missing.
 */
#ifndef AOEI_NET_HEADERS_H
#define AOEI_NET_HEADERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define AOEI_HEADERS_MAX ((size_t)256 << 10) /* maximum bytes of all headers of one response */

typedef struct aoei_headers {
    aoei_buffer text; /* owned: "name\0value\0" repeated; names in lower case, values trimmed */
} aoei_headers;

/* Adds a line "Name: value", with or without line end. A line without a colon is skipped. Errors: AOE_ENOMEM; AOE_EFORMAT
 * (more than AOEI_HEADERS_MAX bytes). */
int aoei_headers_add(aoei_headers *h, const char *line, size_t len);
/* The value of the nth header (counted from 0) with this name (in lower case), borrowed; NULL: none. */
const char *aoei_headers_get(const aoei_headers *h, const char *name, size_t nth);
void aoei_headers_clear(aoei_headers *h);
void aoei_headers_free(aoei_headers *h); /* accepts a zeroed struct */

/* The target of the first link with this relation ("next", "last"; RFC 8288) as an absolute URL; `base` is the URL of the
 * response. The caller frees *url with aoei_free; it is NULL if there is no such link. Errors: AOE_ENOMEM, AOE_EIO (libcurl
 * cannot be loaded). */
int aoei_headers_link(const aoei_headers *h, const char *rel, const char *base, char **url);

/* Seconds to wait according to Retry-After (a number, or a date minus the response's Date, or minus `now` without it); -1:
 * no valid header. At most 31 days. `now`: seconds since 1970. */
int64_t aoei_headers_retry_after(const aoei_headers *h, int64_t now);

/* The quota in the x-ratelimit-* headers; -1: missing. */
typedef struct aoei_rate {
    int64_t limit;       /* requests per period */
    int64_t remaining;   /* remaining requests of the current period */
    int64_t reset_after; /* seconds until the period ends, by the server's Date if it sends one; not negative */
} aoei_rate;

aoei_rate aoei_headers_rate(const aoei_headers *h, int64_t now);

#endif
