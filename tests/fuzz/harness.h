/* SPDX-License-Identifier: MIT
 * A harness in the program build/tests/fuzz/tests, which contains all harnesses. The Makefile compiles
 * tests/fuzz/NAME_fuzz.c with other names for the symbols that every harness defines, and includes this header before
 * the first line. `make fuzz` compiles a harness without this header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../support/program.h"

typedef struct fuzz_harness {
    int (*run)(const uint8_t *data, size_t size);
    int (*initialize)(int *argc, char ***argv); /* NULL: there is nothing to prepare */
    const size_t *mutations;                    /* NULL: 20000 */
} fuzz_harness;

/* Runs a harness on its corpus and on random mutations (tests/fuzz/driver.c). Returns the exit code. */
int fuzz_run(const fuzz_harness *h);

#ifdef main
/* A harness may define the last two symbols. The address of an undefined symbol is NULL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
extern const size_t fuzz_mutations __attribute__((weak));

int main(void) {
    return fuzz_run(&(fuzz_harness){LLVMFuzzerTestOneInput, LLVMFuzzerInitialize, &fuzz_mutations});
}
#endif
