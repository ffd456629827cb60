/* SPDX-License-Identifier: MIT
 * Ranks as child processes. Each two ranks share two socket pairs: one for messages, each of which follows its size,
 * and one for signs of life. The results of the ranks are in memory that all processes share.
 */
#include "comm_fork.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { MAX_RANKS = 16, RUN_SECONDS = 600, END_SECONDS = 20 };

/* The connections of one rank. */
typedef struct rank_link {
    aoe_comm comm;
    int data[MAX_RANKS], sign[MAX_RANKS]; /* sockets to the other ranks; -1: none, or the other rank has ended */
    int signed_by[MAX_RANKS];             /* 1: the other rank has sent a sign of life */
    uint64_t received, flip;              /* number of received messages; number of the message to change, or 0 */
} rank_link;

/* A message that is sent or received: its size, then its bytes. */
typedef struct transfer {
    int rank; /* -1: nothing is left to do */
    uint64_t size;
    char *data;
    size_t bytes, done; /* `done` counts the bytes of `size` too */
} transfer;

static void check(int ok, const char *what) {
    if (ok)
        return;
    perror(what);
    exit(2);
}

/* Moves bytes of a transfer as far as the socket allows. Returns 1 if there was progress, 0 if not, and -1 if the other
 * rank has ended. */
static int move(rank_link *l, transfer *t, int is_send) {
    int progress = 0;
    while (t->rank >= 0) {
        char *p = t->done < sizeof t->size ? (char *)&t->size + t->done : t->data + (t->done - sizeof t->size);
        const size_t n = t->done < sizeof t->size ? sizeof t->size - t->done : t->bytes + sizeof t->size - t->done;
        const int fd = l->data[t->rank];
        const ssize_t k = is_send ? send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, p, n, MSG_DONTWAIT);
        if (k < 0 && (errno == EAGAIN || errno == EINTR))
            return progress;
        if (k <= 0)
            return -1;
        t->done += (size_t)k;
        progress = 1;
        /* after a changed bit, ranks can be at different points of the run, which the transport reports */
        if (!is_send && t->done >= sizeof t->size && t->size != t->bytes && l->flip)
            return -1;
        if (!is_send && t->done >= sizeof t->size && t->size != t->bytes) {
            fprintf(stderr, "rank %d sent %llu bytes, but rank %d expects %zu\n", t->rank, (unsigned long long)t->size,
                    l->comm.rank, t->bytes);
            abort();
        }
        if (t->done == t->bytes + sizeof t->size)
            t->rank = -1;
    }
    return progress;
}

/* Reads the signs of life that have arrived. Returns 1 if there is one. */
static int read_signs(rank_link *l) {
    int found = 0;
    for (int r = 0; r < l->comm.ranks; r++) {
        char byte;
        const ssize_t k = l->sign[r] >= 0 ? recv(l->sign[r], &byte, 1, MSG_DONTWAIT) : -1;
        if (k == 1)
            l->signed_by[r] = 1;
        if (k == 0) {
            close(l->sign[r]);
            l->sign[r] = -1;
        }
        found |= l->signed_by[r];
    }
    return found;
}

/* Waits until a transfer may continue or a sign arrives, at most for the given number of milliseconds. */
static void wait_for(const rank_link *l, const transfer *out, const transfer *in, int milliseconds) {
    struct pollfd set[MAX_RANKS + 2];
    nfds_t n = 0;
    if (out && out->rank >= 0)
        set[n++] = (struct pollfd){.fd = l->data[out->rank], .events = POLLOUT};
    if (in && in->rank >= 0)
        set[n++] = (struct pollfd){.fd = l->data[in->rank], .events = POLLIN};
    for (int r = 0; r < l->comm.ranks; r++)
        if (l->sign[r] >= 0)
            set[n++] = (struct pollfd){.fd = l->sign[r], .events = POLLIN};
    poll(set, n, milliseconds);
}

static int link_exchange(void *self, int to, const void *send, size_t send_bytes, int from, void *receive,
                         size_t receive_bytes, double timeout, aoe_error *err) {
    rank_link *l = self;
    transfer out = {.rank = to, .size = send_bytes, .data = (char *)(uintptr_t)send, .bytes = send_bytes};
    transfer in = {.rank = from, .data = receive, .bytes = receive_bytes};
    double last = aoei_now();
    while (out.rank >= 0 || in.rank >= 0) {
        const int a = move(l, &out, 1), b = move(l, &in, 0);
        if (a < 0 || b < 0) {
            snprintf(err->message, sizeof err->message, "rank %d has ended", b < 0 ? from : to);
            return AOE_COMM_FAILED;
        }
        if (a || b)
            last = aoei_now();
        else if (read_signs(l) || (timeout > 0 && aoei_now() - last >= timeout)) {
            snprintf(err->message, sizeof err->message, "no progress");
            return AOE_COMM_STALLED;
        } else
            wait_for(l, &out, &in, 20);
    }
    if (from >= 0 && ++l->received == l->flip && receive_bytes)
        ((char *)receive)[receive_bytes / 2] ^= 1;
    return AOE_COMM_DONE;
}

