/* SPDX-License-Identifier: MIT
 * Loads libpq, the client library of PostgreSQL, with dlopen at the first use. Its interface has been stable for many
 * years, so its functions and constants are declared here, and no header of PostgreSQL is needed to build aoe. The
 * functions are called through the members of aoei_pq, for example aoei_pq.exec() for PQexec().
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

typedef struct pg_conn aoei_pq_conn;     /* PGconn */
typedef struct pg_result aoei_pq_result; /* PGresult */
typedef struct pg_cancel aoei_pq_cancel; /* PGcancel */

/* An option of a connection string (PQconninfoOption). */
typedef struct aoei_pq_option {
    char *keyword; /* such as "host"; NULL: end of the array */
    char *envvar, *compiled;
    char *val; /* NULL: not in the connection string */
    char *label, *dispchar;
    int dispsize;
} aoei_pq_option;

enum { AOEI_PQ_CONNECTION_OK = 0, AOEI_PQ_CONNECTION_BAD = 1 }; /* ConnStatusType */
enum { AOEI_PQ_POLLING_FAILED, AOEI_PQ_POLLING_READING, AOEI_PQ_POLLING_WRITING, AOEI_PQ_POLLING_OK };
enum { AOEI_PQ_COMMAND_OK = 1, AOEI_PQ_TUPLES_OK = 2, AOEI_PQ_COPY_OUT = 3, AOEI_PQ_COPY_IN = 4 }; /* ExecStatusType */
enum { AOEI_PQ_ERRORS_VERBOSE = 2 };                                                               /* PGVerbosity */
enum { AOEI_PQ_DIAG_SQLSTATE = 'C', AOEI_PQ_DIAG_MESSAGE = 'M' }; /* fields of an error */

/* Calls X(result, name, arguments) for each function that aoe uses. PQname has these arguments. */
#define AOEI_PQ_FUNCTIONS(X)                                                                                           \
    X(aoei_pq_option *, conninfoParse, (const char *conninfo, char **message))                                         \
    X(void, conninfoFree, (aoei_pq_option * options))                                                                  \
    X(void, freemem, (void *p))                                                                                        \
    X(aoei_pq_conn *, connectStartParams, (const char *const *keywords, const char *const *values, int expand_dbname)) \
    X(int, connectPoll, (aoei_pq_conn * c))                                                                            \
    X(int, socket, (const aoei_pq_conn *c))                                                                            \
    X(int, status, (const aoei_pq_conn *c))                                                                            \
    X(char *, errorMessage, (const aoei_pq_conn *c))                                                                   \
    X(int, setErrorVerbosity, (aoei_pq_conn * c, int verbosity))                                                       \
    X(void *, setNoticeProcessor, (aoei_pq_conn * c, void (*fn)(void *user, const char *message), void *user))         \
    X(int, connectionNeedsPassword, (const aoei_pq_conn *c))                                                           \
    X(char *, host, (const aoei_pq_conn *c))                                                                           \
    X(char *, port, (const aoei_pq_conn *c))                                                                           \
    X(char *, db, (const aoei_pq_conn *c))                                                                             \
    X(char *, user, (const aoei_pq_conn *c))                                                                           \
    X(char *, pass, (const aoei_pq_conn *c))                                                                           \
    X(int, serverVersion, (const aoei_pq_conn *c))                                                                     \
    X(void, finish, (aoei_pq_conn * c))                                                                                \
    X(aoei_pq_result *, exec, (aoei_pq_conn * c, const char *sql))                                                     \
    X(aoei_pq_result *, execParams,                                                                                    \
      (aoei_pq_conn * c, const char *sql, int n, const unsigned *types, const char *const *values, const int *lengths, \
       const int *formats, int result_format))                                                                         \
    X(int, sendQuery, (aoei_pq_conn * c, const char *sql))                                                             \
    X(int, consumeInput, (aoei_pq_conn * c))                                                                           \
    X(int, isBusy, (aoei_pq_conn * c))                                                                                 \
    X(aoei_pq_result *, getResult, (aoei_pq_conn * c))                                                                 \
    X(int, resultStatus, (const aoei_pq_result *r))                                                                    \
    X(char *, resultErrorField, (const aoei_pq_result *r, int field))                                                  \
    X(int, ntuples, (const aoei_pq_result *r))                                                                         \
    X(char *, getvalue, (const aoei_pq_result *r, int row, int column))                                                \
    X(int, getlength, (const aoei_pq_result *r, int row, int column))                                                  \
    X(int, getisnull, (const aoei_pq_result *r, int row, int column))                                                  \
    X(void, clear, (aoei_pq_result * r))                                                                               \
    X(int, putCopyData, (aoei_pq_conn * c, const char *data, int bytes))                                               \
    X(int, putCopyEnd, (aoei_pq_conn * c, const char *message))                                                        \
    X(int, getCopyData, (aoei_pq_conn * c, char **data, int async))                                                    \
    X(aoei_pq_cancel *, getCancel, (aoei_pq_conn * c))                                                                 \
    X(int, cancel, (aoei_pq_cancel * cancel, char *message, int bytes))                                                \
    X(void, freeCancel, (aoei_pq_cancel * cancel))

typedef struct aoei_pq_functions {
#define AOEI_X(result, name, arguments) result(*name) arguments;
    AOEI_PQ_FUNCTIONS(AOEI_X)
#undef AOEI_X
} aoei_pq_functions;

extern aoei_pq_functions aoei_pq; /* filled by aoei_pq_start, which must be called first */

/* Loads libpq. Thread-safe; may be called again, even after a failure. Errors: AOE_EIO (libpq is not installed or too
 * old). */
int aoei_pq_start(aoe_error *err);
/* Loads the functions from the library `name`. Only for aoei_pq_start and tests. */
int aoei_pq_load(aoei_pq_functions *f, const char *name, aoe_error *err);
/* Tests: uses these functions instead of those of libpq. NULL: libpq is loaded by the next aoei_pq_start. */
void aoei_pq_replace(const aoei_pq_functions *f);
