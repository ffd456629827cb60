/* SPDX-License-Identifier: MIT
 * In-batch negatives in two passes over panels of four anchors: the first
 * finds each row's log of sums, the second its gradient. With the scores
 * S_uv = <z_u, z_v> / tau, p the softmax of row u without u itself, T the
 * targets (symmetric) and n_u = sum_v T_uv:
 *     N L   = sum_u (n_u log_sum_u - sum_v T_uv S_uv)
 *     N dL/dz_u = sum_v (n_u p_uv + n_v p_vu - 2 T_uv) z_v / tau
 * so a row's gradient needs no other task's sums: panels run in parallel and
 * each adds its candidates in ascending order. Nothing depends on the threads.
 */
#include "objective/ibn.h"

#include <math.h>
#include <string.h>

enum { P = AOEI_IBN_PANEL, TILE = P * P };

/* s[r * 4 + c] = <row r of panel a, row c of panel b>, each a chain in the order of k. Written out: compilers keep
 * sixteen named sums in registers, but not an array. */
static void multiply_panels(const double *restrict a, const double *restrict b, size_t D, double s[TILE]) {
    double s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    double s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
    for (size_t k = 0; k < D; k++, a += P, b += P) {
        s00 += a[0] * b[0], s01 += a[0] * b[1], s02 += a[0] * b[2], s03 += a[0] * b[3];
        s10 += a[1] * b[0], s11 += a[1] * b[1], s12 += a[1] * b[2], s13 += a[1] * b[3];
        s20 += a[2] * b[0], s21 += a[2] * b[1], s22 += a[2] * b[2], s23 += a[2] * b[3];
        s30 += a[3] * b[0], s31 += a[3] * b[1], s32 += a[3] * b[2], s33 += a[3] * b[3];
    }
    s[0] = s00, s[1] = s01, s[2] = s02, s[3] = s03, s[4] = s10, s[5] = s11, s[6] = s12, s[7] = s13;
    s[8] = s20, s[9] = s21, s[10] = s22, s[11] = s23, s[12] = s30, s[13] = s31, s[14] = s32, s[15] = s33;
}

/* out [D][4] += sum over rows c of panel b of w[c * 4 + r] * b [k][c], c ascending. */
static void add_panel(double *restrict out, const double *restrict b, const double w[TILE], size_t D) {
    for (size_t k = 0; k < D; k++, out += P, b += P) {
        double o0 = out[0], o1 = out[1], o2 = out[2], o3 = out[3];
        o0 += w[0] * b[0], o1 += w[1] * b[0], o2 += w[2] * b[0], o3 += w[3] * b[0];
        o0 += w[4] * b[1], o1 += w[5] * b[1], o2 += w[6] * b[1], o3 += w[7] * b[1];
        o0 += w[8] * b[2], o1 += w[9] * b[2], o2 += w[10] * b[2], o3 += w[11] * b[2];
        o0 += w[12] * b[3], o1 += w[13] * b[3], o2 += w[14] * b[3], o3 += w[15] * b[3];
        out[0] = o0, out[1] = o1, out[2] = o2, out[3] = o3;
    }
}

/* T_uv for u != v: 1 for the partner of a positive pair, plus 1 for an equal text (so 2 for a positive pair of equals). */
static double target(const aoei_ibn *b, size_t u, size_t v) {
    int partner = (u ^ 1) == v && b->label[u / 2] >= b->threshold;
    int same = b->group && b->group[u] == b->group[v];
    return (double)(partner + same);
}

static double *panel_of(double *rows, size_t D, size_t panel) {
    return rows + panel * D * P;
}

/* A panel takes part as anchors when one of its rows has a target. */
static int has_targets(const aoei_ibn *b, size_t panel) {
    const double *n = b->targets + panel * P;
    return n[0] > 0.0 || n[1] > 0.0 || n[2] > 0.0 || n[3] > 0.0;
}

/* Scores of panel pu against panel pv; -infinity where there is no candidate (the row itself, beyond N). */
static void score_tile(const aoei_ibn *b, size_t pu, size_t pv, double s[TILE]) {
    multiply_panels(panel_of(b->z, b->D, pu), panel_of(b->z, b->D, pv), b->D, s);
    for (size_t i = 0; i < TILE; i++) {
        size_t u = pu * P + i / P, v = pv * P + i % P;
        s[i] = u == v || u >= b->N || v >= b->N ? -INFINITY : s[i] / b->tau;
    }
}

static double *kept_tile(const aoei_ibn *b, size_t pu, size_t pv) {
    return b->score + (pu * b->panels + pv) * TILE;
}

