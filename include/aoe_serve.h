/* SPDX-License-Identifier: MIT
 *
 * aoe_serve.h: an HTTP server for embeddings, scores of pairs, and search. It answers the requests of the clients of
 * text-embeddings-inference, OpenAI, Jina, Cohere and ollama. docs/serve.md describes the routes, the limits and all
 * guarantees. This interface is experimental: it may change before version 1.0.
 */
#ifndef AOE_SERVE_H
#define AOE_SERVE_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A running server. */
typedef struct aoe_server aoe_server;

/* The strings and arrays are borrowed until aoe_server_stop. */
typedef struct aoe_serve_options {
    size_t struct_size;        /* set by aoe_serve_options_defaults */
    const char *const *models; /* [n_models] "NAME=MODEL" or "MODEL", where MODEL is a directory or a name on the
                                  Hugging Face Hub (aoe_model_find). The first is the default; others are opened at
                                  their first request. Without models, the default model of the library is served */
    size_t n_models;
    const char *const *indexes; /* [n_indexes] "NAME=DIR" or "DIR", the directory of an index (aoe_index.h); the model
                                   of an index is opened at the first search. If `writable` is 1, an index that does
                                   not exist is created, with the first model */
    size_t n_indexes;
    const char *host;               /* address or name to listen on; default 127.0.0.1 */
    size_t port;                    /* default 8080; 0: a free port */
    int listen_fd;                  /* listening socket that is used instead of host and port, and that a started server
                                       owns; AOE_AUTO (default): none */
    const char *tls_cert;           /* PEM file of the certificate chain; NULL (default): no TLS */
    const char *tls_key;            /* PEM file of the key of the certificate */
    const char *const *allow_hosts; /* [n_allow_hosts] further names in the header Host; "*": every name */
    size_t n_allow_hosts;
    const char *cors_origin;   /* origin whose web pages may send requests; "*": all; NULL (default): none */
    const char *api_key_file;  /* file with the key that requests need; NULL (default): no key is needed */
    const char *access_log;    /* file to which a line of JSON is appended for each request; "-": standard output; NULL
                                  (default): none */
    aoe_dtype dtype;           /* data type of activations (aoe_model_options) */
    size_t threads;            /* threads that compute; default: one per CPU */
    size_t max_batch_tokens;   /* tokens of a batch; default 2048 */
    size_t max_texts;          /* texts of a request in the form of text-embeddings-inference; default 32 */
    size_t max_list;           /* texts of a request in the other forms; default 2048 */
    size_t max_request_tokens; /* tokens of a request; default 300000 */
    size_t max_requests;       /* requests at the same time, beyond which requests get the status 429; default 512 */
    size_t max_connections;    /* default 20000 */
    size_t max_body;           /* bytes of the body of a request; default 2000000 */
    size_t cache_bytes;        /* memory for the embeddings of recent texts; 0: no cache; default 64 MiB */
    size_t header_timeout, body_timeout, idle_timeout; /* seconds; defaults 10, 60 and 75 */
    int truncate;        /* 1 (default): texts longer than the maximum sequence length are truncated, unless the
                            request says otherwise; 0: they are errors */
    int allow_token_ids; /* 1: the OpenAI routes accept token ids of the model's tokenizer; default 0 */
    int systemd;         /* 1: use the socket that systemd passes, if there is one, and report the state of the
                            server to systemd; default 0 */
    int writable;        /* 1: requests may add documents to indexes and remove them; default 0 */
    aoe_log_fn log;      /* receives each message; NULL (default): messages are discarded */
    void *log_user;      /* first argument of log */
    size_t answer_bytes; /* memory for the results of all requests in progress and for answers that clients have not
                            read, beyond which requests get the status 429; default 512 MiB */
} aoe_serve_options;

AOE_OPTIONS(aoe_serve_options);

/* Opens the default model and starts a server. The function returns when the server answers requests. Errors: AOE_EARG
 * (an option), AOE_EIO (libmicrohttpd is missing; the address is in use), AOE_ENOENT, AOE_ENOMEM, and those of
 * aoe_model_open and aoe_index_open. */
AOE_API int aoe_server_start(aoe_server **server, const aoe_serve_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
/* Opens all models and indexes, and writes the resolved configuration to text[size] as a JSON object, NUL-terminated.
 * Does not listen. Errors: see aoe_server_start; AOE_EARG (size is too small). */
AOE_API int aoe_server_check(const aoe_serve_options *AOE_NULLABLE o, char *text, size_t size,
                             aoe_error *AOE_NULLABLE err);
AOE_API size_t aoe_server_port(const aoe_server *server);         /* port on which the server listens */
AOE_API const char *aoe_server_address(const aoe_server *server); /* such as "http://127.0.0.1:8080"; borrowed */
/* Opens the models that are in use and the access log anew; an index is opened anew at its next use. Requests that are
 * in flight finish with the old models and indexes. If the function fails, the old models, indexes and log remain in
 * use. One thread at a time may call it. Errors: see aoe_model_open. */
AOE_API int aoe_server_reload(aoe_server *server, aoe_error *AOE_NULLABLE err);
/* Stops a server and frees it: /readyz answers 503, no connection is accepted any more, and the requests in flight are
 * finished for at most `seconds`. Returns 0, or 1 if requests were left unanswered. Accepts NULL. */
AOE_API int aoe_server_stop(aoe_server *AOE_NULLABLE server, double seconds);

#ifdef __cplusplus
}
#endif

#endif
