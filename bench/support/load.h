/* SPDX-License-Identifier: MIT
 * Sends HTTP requests to a server on this machine and measures the time until each answer is complete. One thread
 * serves all connections with epoll and keeps them open. Without a rate, each connection sends its next request when
 * it has received an answer (closed loop). With a rate, requests are due at random times (Poisson process), wait
 * for a free connection if all are busy, and their time is measured from when they were due (open loop).
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>

typedef struct load_request {
    char *bytes; /* headers and body, owned by the caller */
    size_t len;
    size_t first, texts; /* index of the first text, and number of texts */
} load_request;

typedef struct load_options {
    struct sockaddr_in address;
    const load_request *request; /* [n] requests that are sent in turn, borrowed */
    size_t n;
    size_t connections; /* connections that send requests */
    size_t idle;        /* connections that send one request before the run, and one after it */
    size_t total;       /* requests of the run */
    double seconds;     /* after this time, no further request is sent */
    double rate;        /* requests per second; 0: closed loop */
    /* Called with the body of each answer with status 200; returns 1 if it is wrong. NULL: not checked. */
    int (*is_wrong)(void *user, const load_request *r, const char *body);
    /* Called about 100 times during a run, with the number of answers. NULL: not called. */
    void (*sample)(void *user, size_t answers);
    void *user;
} load_options;

typedef struct load_result {
    size_t answers;    /* complete answers with status 200 */
    size_t texts;      /* of these answers */
    size_t bytes;      /* of their bodies */
    size_t rejected;   /* answers with another status */
    size_t broken;     /* requests whose connection was closed before the answer */
    size_t wrong;      /* answers for which is_wrong returned 1 */
    size_t idle_open;  /* idle connections that were still open after the run */
    double seconds;    /* from the first request to the last answer */
    double cpu;        /* CPU time of this process meanwhile, in seconds */
    double *latency;   /* [answers] in seconds, in the order of completion; owned */
    char message[512]; /* first rejected answer, or why the run has ended early; "": none */
} load_result;

/* Runs the load. Returns 0; or -1 with a message if it could not start. Frees nothing of an earlier result. */
int load_run(const load_options *o, load_result *r);
void load_result_free(load_result *r);
/* Returns the time below which the share q (0 to 1) of the sorted times lies; 0 if n is 0. */
double load_quantile(const double *sorted, size_t n, double q);
