/* SPDX-License-Identifier: MIT
 * The transport MPI with a shim of this test, which is rank 0 of 3: messages are divided into parts, faults are
 * reported, and the state of the process is kept. tests/mpi runs the real shim.
 * covers: comm/process_state
 */
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "comm/mpi.h"
#include "comm/process_state.h"

/* What the shim of this test does. */
static struct fake {
    int ranks, opened, closed, posts, largest;
    int busy[AOEI_MPI_SLOTS], is_send[AOEI_MPI_SLOTS], bytes[AOEI_MPI_SLOTS];
    void *data[AOEI_MPI_SLOTS];
    size_t sent, received; /* bytes so far */
    int stalls;            /* 1: no message arrives */
    int sign_from;         /* rank whose sign of life arrives next; 0: none */
    int signs;             /* number of signs that were sent */
    int answers;           /* 1: rank 1 answers to a sign */
    int shorter;           /* received messages are shorter than expected by this number of bytes */
    const char *failure;   /* message of the next call; NULL: it succeeds */
} fake;

/* Byte i of the message from another rank. */
static unsigned char byte_of(size_t i) {
    return (unsigned char)(i * 7 + (i >> 10));
}

static int fail_if_asked(char *text) {
    if (fake.failure)
        snprintf(text, AOEI_MPI_TEXT, "%s", fake.failure);
    return fake.failure ? -1 : 0;
}

static void on_signal(int number) {
    (void)number;
}

/* Changes everything that a library may change. */
static int fake_open(aoei_mpi_world *world, char *text) {
    if (fail_if_asked(text))
        return -1;
    fake.opened++;
    *world = (aoei_mpi_world){.rank = 0, .ranks = fake.ranks, .host = "node0"};
    signal(SIGUSR2, on_signal);
    umask(0);
    assert_int_equal(chdir("/"), 0);
    setlocale(LC_ALL, "C.UTF-8");
    fesetround(FE_UPWARD);
    return 0;
}

static int fake_post(int is_send, int peer, void *data, int bytes, char *text) {
    if (fail_if_asked(text))
        return -1;
    assert_true(peer == 1 || peer == 2);
    assert_true(bytes > 0 && bytes <= AOEI_MPI_BYTES);
    int slot = 0;
    while (fake.busy[slot])
        assert_true(++slot < AOEI_MPI_SLOTS);
    fake.busy[slot] = 1;
    fake.is_send[slot] = is_send;
    fake.bytes[slot] = bytes;
    fake.data[slot] = data;
    fake.posts++;
    fake.largest = bytes > fake.largest ? bytes : fake.largest;
    unsigned char *p = data;
    for (int i = 0; i < bytes; i++)
        if (is_send)
            assert_int_equal(p[i], byte_of(fake.sent++));
        else if (!fake.stalls)
            p[i] = byte_of(fake.received++);
    return slot;
}

static int fake_sign(int peer, char *text) {
    (void)text;
    fake.signs++;
    if (peer == 1 && fake.answers)
        fake.sign_from = 1;
    return 0;
}

static int fake_test(aoei_mpi_done *done, char *text) {
    if (fail_if_asked(text))
        return -1;
    int n = 0;
    if (fake.sign_from)
        done[n++] = (aoei_mpi_done){.slot = -1, .peer = fake.sign_from, .bytes = 1};
    fake.sign_from = 0;
    /* the last part is the first to be complete */
    for (int i = AOEI_MPI_SLOTS - 1; i >= 0 && !fake.stalls; i--)
        if (fake.busy[i]) {
            fake.busy[i] = 0;
            done[n++] = (aoei_mpi_done){.slot = i, .bytes = fake.bytes[i] - (fake.is_send[i] ? 0 : fake.shorter)};
        }
    return n;
}

static void fake_end_all(int status) {
    (void)status;
}

static int fake_close(char *text) {
    (void)text;
    fake.closed++;
    return 0;
}

static const aoei_mpi_shim shim = {.version = AOEI_MPI_VERSION,
                                   .built = "a test",
                                   .open = fake_open,
                                   .post = fake_post,
                                   .sign = fake_sign,
                                   .test = fake_test,
                                   .end_all = fake_end_all,
                                   .close = fake_close};

static aoe_comm *open_fake(void) {
    aoe_comm *comm = NULL;
    aoe_error err;
    assert_int_equal(aoei_mpi_open(&comm, &shim, &err), 0);
    return comm;
}

static int reset(void **state) {
    (void)state;
    memset(&fake, 0, sizeof fake);
    fake.ranks = 3;
    unsetenv("PMI_SIZE");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("SLURM_STEP_NUM_TASKS");
    unsetenv("AOE_MPI");
    return 0;
}

