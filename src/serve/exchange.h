/* SPDX-License-Identifier: MIT
 * One HTTP request and its answer. The server creates an exchange for each request and passes it to the function
 * `handle` (serve/http.h) when the request is complete. Exactly one thread answers it, at once or later, with
 * aoei_exchange_answer. Before that, one thread at a time may use the exchange; texts that the functions return are
 * valid until the answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"
#include "base/compiler.h"

typedef struct aoei_exchange aoei_exchange;

const char *aoei_exchange_method(const aoei_exchange *x); /* such as "POST" */
const char *aoei_exchange_path(const aoei_exchange *x);   /* decoded; without the query */
/* Return the value of a header (the case of the name does not matter) or of a decoded parameter of the query; NULL if
 * there is none. */
const char *aoei_exchange_header(const aoei_exchange *x, const char *name);
const char *aoei_exchange_query(const aoei_exchange *x, const char *name);
aoe_text aoei_exchange_body(const aoei_exchange *x);
/* Frees the memory of the body, which is then empty. Its bytes still count towards the limit for all bodies until the
 * answer, for the texts that the caller has copied from it. */
void aoei_exchange_free_body(aoei_exchange *x);
uint64_t aoei_exchange_connection(const aoei_exchange *x); /* number of the connection, counted from 1 */
uint64_t aoei_exchange_start(const aoei_exchange *x);      /* aoei_now_ns() when the headers were complete */

/* Returns 1 if the client has closed or reset the connection, so that nobody would read an answer. Costs one system
 * call. A client that has only ended its sending side (shutdown) can still read, and TCP shows the same to the server
 * as if it had closed the connection. If the client has sent such an end, the first call therefore sends it an interim
 * answer (100 Continue), which clients of HTTP/1.1 skip; the computer of a client that has closed replies with a reset,
 * which this call or a later one reports. Interim answers are not possible with HTTP/1.0, whose clients are reported
 * only after a reset, and with TLS, where an end counts as closed. */
int aoei_exchange_is_gone(aoei_exchange *x);

/* Adds a header to the answer. Control characters in the value are replaced by '?'. If memory runs out, the answer has
 * status 500. */
void aoei_exchange_add_header(aoei_exchange *x, const char *name, const char *fmt, ...) AOEI_PRINTF(3, 4);
/* Reserves memory for the results of a request and for its answer. The bytes count as those of an answer that was not
 * read. When the request is answered, the bytes of the answer count instead, whatever their number is. Small numbers of
 * bytes always succeed. Returns 0; 1 if they exceed *limit, the maximum for all requests; 2 if they exceed what is left
 * of it. May be called once. */
int aoei_exchange_reserve(aoei_exchange *x, size_t bytes, size_t *limit);
/* Stores what another thread of the caller shall do for the request; NULL (default): nothing. Borrowed. */
void aoei_exchange_set_work(aoei_exchange *x, void *work);
void *aoei_exchange_work(const aoei_exchange *x);
/* Sets what the access log tells about the request. model: NULL if there is none; at most 63 bytes are kept. */
void aoei_exchange_note(aoei_exchange *x, const char *model, size_t texts, size_t tokens);
/* Answers the request, from any thread. type: value of Content-Type, or NULL. Takes over the memory of body and zeroes
 * it; body may be NULL (empty). If body->failed is set, the answer has status 500. The exchange must not be used
 * afterwards. */
void aoei_exchange_answer(aoei_exchange *x, int status, const char *type, aoei_buffer *body);

/* For serve/http.c: */
typedef struct aoei_exchange_shared aoei_exchange_shared;
void aoei_exchange_free(aoei_exchange *x); /* accepts NULL */
/* Stores the answer of a request that is not passed to `handle`: an error in the form of aoei_exchange_write_error. */
void aoei_exchange_reject(aoei_exchange *x, int status, const char *kind, const char *message);
/* Appends the body of an error in the form of the path: options.write_error, or otherwise {"error": message,
 * "error_type": kind}. */
void aoei_exchange_write_error(const aoei_exchange *x, aoei_buffer *b, int status, const char *kind,
                               const char *message);
