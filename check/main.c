/* SPDX-License-Identifier: MIT
 * The program aoe-check, which tests all kernels on this machine and measures their speed.
 *
 * It runs the kernel tests (tests/kernels, the programs that `make check` also runs) for every tier (instruction set)
 * that the CPU supports and that the environment variable AOE_CPU allows. It prints one line per kernel: the number of
 * values that were compared with double precision, the largest error divided by its bound, and the speed on one thread.
 * The exit code is 0 if all kernels passed, 1 if a kernel failed or the tests could not be run, and 2 after a usage
 * error.
 *
 * The kernel tests are linked with this program as with build/tests/kernels/tests (tests/support/program.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/support/kernel_check.h"
#include "../tests/support/program.h"
#include "speed.h"

static const char usage[] =
    "usage: aoe-check [--seed N] [--no-speed] [--highest] [OP...]\n"
    "\n"
    "Compares the kernels of all tiers (instruction sets) of this CPU with double precision, and measures their\n"
    "speed on one thread. If OPs are given, for example gemm_bf16 or softmax, tests only the kernels whose names\n"
    "begin with an OP.\n"
    "\n"
    "  --seed N     random seed of the test cases (default: 1)\n"
    "  --no-speed   do not measure the speed\n"
    "  --highest    test only the kernel of the highest tier of each op\n"
    "  --list       print the names of all ops\n"
    "\n"
    "The environment variable AOE_CPU, for example AOE_CPU=avx2 or AOE_CPU=neon, excludes higher tiers. The exit "
    "code is\n"
    "0 if all kernels passed, 1 if a kernel failed, and 2 after a usage error.\n";

typedef struct options {
    int speed;        /* 1: the speed is measured */
    int highest;      /* 1: only the kernel of the highest tier of each op is tested */
    const char **ops; /* [n] names of the ops to test; the array is owned, the strings are static; n is 0: all ops */
    size_t n;
} options;

/* Adds all ops whose names begin with `name` to o->ops. Returns 1, or 0 if there is no such op. */
static int choose(options *o, const char *name) {
    int found = 0;
    for (size_t i = 0; i < check_n_ops; i++)
        if (!strncmp(check_ops[i], name, strlen(name))) {
            o->ops[o->n++] = check_ops[i];
            found = 1;
        }
    return found;
}

/* Parses the arguments. Returns 0 if the program must continue, otherwise its exit code plus 1. */
static int parse(options *o, int argc, char **argv) {
    o->speed = 1;
    o->ops = calloc((size_t)argc * check_n_ops, sizeof *o->ops);
    for (int i = 1; i < argc && o->ops; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(usage, stdout);
            return 1;
        }
        if (!strcmp(argv[i], "--list")) {
            for (size_t k = 0; k < check_n_ops; k++)
                puts(check_ops[k]);
            return 1;
        }
        if (!strcmp(argv[i], "--no-speed")) {
            o->speed = 0;
        } else if (!strcmp(argv[i], "--highest")) {
            o->highest = 1;
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            setenv("AOE_TEST_SEED", argv[++i], 1);
        } else if (choose(o, argv[i])) {
        } else {
            fprintf(stderr, "aoe-check: '%s' is neither an option nor an op; see aoe-check --help and --list\n",
                    argv[i]);
            return 3;
        }
    }
    return o->ops ? 0 : 2;
}

/* Runs all test programs and redirects their output to `log`. Returns the number of programs that failed. */
static size_t run_tests(FILE *log) {
    size_t failed = 0;
    fflush(stdout);
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(fileno(log), STDOUT_FILENO);
    dup2(fileno(log), STDERR_FILENO);
    for (const test_program *p = test_programs; p; p = p->next)
        failed += p->run() != 0;
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    return failed;
}

/* Prints the log of the tests to stderr, without the lines of cmocka about started and successful tests. */
static void print_failures(FILE *log) {
    char line[4096];
    rewind(log);
    while (fgets(line, sizeof line, log))
        if (!strstr(line, "[ RUN ") && !strstr(line, "[       OK ]") && !strstr(line, "[==========]"))
            fputs(line, stderr);
}

static size_t op_number(const char *op) {
    size_t i = 0;
    while (i < check_n_ops && strcmp(check_ops[i], op))
        i++;
    return i;
}

/* Prints one line per kernel. If ops or the highest tier were selected, prints only the kernels that were tested.
 * Returns the number of kernels that failed or were not tested, or -1 if memory allocation failed. best: highest tier
 * to print. */
static int print_report(const options *o, aoei_tier best) {
    size_t n;
    int wrong = 0;
    const kernel_record *r = kernel_records(&n);
    printf("%-26s %-11s %12s %9s %11s %11s %-8s %s\n", "op", "tier", "compared", "of bound", "fastest", "median", "",
           "");
    for (size_t i = 0; i < n; i++) {
        if (r[i].tier > best || !aoei_cpu_has(r[i].tier) || ((o->n || o->highest) && !r[i].runs))
            continue;
        check_speed s = {0};
        if (o->speed && check_speed_op(&s, aoei_kernel_tables[r[i].tier], op_number(r[i].op)))
            return -1;
        printf("%-26s %-11s ", r[i].op, aoei_tier_name(r[i].tier));
        if (r[i].comparisons)
            printf("%12zu %9.3f ", r[i].comparisons, r[i].worst);
        else
            printf("%12s %9s ", "-", "-"); /* the test of this op does not call kernel_compared */
        if (s.unit)
            printf("%11.1f %11.1f %-8s ", s.best, s.median, s.unit);
        else
            printf("%11s %11s %-8s ", "-", "-", "");
        puts(r[i].failed ? "WRONG" : r[i].runs ? "right" : "NOT CHECKED");
        wrong += r[i].failed || !r[i].runs;
    }
    return wrong;
}

int main(int argc, char **argv) {
    options o = {0};
    int code = parse(&o, argc, argv);
    FILE *log = code ? NULL : tmpfile();
    if (!code && !log) {
        perror("aoe-check: cannot create a temporary file");
        code = 2;
    }
    if (!code) {
        aoei_tier tier;
        aoe_error err;
        if (aoei_cpu_tier(&tier, &err)) {
            fprintf(stderr, "aoe-check: %s\n", err.message);
            code = 3;
        } else {
            if (o.n)
                kernel_only(o.ops, o.n);
            if (o.highest)
                kernel_highest_only();
            printf("%s; highest tier %s; seed %llu\n", aoei_cpu_model(), aoei_tier_name(tier),
                   (unsigned long long)kernel_seed());
            const size_t failed = run_tests(log);
            const int wrong = print_report(&o, tier);
            if (failed)
                print_failures(log);
            if (wrong < 0)
                fprintf(stderr, "aoe-check: out of memory\n");
            code = failed || wrong ? 2 : 1;
        }
    }
    if (log)
        fclose(log);
    free(o.ops);
    return code - 1;
}
