/* SPDX-License-Identifier: MIT
 * Forward, inverse and backward pass of the normalizing flow of BERT-flow.
 */
#include "nn/flow.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#define LN2        0.69314718055994530942
#define LN_2PI     1.83787706640934548356
#define LOG_FACTOR 3.0  /* factor of s in exp(3 s) */
#define INIT_SD    0.05 /* standard deviation of the initial values of W1 and W2 */
#define INIT_EPS   1e-6

/* The position of a step in the arrays of a flow. */
typedef struct step {
    size_t C, H, W;   /* number of components, half of it, and width */
    size_t parameter; /* index of its first parameter */
    size_t kept;      /* index of its first element in a row of `kept`: y [C], h1 [W], h2 [W], change of q [H] */
    /* index of its first element in a row of `delta`: gradient of y [C]; gradient of h2 W3 + b3 [H]; gradients of h2
     * and of h1 W2 + b2 [W]; gradients of h1 and of p W1 + b1 [W] */
    size_t delta;
} step;

/* Offsets of the parameters of a step. b has offset 0. */
static size_t at_s(const step *t) {
    return t->C;
}
static size_t at_w1(const step *t) {
    return 2 * t->C;
}
static size_t at_b1(const step *t) {
    return at_w1(t) + t->H * t->W;
}
static size_t at_s1(const step *t) {
    return at_b1(t) + t->W;
}
static size_t at_w2(const step *t) {
    return at_s1(t) + t->W;
}
static size_t at_b2(const step *t) {
    return at_w2(t) + t->W * t->W;
}
static size_t at_s2(const step *t) {
    return at_b2(t) + t->W;
}
static size_t at_w3(const step *t) {
    return at_s2(t) + t->W;
}
static size_t at_b3(const step *t) {
    return at_w3(t) + t->W * t->H;
}
static size_t at_s3(const step *t) {
    return at_b3(t) + t->H;
}
static size_t step_parameters(const step *t) {
    return at_s3(t) + t->H;
}
static size_t step_kept(const step *t) {
    return t->C + 2 * t->W + t->H;
}
static size_t step_delta(const step *t) {
    return t->C + t->H + 4 * t->W;
}

/* Returns step i of the flow; i is at most levels * depth. The values of step levels * depth are the sizes of the
 * arrays. */
static step step_at(const aoei_flow_shape *shape, size_t i) {
    step t = {.W = shape->width};
    for (size_t level = 0; level * shape->depth <= i; level++) {
        const size_t n = i - level * shape->depth < shape->depth ? i - level * shape->depth : shape->depth;
        t.C = shape->dims >> level;
        t.H = t.C / 2;
        t.parameter += n * step_parameters(&t);
        t.kept += n * step_kept(&t);
        t.delta += n * step_delta(&t);
    }
    return t;
}

int aoei_flow_dims_valid(const aoei_flow_shape *shape) {
    return shape->dims > 0 && shape->dims % ((size_t)1 << shape->levels) == 0;
}

size_t aoei_flow_parameters(const aoei_flow_shape *shape) {
    return step_at(shape, shape->levels * shape->depth).parameter;
}

size_t aoei_flow_doubles(const aoei_flow_shape *shape, size_t max_rows, int training) {
    const step end = step_at(shape, shape->levels * shape->depth);
    return (training ? 3 : 2) * end.parameter + max_rows * (2 * shape->dims + end.kept + (training ? end.delta : 0));
}

void aoei_flow_place(aoei_flow *f, const aoei_flow_shape *shape, size_t max_rows, int training, double *memory) {
    const step end = step_at(shape, shape->levels * shape->depth);
    *f = (aoei_flow){.shape = *shape, .parameters = end.parameter, .max_rows = max_rows};
    f->value = memory;
    f->scale = f->value + f->parameters;
    f->input = f->scale + f->parameters;
    f->output = f->input + max_rows * shape->dims;
    f->kept = f->output + max_rows * shape->dims;
    if (!training)
        return;
    f->grad = f->kept + max_rows * end.kept;
    f->delta = f->grad + f->parameters;
}

