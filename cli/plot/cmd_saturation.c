/* SPDX-License-Identifier: MIT
 * Implements `aoe plot saturation`: plots the cosine, both forms of the angle score, and their derivatives as functions
 * of the angle between two vectors, as in figures 1 and 2b of the AnglE paper. A point of a curve is the mean over
 * random pairs of vectors with the same angle. The library computes all scores and gradients, so the plot shows the
 * functions that training uses.
 */
#include "aoe_objective.h"
#include "aoe_train.h"
#include "cli/common/dispatch.h"
#include "cli/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 180 /* number of angles: one per degree, at 0.5, 1.5 and so on */,
    SCORES = 3,
    COSINE = 0,
    REFERENCE = 1,
    PHASE = 2
};

static const double pi = 3.14159265358979323846;

typedef struct options {
    cli_plot_options plot;
    size_t dims;  /* number of components of the vectors */
    size_t pairs; /* number of random pairs per angle */
} options;

/* Two pairs of vectors, and the gradients of the objective. x, y: [2, dims] first and second vectors of the pairs; gx,
 * gy: [2, dims] their gradients. */
typedef struct pairs {
    float *x, *y, *gx, *gy;
} pairs;

typedef struct curves {
    double score[SCORES][STEPS];    /* for each angle, the mean score over all pairs */
    double gradient[SCORES][STEPS]; /* for each angle, the mean of -d score / d angle (per radian) over all pairs */
} curves;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option vector_table[] = {
    {.name = "dims",
     .kind = AOEI_OPTION_SIZE,
     AT(dims),
     .min = 2,
     .max = 65536,
     .help = "number of components of the vectors, an even number; with N = 2, each vector is one "
             "complex number, as in the figures of the AnglE paper"},
    {.name = "pairs",
     .kind = AOEI_OPTION_SIZE,
     AT(pairs),
     .min = 1,
     .max = 1e6,
     .help = "number of random pairs of vectors per angle"},
};

/* Returns a uniform random number in (0, 1). The generator is splitmix64 (Steele, Lea, Flood 2014). */
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Writes a random unit vector to v[n]. */
static void random_unit(double *v, size_t n, uint64_t *state) {
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = sqrt(-2 * log(uniform(state))) * cos(2 * pi * uniform(state));
        norm += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++)
        v[i] /= sqrt(norm);
}

/* Subtracts from t[n] its projection on the unit vector u[n], and normalizes t. Afterwards, t is a unit vector
 * orthogonal to u. */
static void make_tangent(double *t, const double *u, size_t n) {
    double along = 0, norm = 0;
    for (size_t i = 0; i < n; i++)
        along += t[i] * u[i];
    for (size_t i = 0; i < n; i++) {
        t[i] -= along * u[i];
        norm += t[i] * t[i];
    }
    for (size_t i = 0; i < n; i++)
        t[i] /= sqrt(norm);
}

/* Sets *gradient to -d score / d angle of the second pair, computed from the gradient of the objective. The labels of
 * the two pairs are 0 and 1. If s_0 and s_1 are the scores of the pairs, the loss is L = log(1 + exp(s_0 - s_1)), so
 * dL/ds_1 = exp(-L)
 * - 1. direction: [dims] derivative dy / d angle; score: COSINE, REFERENCE or PHASE. */
static int gradient_of(const pairs *p, const double *direction, size_t dims, int score, double *gradient,
                       aoe_error *err) {
    static const double label[] = {0, 1};
    aoe_objective_options o;
    aoe_objective_result r = {.struct_size = sizeof r};
    aoe_objective_options_defaults(&o);
    o.w_cosine = score == COSINE;
    o.w_angle = score != COSINE;
    o.w_ibn = 0;
    o.tau_cosine = o.tau_angle = 1;
    o.angle_form = score == PHASE ? AOE_ANGLE_PHASE : AOE_ANGLE_REFERENCE;
    const int code = aoe_objective(&o, p->x, p->y, dims, label, NULL, 2, dims, p->gx, p->gy, &r, err);
    double sum = 0;
    for (size_t i = 0; !code && i < dims; i++)
        sum += (double)p->gy[dims + i] * direction[i];
    *gradient = -sum / (exp(-r.total) - 1);
    return code;
}

/* Adds the scores and gradients of one random pair at all angles to *c. u, t: [dims] orthogonal unit vectors; the
 * vectors of the pair are u and cos(angle) u + sin(angle) t. direction: [dims] workspace. */
