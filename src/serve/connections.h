/* SPDX-License-Identifier: MIT
 * The open connections of a server, and their time limits. libmicrohttpd limits only the time without progress, so a
 * client that sends one byte now and then could hold a connection forever. A connection is in one of several phases,
 * and a phase has a deadline. The thread that accepts connections calls aoei_connections_expire regularly. All
 * functions may be called from any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/mutex.h"

typedef enum aoei_phase {
    AOEI_PHASE_IDLE,    /* before the first line of a request has arrived */
    AOEI_PHASE_HEADERS, /* between the first line and the last header */
    AOEI_PHASE_BODY,
    AOEI_PHASE_DISCARD, /* a body is received that nobody needs, because the answer was already sent */
    AOEI_PHASE_HANDLE,  /* the request is complete; no deadline */
    AOEI_PHASE_ANSWER,  /* the answer is being sent */
    AOEI_PHASES,
    AOEI_PHASE_EXPIRED = AOEI_PHASES /* the deadline has passed, and the connection is being closed */
} aoei_phase;

typedef struct aoei_connection {
    struct aoei_connection *next, *previous; /* in the list of its table */
    uint64_t number;                         /* counted from 1 */
    uint64_t deadline;                       /* aoei_now_ns(); 0: none */
    aoei_phase phase;
    int has_ended;   /* 1: the last aoei_connections_expire found the end of an incomplete request */
    int was_slow;    /* 1: expired because its request did not arrive in time */
    int fd;          /* socket; belongs to libmicrohttpd */
    int is_tls;      /* 1: bytes may be sent only by libmicrohttpd */
    char remote[64]; /* address of the client, such as "127.0.0.1" */
} aoei_connection;

typedef struct aoei_connections {
    aoei_mutex lock; /* protects the following members and the phases of all connections */
    aoei_connection *first;
    size_t n;
    uint64_t n_total;              /* connections so far */
    uint64_t seconds[AOEI_PHASES]; /* time limit of each phase; 0: none; a new connection has the limit of HEADERS */
} aoei_connections;

/* Initializes a zeroed table. The caller sets the time limits. */
void aoei_connections_init(aoei_connections *t);
void aoei_connections_destroy(aoei_connections *t); /* the table must be empty */
/* Adds a connection. remote: address of the client; may be NULL. Returns NULL if out of memory. */
aoei_connection *aoei_connections_add(aoei_connections *t, int fd, int is_tls, const struct sockaddr *remote);
/* Removes and frees a connection. The caller has not yet closed the socket. */
void aoei_connections_remove(aoei_connections *t, aoei_connection *c);
size_t aoei_connections_count(aoei_connections *t);
/* Begins a phase and sets its deadline. Returns 0, or 1 if the connection has expired. */
int aoei_connections_enter(aoei_connections *t, aoei_connection *c, aoei_phase phase);
/* Returns 1 if the connection has expired because its request did not arrive in time. */
int aoei_connections_was_slow(aoei_connections *t, const aoei_connection *c);
/* Sends text[len] in the current phase, outside of libmicrohttpd, which must not be sending. Returns 1 if all of it was
 * sent, otherwise 0, for example always with TLS. */
int aoei_connections_send(aoei_connections *t, aoei_connection *c, const char *text, size_t len);
/* Shuts the connections down whose deadline is before `now`, or whose client has closed them within a request. A client
 * that was slow with a request gets the answer 408 before. */
void aoei_connections_expire(aoei_connections *t, uint64_t now);