/* ---------------------------------------------------------------- forward */

/* Sets y[out] = x W, where x is [in] and W is [in, out]. */
static void multiply(double *y, const double *x, const double *w, size_t in, size_t out) {
    memset(y, 0, out * sizeof *y);
    for (size_t i = 0; i < in; i++)
        for (size_t j = 0; j < out; j++)
            y[j] += x[i] * w[i * out + j];
}

/* Sets h = (h + b) scale for n components. If `relu` is 1, negative values are replaced by 0. */
static void activate(double *h, const double *b, const double *scale, size_t n, int relu) {
    for (size_t k = 0; k < n; k++) {
        const double u = (h[k] + b[k]) * scale[k];
        h[k] = relu && u < 0 ? 0 : u; /* NaN propagates */
    }
}

/* Computes h1, h2 and the change of q from p [H]. */
static void run_network(const aoei_flow *f, const step *t, const double *p, double *h1, double *h2, double *change) {
    const double *v = f->value + t->parameter, *e = f->scale + t->parameter;
    multiply(h1, p, v + at_w1(t), t->H, t->W);
    activate(h1, v + at_b1(t), e + at_s1(t), t->W, 1);
    multiply(h2, h1, v + at_w2(t), t->W, t->W);
    activate(h2, v + at_b2(t), e + at_s2(t), t->W, 1);
    multiply(change, h2, v + at_w3(t), t->W, t->H);
    activate(change, v + at_b3(t), e + at_s3(t), t->H, 0);
}

/* Computes y from x [C]: the scaled components in reversed order. */
static void normalize(const aoei_flow *f, const step *t, double *y, const double *x) {
    const double *b = f->value + t->parameter, *e = f->scale + t->parameter + at_s(t);
    for (size_t k = 0; k < t->C; k++)
        y[t->C - 1 - k] = (x[k] + b[k]) * e[k];
}

/* The arguments of the tasks. */
typedef struct job {
    const aoei_flow *f;
    size_t n_steps, rows;
} job;

static size_t row_kept(const aoei_flow *f) {
    return step_at(&f->shape, f->shape.levels * f->shape.depth).kept;
}
static size_t row_delta(const aoei_flow *f) {
    return step_at(&f->shape, f->shape.levels * f->shape.depth).delta;
}

/* Returns 1 if step i is the last step of its level. */
static int ends_level(const aoei_flow_shape *shape, size_t i) {
    return i % shape->depth + 1 == shape->depth;
}

/* Transforms one row and keeps its activations for the backward pass. At the end of each level, half of the components
 * become outputs, and the following steps transform the other half. */
static void forward_task(void *arg, size_t row, size_t worker) {
    const job *j = arg;
    const aoei_flow *f = j->f;
    double *x = f->input + row * f->shape.dims, *z = f->output + row * f->shape.dims,
           *kept = f->kept + row * row_kept(f);
    (void)worker;
    for (size_t i = 0; i < j->n_steps; i++) {
        const step t = step_at(&f->shape, i);
        double *y = kept + t.kept, *h1 = y + t.C, *h2 = h1 + t.W, *change = h2 + t.W;
        normalize(f, &t, y, x);
        run_network(f, &t, y, h1, h2, change);
        memcpy(x, y, t.C * sizeof *x);
        for (size_t k = 0; k < t.H; k++)
            x[t.H + k] += change[k];
        if (i + 1 == j->n_steps)
            memcpy(z + f->shape.dims - t.C, x, t.C * sizeof *x);
        else if (ends_level(&f->shape, i))
            memcpy(z + f->shape.dims - t.C, x + t.H, t.H * sizeof *x);
    }
}

void aoei_flow_update(aoei_flow *f) {
    for (size_t i = 0; i < f->shape.levels * f->shape.depth; i++) {
        const step t = step_at(&f->shape, i);
        const struct {
            size_t first, n;
        } logs[] = {{at_s(&t), t.C}, {at_s1(&t), t.W}, {at_s2(&t), t.W}, {at_s3(&t), t.H}};
        for (size_t part = 0; part < sizeof logs / sizeof *logs; part++)
            for (size_t k = t.parameter + logs[part].first; k < t.parameter + logs[part].first + logs[part].n; k++)
                f->scale[k] = exp(LOG_FACTOR * f->value[k]);
    }
}

