/* SPDX-License-Identifier: MIT
 * The API key of a server. It is read from a file, so that it does not appear in lists of processes, and is never
 * logged. Its comparison takes the same time for every wrong key of at most AOEI_KEY_BYTES bytes, so that the time of
 * an answer does not tell how many bytes of a guess were right.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/log.h"

#define AOEI_KEY_BYTES 512 /* size of the longest key */

typedef struct aoei_key {
    char bytes[AOEI_KEY_BYTES]; /* [len], followed by zeros */
    size_t len;                 /* 0: there is no key, and every request is allowed */
} aoei_key;

/* Reads a key from a file that contains one line. Logs a warning if every user may read the file. Errors: AOE_ENOENT,
 * AOE_EIO, AOE_EFORMAT (the file is empty, too large, or contains more than one line or a character that is no visible
 * ASCII character). */
int aoei_key_load(aoei_key *k, const char *path, const aoei_log *log, aoe_error *err);
int aoei_key_equals(const aoei_key *k, aoe_text given);
/* Returns 1 if there is no key, or if one of the values of headers contains it: Authorization: Bearer KEY, X-Api-Key:
 * KEY, or Api-Key: KEY. The values may be NULL. */
int aoei_key_allows(const aoei_key *k, const char *authorization, const char *x_api_key, const char *api_key);
