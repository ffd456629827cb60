/* SPDX-License-Identifier: MIT
 * Fuzzes the parsers of HTTP headers. The input is the header section of a response. A parsed waiting time must be at
 * most 31 days, and parsed counts must be integers. A URL from a Link header must be found again in a new Link header
 * that contains this URL.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "net/headers.h"
#include "net/url.h"

#define NOW INT64_C(1700000000)

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_link(const aoei_headers *h, const char *rel) {
    char *url, *again;
    require(aoei_headers_link(h, rel, "https://example.com/a/b?page=1", &url) == 0);
    if (!url)
        return;
    aoei_headers second = {0};
    aoei_url u;
    const int code = aoei_url_read(&u, url, NULL);
    require(code == 0 || code == AOE_EARG);
    aoei_url_free(&u);
    /* parses a Link header that contains this URL */
    if (!strpbrk(url, "<>,;\"") && strlen(url) < AOEI_HEADERS_MAX / 2) {
        aoei_buffer line = {0};
        require(aoei_buffer_printf(&line, "Link: <%s>; rel=%s", url, rel) == 0);
        require(aoei_headers_add(&second, line.data, line.len) == 0);
        require(aoei_headers_link(&second, rel, "https://example.com/", &again) == 0);
        require(again && strcmp(again, url) == 0);
        aoei_free(again);
        aoei_buffer_free(&line);
    }
    aoei_headers_free(&second);
    aoei_free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    aoei_headers h = {0};
    /* a lookup must also work for an empty list of headers, for which no memory is allocated */
    require(!aoei_headers_get(&h, "link", 0));
    const char *s = (const char *)data, *end = size ? s + size : s;
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        const size_t len = (size_t)((stop ? stop + 1 : end) - s);
        const int code = aoei_headers_add(&h, s, len);
        require(code == 0 || code == AOE_EFORMAT);
        s += len;
    }
    check_link(&h, "next");
    check_link(&h, "last");
    const int64_t wait = aoei_headers_retry_after(&h, NOW);
    require(wait >= -1 && wait <= 31 * 24 * 3600);
    const aoei_rate r = aoei_headers_rate(&h, NOW);
    require(r.limit >= -1 && r.remaining >= -1 && r.reset_after >= -1 && r.reset_after <= 31 * 24 * 3600);
    for (const char *name = h.text.data; name && name < h.text.data + h.text.len; name += strlen(name) + 1)
        name += strlen(name) + 1; /* each name and each value must end inside the text of the headers */
    aoei_headers_free(&h);
    require(aoei_alloc_live() == live);
    return 0;
}
