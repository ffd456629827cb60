/* SPDX-License-Identifier: MIT
 * The socket on which a server listens, and the names under which its clients may call it.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "serve/framing.h"

typedef struct aoei_listener {
    int fd;           /* -1: closed */
    unsigned port;    /* 0: a socket without ports (Unix) */
    char address[64]; /* address on which it listens, such as "127.0.0.1", or "unix" */
    int is_wildcard;  /* 1: listens on every address */
    int is_loopback;  /* 1: only programs on this computer can connect; also a Unix socket */
    char *names;      /* owned; [n_names] further names of this server, each followed by a NUL */
    size_t n_names;
    int allows_all; /* 1: every name is allowed */
} aoei_listener;

/* Opens a listening socket. host: address or name; NULL: 127.0.0.1; "*": every address, with IPv6 if the system has it.
 * port: 0: a free one. names: [n] further names; "*" allows every name. Errors: AOE_EARG (the host is unknown; a name
 * is no host name), AOE_EIO (the address is in use, or is not allowed), AOE_ENOMEM. */
int aoei_listener_open(aoei_listener *l, const char *host, unsigned port, const char *const *names, size_t n,
                       aoe_error *err);
/* Uses a socket that already listens. The caller closes it if the function fails. Errors: AOE_EARG (it is no listening
 * stream socket), AOE_ENOMEM. */
int aoei_listener_use(aoei_listener *l, int fd, const char *const *names, size_t n, aoe_error *err);
/* Returns 1 if a request with this host is allowed: the address of the listener; localhost and the loopback addresses
 * if it listens on a loopback or on every address; every IP address if it listens on every address, because only names
 * can be pointed to another server; a further name. Ports are not compared. */
int aoei_listener_allows(const aoei_listener *l, aoe_text host);
void aoei_listener_close(aoei_listener *l); /* closes the socket; the names are kept */
void aoei_listener_free(aoei_listener *l);
