/* SPDX-License-Identifier: MIT
 * The headers of an HTTP answer, and the few whose values mean something to
 * aoe: Link, Retry-After, x-ratelimit-*. What a server sends is bounded and
 * never trusted: a value that makes no sense reads as absent.
 */
#ifndef AOEI_NET_HEADERS_H
#define AOEI_NET_HEADERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define AOEI_HEADERS_MAX ((size_t)256 << 10) /* bytes of all headers of one answer */

typedef struct aoei_headers {
    aoei_buffer text; /* owned: "name\0value\0" after "name\0value\0", names in lower case, values trimmed */
} aoei_headers;

/* Adds a line "Name: value" (with or without its line end); a line without a colon is passed over.
 * Errors: AOE_ENOMEM; AOE_EFORMAT (more than AOEI_HEADERS_MAX bytes). */
int aoei_headers_add(aoei_headers *h, const char *line, size_t len);
/* Value of the nth header (from 0) of that name (in lower case), borrowed; NULL: there is none. */
const char *aoei_headers_get(const aoei_headers *h, const char *name, size_t nth);
void aoei_headers_clear(aoei_headers *h);
void aoei_headers_free(aoei_headers *h); /* accepts a zeroed one */

/* The target of the first link with this relation ("next", "last"; RFC 8288) as an absolute URL, `base` being the
 * URL of the answer. *url is owned by the caller (aoei_free), NULL when there is none. Errors: AOE_ENOMEM, AOE_EIO (libcurl
 * cannot be loaded). */
int aoei_headers_link(const aoei_headers *h, const char *rel, const char *base, char **url);

/* Seconds to wait by Retry-After (a number, or a date less the answer's own Date, else less `now`); -1: it says
 * nothing. Never above 31 days. `now` in seconds since 1970. */
int64_t aoei_headers_retry_after(const aoei_headers *h, int64_t now);

/* The quota as x-ratelimit-* say it; -1: they do not. */
typedef struct aoei_rate {
    int64_t limit;       /* requests of a period */
    int64_t remaining;   /* of them left */
    int64_t reset_after; /* seconds until the period ends, by the server's clock where it sends a Date; 0 or more */
} aoei_rate;

aoei_rate aoei_headers_rate(const aoei_headers *h, int64_t now);

#endif