void aoei_flow_forward(const aoei_flow *f, aoei_pool *pool, size_t n) {
    job j = {.f = f, .n_steps = f->shape.levels * f->shape.depth, .rows = n};
    aoei_parallel_for(pool, n, forward_task, &j);
}

void aoei_flow_inverse(const aoei_flow *f, size_t n) {
    const size_t n_steps = f->shape.levels * f->shape.depth, D = f->shape.dims;
    for (size_t row = 0; row < n; row++) {
        double *x = f->input + row * D, *kept = f->kept + row * row_kept(f);
        const double *z = f->output + row * D;
        for (size_t i = n_steps; i-- > 0;) {
            const step t = step_at(&f->shape, i);
            const double *b = f->value + t.parameter, *e = f->scale + t.parameter + at_s(&t);
            double *y = kept + t.kept, *h1 = y + t.C, *h2 = h1 + t.W, *change = h2 + t.W;
            if (i + 1 == n_steps)
                memcpy(x, z + D - t.C, t.C * sizeof *x);
            else if (ends_level(&f->shape, i))
                memcpy(x + t.H, z + D - t.C, t.H * sizeof *x);
            run_network(f, &t, x, h1, h2, change);
            memcpy(y, x, t.C * sizeof *y);
            for (size_t k = 0; k < t.H; k++)
                y[t.H + k] -= change[k];
            for (size_t k = 0; k < t.C; k++)
                x[k] = y[t.C - 1 - k] / e[k] - b[k];
        }
    }
}

/* --------------------------------------------------------------- backward */

