/* SPDX-License-Identifier: MIT
 * Computes the tables of GELU and of its derivative.
 */
#include "kernels/simd_avx512.h"
#include "kernels/gelu_tables_avx512bf16.h"
#include "kernels/simd_math.h"

#include "base/mutex.h"

aoei_gelu_table_pair aoei_gelu_tables;

static void fill(void) {
    const __m512i step = _mm512_set1_epi32(VF_LANES << 16);
    __m512i bits = _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 16);
    for (size_t i = 0; i < AOEI_BF16_VALUES; i += VF_LANES, bits = _mm512_add_epi32(bits, step)) {
        const vf x = _mm512_castsi512_ps(bits);
        vf_store(aoei_gelu_tables.gelu + i, vf_gelu(x));
        vf_store(aoei_gelu_tables.derivative + i, vf_gelu_derivative(x));
    }
    atomic_store_explicit(&aoei_gelu_tables.filled, 1, memory_order_release);
}

void aoei_gelu_tables_create(void) {
    static aoei_mutex mutex = AOEI_MUTEX_INIT;
    aoei_mutex_lock(&mutex);
    if (!atomic_load_explicit(&aoei_gelu_tables.filled, memory_order_relaxed))
        fill();
    aoei_mutex_unlock(&mutex);
}
