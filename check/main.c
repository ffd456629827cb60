/* SPDX-License-Identifier: MIT
 * aoe-check: is every kernel right on this machine, and how fast is it?
 *
 * It runs the kernel tests (tests/kernels, the same programs that `make check` runs) in every tier that the CPU has and
 * AOE_CPU allows, and prints a line a kernel: values compared with a double-precision oracle, the worst error as a share
 * of its bound, the speed on one thread. The exit code is the verdict.
 *
 * The tests are linked in under names that the Makefile gives them; programs.inc lists them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/support/kernel_check.h"
#include "speed.h"

#define PROGRAM(name) int name##_main(void);
#include "programs.inc"
#undef PROGRAM

static int (*const programs[])(void) = {
#define PROGRAM(name) name##_main,
#include "programs.inc"
#undef PROGRAM
};

static const char usage[] =
    "usage: aoe-check [--seed N] [--no-speed] [OP...]\n"
    "\n"
    "Checks every kernel of every tier this CPU has against a double-precision oracle: each dimension swept alone\n"
    "from 1 to two blocks and one, random sizes, unaligned and strided operands, canaries, poisoned outputs, special\n"
    "values. Then times it on one thread. With OP (gemm_bf16, softmax, ...) only those whose names start so.\n"
    "\n"
    "  --seed N     seed of the random cases (1)\n"
    "  --no-speed   no timing\n"
    "  --list       the ops\n"
    "\n"
    "AOE_CPU=c|avx2|avx512|avx512bf16|amx leaves out higher tiers. The exit code is 0 when all is right.\n";

typedef struct options {
    int speed;
    const char **ops; /* [n], owned; the strings are static */
    size_t n;
} options;

/* Adds the ops whose names start so; 0: there is none. */
static int choose(options *o, const char *name) {
    int found = 0;
    for (size_t i = 0; i < check_n_ops; i++)
        if (!strncmp(check_ops[i], name, strlen(name))) {
            o->ops[o->n++] = check_ops[i];
            found = 1;
        }
    return found;
}

/* Returns 0 to continue, otherwise the exit code plus 1. */
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
        } else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
            setenv("AOE_TEST_SEED", argv[++i], 1);
        } else if (choose(o, argv[i])) {
        } else {
            fprintf(stderr, "aoe-check: %s is neither an option nor an op; try --help or --list\n", argv[i]);
            return 3;
        }
    }
    return o->ops ? 0 : 2;
}

/* Runs the tests with their messages in `log`. Returns the number of programs with failures. */
static size_t run_tests(FILE *log) {
    size_t failed = 0;
    fflush(stdout);
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(fileno(log), STDOUT_FILENO);
    dup2(fileno(log), STDERR_FILENO);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        failed += programs[i]() != 0;
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    return failed;
}

/* The messages of the tests that failed. */
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

/* A line a kernel that was run. Returns the number of kernels that are wrong, or -1 without memory. */
static int print_report(const options *o, aoei_tier best) {
    size_t n;
    int wrong = 0;
    const kernel_record *r = kernel_records(&n);
    printf("%-26s %-11s %12s %9s %11s %11s %-8s %s\n", "op", "tier", "compared", "of bound", "fastest", "median", "", "");
    for (size_t i = 0; i < n; i++) {
        if (r[i].tier > best || (o->n && !r[i].runs))
            continue;
        check_speed s = {0};
        if (o->speed && check_speed_op(&s, aoei_kernel_tables[r[i].tier], op_number(r[i].op)))
            return -1;
        printf("%-26s %-11s ", r[i].op, aoei_tier_name(r[i].tier));
        if (r[i].comparisons)
            printf("%12zu %9.3f ", r[i].comparisons, r[i].worst);
        else
            printf("%12s %9s ", "-", "-"); /* its test compares in its own way */
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
        perror("aoe-check: no temporary file");
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
