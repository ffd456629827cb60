/* SPDX-License-Identifier: MIT
 * Measures the speed of an encoder of aoe. run.py runs this program and similar programs for other libraries, and alternates
 * between them. The arguments of the program are the shape of the encoder and the size of the batch. Each line on stdin is a
 * command that starts one measurement.
 *
 *     aoe_encoder SHAPE TEXTS LENGTH THREADS
 *     infer|train|pretrain f32|bf16 COUNT      prints the times of COUNT runs in milliseconds, or "- REASON" if the measurement
 *     is not possible
 *
 * The first command with a given mode and data type creates a benchmark and executes one warm-up run. Later commands with this
 * mode and data type use the same benchmark.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_eval.h"
#include "base/cpu.h"
#include "bench/bench.h"

/* names of the values of aoe_bench_mode, in the order of the values */
static const char *const modes[] = {"infer", "train", "pretrain"};
static const char *const types[] = {"f32", "bf16"};

typedef struct state {
    aoe_context *ctx;
    aoe_bench_options options; /* shape, number of texts and length of a text, from the command line */
    aoei_bench *bench[3][2];   /* benchmark by index in `modes` and in `types`; NULL before its first use */
} state;

/* Returns the index of `name` in names[n], or n if the list does not contain the name. */
static size_t choose(const char *const *names, size_t n, const char *name) {
    size_t i = 0;
    while (i < n && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

static int open_bench(state *s, size_t mode, size_t type, aoe_error *err) {
    double seconds;
    aoe_bench_options o = s->options;
    o.mode = (aoe_bench_mode)mode;
    o.dtype = type ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
    const int code = aoei_bench_create(&s->bench[mode][type], s->ctx, &o, err);
    return code ? code : aoei_bench_run(s->bench[mode][type], &seconds, err);
}

static void answer(state *s, const char *line) {
    char mode_name[16], type_name[16];
    unsigned count;
    aoe_error err;
    double seconds;
    if (sscanf(line, "%15s %15s %u", mode_name, type_name, &count) != 3 || choose(modes, 3, mode_name) == 3 ||
        choose(types, 2, type_name) == 2) {
        printf("- unknown command\n");
        return;
    }
    const size_t mode = choose(modes, 3, mode_name), type = choose(types, 2, type_name);
    int code = s->bench[mode][type] ? 0 : open_bench(s, mode, type, &err);
    for (unsigned i = 0; i < count && !code; i++) {
        code = aoei_bench_run(s->bench[mode][type], &seconds, &err);
        if (!code)
            printf("%s%.4f", i ? " " : "", 1e3 * seconds);
    }
    if (code)
        printf("- %s", err.message);
    printf("\n");
}

int main(int argc, char **argv) {
    state s = {0};
    aoe_error err;
    char line[128];
    if (argc != 5) {
        fprintf(stderr, "usage: aoe_encoder SHAPE TEXTS LENGTH THREADS\n");
        return 2;
    }
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = strtoul(argv[4], NULL, 10);
    aoe_bench_options_defaults(&s.options);
    s.options.texts = strtoul(argv[2], NULL, 10);
    s.options.length = strtoul(argv[3], NULL, 10);
    if (aoe_shape_named(&s.options.shape, argv[1], &err) || aoe_context_create(&s.ctx, &c, &err)) {
        fprintf(stderr, "aoe_encoder: %s\n", err.message);
        return 1;
    }
    printf("ready aoe %s, kernels of tier %s, highest tier %s, %s\n", aoe_version(), aoe_context_tier(s.ctx),
           aoei_tier_name(aoei_cpu_detect()), aoei_cpu_model());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        answer(&s, line);
        fflush(stdout);
    }
    for (size_t i = 0; i < 6; i++)
        aoei_bench_destroy(s.bench[i / 2][i % 2]);
    aoe_context_destroy(s.ctx);
    return 0;
}
