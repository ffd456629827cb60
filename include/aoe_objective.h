/* SPDX-License-Identifier: MIT
 *
 * aoe_objective.h: loss functions of pairs of embeddings, and their gradients. docs/objectives.md contains the
 * formulas.
 */
#ifndef AOE_OBJECTIVE_H
#define AOE_OBJECTIVE_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Formula of the angle score of two vectors x and y, read as complex vectors z and w: the first half of the components
 * are the real parts, the second half the imaginary parts. docs/objectives.md contains both formulas and their
 * gradients. */
typedef enum aoe_angle_form {
    AOE_ANGLE_REFERENCE, /* | sum_k Re + Im of z_k conj(w_k) | / (|x||y|), as in the reference implementation */
    AOE_ANGLE_PHASE      /* -(sum_k m_k |arg(z_k conj(w_k))|) / (sum_k m_k) in radians, where m_k = |z_k||w_k| */
} aoe_angle_form;

/* Directions of in-batch negatives. A direction compares the query or the positive text of each example with candidates
 * of the batch. Documents are the positive and the negative texts. Values can be combined with |. */
typedef enum aoe_direction {
    AOE_QUERY_TO_DOCUMENT = 1,    /* query with all documents */
    AOE_QUERY_TO_QUERY = 2,       /* query with the queries of the other examples */
    AOE_DOCUMENT_TO_QUERY = 4,    /* positive text with all queries */
    AOE_DOCUMENT_TO_DOCUMENT = 8, /* positive text with the documents of the other examples */
    AOE_ALL_DIRECTIONS = 15
} aoe_direction;

/* Features of a pair of vectors (u, v), which the classifier of SBERT_CLASSIFICATION and CONSERT_SUP receives. Each
 * feature has as many components as u. */
typedef enum aoe_pair_feature {
    AOE_FEATURE_U = 1,           /* u */
    AOE_FEATURE_V = 2,           /* v */
    AOE_FEATURE_ABSDIFF = 4,     /* |u - v| */
    AOE_FEATURE_PRODUCT = 8,     /* u v, component by component */
    AOE_FEATURE_MAX_SQUARED = 16 /* max(u, v)^2, component by component */
} aoe_pair_feature;

/* Term of DISTILL that compares the embedding of a text, or the output of a linear map, with the teacher embedding. */
typedef enum aoe_vector_loss {
    AOE_VECTOR_LOSS_COSINE, /* 1 - cosine */
    AOE_VECTOR_LOSS_SQUARES /* mean squared difference of the components */
} aoe_vector_loss;

/* Loss of distillation from a teacher model; docs/objectives.md contains the formulas. */
typedef enum aoe_distill {
    AOE_DISTILL_COSINE, /* squared difference of the cosines of student and teacher for each text pair of an example */
    AOE_DISTILL_KL /* KL divergence of the softmax over the components of the teacher's and the student's vectors, which
                      must have equal dimensions */
} aoe_distill;

typedef struct aoe_objective_options {
    size_t struct_size;              /* set by aoe_objective_options_defaults */
    double w_cosine, w_ibn, w_angle; /* weights w1, w2 and w3 of equation 8 of the AnglE paper; default 1; 0 switches a
                                        term off */
    double w_cln;                    /* triplets: weight of C(p, n) in aoe_contrastive; default 1 */
    double tau_cosine, tau_ibn, tau_angle; /* temperatures: scores are divided by them; default 0.05, 0.05, 1.0 */
    double hard_negative; /* triplets: added to the score of a query with its own negatives, as in SimCSE; default 0 */
    int isp;              /* 1 (default): detect identical sentence pairs (ISP) among in-batch negatives; 0: do not */
    aoe_angle_form angle_form; /* default AOE_ANGLE_REFERENCE */
    double ibn_threshold; /* lowest label of a positive pair for in-batch negatives; default 1.0. In aoe_train_options,
                             the default is AOE_AUTO: lowest + 0.8 (highest - lowest), computed from the lowest and the
                             highest label of the training file */
    /* The following fields are used only by some methods of aoe_train (aoe_method); aoe_objective and aoe_contrastive
     * ignore them. */
    unsigned directions; /* SYMMETRIC: set of aoe_direction, with AOE_QUERY_TO_DOCUMENT; default AOE_QUERY_TO_DOCUMENT |
                            AOE_DOCUMENT_TO_QUERY */
    int joint; /* SYMMETRIC: 1: one softmax over the candidates of all directions; 0 (default): one per direction */
    double guide_margin; /* GIST: a candidate is excluded if the guide's cosine of anchor and candidate is above the
                            guide's cosine of query and positive, minus this margin; default 0 */
    int guide_relative;  /* GIST: 1: guide_margin is a fraction of the cosine of query and positive; default 0 */
    unsigned features;   /* methods whose labels are classes: set of aoe_pair_feature; default AOE_FEATURE_U |
                            AOE_FEATURE_V | AOE_FEATURE_ABSDIFF. aoe_train_method_defaults adds AOE_FEATURE_MAX_SQUARED
                            for CONSERT_SUP, and AOE_FEATURE_PRODUCT for INFERSENT and DAN */
    aoe_vector_loss vector_loss; /* DISTILL: term that compares the vectors; default AOE_VECTOR_LOSS_COSINE */
    double w_vectors; /* DISTILL: weight of the term that compares the vectors with those of the teacher; default 1 */
    double w_similarities; /* DISTILL: weight of the term that compares the similarities of the batch; default 1 */
} aoe_objective_options;