static int add_pair(curves *c, const pairs *p, const double *u, const double *t, double *direction, size_t dims,
                    aoe_error *err) {
    const float *x = p->x + dims, *y = p->y + dims;
    for (size_t i = 0; i < dims; i++)
        p->x[i] = p->y[i] = p->x[dims + i] = (float)u[i];
    for (int k = 0; k < STEPS; k++) {
        const double angle = pi * (k + 0.5) / STEPS;
        for (size_t i = 0; i < dims; i++) {
            p->y[dims + i] = (float)(cos(angle) * u[i] + sin(angle) * t[i]);
            direction[i] = cos(angle) * t[i] - sin(angle) * u[i];
        }
        c->score[COSINE][k] += aoe_cosine(x, y, dims);
        c->score[REFERENCE][k] += aoe_angle_score(x, y, dims, AOE_ANGLE_REFERENCE);
        c->score[PHASE][k] += aoe_angle_score(x, y, dims, AOE_ANGLE_PHASE);
        for (int s = 0; s < SCORES; s++) {
            double gradient = 0;
            const int code = gradient_of(p, direction, dims, s, &gradient, err);
            if (code)
                return code;
            c->gradient[s][k] += gradient;
        }
    }
    return 0;
}

/* Computes the mean scores and gradients of o->pairs random pairs. */
static int compute(curves *c, const options *o, aoe_error *err) {
    const size_t dims = o->dims;
    float *vectors = cli_realloc(NULL, 8 * dims * sizeof *vectors);
    double *scratch = cli_realloc(NULL, 3 * dims * sizeof *scratch);
    const pairs p = {vectors, vectors + 2 * dims, vectors + 4 * dims, vectors + 6 * dims};
    double *u = scratch, *t = scratch + dims;
    uint64_t state = o->plot.general.seed;
    int code = 0;
    memset(c, 0, sizeof *c);
    for (size_t i = 0; !code && i < o->pairs; i++) {
        random_unit(u, dims, &state);
        random_unit(t, dims, &state);
        make_tangent(t, u, dims);
        code = add_pair(c, &p, u, t, scratch + 2 * dims, dims, err);
    }
    for (int s = 0; s < SCORES; s++)
        for (int k = 0; k < STEPS; k++) {
            c->score[s][k] /= (double)o->pairs;
            c->gradient[s][k] /= (double)o->pairs;
        }
    free(vectors);
    free(scratch);
    return code;
}

static void write_data(cli_picture *p, const curves *c) {
    cli_picture_block(
        p,
        "degrees; scores: cosine, angle (reference), angle (phase); -d score / d angle per radian, in the same order");
    for (int k = 0; k < STEPS; k++)
        fprintf(p->dat, "%.1f %.6f %.6f %.6f %.6f %.6f %.6f\n", k + 0.5, c->score[COSINE][k], c->score[REFERENCE][k],
                c->score[PHASE][k], c->gradient[COSINE][k], c->gradient[REFERENCE][k], c->gradient[PHASE][k]);
}

static int draw(const cli_args *args, const void *user) {
    const options *o = user;
    cli_picture p = {0};
    curves c;
    aoe_error err;
    (void)args;
    if (o->dims % 2)
        return cli_usage("plot saturation",
                         "--dims must be even, not %zu: the halves of a vector are its real and imaginary parts",
                         o->dims);
    int failed = cli_picture_open(&p, o->plot.output, o->plot.title, "saturation",
                                  "cosine, angle score and their gradients over the angle between vectors");
    if (!failed && compute(&c, o, &err))
        failed = cli_fail("%s", err.message);
    if (!failed) {
        write_data(&p, &c);
        failed = cli_picture_draw(&p, 0);
    }
    if (!failed)
        cli_picture_report(&p, o->plot.general.json, NULL);
    cli_picture_close(&p);
    return failed;
}

static int run_command(int argc, char **argv) {
    options o = {.dims = 256, .pairs = 64};
    cli_plot_defaults(&o.plot);
    const cli_group groups[] = {
        CLI_GROUP("plot", cli_plot_table, &o.plot),
        CLI_GROUP("vectors", vector_table, &o),
        CLI_GROUP("general", cli_general_table, &o.plot.general),
    };
    const cli_syntax syntax = {
        .command = "plot saturation",
        .operands = "-o NAME",
        .about = "Plots the cosine and both forms of the angle score (see --angle-form in aoe train --help) as\n"
                 "functions of the angle between two vectors. A second panel shows the negative derivatives of these\n"
                 "curves. If a derivative is near 0, pairs at this angle hardly train the model (saturation). Each\n"
                 "value is the mean over random pairs of vectors, computed with the functions used in training.\n",
        .examples = "  aoe plot saturation -o saturation\n"
                    "  aoe plot saturation --dims 2 -o complex-plane\n",
        CLI_GROUPS(groups),
    };
    return cli_plot_run(&syntax, &o.plot, argc, argv, draw);
}

const cli_command cli_plot_saturation_command = {
    .name = "saturation",
    .summary = "cosine and AnglE score over the angle between two vectors, with derivatives",
    .run = run_command,
};
