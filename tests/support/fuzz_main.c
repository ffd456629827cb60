/* SPDX-License-Identifier: MIT
 * The regression driver of the fuzz harnesses: seeds and reproducible mutations
 * of them. Each input lies in a block of exactly its size, so that the
 * sanitizers see a read beyond it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support.h"

#define MUTATIONS  5000
#define MAX_EDITS  8
#define MAX_GROWTH 64 /* bytes an edit may add */

static const char *const tokens[] = {"\0",
                                     "\xff",
                                     "\x80",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     "\\u0000",
                                     "-1",
                                     "1e999",
                                     "18446744073709551615",
                                     "\xef\xbf\xbd",
                                     "\xf4\x90\x80\x80",
                                     "\xed\xa0\x80",
                                     "\t",
                                     "\r\n",
                                     ","};

typedef struct input {
    uint8_t *data; /* [size], owned */
    size_t size;
} input;

/* Replaces [at, at + cut) by n bytes. */
static void splice(input *in, size_t at, size_t cut, const void *bytes, size_t n) {
    size_t size = in->size - cut + n;
    uint8_t *data = malloc(size ? size : 1);
    if (!data)
        exit(2);
    if (at)
        memcpy(data, in->data, at);
    if (n)
        memcpy(data + at, bytes, n);
    if (in->size > at + cut)
        memcpy(data + at + n, in->data + at + cut, in->size - at - cut);
    free(in->data);
    *in = (input){data, size};
}

static size_t below(aoei_rng *r, size_t n) {
    return n ? aoei_rng_below(r, (uint32_t)n) : 0;
}

static void mutate(input *in, aoei_rng *r) {
    size_t at = below(r, in->size + 1);
    size_t rest = in->size - at;
    uint8_t copy[MAX_GROWTH];
    size_t n = below(r, (rest < MAX_GROWTH ? rest : MAX_GROWTH) + 1);
    switch (below(r, 6)) {
    case 0: /* flip a bit */
        if (rest)
            in->data[at] ^= (uint8_t)(1u << below(r, 8));
        break;
    case 1: /* any byte */
        if (rest)
            in->data[at] = (uint8_t)aoei_rng_u32(r);
        break;
    case 2: /* cut a piece out */
        splice(in, at, n, NULL, 0);
        break;
    case 3: /* cut the end off */
        splice(in, at, rest, NULL, 0);
        break;
    case 4: { /* put something troublesome in */
        const char *t = tokens[below(r, sizeof tokens / sizeof *tokens)];
        splice(in, at, 0, t, *t ? strlen(t) : 1);
        break;
    }
    default: /* say a piece twice */
        memcpy(copy, in->data + at, n);
        splice(in, at, 0, copy, n);
    }
}

static void run(aoei_fuzz_fn fn, const aoei_fuzz_seed *seed, aoei_rng *r) {
    input in = {0};
    splice(&in, 0, 0, seed->data, seed->size);
    if (r)
        for (size_t edits = 1 + below(r, MAX_EDITS); edits > 0; edits--)
            mutate(&in, r);
    fn(in.data, in.size);
    free(in.data);
}

int aoei_fuzz_run(aoei_fuzz_fn fn, const aoei_fuzz_seed *seeds, size_t n, size_t mutations) {
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < n; i++)
        run(fn, &seeds[i], NULL);
    for (size_t i = 0; i < mutations; i++)
        run(fn, &seeds[below(&r, n)], &r);
    printf("%zu seeds and %zu mutations\n", n, mutations);
    return 0;
}

int aoei_fuzz_main(aoei_fuzz_fn fn, const aoei_fuzz_seed *seeds, size_t n) {
    return aoei_fuzz_run(fn, seeds, n, MUTATIONS);
}
