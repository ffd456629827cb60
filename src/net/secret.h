/* SPDX-License-Identifier: MIT
 * Keeping a secret out of what is shown and kept: a server may send back the token it was given.
 */
#ifndef AOEI_NET_SECRET_H
#define AOEI_NET_SECRET_H

#include <stddef.h>

/* Replaces the secret, wherever it stands in s[len], by as many '#'. secret NULL or "": nothing. s may be NULL with len 0.
 * To be called before a text is cut: half a secret is not found. Returns whether it was there. */
int aoei_blot_out(char *s, size_t len, const char *secret);

#endif
