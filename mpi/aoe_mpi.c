/* SPDX-License-Identifier: MIT
 * The shim between aoe and an MPI library (src/comm/mpi_shim.h), the only file that includes mpi.h. `make mpi
 * MPICC=mpicc` compiles it to libaoe-mpi.so, once for each MPI, because the MPI libraries have no common binary
 * interface. It only moves bytes: aoe never lets MPI add values, because the order of such sums is not specified.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi_shim.h"

/* The vendor of the MPI with which this file is compiled, as MPI_Get_library_version writes it before the version, and
 * the major version. An unknown vendor is recognized only by the version of the MPI standard. */
#define TEXT_OF(x)  TEXT_OF_(x)
#define TEXT_OF_(x) #x
#if defined(I_MPI_VERSION)
#define VENDOR  "Intel(R) MPI Library "
#define VERSION I_MPI_VERSION
#elif defined(OPEN_MPI)
#define VENDOR  "Open MPI v"
#define VERSION TEXT_OF(OMPI_MAJOR_VERSION)
#elif defined(MVAPICH2_VERSION)
#define VENDOR  "MVAPICH2 Version"
#define VERSION MVAPICH2_VERSION
#elif defined(MPICH_VERSION)
#define VENDOR  "MPICH Version"
#define VERSION MPICH_VERSION
#else
#define VENDOR  ""
#define VERSION ""
#endif

enum { TAG_DATA = 1, TAG_SIGN = 2, SIGN = AOEI_MPI_SLOTS /* index of the request that receives signs of life */ };

static MPI_Comm comm = MPI_COMM_NULL; /* copy of MPI_COMM_WORLD, so that no tag collides with those of the program */
static MPI_Request request[AOEI_MPI_SLOTS + 1];
static char sign_in, sign_out; /* contents of the signs of life */
static int initialized;        /* 1: MPI was initialized here */

/* Writes the text of an MPI error. Returns -1. */
static int fail(int code, const char *function, char *text) {
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    snprintf(text, AOEI_MPI_TEXT, "%s failed: %.300s", function, reason);
    return -1;
}

#define CALL(function, arguments)                                                                                      \
    do {                                                                                                               \
        const int code_ = function arguments;                                                                          \
        if (code_ != MPI_SUCCESS)                                                                                      \
            return fail(code_, #function, text);                                                                       \
    } while (0)

/* Checks that the loaded MPI has the vendor and the major version of the MPI with which this file was compiled. */
static int check_library(char *text) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, major = 0, minor = 0;
    MPI_Get_library_version(library, &length);
    MPI_Get_version(&major, &minor);
    library[strcspn(library, "\r\n")] = '\0';
    const char *number = strstr(library, VENDOR);
    number = number ? number + strlen(VENDOR) + strspn(number + strlen(VENDOR), " :\t") : "";
    const int equal = *VENDOR && *number ? atoi(number) == atoi(VERSION) : !*VENDOR && major == MPI_VERSION;
    if (equal)
        return 0;
    snprintf(text, AOEI_MPI_TEXT,
             "libaoe-mpi.so was compiled for %s%s (MPI %d), but the loaded MPI is %.100s (MPI %d); run `make mpi` with "
             "the mpicc of the MPI whose mpirun starts the program",
             VENDOR, VERSION, MPI_VERSION, library, major);
    return -1;
}

static int listen_for_signs(char *text) {
    CALL(MPI_Irecv, (&sign_in, 1, MPI_BYTE, MPI_ANY_SOURCE, TAG_SIGN, comm, &request[SIGN]));
    return 0;
}

/* Selects how Open MPI sends large messages over TCP, unless the user has selected it. By default (flag "put"), the
 * receiver of a message asks for its parts with short messages. If two ranks send to each other, these wait in the
 * connection for the data of the other direction, and only one direction of the link is used at a time. */
static void use_both_directions(void) {
#ifdef OPEN_MPI
    setenv("OMPI_MCA_btl_tcp_flags", "send,inplace", 0);
#endif
}