/* Returns the dot product of a [n] and b [n]. Eight sums, whose order is fixed, allow vector instructions. */
static double dot(const double *a, const double *b, size_t n) {
    double sum[8] = {0};
    size_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (size_t i = 0; i < 8; i++)
            sum[i] += a[k + i] * b[k + i];
    for (size_t i = 0; k < n; k++, i++)
        sum[i] += a[k] * b[k];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* Computes the gradients dh [in] of h, the output of relu, and d [in] of the argument of the scaling that precedes
 * relu. The output of the linear layer is h W, and `next` [out] is its gradient. W: [in, out]; scale: [in]. */
static void relu_backward(double *dh, double *d, const double *h, const double *scale, const double *next,
                          const double *w, size_t in, size_t out) {
    for (size_t i = 0; i < in; i++) {
        dh[i] = h[i] > 0 ? dot(w + i * out, next, out) : 0;
        d[i] = dh[i] * scale[i];
    }
}

/* Computes the gradients of one step and one row. dx [C]: gradient of the output; replaced by the gradient of the
 * input. y: values of the step in `kept`. dy: gradients of the step in `delta`. */
static void step_backward(const aoei_flow *f, const step *t, double *dx, const double *y, double *dy) {
    const double *v = f->value + t->parameter, *e = f->scale + t->parameter, *h1 = y + t->C, *h2 = h1 + t->W;
    double *d3 = dy + t->C, *dh2 = d3 + t->H, *d2 = dh2 + t->W, *dh1 = d2 + t->W, *d1 = dh1 + t->W;
    memcpy(dy, dx, t->C * sizeof *dy);
    for (size_t k = 0; k < t->H; k++)
        d3[k] = dy[t->H + k] * e[at_s3(t) + k];
    relu_backward(dh2, d2, h2, e + at_s2(t), d3, v + at_w3(t), t->W, t->H);
    relu_backward(dh1, d1, h1, e + at_s1(t), d2, v + at_w2(t), t->W, t->W);
    for (size_t i = 0; i < t->H; i++)
        dy[i] += dot(v + at_w1(t) + i * t->W, d1, t->W);
    for (size_t k = 0; k < t->C; k++)
        dx[k] = dy[t->C - 1 - k] * e[at_s(t) + k];
}

static void backward_task(void *arg, size_t row, size_t worker) {
    const job *j = arg;
    const aoei_flow *f = j->f;
    const size_t D = f->shape.dims;
    double *dx = f->input + row * D, *delta = f->delta + row * row_delta(f);
    const double *dz = f->output + row * D, *kept = f->kept + row * row_kept(f);
    (void)worker;
    for (size_t i = j->n_steps; i-- > 0;) {
        const step t = step_at(&f->shape, i);
        if (i + 1 == j->n_steps)
            memcpy(dx, dz + D - t.C, t.C * sizeof *dx);
        else if (ends_level(&f->shape, i))
            memcpy(dx + t.H, dz + D - t.C, t.H * sizeof *dx);
        step_backward(f, &t, dx, kept + t.kept, delta + t.delta);
    }
}

/* Adds the gradients of the parameters of a linear layer for one row: of W [in, out], of b [out] and of s [out]. x:
 * input; h: output; dh: gradient of the output; d: gradient of x W + b. */
static void add_linear(double *gw, double *gb, double *gs, const double *x, const double *h, const double *dh,
                       const double *d, size_t in, size_t out) {
    for (size_t i = 0; i < in; i++)
        for (size_t k = 0; k < out; k++)
            gw[i * out + k] += x[i] * d[k];
    for (size_t k = 0; k < out; k++) {
        gb[k] += d[k];
        gs[k] += LOG_FACTOR * h[k] * dh[k];
    }
}

/* Adds the gradients of b and s for one row. */
static void add_normalize(const aoei_flow *f, const step *t, const double *y, const double *dy) {
    const double *e = f->scale + t->parameter + at_s(t);
    double *gb = f->grad + t->parameter, *gs = gb + at_s(t);
    for (size_t k = 0; k < t->C; k++) {
        const size_t from = t->C - 1 - k;
        gb[k] += e[k] * dy[from];
        gs[k] += LOG_FACTOR * y[from] * dy[from];
    }
}

/* Adds the gradients of one half of the parameters of a step for all rows: task 2 i of b, s, W1, b1 and s1 of step i,
 * task 2 i + 1 of its other parameters. */
static void gradient_task(void *arg, size_t task, size_t worker) {
    const job *j = arg;
    const aoei_flow *f = j->f;
    const step t = step_at(&f->shape, task / 2);
    double *g = f->grad + t.parameter;
    (void)worker;
    for (size_t row = 0; row < j->rows; row++) {
        const double *y = f->kept + row * row_kept(f) + t.kept, *h1 = y + t.C, *h2 = h1 + t.W, *change = h2 + t.W;
        const double *dy = f->delta + row * row_delta(f) + t.delta, *d3 = dy + t.C, *dh2 = d3 + t.H, *d2 = dh2 + t.W,
                     *dh1 = d2 + t.W, *d1 = dh1 + t.W;
        if (task % 2) {
            add_linear(g + at_w2(&t), g + at_b2(&t), g + at_s2(&t), h1, h2, dh2, d2, t.W, t.W);
            add_linear(g + at_w3(&t), g + at_b3(&t), g + at_s3(&t), h2, change, dy + t.H, d3, t.W, t.H);
        } else {
            add_normalize(f, &t, y, dy);
            add_linear(g + at_w1(&t), g + at_b1(&t), g + at_s1(&t), y, h1, dh1, d1, t.H, t.W);
        }
    }
}

void aoei_flow_backward(const aoei_flow *f, aoei_pool *pool, size_t n) {
    job j = {.f = f, .n_steps = f->shape.levels * f->shape.depth, .rows = n};
    aoei_parallel_for(pool, n, backward_task, &j);
    aoei_parallel_for(pool, 2 * j.n_steps, gradient_task, &j);
}

double aoei_flow_logdet(const aoei_flow *f) {
    double sum = 0;
    for (size_t i = 0; i < f->shape.levels * f->shape.depth; i++) {
        const step t = step_at(&f->shape, i);
        for (size_t k = 0; k < t.C; k++)
            sum += f->value[t.parameter + at_s(&t) + k];
    }
    return LOG_FACTOR * sum;
}

void aoei_flow_logdet_backward(const aoei_flow *f, double gradient) {
    for (size_t i = 0; i < f->shape.levels * f->shape.depth; i++) {
        const step t = step_at(&f->shape, i);
        for (size_t k = 0; k < t.C; k++)
            f->grad[t.parameter + at_s(&t) + k] += LOG_FACTOR * gradient;
    }
}

double aoei_flow_bits(const double *z, size_t dims, double logdet) {
    double squares = 0;
    for (size_t k = 0; k < dims; k++)
        squares += z[k] * z[k];
    return -(logdet - squares / 2 - (double)dims / 2 * LN_2PI) / ((double)dims * LN2);
}

/* ---------------------------------------------------------- initial values */

/* Sets b [cols] and s [cols] so that (x + b) exp(3 s) has mean 0 and variance 1 for each column of x [n, cols], with
 * the row stride `stride`. Sets scale [cols] to exp(3 s). */
static void init_scaling(double *b, double *s, double *scale, const double *x, size_t n, size_t cols, size_t stride) {
    for (size_t k = 0; k < cols; k++) {
        double sum = 0, squares = 0;
        for (size_t row = 0; row < n; row++)
            sum += x[row * stride + k];
        b[k] = -(sum / (double)n);
        for (size_t row = 0; row < n; row++)
            squares += (x[row * stride + k] + b[k]) * (x[row * stride + k] + b[k]);
        s[k] = log(1 / (sqrt(squares / (double)n) + INIT_EPS)) / LOG_FACTOR;
        scale[k] = exp(LOG_FACTOR * s[k]);
    }
}

/* Sets w[n] to random values. substream: index of the matrix. */
static void init_weight(double *w, size_t n, uint64_t seed, size_t substream) {
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_FLOW, (uint32_t)substream);
    for (size_t k = 0; k < n; k++)
        w[k] = INIT_SD * aoei_rng_normal(&r);
}

