/* SPDX-License-Identifier: MIT
 * Default values and checks of aoe_objective_options, and the preparation of an objective.
 */
#include "loss/objective.h"

#include <float.h>
#include <math.h>

#include "aoe_objective.h"
#include "base/error.h"
#include "base/options.h"

AOEI_DEFAULTS(aoe_objective_options) {
    *o = (aoe_objective_options){
        .struct_size = sizeof *o,
        .w_cosine = 1.0,
        .w_ibn = 1.0,
        .w_cln = 1.0,
        .w_angle = 1.0,
        .tau_cosine = 0.05,
        .tau_ibn = 0.05,
        .tau_angle = 1.0,
        .isp = 1,
        .angle_form = AOE_ANGLE_REFERENCE,
        .ibn_threshold = 1.0,
        .directions = AOE_QUERY_TO_DOCUMENT | AOE_DOCUMENT_TO_QUERY,
        .features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF,
        .w_vectors = 1.0,
        .w_similarities = 1.0,
        .vector_loss = AOE_VECTOR_LOSS_COSINE,
    };
}

aoei_vector_examples aoei_example_vectors(const aoei_example_batch *b) {
    aoei_vector_examples e = {.n = b->B,
                              .arity = b->arity,
                              .D = b->D,
                              .stride = b->arity * b->D,
                              .names = b->arity == 1   ? &aoei_text_names
                                       : b->arity == 2 ? &aoei_pair_names
                                                       : &aoei_query_names};
    for (size_t a = 0; a < b->arity && a < 2; a++) {
        const size_t at = a * b->D;
        e.v[a] = b->v ? b->v + at : NULL;
        e.v64[a] = b->v64 ? b->v64 + at : NULL;
        e.grad[a] = b->grad ? b->grad + at : NULL;
        e.grad64[a] = b->grad64 ? b->grad64 + at : NULL;
    }
    return e;
}

int aoei_objective_begin(const aoe_context **ctx, aoe_context *serial, size_t need, size_t bytes, aoe_error *err) {
    if (need == 0 || bytes < need)
        return aoei_fail(err, AOE_EARG, "a workspace of %zu bytes is too small for the batch", bytes);
    if (*ctx)
        return 0;
    *ctx = serial;
    return aoei_context_serial(serial, err);
}

static int check_term(const char *name, double weight, double tau, aoe_error *err) {
    if (!(weight >= 0.0 && weight <= DBL_MAX))
        return aoei_fail(err, AOE_EARG, "options.w_%s is %g; weights must be finite and at least 0", name, weight);
    if (!(tau >= DBL_MIN && tau <= DBL_MAX))
        return aoei_fail(err, AOE_EARG, "options.tau_%s is %g; temperatures must be finite and above 0", name, tau);
    return 0;
}

int aoei_objective_check(const aoe_objective_options *o, size_t D, aoe_error *err) {
    int rc = check_term("cosine", o->w_cosine, o->tau_cosine, err);
    rc = rc ? rc : check_term("ibn", o->w_ibn, o->tau_ibn, err);
    rc = rc ? rc : check_term("cln", o->w_cln, o->tau_ibn, err);
    rc = rc ? rc : check_term("angle", o->w_angle, o->tau_angle, err);
    if (rc)
        return rc;
    if (!isfinite(o->hard_negative))
        return aoei_fail(err, AOE_EARG, "options.hard_negative is %g; it must be finite", o->hard_negative);
    if (o->angle_form != AOE_ANGLE_REFERENCE && o->angle_form != AOE_ANGLE_PHASE)
        return aoei_fail(err, AOE_EARG, "options.angle_form is %d; use AOE_ANGLE_REFERENCE or AOE_ANGLE_PHASE",
                         (int)o->angle_form);
    if (o->w_angle > 0.0 && D % 2 != 0)
        return aoei_fail(
            err, AOE_EARG,
            "the angle loss requires an even number of components, but the vectors have %zu; set options.w_angle to 0",
            D);
    return 0;
}
