/* SPDX-License-Identifier: MIT
 * Loads the shim and implements aoe_comm with it. A message is divided into parts, of which a few are under way at the
 * same time; a part that arrives is progress, so that a slow network is not taken for a dead one. The thread that waits
 * polls and sleeps, because a waiting MPI would occupy a core.
 */
#include "comm/mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "comm/launch.h"
#include "comm/process_state.h"

enum {
    PART_BYTES = 1 << 24,        /* size of a part of a message; at most AOEI_MPI_BYTES */
    WINDOW = AOEI_MPI_SLOTS / 2, /* number of parts under way in each direction */
    IDLE_NS = 50000,             /* pause between two polls without progress */
    END_MS = 200                 /* pause before all ranks are ended, so that mpirun forwards what they have printed */
};

/* ---------------------------------------------------------------- transport */

/* One direction of an exchange. */
typedef struct transfer {
    int is_send, peer; /* peer: -1: nothing to do */
    char *data;
    size_t bytes, posted, done; /* size; bytes of the parts that were started, and of those that are complete */
    int parts;                  /* number of parts under way */
} transfer;

/* A part under way. */
typedef struct part {
    transfer *transfer; /* NULL: the slot is free */
    int bytes;
} part;

typedef struct mpi_transport {
    aoe_comm comm; /* the first field, so that the program's pointer points to the struct */
    const aoei_mpi_shim *shim;
    pid_t thread;             /* thread that opened the transport */
    int failed;               /* 1: an exchange has failed, and messages may still be under way */
    int alarm;                /* 1: another rank has sent a sign of life, because it waited too long */
    unsigned char *signed_by; /* [ranks] 1: the rank has sent a sign of life */
    char host[AOEI_MPI_HOST];
} mpi_transport;

static void pause_for(long nanoseconds) {
    const struct timespec pause = {.tv_nsec = nanoseconds};
    (void)nanosleep(&pause, NULL);
}

/* Starts parts of a transfer until the window is full. Returns 0 or -1. */
static int post_parts(mpi_transport *t, transfer *x, part *parts, char *text) {
    while (x->peer >= 0 && x->posted < x->bytes && x->parts < WINDOW) {
        const size_t left = x->bytes - x->posted;
        const int bytes = left < PART_BYTES ? (int)left : PART_BYTES;
        const int slot = t->shim->post(x->is_send, x->peer, x->data + x->posted, bytes, text);
        if (slot < 0)
            return -1;
        parts[slot] = (part){x, bytes};
        x->posted += (size_t)bytes;
        x->parts++;
    }
    return 0;
}

/* Handles the messages that are complete. parts: [AOEI_MPI_SLOTS], or NULL if only signs of life are expected. Returns
 * the number of parts that arrived or were sent, or -1. */
static int poll_messages(mpi_transport *t, part *parts, char *text) {
    aoei_mpi_done done[AOEI_MPI_SLOTS + 1];
    const int n = t->shim->test(done, text);
    int progress = 0;
    for (int i = 0; i < n; i++) {
        const aoei_mpi_done *d = &done[i];
        if (d->slot < 0) {
            t->signed_by[d->peer] = 1;
            t->alarm = 1;
        } else if (parts && parts[d->slot].transfer) {
            transfer *x = parts[d->slot].transfer;
            if (!x->is_send && d->bytes != parts[d->slot].bytes) {
                snprintf(text, AOEI_MPI_TEXT, "a message has %d bytes instead of %d; this is a bug", d->bytes,
                         parts[d->slot].bytes);
                return -1;
            }
            x->done += (size_t)parts[d->slot].bytes;
            x->parts--;
            parts[d->slot].transfer = NULL;
            progress++;
        }
    }
    return n < 0 ? -1 : progress;
}

static int run_transfers(mpi_transport *t, transfer *out, transfer *in, double timeout, char *text) {
    part parts[AOEI_MPI_SLOTS] = {{NULL, 0}};
    double last = aoei_now();
    while (out->done < out->bytes || in->done < in->bytes) {
        if (post_parts(t, in, parts, text) || post_parts(t, out, parts, text))
            return AOE_COMM_FAILED;
        const int progress = poll_messages(t, parts, text);
        if (progress < 0)
            return AOE_COMM_FAILED;
        if (progress) {
            last = aoei_now();
        } else if (t->alarm || (timeout > 0 && aoei_now() - last >= timeout)) {
            snprintf(text, AOEI_MPI_TEXT, "no progress");
            return AOE_COMM_STALLED;
        } else {
            pause_for(IDLE_NS);
        }
    }
    return AOE_COMM_DONE;
}

