/* SPDX-License-Identifier: MIT
 * Checks URLs and formats them for messages.
 */
#include "net/url.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "net/libraries.h"

const char *aoei_url_display(const char *url, char out[AOEI_URL_DISPLAY_MAX]) {
    const size_t len = strcspn(url, "?#");
    const size_t n = len < AOEI_URL_DISPLAY_MAX ? len : AOEI_URL_DISPLAY_MAX - 1;
    memcpy(out, url, n);
    (void)aoei_one_line(out, n);
    return out;
}

/* Returns 1 for loopback addresses and localhost. */
static int is_loopback(const char *host) {
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

/* Components of a URL. Each is owned and freed with aoei_curl.free; NULL: the URL does not have it. */
typedef struct parts {
    char *scheme, *host, *port, *user, *password;
} parts;

/* Splits a URL into its components. */
static CURLUcode split(parts *p, const char *text) {
    CURLU *u = aoei_curl.url();
    CURLUcode code = u ? aoei_curl.url_set(u, CURLUPART_URL, text, 0) : CURLUE_OUT_OF_MEMORY;
    if (!code)
        code = aoei_curl.url_get(u, CURLUPART_SCHEME, &p->scheme, 0);
    if (!code)
        code = aoei_curl.url_get(u, CURLUPART_HOST, &p->host, 0);
    if (!code)
        code = aoei_curl.url_get(u, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT);
    if (!code && (code = aoei_curl.url_get(u, CURLUPART_USER, &p->user, 0)) == CURLUE_NO_USER)
        code = CURLUE_OK;
    if (!code && (code = aoei_curl.url_get(u, CURLUPART_PASSWORD, &p->password, 0)) == CURLUE_NO_PASSWORD)
        code = CURLUE_OK;
    aoei_curl.url_cleanup(u);
    return code;
}

/* Checks scheme and host, and sets u->secure and u->origin. */
static int check(aoei_url *u, const parts *p, const char *shown_url, aoe_error *err) {
    u->secure = strcmp(p->scheme, "https") == 0;
    if (!u->secure && strcmp(p->scheme, "http") != 0)
        return aoei_fail(err, AOE_EARG, "%s: the scheme is %s; use an https:// URL", shown_url, p->scheme);
    if (!u->secure && !is_loopback(p->host))
        return aoei_fail(
            err, AOE_EARG,
            "%s: http:// is not encrypted and is accepted only for this machine (127.0.0.1, localhost); use https://",
            shown_url);
    aoei_buffer b = {0};
    (void)aoei_buffer_printf(&b, "%s://%s:%s", p->scheme, p->host, p->port);
    if (b.failed) {
        aoei_buffer_free(&b);
        return aoei_fail_nomem(err, 0);
    }
    for (char *s = b.data; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s - 'A' + 'a');
    u->origin = b.data; /* the memory of the buffer is now owned by u */
    return 0;
}

int aoei_url_read(aoei_url *u, const char *text, aoe_error *err) {
    *u = (aoei_url){0};
    parts p = {0};
    char shown_url[AOEI_URL_DISPLAY_MAX];
    int rc = aoei_start_curl(err);
    if (rc)
        return rc;
    const CURLUcode code = split(&p, text);
    if (code == CURLUE_OUT_OF_MEMORY)
        rc = aoei_fail_nomem(err, strlen(text));
    else if (p.user || p.password || (code && strchr(text, '@'))) /* the message does not show the URL, because it may
                                                                     contain a password */
        rc = aoei_fail(err, AOE_EARG, "the URL contains a user name or password; remove it");
    else if (code)
        rc = aoei_fail(err, AOE_EARG, "%s: not a valid URL; write it as https://HOST/PATH",
                       aoei_url_display(text, shown_url));
    else
        rc = check(u, &p, aoei_url_display(text, shown_url), err);
    aoei_curl.free(p.scheme);
    aoei_curl.free(p.host);
    aoei_curl.free(p.port);
    aoei_curl.free(p.user);
    aoei_curl.free(p.password);
    return rc;
}

void aoei_url_free(aoei_url *u) {
    aoei_free(u->origin);
    *u = (aoei_url){0};
}
