/* SPDX-License-Identifier: MIT
 * The members of an exchange, for serve/exchange.c and serve/http.c only. The thread of libmicrohttpd creates and frees
 * an exchange. Between the call of `handle` and the answer, another thread may use it; the member `state` hands it
 * over.
 */
#pragma once

#include "base/buffer.h"
#include "base/thread.h"
#include "serve/connections.h"
#include "serve/framing.h"
#include "serve/mhd.h"

typedef struct aoei_exchange aoei_exchange; /* as in serve/exchange.h, which includes nothing of this file */
typedef struct aoei_exchange_shared aoei_exchange_shared;

/* Each change of the state is one atomic operation, so the thread that answers and the thread of libmicrohttpd agree on
 * which of them continues the connection. */
enum {
    AOEI_EXCHANGE_RECEIVE,   /* the request is not complete */
    AOEI_EXCHANGE_COMPLETE,  /* the request is complete; `handle` was not called yet */
    AOEI_EXCHANGE_HANDLE,    /* `handle` has it; the connection is not yet suspended */
    AOEI_EXCHANGE_SUSPENDED, /* `handle` has it; the thread that answers resumes the connection */
    AOEI_EXCHANGE_ANSWERED,  /* the answer is stored in the exchange */
    AOEI_EXCHANGE_SENT       /* the answer was passed to libmicrohttpd */
};

/* What all exchanges of a server share */
struct aoei_exchange_shared {
    aoei_connections connections;
    char *cors_origin;                                                                      /* owned; NULL: none */
    void (*write_error)(aoei_buffer *b, const char *path, int status, const char *message); /* see aoei_http_options */
    _Atomic int draining;        /* 1: answers close their connection */
    _Atomic size_t body_bytes;   /* bytes of the bodies of all requests without an answer */
    _Atomic size_t answer_bytes; /* bytes that are reserved, and of all large answers that were not sent completely */
    size_t answers_limit;        /* maximum of answer_bytes */
    aoei_mutex lock;             /* protects the two counts below */
    aoei_condition changed;      /* signaled when one of the counts becomes 0 */
    size_t in_flight;            /* requests whose headers are complete and whose answer is not yet sent */
    size_t handling;             /* calls of `handle` without an answer */
};

struct aoei_exchange {
    aoei_exchange_shared *shared; /* borrowed */
    struct MHD_Connection *mhd;   /* borrowed */
    aoei_connection *connection;  /* borrowed */
    char *target;                 /* owned; as sent, with the query */
    const char *method, *path;    /* belong to libmicrohttpd */
    aoei_framing framing;
    aoei_buffer body;              /* what has been received */
    size_t body_bytes;             /* bytes that count in shared->body_bytes */
    uint64_t received;             /* bytes of the body, also if it is discarded */
    uint64_t start;                /* aoei_now_ns() when the headers were complete */
    aoei_buffer headers;           /* of the answer: NAME NUL VALUE NUL ... */
    struct MHD_Response *response; /* owned; NULL with state ANSWERED: the connection is closed */
    uint64_t answer_bytes;         /* bytes of the body of the answer */
    size_t held_bytes;             /* bytes that count in shared->answer_bytes */
    int is_reserved;               /* 1: held_bytes were reserved before the answer */
    int status;                    /* of the answer; 0: none */
    void *work;                    /* see aoei_exchange_set_work */
    int is_counted;                /* 1: counted in in_flight */
    int is_discarded;              /* 1: the body is not stored */
    int is_sent_early;             /* 1: the answer was sent before the body was complete; the connection is closed */
    int closes;                    /* 1: the answer closes the connection */
    int is_http10;
    int was_probed; /* see aoei_exchange_is_gone */
    char model[64]; /* see aoei_exchange_note */
    size_t texts, tokens;
    _Atomic int state;
};