static void count_targets(void *arg, size_t panel, size_t worker) {
    aoei_ibn *b = arg;
    (void)worker;
    for (size_t u = panel * P; u < (panel + 1) * P; u++) {
        double n = 0.0;
        for (size_t v = 0; u < b->N && v < b->N; v++)
            n += u == v ? 0.0 : target(b, u, v);
        b->targets[u] = n;
    }
}

/* First pass: log_sum and row_loss of the four rows of a panel. */
static void sum_rows(void *arg, size_t pu, size_t worker) {
    aoei_ibn *b = arg;
    double max[P], sum[P] = {0}, hit[P] = {0}, local[TILE];
    int anchors = has_targets(b, pu);
    (void)worker;
    for (size_t r = 0; r < P; r++)
        max[r] = -INFINITY;
    for (size_t pv = 0; pv < b->panels; pv++) {
        if (!anchors && !(b->score && has_targets(b, pv)))
            continue;
        double *s = b->score ? kept_tile(b, pu, pv) : local;
        score_tile(b, pu, pv, s);
        for (size_t i = 0; anchors && i < TILE; i++) {
            size_t r = i / P, u = pu * P + r, v = pv * P + i % P;
            if (s[i] == -INFINITY || b->targets[u] == 0.0)
                continue;
            hit[r] += target(b, u, v) * s[i];
            if (s[i] > max[r]) {
                sum[r] = sum[r] * exp(max[r] - s[i]) + 1.0;
                max[r] = s[i];
            } else {
                sum[r] += exp(s[i] - max[r]);
            }
        }
    }
    for (size_t r = 0; r < P; r++) {
        size_t u = pu * P + r;
        int anchor = b->targets[u] > 0.0;
        b->log_sum[u] = anchor ? max[r] + log(sum[r]) : 0.0;
        b->row_loss[u] = anchor ? b->targets[u] * b->log_sum[u] - hit[r] : 0.0;
    }
}

/* Second pass: dz of the four rows of a panel. */
static void differentiate_rows(void *arg, size_t pu, size_t worker) {
    aoei_ibn *b = arg;
    double local[TILE], w[TILE], scale = 1.0 / ((double)b->N * b->tau);
    double *out = panel_of(b->dz, b->D, pu);
    (void)worker;
    memset(out, 0, b->D * P * sizeof *out);
    for (size_t pv = 0; pv < b->panels; pv++) {
        if (!has_targets(b, pu) && !has_targets(b, pv))
            continue;
        double *s = b->score ? kept_tile(b, pu, pv) : local;
        if (!b->score)
            score_tile(b, pu, pv, s);
        for (size_t i = 0; i < TILE; i++) {
            size_t r = i / P, c = i % P, u = pu * P + r, v = pv * P + c;
            double h = 0.0, n_u = b->targets[u], n_v = b->targets[v];
            if (s[i] != -INFINITY) {
                h += n_u > 0.0 ? n_u * exp(s[i] - b->log_sum[u]) : 0.0;
                h += n_v > 0.0 ? n_v * exp(s[i] - b->log_sum[v]) : 0.0;
                h -= 2.0 * target(b, u, v);
            }
            w[c * P + r] = h * scale;
        }
        add_panel(out, panel_of(b->z, b->D, pv), w, b->D);
    }
}

void aoei_ibn_clear_tail(aoei_ibn *b) {
    memset(panel_of(b->z, b->D, b->panels - 1), 0, b->D * P * sizeof *b->z);
}

void aoei_ibn_set_row(aoei_ibn *b, size_t u, const double *v) {
    double *z = panel_of(b->z, b->D, u / P) + u % P, square = 0.0;
    for (size_t k = 0; k < b->D; k++)
        square += v[k] * v[k];
    b->inv_norm[u] = square == 0.0 ? 0.0 : 1.0 / sqrt(square);
    for (size_t k = 0; k < b->D; k++)
        z[k * P] = v[k] * b->inv_norm[u];
}

double aoei_ibn_loss(aoei_ibn *b, int with_grad, aoei_pool *pool) {
    aoei_parallel_for(pool, b->panels, count_targets, b);
    aoei_parallel_for(pool, b->panels, sum_rows, b);
    if (with_grad)
        aoei_parallel_for(pool, b->panels, differentiate_rows, b);
    double loss = 0.0;
    for (size_t u = 0; u < b->N; u++)
        loss += b->row_loss[u];
    return loss / (double)b->N;
}

void aoei_ibn_row_grad(const aoei_ibn *b, size_t u, double scale, double *g) {
    const double *z = panel_of(b->z, b->D, u / P) + u % P, *dz = panel_of(b->dz, b->D, u / P) + u % P;
    double along = 0.0, factor = scale * b->inv_norm[u];
    for (size_t k = 0; k < b->D; k++)
        along += dz[k * P] * z[k * P];
    for (size_t k = 0; k < b->D; k++)
        g[k] += factor * (dz[k * P] - along * z[k * P]);
}