static void divides_messages(void **state) {
    (void)state;
    enum { PART = 1 << 24 };
    static const size_t sizes[][2] = {{1, 0},        {0, 1},        {1, 1},           {PART, PART + 1},
                                      {PART - 1, 3}, {5, PART - 1}, {6 * PART + 3, 1}};
    aoe_comm *comm = open_fake();
    assert_int_equal(comm->rank, 0);
    assert_int_equal(comm->ranks, 3);
    assert_string_equal(comm->host, "node0");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t out = sizes[k][0], in = sizes[k][1];
        unsigned char *send = malloc(out + 1), *receive = malloc(in + 1);
        for (size_t i = 0; i < out; i++)
            send[i] = byte_of(i);
        receive[in] = 0xEE;
        fake.sent = fake.received = 0;
        aoe_error err = {0};
        assert_int_equal(comm->exchange(comm->self, out ? 1 : -1, send, out, in ? 2 : -1, receive, in, 10, &err),
                         AOE_COMM_DONE);
        assert_int_equal(fake.sent, out);
        assert_int_equal(fake.received, in);
        for (size_t i = 0; i < in; i++)
            assert_int_equal(receive[i], byte_of(i));
        assert_int_equal(receive[in], 0xEE);
        free(send);
        free(receive);
    }
    assert_int_equal(fake.largest, PART);
    aoe_comm_close(comm);
    assert_int_equal(fake.closed, 1);
    aoe_comm_close(NULL);
}

/* Exchanges a few bytes, which must fail with the status, and returns the message. */
static const char *exchange_fails(aoe_comm *comm, int status, double timeout) {
    static aoe_error err;
    char out = (char)byte_of(0), in[4];
    fake.sent = 0;
    memset(&err, 0, sizeof err);
    assert_int_equal(comm->exchange(comm->self, 1, &out, 1, 2, in, sizeof in, timeout, &err), status);
    return err.message;
}

static void reports_failures(void **state) {
    (void)state;
    aoe_comm *comm = open_fake();
    fake.failure = "the network is down";
    assert_string_equal(exchange_fails(comm, AOE_COMM_FAILED, 10), "the network is down");
    fake.failure = NULL;
    assert_string_equal(exchange_fails(comm, AOE_COMM_FAILED, 10), "an earlier exchange has failed");
    aoe_comm_close(comm);
    assert_int_equal(fake.closed, 0); /* it would wait for the other ranks */
    comm = open_fake();
    memset(fake.busy, 0, sizeof fake.busy);
    fake.shorter = 1;
    assert_non_null(strstr(exchange_fails(comm, AOE_COMM_FAILED, 10), "a message has 3 bytes instead of 4"));
    aoe_comm_close(comm);
}

static void no_progress(void **state) {
    (void)state;
    unsigned char absent[3] = {9, 9, 9};
    aoe_comm *comm = open_fake();
    fake.stalls = 1;
    exchange_fails(comm, AOE_COMM_STALLED, 0.05);
    fake.answers = 1;
    comm->absent(comm->self, 0.05, absent);
    assert_int_equal(fake.signs, 2);
    assert_int_equal(absent[0], 0);
    assert_int_equal(absent[1], 0);
    assert_int_equal(absent[2], 1);
    aoe_comm_close(comm);
    /* another rank has waited too long; this rank has no limit */
    memset(fake.busy, 0, sizeof fake.busy);
    comm = open_fake();
    fake.sign_from = 2;
    exchange_fails(comm, AOE_COMM_STALLED, 0);
    comm->absent(comm->self, 0.05, absent);
    assert_int_equal(absent[1] || absent[2], 0);
    aoe_comm_close(comm);
}

static void *exchange_in_thread(void *comm) {
    return (void *)(uintptr_t)exchange_fails(comm, AOE_COMM_FAILED, 10);
}

static void other_thread(void **state) {
    (void)state;
    aoe_comm *comm = open_fake();
    pthread_t thread;
    void *message = NULL;
    assert_int_equal(pthread_create(&thread, NULL, exchange_in_thread, comm), 0);
    assert_int_equal(pthread_join(thread, &message), 0);
    assert_non_null(strstr(message, "opened in another thread"));
    assert_int_equal(fake.posts, 0);
    aoe_comm_close(comm);
}

static void keeps_process_state(void **state) {
    (void)state;
    char before[4096], after[4096];
    assert_non_null(getcwd(before, sizeof before));
    const mode_t mask = umask(027);
    char *locale = strdup(setlocale(LC_ALL, NULL));
    aoe_comm *comm = open_fake();
    struct sigaction action;
    sigaction(SIGUSR2, NULL, &action);
    assert_true(action.sa_handler == SIG_DFL);
    assert_string_equal(getcwd(after, sizeof after), before);
    assert_int_equal(umask(mask), 027);
    assert_string_equal(setlocale(LC_ALL, NULL), locale);
    assert_int_equal(fegetround(), FE_TONEAREST);
    free(locale);
    aoe_comm_close(comm);
}