/* Initializes a linear layer and its scaling, and computes its output y [n, out] with relu. x: [n, in] input, with the
 * row stride `stride`. w, b, s: parameters; scale: element of f->scale for s. */
static void init_linear(double *w, double *b, double *s, double *scale, double *y, const double *x, size_t n, size_t in,
                        size_t out, size_t stride, uint64_t seed, size_t substream) {
    init_weight(w, in * out, seed, substream);
    for (size_t row = 0; row < n; row++)
        multiply(y + row * out, x + row * stride, w, in, out);
    init_scaling(b, s, scale, y, n, out, out);
    for (size_t row = 0; row < n; row++)
        activate(y + row * out, b, scale, out, 1);
}

void aoei_flow_init(aoei_flow *f, double *x, size_t n, double *workspace, uint64_t seed) {
    const size_t D = f->shape.dims;
    memset(f->value, 0, f->parameters * sizeof *f->value);
    for (size_t i = 0; i < f->shape.levels * f->shape.depth; i++) {
        const step t = step_at(&f->shape, i);
        double *v = f->value + t.parameter, *e = f->scale + t.parameter, *h1 = workspace, *h2 = h1 + n * t.W,
               *y = f->kept;
        init_scaling(v, v + at_s(&t), e + at_s(&t), x, n, t.C, D);
        for (size_t row = 0; row < n; row++) {
            normalize(f, &t, y, x + row * D);
            memcpy(x + row * D, y, t.C * sizeof *y); /* W3, b3 and s3 are 0, so q does not change */
        }
        init_linear(v + at_w1(&t), v + at_b1(&t), v + at_s1(&t), e + at_s1(&t), h1, x, n, t.H, t.W, D, seed, 2 * i);
        init_linear(v + at_w2(&t), v + at_b2(&t), v + at_s2(&t), e + at_s2(&t), h2, h1, n, t.W, t.W, t.W, seed,
                    2 * i + 1);
    }
    aoei_flow_update(f);
}
