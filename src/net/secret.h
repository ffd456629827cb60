/* SPDX-License-Identifier: MIT
 * Redacts a secret in text that will be printed or stored. For example, the response of a server may contain the token
 * that was sent to the server.
 */
#pragma once

#include <stddef.h>

/* Replaces every byte of every occurrence of the secret in s[len] by '#'. If the secret is NULL or "", s does not
 * change. s may be NULL if len is 0. Call it before truncating a text, because a truncated secret is not found. Returns
 * 1 if s contained the secret, otherwise 0. */
int aoei_redact(char *s, size_t len, const char *secret);