#if defined __x86_64__
/* A library that was linked with -ffast-math sets these bits when it is loaded. */
static void keeps_subnormals(void **state) {
    (void)state;
    aoei_process_state s;
    aoe_error err;
    assert_int_equal(aoei_process_save(&s, &err), 0);
    unsigned before = 0, changed = 0, after = 0;
    __asm__ __volatile__("stmxcsr %0" : "=m"(before));
    changed = before | 0x8040; /* FTZ and DAZ */
    __asm__ __volatile__("ldmxcsr %0" : : "m"(changed));
    assert_int_equal(aoei_process_restore(&s), 0);
    __asm__ __volatile__("stmxcsr %0" : "=m"(after));
    assert_int_equal(after & 0x8040, before & 0x8040);
    volatile float tiny = 1e-40F;
    assert_true(tiny * 0.5F > 0);
}
#else
static void keeps_subnormals(void **state) {
    (void)state;
    skip();
}
#endif

static void rejects_shims(void **state) {
    (void)state;
    aoe_comm *comm = NULL;
    aoe_error err;
    aoei_mpi_shim other = shim;
    other.version = AOEI_MPI_VERSION + 1;
    assert_int_equal(aoei_mpi_open(&comm, &other, &err), AOE_EUNSUPPORTED);
    assert_null(comm);
    assert_non_null(strstr(err.message, "has version 2 of its interface"));
    assert_int_equal(fake.opened, 0);
    fake.failure = "libaoe-mpi.so was compiled for another MPI";
    assert_int_equal(aoei_mpi_open(&comm, &shim, &err), AOE_ECOMM);
    assert_string_equal(err.message, "MPI cannot be started: libaoe-mpi.so was compiled for another MPI");
    assert_int_equal(aoe_comm_open(&comm, "tcp", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "'tcp'"));
}

/* srun without PMIx: each copy is the only rank of its own run. */
static void rejects_single_ranks(void **state) {
    (void)state;
    aoe_comm *comm = NULL;
    aoe_error err;
    fake.ranks = 1;
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    assert_int_equal(aoei_mpi_open(&comm, &shim, &err), AOE_EMISMATCH);
    assert_null(comm);
    assert_non_null(strstr(err.message, "has one rank, but SLURM_STEP_NUM_TASKS says that 4 copies"));
    assert_int_equal(fake.closed, 1);
    unsetenv("SLURM_STEP_NUM_TASKS");
    comm = open_fake();
    assert_int_equal(comm->ranks, 1);
    aoe_comm_close(comm);
}

static void loads_files(void **state) {
    (void)state;
    const aoei_mpi_shim *loaded = NULL;
    aoe_comm *comm = NULL;
    aoe_error err;
    char *text = test_write_text(test_dir, "text.so", "no library");
    setenv("AOE_MPI", "/nowhere/libaoe-mpi.so", 1);
    assert_int_equal(aoei_mpi_load(&loaded, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "AOE_MPI is /nowhere/libaoe-mpi.so"));
    assert_int_equal(aoe_comm_open(&comm, "mpi", &err), AOE_ENOENT);
    setenv("AOE_MPI", text, 1);
    assert_int_equal(aoei_mpi_load(&loaded, &err), AOE_EIO);
    assert_non_null(strstr(err.message, "text.so cannot be loaded"));
    assert_null(loaded);
    unsetenv("AOE_MPI");
    assert_int_equal(aoei_mpi_load(&loaded, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "libaoe-mpi.so was not found"));
    free(text);
}

static int open_once(void *arg) {
    (void)arg;
    aoe_comm *comm = NULL;
    aoe_error err;
    const int rc = aoei_mpi_open(&comm, &shim, &err);
    assert_int_equal(rc == 0, comm != NULL);
    aoe_comm_close(comm);
    return rc;
}

static void out_of_memory(void **state) {
    (void)state;
    const int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n++) {
        aoei_alloc_fail_at(n);
        const int rc = open_once(NULL);
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        if (!rc) {
            assert_true(n > 2);
            return;
        }
        assert_int_equal(rc, AOE_ENOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(divides_messages, reset),    cmocka_unit_test_setup(reports_failures, reset),
        cmocka_unit_test_setup(no_progress, reset),         cmocka_unit_test_setup(other_thread, reset),
        cmocka_unit_test_setup(keeps_process_state, reset), cmocka_unit_test_setup(keeps_subnormals, reset),
        cmocka_unit_test_setup(rejects_shims, reset),       cmocka_unit_test_setup(rejects_single_ranks, reset),
        cmocka_unit_test_setup(loads_files, reset),         cmocka_unit_test_setup(out_of_memory, reset),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
