/* SPDX-License-Identifier: MIT
 * Checks the framing of an HTTP request: its target and its headers. libmicrohttpd 0.9.75 accepts several
 * Content-Length headers, Content-Length together with Transfer-Encoding, and several Host headers. A proxy may
 * understand such a request differently, so that a client could hide a second request in its body (request smuggling).
 * A request that fails a check is answered with 400, and its connection is closed, because it is unknown where the next
 * request begins. See RFC 9112, sections 3.2, 5 and 6. The checks also read the names in Host and Origin, which are
 * compared with the names of the server, because a web page could otherwise read answers through a name that its owner
 * points to this server (DNS rebinding).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* What is known about a request so far. A zeroed struct is the start. */
typedef struct aoei_framing {
    unsigned n_length, n_transfer, n_host, n_origin; /* headers of these names */
    uint64_t length;                                 /* value of Content-Length; 0 if there is none */
    int is_chunked;                                  /* 1: Transfer-Encoding: chunked */
    int expects;                                     /* 1: Expect: 100-continue */
    int is_encoded;      /* 1: Content-Encoding is not "identity", for example a body that is compressed */
    aoe_text host;       /* value of Host, or the authority of the target; borrowed; data is NULL if there is neither */
    aoe_text origin;     /* value of Origin; borrowed; data is NULL if there is none */
    const char *problem; /* the first violation, as the end of a message; static; NULL: none */
} aoei_framing;

/* Checks the target of the first line, as sent. A target of the form http://HOST/PATH sets host. Returns the part from
 * the path on, or "" if there is a violation. */
const char *aoei_framing_target(aoei_framing *f, const char *target);
/* Checks the characters of the method. */
void aoei_framing_method(aoei_framing *f, const char *method);
/* Records that the lines of the head are not separated as they must be. */
void aoei_framing_line(aoei_framing *f);
/* Checks one header. The texts must stay valid while *f is used. */
void aoei_framing_header(aoei_framing *f, aoe_text name, aoe_text value);
/* Checks the headers as a whole. version: "HTTP/1.1". Returns 0, or 1 if there was a violation (f->problem). */
int aoei_framing_end(aoei_framing *f, const char *version);

typedef enum aoei_host_kind { AOEI_HOST_INVALID, AOEI_HOST_NAME, AOEI_HOST_IPV4, AOEI_HOST_IPV6 } aoei_host_kind;

/* A host with an optional port, such as "localhost:8080" or "[::1]:80". */
typedef struct aoei_host {
    aoei_host_kind kind;
    aoe_text name; /* without the port, the brackets and a dot at the end; inside the parsed text */
    aoe_text port; /* digits; empty if there is no port */
} aoei_host;

aoei_host aoei_host_parse(aoe_text text);
/* Returns 1 if both hosts have the same name or address; ports are not compared. */
int aoei_host_equal(const aoei_host *a, const aoei_host *b);
/* Returns 1 if the host is localhost, an address of 127.0.0.0/8, or ::1. */
int aoei_host_is_loopback(const aoei_host *h);
/* Returns 1 if the origin is http://HOST or https://HOST with the given value of Host. The case does not matter. A
 * proxy may terminate TLS, so both schemes are accepted. */
int aoei_origin_is_host(aoe_text origin, aoe_text host);