static int exchange(void *self, int to, const void *send, size_t send_bytes, int from, void *receive,
                    size_t receive_bytes, double timeout, aoe_error *err) {
    mpi_transport *t = self;
    char text[AOEI_MPI_TEXT] = "an earlier exchange has failed";
    int status = AOE_COMM_FAILED;
    transfer out = {.is_send = 1, .peer = to, .data = (char *)(uintptr_t)send, .bytes = to >= 0 ? send_bytes : 0};
    transfer in = {.peer = from, .data = receive, .bytes = from >= 0 ? receive_bytes : 0};
    if (gettid() != t->thread)
        snprintf(text, sizeof text, "the transport was opened in another thread; open it in the thread that uses it");
    else if (!t->failed)
        status = run_transfers(t, &out, &in, timeout, text);
    if (status == AOE_COMM_DONE)
        return status;
    t->failed = 1;
    aoei_fail(err, AOE_ECOMM, "%s", text);
    return status;
}

/* Waits for the signs of life of the others. If all respond, this rank may have been suspended itself: mpirun resumes
 * the processes that it ends, and Open MPI ends them a second later. So this rank waits for the whole time, in order
 * that the ranks that missed it report first. */
static void find_absent(void *self, double seconds, unsigned char *absent) {
    mpi_transport *t = self;
    char text[AOEI_MPI_TEXT];
    for (int r = 0; r < t->comm.ranks; r++)
        if (r != t->comm.rank)
            t->shim->sign(r, text);
    const double end = aoei_now() + seconds;
    while (poll_messages(t, NULL, text) >= 0 && aoei_now() < end)
        pause_for(IDLE_NS);
    for (int r = 0; r < t->comm.ranks; r++)
        absent[r] = r != t->comm.rank && !t->signed_by[r];
}

static void end_all(void *self, int status) {
    const mpi_transport *t = self;
    pause_for(END_MS * 1000000L);
    t->shim->end_all(status);
}

static void close_transport(void *self) {
    mpi_transport *t = self;
    char text[AOEI_MPI_TEXT];
    /* After a failure, the end of MPI would wait for ranks that do not respond. */
    if (!t->failed)
        t->shim->close(text);
    aoei_free(t->signed_by);
    aoei_free(t);
}

/* Starts MPI with the shim, and keeps the state of the process. */
static int start_mpi(const aoei_mpi_shim *shim, aoei_mpi_world *world, aoe_error *err) {
    aoei_process_state state;
    char text[AOEI_MPI_TEXT] = "";
    int rc = aoei_process_save(&state, err);
    if (!rc && shim->open(world, text)) {
        text[sizeof text - 1] = '\0';
        rc = aoei_fail(err, AOE_ECOMM, "MPI cannot be started: %s", text);
    }
    aoei_process_restore(&state);
    return rc;
}

