/* SPDX-License-Identifier: MIT
 * Checks URLs: https:// is accepted for every host, and http:// only for loopback addresses. libcurl parses the URLs,
 * so the checked host and port are those to which libcurl connects.
 */
#pragma once

#include "aoe.h"

typedef struct aoei_url {
    char *origin; /* "scheme://host:port" in lower case; equal for two URLs with the same origin; owned */
    int secure;   /* 1: https; 0: http to a loopback address */
} aoei_url;

/* Parses and checks a URL. Errors: AOE_EARG (relative URL, scheme other than http or https, http:// to an address that
 * is not loopback, user name or password in the URL), AOE_EIO (libcurl cannot be loaded), AOE_ENOMEM. */
int aoei_url_read(aoei_url *u, const char *text, aoe_error *err);
void aoei_url_free(aoei_url *u); /* accepts a zeroed struct */

#define AOEI_URL_DISPLAY_MAX 256
/* Formats a URL for messages. The query, the fragment and control characters are removed, and the result is truncated
 * to AOEI_URL_DISPLAY_MAX - 1 bytes. Returns out. */
const char *aoei_url_display(const char *url, char out[AOEI_URL_DISPLAY_MAX]);