static int shim_open(aoei_mpi_world *world, char *text) {
    int before = 0, after = 0, level = MPI_THREAD_SINGLE, main_thread = 0, length = 0;
    if (check_library(text))
        return -1;
    CALL(MPI_Initialized, (&before));
    CALL(MPI_Finalized, (&after));
    if (after) {
        snprintf(text, AOEI_MPI_TEXT, "MPI was already ended in this process, and cannot be started again");
        return -1;
    }
    if (!before) {
        use_both_directions();
        CALL(MPI_Init_thread, (NULL, NULL, MPI_THREAD_FUNNELED, &level));
    }
    initialized = !before;
    CALL(MPI_Query_thread, (&level));
    CALL(MPI_Is_thread_main, (&main_thread));
    if (level < MPI_THREAD_FUNNELED || (level == MPI_THREAD_FUNNELED && !main_thread)) {
        snprintf(text, AOEI_MPI_TEXT,
                 "MPI allows no calls in this thread; initialize it in this thread with "
                 "MPI_THREAD_FUNNELED, or with MPI_THREAD_MULTIPLE");
        return -1;
    }
    CALL(MPI_Comm_dup, (MPI_COMM_WORLD, &comm));
    CALL(MPI_Comm_set_errhandler, (comm, MPI_ERRORS_RETURN));
    CALL(MPI_Comm_rank, (comm, &world->rank));
    CALL(MPI_Comm_size, (comm, &world->ranks));
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    CALL(MPI_Get_processor_name, (host, &length));
    snprintf(world->host, sizeof world->host, "%.*s", AOEI_MPI_HOST - 1, host);
    for (int i = 0; i <= SIGN; i++)
        request[i] = MPI_REQUEST_NULL;
    return listen_for_signs(text);
}

static int shim_post(int is_send, int peer, void *data, int bytes, char *text) {
    int slot = 0;
    while (slot < AOEI_MPI_SLOTS && request[slot] != MPI_REQUEST_NULL)
        slot++;
    if (slot == AOEI_MPI_SLOTS || bytes < 0 || bytes > AOEI_MPI_BYTES) {
        snprintf(text, AOEI_MPI_TEXT, "too many messages, or a message of %d bytes", bytes);
        return -1;
    }
    if (is_send)
        CALL(MPI_Isend, (data, bytes, MPI_BYTE, peer, TAG_DATA, comm, &request[slot]));
    else
        CALL(MPI_Irecv, (data, bytes, MPI_BYTE, peer, TAG_DATA, comm, &request[slot]));
    return slot;
}

static int shim_sign(int peer, char *text) {
    MPI_Request sent;
    CALL(MPI_Isend, (&sign_out, 1, MPI_BYTE, peer, TAG_SIGN, comm, &sent));
    CALL(MPI_Request_free, (&sent)); /* nobody waits for a sign to a rank that does not respond */
    return 0;
}

static int shim_test(aoei_mpi_done *done, char *text) {
    int n = 0, index[AOEI_MPI_SLOTS + 1];
    MPI_Status status[AOEI_MPI_SLOTS + 1];
    const int code = MPI_Testsome(AOEI_MPI_SLOTS + 1, request, &n, index, status);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return fail(code, "MPI_Testsome", text);
    for (int i = 0; i < n; i++) {
        if (code == MPI_ERR_IN_STATUS && status[i].MPI_ERROR != MPI_SUCCESS)
            return fail(status[i].MPI_ERROR, "MPI_Testsome", text);
        done[i] = (aoei_mpi_done){.slot = index[i] == SIGN ? -1 : index[i], .peer = status[i].MPI_SOURCE};
        CALL(MPI_Get_count, (&status[i], MPI_BYTE, &done[i].bytes));
        if (index[i] == SIGN && listen_for_signs(text))
            return -1;
    }
    return n;
}

static void shim_end_all(int status) {
    MPI_Abort(MPI_COMM_WORLD, status);
    _Exit(status);
}

static int shim_close(char *text) {
    CALL(MPI_Cancel, (&request[SIGN]));
    CALL(MPI_Wait, (&request[SIGN], MPI_STATUS_IGNORE));
    CALL(MPI_Comm_free, (&comm));
    if (initialized)
        CALL(MPI_Finalize, ());
    return 0;
}

__attribute__((visibility("default"))) extern const aoei_mpi_shim aoe_mpi_shim;
const aoei_mpi_shim aoe_mpi_shim = {.version = AOEI_MPI_VERSION,
                                    .built = VENDOR VERSION,
                                    .open = shim_open,
                                    .post = shim_post,
                                    .sign = shim_sign,
                                    .test = shim_test,
                                    .end_all = shim_end_all,
                                    .close = shim_close};
