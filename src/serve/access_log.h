/* SPDX-License-Identifier: MIT
 * The access log: a line of JSON for each request. It contains no texts, no queries and no keys. Each line is appended
 * with one write(), so that several processes can share a file. Another program can rename the file and then ask for
 * aoei_access_log_reopen (log rotation).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/mutex.h"

typedef struct aoei_access_log {
    char *path;      /* owned; NULL: nothing is logged */
    int fd;          /* -1: none */
    uint64_t n_lost; /* lines that could not be written */
    aoei_mutex lock; /* protects fd */
} aoei_access_log;

typedef struct aoei_access {
    const char *remote; /* address of the client */
    const char *method; /* the texts may contain any bytes */
    const char *path;   /* without the query */
    int status;         /* of the answer; 499: the client closed the connection before the answer was complete */
    uint64_t bytes_in;  /* of the body */
    uint64_t bytes_out; /* of the body of the answer */
    double seconds;     /* from the last header of the request to the last byte of the answer */
    const char *model;  /* "": none */
    size_t texts, tokens;
} aoei_access;

/* Opens a log. path: a file, which is created if it does not exist (readable by its owner and group); "-": standard
 * output; NULL: no log. Errors: AOE_EIO, AOE_ENOENT, AOE_ENOMEM. */
int aoei_access_log_open(aoei_access_log *l, const char *path, aoe_error *err);
/* Opens the file again. If that fails, the old file stays in use. */
int aoei_access_log_reopen(aoei_access_log *l, aoe_error *err);
/* Appends a line. Returns 0, or 1 if that failed, for example because the disk is full. Thread-safe. */
int aoei_access_log_write(aoei_access_log *l, const aoei_access *a);
void aoei_access_log_close(aoei_access_log *l);
