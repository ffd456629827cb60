/* SPDX-License-Identifier: MIT
 * Tables of GELU and of its derivative for all bf16 inputs. The index of an input is its bits. Include simd_avx512.h
 * first.
 */
#pragma once

#include <stdatomic.h>

#define AOEI_BF16_VALUES 65536 /* number of different bf16 bit patterns */

typedef struct aoei_gelu_table_pair {
    _Alignas(64) float gelu[AOEI_BF16_VALUES]; /* vf_gelu */
    float derivative[AOEI_BF16_VALUES];        /* vf_gelu_derivative */
    _Atomic int filled;                        /* 1: the tables contain the values */
} aoei_gelu_table_pair;

/* The tables. They contain zeros until aoei_gelu_tables_fill is called. */
extern aoei_gelu_table_pair aoei_gelu_tables;
/* Computes the tables at the first call. Several threads may call the function at the same time. */
void aoei_gelu_tables_create(void);

/* Computes the tables unless they have been computed. */
static inline void aoei_gelu_tables_fill(void) {
    if (!atomic_load_explicit(&aoei_gelu_tables.filled, memory_order_acquire))
        aoei_gelu_tables_create();
}

/* Returns the elements of `table` for the values of x, which are bf16 values as float32. */
static inline vf vf_bf16_table(const float *table, vf x) {
    return _mm512_i32gather_ps(_mm512_srli_epi32(_mm512_castps_si512(x), 16), table, sizeof *table);
}