static void link_absent(void *self, double seconds, unsigned char *absent) {
    rank_link *l = self;
    for (int r = 0; r < l->comm.ranks; r++)
        if (l->sign[r] >= 0)
            (void)!send(l->sign[r], "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    const double end = aoei_now() + seconds;
    for (;;) {
        read_signs(l);
        int missing = 0, waiting = 0;
        for (int r = 0; r < l->comm.ranks; r++) {
            absent[r] = r != l->comm.rank && !l->signed_by[r];
            missing += absent[r];
            waiting += absent[r] && l->sign[r] >= 0;
        }
        if (!missing || !waiting || aoei_now() >= end)
            return;
        wait_for(l, NULL, NULL, 20);
    }
}

static void link_abort(void *self, int status) {
    (void)self;
    _exit(status);
}

static void link_close(void *self) {
    (void)self;
}

/* Runs the function in this process, a rank, whose sockets to rank r are data[r] and sign[r]. */
static void run_rank(int rank, int ranks, const int *data, const int *sign, comm_test_fn function, void *user,
                     comm_test_result *result) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends the process */
    static char host[32];
    snprintf(host, sizeof host, "node%d", rank);
    rank_link l = {.comm = {.struct_size = sizeof l.comm,
                            .rank = rank,
                            .ranks = ranks,
                            .host = host,
                            .self = &l,
                            .exchange = link_exchange,
                            .abort = link_abort,
                            .close = link_close,
                            .absent = link_absent}};
    memcpy(l.data, data, sizeof l.data);
    memcpy(l.sign, sign, sizeof l.sign);
    aoe_error err = {0};
    const int code = function(&l.comm, user, &err);
    if (code)
        memcpy(result->message, err.message, sizeof result->message);
    result->code = code;
    fflush(NULL);
    _exit(code ? 1 : 0);
}

/* Waits for the children. After one of them has failed, the others have END_SECONDS. If all that are left are stopped,
 * they are ended. */
static void wait_for_ranks(int ranks, pid_t *child, comm_test_result *results) {
    double end = aoei_now() + RUN_SECONDS;
    int stopped[MAX_RANKS] = {0};
    for (int left = ranks, failed = 0; left;) {
        int ended = 0, n_stopped = 0;
        for (int r = 0; r < ranks; r++) {
            int status = 0;
            n_stopped += child[r] && stopped[r];
            if (!child[r] || waitpid(child[r], &status, WNOHANG | WUNTRACED) != child[r])
                continue;
            ended = 1;
            stopped[r] = WIFSTOPPED(status);
            if (stopped[r])
                continue;
            child[r] = 0;
            left--;
            results[r].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            if (status && !failed++)
                end = aoei_now() + END_SECONDS;
        }
        for (int r = 0; r < ranks; r++)
            if (child[r] && (aoei_now() > end || (!ended && n_stopped == left)))
                kill(child[r], SIGKILL);
        if (!ended)
            usleep(2000);
    }
}

int comm_test_fork_results(int ranks, comm_test_fn function, void *user, comm_test_result *results) {
    check(ranks >= 1 && ranks <= MAX_RANKS, "comm_test_fork: invalid number of ranks");
    const size_t bytes = MAX_RANKS * sizeof *results;
    comm_test_result *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "mmap");
    int data[MAX_RANKS][MAX_RANKS], sign[MAX_RANKS][MAX_RANKS], pair[2];
    memset(data, -1, sizeof data);
    memset(sign, -1, sizeof sign);
    for (int r = 0; r < ranks; r++)
        for (int q = 0; q < r; q++) {
            check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
            data[r][q] = pair[0];
            data[q][r] = pair[1];
            check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
            sign[r][q] = pair[0];
            sign[q][r] = pair[1];
        }
    fflush(NULL); /* otherwise the children would print the buffered text of this process again */
    pid_t child[MAX_RANKS] = {0};
    for (int r = 0; r < ranks; r++) {
        shared[r].code = INT_MIN;
        child[r] = fork();
        check(child[r] >= 0, "fork");
        if (child[r])
            continue;
        for (int q = 0; q < ranks; q++)
            for (int p = 0; p < ranks; p++)
                if (q != r && data[q][p] >= 0) {
                    close(data[q][p]);
                    close(sign[q][p]);
                }
        run_rank(r, ranks, data[r], sign[r], function, user, &shared[r]);
    }
    for (int q = 0; q < ranks; q++)
        for (int p = 0; p < ranks; p++)
            if (data[q][p] >= 0) {
                close(data[q][p]);
                close(sign[q][p]);
            }
    wait_for_ranks(ranks, child, shared);
    memcpy(results, shared, (size_t)ranks * sizeof *results);
    munmap(shared, bytes);
    int failures = 0;
    for (int r = 0; r < ranks; r++)
        failures += results[r].code != 0;
    return failures;
}

int comm_test_fork(int ranks, comm_test_fn function, void *user) {
    comm_test_result results[MAX_RANKS];
    const int failures = comm_test_fork_results(ranks, function, user, results);
    for (int r = 0; r < ranks && failures; r++)
        if (results[r].code == INT_MIN)
            fprintf(stderr, "rank %d was ended by signal %d\n", r, results[r].signal);
        else if (results[r].code)
            fprintf(stderr, "rank %d: error %d: %s\n", r, results[r].code, results[r].message);
    return failures;
}

void comm_test_flip(aoe_comm *comm, uint64_t n) {
    rank_link *l = comm->self;
    l->flip = l->received + n;
}
