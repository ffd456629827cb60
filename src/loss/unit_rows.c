/* SPDX-License-Identifier: MIT
 * Computes the unit vectors z = v / |v|, and the gradients dL/dv = (dL/dz - <dL/dz, z> z) / |v|, where L is the loss.
 * Sums over components are accumulated in ascending order.
 */
#include "loss/unit_rows.h"

#include <math.h>

#include "base/alloc.h"
#include "nn/panels.h"

enum { P = AOEI_PANEL_F64 };

void aoei_unit_rows_lay_out(aoei_unit_rows *r, aoei_arena *a, size_t N, size_t D) {
    size_t panels = (D + P - 1) / P * P, z = 0, zt = 0;
    *r = (aoei_unit_rows){.N = N, .D = D};
    if (panels < D || aoei_mul_size(panels, N, &z) || aoei_mul_size((N + P - 1) / P * P, D, &zt))
        a->overflow = 1;
    r->z = aoei_arena_take_array(a, z, sizeof(double));
    r->dz = aoei_arena_take_array(a, z, sizeof(double));
    r->zt = aoei_arena_take_array(a, zt, sizeof(double));
    r->inv_norm = aoei_arena_take_array(a, N, sizeof(double));
}

void aoei_unit_rows_set(aoei_unit_rows *r, size_t u, const double *v) {
    double *z = r->z + u * P, *zt = r->zt + u / P * P * r->D + u % P, *dz = r->dz + u * P, square = 0.0;
    for (size_t k = 0; k < r->D; k++)
        square += v[k] * v[k];
    double inverse = square == 0.0 ? 0.0 : 1.0 / sqrt(square);
    r->inv_norm[u] = inverse;
    for (size_t k = 0; k < r->D; k += P, z += r->N * P, dz += r->N * P) {
        for (size_t j = 0; j < P && k + j < r->D; j++)
            z[j] = zt[(k + j) * P] = v[k + j] * inverse;
        for (size_t j = 0; j < P; j++)
            dz[j] = 0.0;
    }
}

void aoei_unit_rows_grad(const aoei_unit_rows *r, size_t u, double scale, double *g) {
    const double *z = r->z + u * P, *dz = r->dz + u * P;
    double inner = 0.0, factor = scale * r->inv_norm[u];
    for (size_t k = 0; k < r->D; k++) {
        size_t at = k / P * r->N * P + k % P;
        inner += z[at] * dz[at];
    }
    for (size_t k = 0; k < r->D; k++) {
        size_t at = k / P * r->N * P + k % P;
        g[k] += factor * (dz[at] - inner * z[at]);
    }
}