typedef struct aoe_objective_result {
    size_t struct_size;        /* set by the caller */
    double total;              /* weighted sum of the terms: equation 8, or the total of aoe_contrastive */
    double cosine, ibn, angle; /* terms before they are multiplied by their weights; 0 if the weight is 0 */
    double contrastive;        /* contrastive term of aoe_contrastive; otherwise 0 */
    double regression;         /* term of AOE_METHOD_SBERT_REGRESSION; otherwise 0 */
    double classification;     /* term of AOE_METHOD_SBERT_CLASSIFICATION or AOE_METHOD_CROSS_ENCODER; otherwise 0 */
    double teacher; /* distillation term before it is multiplied by w_teacher; 0 without a teacher. `total` includes the
                       weighted term */
    double layers;  /* training with aoe_layer_options: sum of the terms that compare the vectors of hidden states with
                       their targets (adaptive: without weights; ESE: with weights); otherwise 0 */
    double detection; /* loss of the discriminator of AOE_METHOD_DIFFCSE before it is multiplied by w_detection;
                         otherwise 0. `total` includes the weighted term */
    double vectors, similarities; /* terms of AOE_METHOD_DISTILL before they are multiplied by their weights; otherwise
                                     0 */
    size_t ordered_pairs;  /* number of (i, j) with label_i < label_j: the comparisons of the cosine and angle terms */
    size_t positive_pairs; /* number of pairs with label >= ibn_threshold; aoe_contrastive: B */
    size_t negatives; /* AOE_METHOD_GIST: number of negatives in all queries, which are the candidates of their softmax
                         other than the positive; otherwise 0 */
    size_t left_out;  /* AOE_METHOD_GIST: number of these negatives that the guide excludes; otherwise 0 */
} aoe_objective_result;

AOE_OPTIONS(aoe_objective_options);
/* Computes the value and the gradient of equations 1 to 8 of the AnglE paper for B labeled pairs. x, y: [B, D] vectors
 * of the first and second texts; row i starts at i * stride. label: [B]. group: [2B] one number per text, in the order
 * x0 y0 x1 y1 ...; texts with equal numbers are identical. If group is NULL, all texts differ. grad_x, grad_y: [B, D],
 * also with `stride`; overwritten with the gradients of `total` with respect to x and y. All arithmetic is in double.
 * Errors: AOE_EARG (odd D with w_angle > 0; a temperature <= 0), AOE_ENUMERIC. */
AOE_API int aoe_objective(const aoe_objective_options *AOE_NULLABLE o, const float *x, const float *y, size_t stride,
                          const double *label, const uint32_t *AOE_NULLABLE group, size_t B, size_t D,
                          float *AOE_NULLABLE grad_x, float *AOE_NULLABLE grad_y,
                          aoe_objective_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Computes the value and the gradient of the contrastive loss for B examples. arity: texts per example, 2 (query,
 * positive) or more (query, positive, negatives). v: [arity B, D] vectors; the order is q0 p0 q1 p1 ... for arity 2,
 * and q0 p0 n0 q1 p1 n1 ... for arity 3. grad: [arity B, D], overwritten with the gradient of `total` with respect to
 * v. C(p) is the mean cross entropy over the queries: the candidates of q_i are all positives, the correct one is p_i,
 * and the scores are cosine / tau_ibn. C(p, n) has all positives and all negatives of all examples as candidates, and
 * hard_negative is added to the scores of q_i and its own negatives. The fields of *result depend on arity:
 * - arity 2: contrastive = C(p), total = w_ibn contrastive. The other weights are ignored.
 * - arity 3 and more: contrastive = (w_ibn C(p) + w_cln C(p, n)) / 2, total = contrastive + w_cosine cosine + w_angle
 *   angle. cosine and angle are the terms of aoe_objective over all pairs (q_i, p_i) with label 1, and all pairs of q_i
 *   and one of its negatives with label 0.
 * The options isp and ibn_threshold are ignored. All arithmetic is in double. Errors: see aoe_objective; AOE_EARG
 * (arity is below 2). */
AOE_API int aoe_contrastive(const aoe_objective_options *AOE_NULLABLE o, const float *v, size_t arity, size_t B,
                            size_t D, float *AOE_NULLABLE grad, aoe_objective_result *AOE_NULLABLE result,
                            aoe_error *AOE_NULLABLE err);
/* Returns the angle score of one pair before it is divided by the temperature. x, y: [D]. Returns NaN if D is odd. */
AOE_API double aoe_angle_score(const float *x, const float *y, size_t D, aoe_angle_form form);

#ifdef __cplusplus
}
#endif

#endif
