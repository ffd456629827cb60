/* SPDX-License-Identifier: MIT
 * The headers of an HTTP response, and parsers for the headers that aoe uses: Link, Retry-After, RateLimit and
 * x-ratelimit-*. Data from the server is not trusted: its size is limited, and an invalid value is treated as a missing
 * header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define AOEI_HEADERS_MAX ((size_t)256 << 10) /* maximum bytes of all headers of one response */

typedef struct aoei_headers {
    aoei_buffer text; /* "name\0value\0" for each header; owned. Names are in lower case. Values have no white space at
                         either end */
} aoei_headers;

/* Adds a line "Name: value", with or without line end. A line that has no colon or contains NUL is skipped. Errors:
 * AOE_ENOMEM; AOE_EFORMAT (more than AOEI_HEADERS_MAX bytes). */
int aoei_headers_add(aoei_headers *h, const char *line, size_t len);
/* Returns the value of the nth header (counted from 0) with this name, borrowed from h, or NULL if there is no such
 * header. The name must be in lower case. */
const char *aoei_headers_get(const aoei_headers *h, const char *name, size_t nth);
void aoei_headers_clear(aoei_headers *h);
void aoei_headers_free(aoei_headers *h); /* accepts a zeroed struct */

/* Searches the Link headers (RFC 8288) for the first link with the relation `rel`, for example "next". Sets *url to its
 * absolute URL, or to NULL if there is no such link. base: URL of the response. The caller frees *url with aoei_free.
 * Errors: AOE_ENOMEM, AOE_EIO (libcurl cannot be loaded). */
int aoei_headers_link(const aoei_headers *h, const char *rel, const char *base, char **url);

/* Returns the seconds to wait according to the Retry-After header, at most 31 days, or -1 if there is no valid header.
 * If the header is a date, the wait is measured from the Date header of the response. If the response has no Date
 * header, the wait is measured from `now` (seconds since 1970). Without Retry-After, the result is the time t of the
 * RateLimit header ("api";r=0;t=55; draft-ietf-httpapi-ratelimit-headers) if its remaining quota r is 0. */
int64_t aoei_headers_retry_after(const aoei_headers *h, int64_t now);

/* The quota that a server reports in the x-ratelimit-* headers. A field is -1 if its header is missing or invalid. */
typedef struct aoei_rate {
    int64_t limit;       /* requests that are allowed per period */
    int64_t remaining;   /* remaining requests of the current period */
    int64_t reset_after; /* seconds from the Date header of the response (or from `now`) until the period ends, 0 to 31
                            days */
} aoei_rate;

/* Returns the quota. now: seconds since 1970, used if there is no Date header. */
aoei_rate aoei_headers_rate(const aoei_headers *h, int64_t now);