int aoei_mpi_open(aoe_comm **comm, const aoei_mpi_shim *shim, aoe_error *err) {
    *comm = NULL;
    if (shim->version != AOEI_MPI_VERSION)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "libaoe-mpi.so has version %d of its interface, but this version of aoe requires version %d; "
                         "compile it again with `make mpi` in the sources of this version",
                         shim->version, AOEI_MPI_VERSION);
    aoei_mpi_world world = {.ranks = 1};
    int rc = start_mpi(shim, &world, err);
    if (rc)
        return rc;
    const aoei_launch launch = aoei_launch_find();
    if (world.ranks == 1 && launch.copies > 1) {
        char text[AOEI_MPI_TEXT];
        shim->close(text);
        return aoei_fail(err, AOE_EMISMATCH,
                         "MPI (%.100s) has one rank, but %s says that %d copies of this program were started; start "
                         "them with the mpirun of this MPI, or with srun and PMIx, or compile libaoe-mpi.so with the "
                         "mpicc of the MPI that starts them",
                         shim->built, launch.variable, launch.copies);
    }
    mpi_transport *t = aoei_calloc(1, sizeof *t);
    unsigned char *signed_by = aoei_calloc((size_t)world.ranks, 1);
    if (!t || !signed_by) {
        aoei_free(t);
        aoei_free(signed_by);
        return aoei_fail_nomem(err, sizeof *t);
    }
    *t = (mpi_transport){.comm = {.struct_size = sizeof t->comm,
                                  .rank = world.rank,
                                  .ranks = world.ranks,
                                  .self = t,
                                  .exchange = exchange,
                                  .abort = end_all,
                                  .close = close_transport,
                                  .absent = find_absent},
                         .shim = shim,
                         .thread = gettid(),
                         .signed_by = signed_by};
    memcpy(t->host, world.host, sizeof t->host);
    t->host[sizeof t->host - 1] = '\0';
    t->comm.host = t->host;
    *comm = &t->comm;
    return 0;
}

/* ------------------------------------------------------------------- loader */

/* Sets path to DIRECTORY/NAME, where DIRECTORY contains `file`. Returns 1 if the path is a file. */
static int find_near(const char *file, const char *name, char path[PATH_MAX]) {
    const char *slash = strrchr(file, '/');
    return slash && snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - file), file, name) < PATH_MAX &&
           access(path, F_OK) == 0;
}

/* Finds the shim relative to the program and the library. Returns 1 if there is one. */
static int find_shim(char path[PATH_MAX]) {
    static const char *const names[] = {"../lib/aoe/libaoe-mpi.so", "aoe/libaoe-mpi.so", "libaoe-mpi.so"};
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    Dl_info info;
    const char *library = dladdr((void *)aoei_mpi_load, &info) && info.dli_fname ? info.dli_fname : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_near(program, names[i], path) || find_near(library, names[i], path))
            return 1;
    return 0;
}

/* Loads the shim at `path`. Its symbols, and those of MPI, are global, because the plugins of MPI look for them. */
static int load_file(const aoei_mpi_shim **shim, const char *path, aoe_error *err) {
    aoei_process_state state;
    int rc = aoei_process_save(&state, err);
    void *library = rc ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library && !rc)
        rc = aoei_fail(err, AOE_EIO,
                       "%s cannot be loaded: %s; install the MPI for which it was compiled, or compile it with `make "
                       "mpi` for the MPI of this computer",
                       path, dlerror());
    aoei_process_restore(&state);
    if (rc)
        return rc;
    *shim = dlsym(library, "aoe_mpi_shim");
    if (*shim)
        return 0;
    dlclose(library);
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s is not the library that `make mpi` builds; set AOE_MPI to its path",
                     path);
}

int aoei_mpi_load(const aoei_mpi_shim **shim, aoe_error *err) {
    *shim = NULL;
    const char *given = getenv("AOE_MPI");
    char path[PATH_MAX];
    if (given && *given && access(given, F_OK) != 0)
        return aoei_fail(err, AOE_ENOENT,
                         "AOE_MPI is %s, but there is no such file; set it to the path of libaoe-mpi.so, which `make "
                         "mpi` builds",
                         given);
    if (given && *given)
        return load_file(shim, given, err);
    if (!find_shim(path))
        return aoei_fail(err, AOE_ENOENT,
                         "libaoe-mpi.so was not found; run `make mpi` in the sources of aoe with the mpicc of the MPI "
                         "of this computer, and set AOE_MPI to the path of the result");
    return load_file(shim, path, err);
}

int aoe_comm_open(aoe_comm **comm, const char *transport, aoe_error *err) {
    AOEI_CHECK(err, comm, transport);
    *comm = NULL;
    if (strcmp(transport, "mpi") != 0)
        return aoei_fail(err, AOE_EARG, "there is no transport '%s'; use 'mpi'", transport);
    const aoei_mpi_shim *shim = NULL;
    const int rc = aoei_mpi_load(&shim, err);
    return rc ? rc : aoei_mpi_open(comm, shim, err);
}

void aoe_comm_close(aoe_comm *comm) {
    if (comm)
        comm->close(comm->self);
}
