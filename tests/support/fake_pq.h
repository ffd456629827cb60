/* SPDX-License-Identifier: MIT
 * A replacement of libpq without a server. A test gives the answers to the statements that it expects, and reads the
 * statements that were sent. Statements without an answer succeed without rows.
 */
#pragma once

#include <stddef.h>

#include "postgres/libpq.h"

/* The answer to statements that contain `pattern`; the first answer whose pattern matches is used. */
typedef struct fake_pq_answer {
    const char *pattern; /* NULL: end of the array */
    const char *state;   /* SQLSTATE of an error; NULL: success */
    const char *message; /* message of the error */
    size_t columns, rows;
    const char *const *value; /* [rows, columns]; NULL: the value NULL */
} fake_pq_answer;

/* Replaces libpq. answers: borrowed, until the next call. NULL: restores libpq. */
void fake_pq_start(const fake_pq_answer *answers);
/* Lets the next connection fail with this error. connect: SQLSTATE, or "" for a failure without SQLSTATE. */
void fake_pq_refuse(const char *state, const char *message, int needs_password);
/* Lets the connection break when a statement contains `pattern`. */
void fake_pq_break_at(const char *pattern);

/* Returns all statements so far, one per line, with "COPY n bytes" for data. */
const char *fake_pq_statements(void);
/* Returns parameter i (from 0) of the last statement that contains `pattern`, or NULL. *length is set to its bytes. */
const char *fake_pq_parameter(const char *pattern, size_t i, int *length);
/* Returns the data that was sent with COPY since fake_pq_start. */
const char *fake_pq_copied(size_t *length);
/* Returns the number of connections and results that were not freed. */
int fake_pq_live(void);
