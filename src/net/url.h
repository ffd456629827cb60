/* SPDX-License-Identifier: MIT
 * The URLs that aoe accepts: https://, and http:// on this machine. libcurl parses them, so the URL that is checked is the
 * one that is used.
 */
#ifndef AOEI_NET_URL_H
#define AOEI_NET_URL_H

#include "aoe.h"

typedef struct aoei_url {
    char *origin; /* owned "scheme://host:port"; two URLs have the same origin if these are equal */
    int secure;   /* 1: https; 0: http to a loopback address */
} aoei_url;

/* Parses and checks a URL. Errors: AOE_EARG (not absolute, another scheme, http:// to another machine, or a user name or
 * password), AOE_EIO (libcurl cannot be loaded), AOE_ENOMEM. */
int aoei_url_read(aoei_url *u, const char *text, aoe_error *err);
/* Accepts a zeroed URL. */
void aoei_url_free(aoei_url *u);

#define AOEI_URL_DISPLAY_MAX 256
/* Formats a URL for messages: without query and fragment, truncated to AOEI_URL_DISPLAY_MAX bytes. Returns out. */
const char *aoei_url_display(const char *url, char out[AOEI_URL_DISPLAY_MAX]);

#endif
