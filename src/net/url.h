/* SPDX-License-Identifier: MIT
 * Which URLs aoe talks to: https://, and http:// on this machine. Parsing is
 * libcurl's, so what is checked here is what it connects to.
 */
#ifndef AOEI_NET_URL_H
#define AOEI_NET_URL_H

#include "aoe.h"

typedef struct aoei_url {
    char *origin; /* owned: "scheme://host:port", equal for two URLs of one origin */
    int secure;   /* 1: https; 0: http to a loopback address */
} aoei_url;

/* Errors: AOE_EARG (not absolute, another scheme, http:// to another machine, user name or password in it),
 * AOE_EIO (libcurl cannot be loaded), AOE_ENOMEM. */
int aoei_url_read(aoei_url *u, const char *text, aoe_error *err);
/* Accepts a zeroed URL. */
void aoei_url_free(aoei_url *u);

#define AOEI_URL_DISPLAY_MAX 256
/* A URL as messages show it: without query and fragment, and truncated to AOEI_URL_DISPLAY_MAX bytes. Returns out. */
const char *aoei_url_display(const char *url, char out[AOEI_URL_DISPLAY_MAX]);

#endif
