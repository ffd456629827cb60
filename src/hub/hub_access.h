/* SPDX-License-Identifier: MIT
 * Access to the Hub: the endpoint, the token and the HTTP client of one download, and the messages for failed requests.
 */
#pragma once

#include "aoe_hub.h"
#include "net/fetch.h"

typedef struct aoei_hub_access {
    const aoe_hub_options *o; /* borrowed */
    char *endpoint;           /* URL without '/' at the end, owned */
    char *token;              /* owned; NULL: none */
    aoei_http *http;          /* owned */
    aoei_fetch *fetch;        /* owned */
    double reply_timeout; /* $HF_HUB_ETAG_TIMEOUT: maximum seconds without data of requests for lists and checksums */
    double download_timeout; /* $HF_HUB_DOWNLOAD_TIMEOUT: maximum seconds without data of requests for files */
    int no_links;            /* $HF_HUB_DISABLE_SYMLINKS: 1: snapshots contain files instead of symbolic links */
    aoe_hub_progress state;  /* last values that the progress callback received */
} aoei_hub_access;

/* Returns 1 if the environment forbids requests: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is 1, ON, YES or TRUE. */
int aoei_hub_is_offline(void);
/* Reads the endpoint, the token and the other variables, and creates the client. `a` must not move until it is closed.
 * The caller calls aoei_hub_access_close, even if the function fails. Errors: AOE_EARG (invalid endpoint, token or
 * timeout), AOE_EIO, AOE_ENOMEM. */
int aoei_hub_access_open(aoei_hub_access *a, const aoe_hub_options *o, aoe_error *err);
void aoei_hub_access_close(aoei_hub_access *a); /* accepts a zeroed struct */
/* Calls the progress callback with a->state. */
void aoei_hub_report(const aoei_hub_access *a);

/* Appends text to a URL. All bytes except letters, digits, '-', '_', '.', '~' and those in `keep` are
 * percent-encoded. */
void aoei_hub_escape(aoei_buffer *url, const char *text, const char *keep);
/* Fails because the response r to a request about the model `id` reports an error. what: the revision or the file that
 * was requested. */
int aoei_hub_fail_status(const aoei_hub_access *a, const aoei_http_response *r, const char *id, const char *what,
                         aoe_error *err);
