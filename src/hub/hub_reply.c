/* SPDX-License-Identifier: MIT
 * Parses ETag, sizes and Content-Range.
 */
#include "hub/hub_reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hub_cache.h"

/* Copies an ETag without W/ and quotes. Returns 1 if it is a checksum. */
static int read_etag(char etag[AOEI_DIGEST_HEX], const char *value) {
    if (!value)
        return 0;
    value += strncmp(value, "W/", 2) == 0 ? 2 : 0;
    value += *value == '"';
    const size_t len = strcspn(value, "\"");
    if (len != 40 && len != 64)
        return 0;
    memcpy(etag, value, len);
    etag[len] = 0;
    return aoei_is_hex(etag, len);
}

/* Reads an integer from 0 to INT64_MAX at *text and sets *text to the character after it. Returns 1, or 0 if there is
 * none. */
static int read_number(uint64_t *out, const char **text) {
    char *end;
    if (**text < '0' || **text > '9')
        return 0;
    errno = 0;
    const unsigned long long value = strtoull(*text, &end, 10);
    *text = end;
    *out = value;
    return !errno && value <= INT64_MAX;
}

int aoei_hub_reply_file(char etag[AOEI_DIGEST_HEX], uint64_t *size, const aoei_headers *h, int status) {
    const char *linked = aoei_headers_get(h, "x-linked-etag", 0), *bytes = aoei_headers_get(h, "x-linked-size", 0);
    if (!bytes && status == 200)
        bytes = aoei_headers_get(h, "content-length", 0);
    return bytes && read_etag(etag, linked ? linked : aoei_headers_get(h, "etag", 0)) && read_number(size, &bytes) &&
           !*bytes;
}

int aoei_hub_reply_continues(const aoei_headers *h, uint64_t start, uint64_t total) {
    const char *range = aoei_headers_get(h, "content-range", 0);
    uint64_t first, last, size;
    if (!range || strncmp(range, "bytes ", 6) != 0)
        return 0;
    range += 6;
    return read_number(&first, &range) && *range++ == '-' && read_number(&last, &range) && *range++ == '/' &&
           read_number(&size, &range) && !*range && first == start && first <= last && last < size && size == total;
}

int aoei_hub_reply_length(uint64_t *total, const aoei_headers *h) {
    const char *range = aoei_headers_get(h, "content-range", 0), *slash = range ? strchr(range, '/') : NULL;
    const char *text = slash ? slash + 1 : range ? NULL : aoei_headers_get(h, "content-length", 0);
    return text && read_number(total, &text) && !*text;
}
