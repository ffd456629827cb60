/* SPDX-License-Identifier: MIT
 * Reads the headers of the Hub's replies about a file. The replies are not trusted: the checksum becomes a file name.
 */
#pragma once

#include <stdint.h>

#include "net/digest.h"
#include "net/headers.h"

/* Reads the checksum and the size of a file from the headers of a response to HEAD: X-Linked-Etag, otherwise ETag, and
 * X-Linked-Size, otherwise the Content-Length of a response with status 200. etag is set to 40 (SHA-1 of the git blob)
 * or 64 (SHA-256) lower-case hexadecimal digits, and *size to the bytes, at most INT64_MAX. Returns 1, or 0 if a header
 * is missing or has another form. */
int aoei_hub_reply_file(char etag[AOEI_DIGEST_HEX], uint64_t *size, const aoei_headers *h, int status);
/* Returns 1 if Content-Range says that the body begins at byte `start` of a file of `total` bytes. */
int aoei_hub_reply_continues(const aoei_headers *h, uint64_t start, uint64_t total);
/* Sets *total to the size of the whole file: the number after '/' in Content-Range, which responses with status 206 and
 * 416 contain, otherwise Content-Length. Returns 1, or 0 if the headers do not contain it. */
int aoei_hub_reply_length(uint64_t *total, const aoei_headers *h);
