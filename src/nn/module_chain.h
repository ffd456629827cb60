/* SPDX-License-Identifier: MIT
 * A chain of modules that are applied to pooled vectors, one after the other. The modules have the kinds and the
 * definitions of sentence-transformers, except Flow, which only aoe has. They compute in float32, except Flow, which
 * computes in double. In comments, N is the number of vectors, which is the number of rows.
 */
#pragma once

#include "base/context.h"
#include "nn/dense.h"
#include "nn/flow.h"
#include "nn/tensor.h"

enum {
    AOEI_MAX_MODULES = 6,    /* maximum number of modules of a chain */
    AOEI_MAX_PROJECTION = 4, /* maximum number of modules of a projection */
    AOEI_MODULE_WEIGHTS = 3  /* maximum number of weights of a module */
};

/* Indices of the weights of a module. Dense: weight [out, in], bias [1, out] and weight of the residual [out, in].
 * LayerNorm and BatchNorm: weight and bias [1, out]. Flow: weight [1, aoei_flow_parameters]. Other modules have no
 * weights. */
enum { AOEI_MODULE_WEIGHT, AOEI_MODULE_BIAS, AOEI_MODULE_RESIDUAL };

typedef enum aoei_module_kind {
    AOEI_MODULE_DENSE,     /* y = f(x w^T + b), plus the residual if there is one */
    AOEI_MODULE_LAYERNORM, /* layer normalization */
    AOEI_MODULE_DROPOUT,   /* dropout in training; otherwise y = x */
    AOEI_MODULE_NORMALIZE, /* y = x / max(|x|, 1e-12), where |x| is the L2 norm */
    AOEI_MODULE_FLOW,      /* y = flow(x), a normalizing flow (nn/flow.h) */
    AOEI_MODULE_BATCHNORM  /* y = f(z), where z is x after batch normalization over the rows; only in training */
} aoei_module_kind;

typedef enum aoei_module_residual {
    AOEI_RESIDUAL_NONE,
    AOEI_RESIDUAL_INPUT, /* y = f(x w^T + b) + x; in and out are equal */
    AOEI_RESIDUAL_WEIGHT /* y = f(x w^T + b) + x r^T, where r is the weight of the residual */
} aoei_module_residual;

typedef struct aoei_module {
    aoei_module_kind kind;
    aoei_dense_activation activation; /* Dense, BatchNorm: f; that of BatchNorm does not need its input */
    aoei_module_residual residual;    /* Dense: residual connection */
    int no_bias;     /* Dense, LayerNorm: 1: there is no bias. BatchNorm: 1: there is no weight and no bias */
    size_t in, out;  /* number of components of the input and of the output */
    double norm_eps; /* LayerNorm: epsilon; 0: 1e-5, the value of sentence-transformers */
    double dropout;  /* Dropout: probability of dropping a component */
    size_t levels, depth, width; /* Flow: see aoei_flow_shape */
} aoei_module;

/* The tensors of a chain. All of them are allocated in the arena of the caller. */
typedef struct aoei_module_chain {
    const aoei_module *module;               /* [n] modules in the order in which they are applied; borrowed */
    size_t n;                                /* number of modules, at most AOEI_MAX_MODULES */
    aoei_tensor value[AOEI_MAX_MODULES + 1]; /* [N, in] value[0]: input of the chain; value[i + 1]: output of module
                                                i */
    aoei_tensor grad[AOEI_MAX_MODULES + 1];  /* gradients of `value`; grad[0] is stored in the memory of value[0] */
    /* values that a module needs in addition: input of the activation function of a Dense module, statistics of a
     * LayerNorm module, workspace of a Flow module; absent if the module needs none */
    aoei_tensor kept[AOEI_MAX_MODULES];
} aoei_module_chain;

/* Dropout of the modules in one optimizer step. */
typedef struct aoei_module_dropout {
    uint32_t key[2]; /* Philox key of the step (base/random.h) */
} aoei_module_dropout;

/* Allocates the tensors of a chain for at most n_rows vectors with `cols` components. If `training` is 0, the gradients
 * and the values that only the backward pass needs are absent. `module` must remain valid as long as the chain is
 * used. */
void aoei_module_chain_layout(aoei_module_chain *c, const aoei_module *module, size_t n, size_t n_rows, size_t cols,
                              int training, aoei_arena *arena);
/* Returns the shape of the flow of a Flow module. */
aoei_flow_shape aoei_module_flow_shape(const aoei_module *m);
/* Returns the number of components of the output of the chain. */
size_t aoei_module_chain_dims(const aoei_module *module, size_t n, size_t cols);
/* Computes the output of the chain, c->value[c->n], for the first n_rows rows of c->value[0]. w: [AOEI_MODULE_WEIGHTS
 * n] weights. drop: NULL if there is no dropout. The dropout mask of a row depends on the index of the row. */
void aoei_module_chain_forward(const aoe_context *ctx, const aoei_module_chain *c, size_t n_rows, const aoei_tensor *w,
                               const aoei_module_dropout *drop);
/* Computes c->grad[0] from c->grad[c->n], which the caller has written, and adds the weight gradients to g. If a tensor
 * of g is absent, its gradient is not computed. The function overwrites the other gradients and c->value[0]. */
void aoei_module_chain_backward(const aoe_context *ctx, const aoei_module_chain *c, size_t n_rows, const aoei_tensor *w,
                                const aoei_tensor *g, const aoei_module_dropout *drop);
