/* SPDX-License-Identifier: MIT
 * Reads the first line and the headers of a request from libmicrohttpd, and checks them (serve/framing.h). Version
 * 0.9.75 reports some lines in a form in which the checks would not see a violation: a header that continues on the
 * next line gets another name, and a text ends at its first NUL. A header could thus have a meaning for a proxy that
 * it does not have here, or the reverse. The lines of this version are therefore compared with its memory, too.
 */
#pragma once

#include "serve/framing.h"
#include "serve/mhd.h"

/* The first line of a request, as libmicrohttpd reports it. */
typedef struct aoei_head_line {
    const char *target;                 /* as sent */
    const char *method, *url, *version; /* url: the target without its query, decoded */
} aoei_head_line;

/* Checks the head of a request. The texts of its first line must stay valid while *f is used. Returns 0, or 1 if there
 * was a violation (f->problem). */
int aoei_head_check(aoei_framing *f, struct MHD_Connection *mhd, const aoei_head_line *line);
