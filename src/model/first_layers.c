/* SPDX-License-Identifier: MIT
 * Models that consist of the first layers of another model.
 */
#include "model/first_layers.h"

#include "base/error.h"
#include "encoder/arch.h"
#include "encoder/encoder_ops.h"

int aoei_first_layers_check(const aoei_encoder_config *c, size_t layers, const char *dir, aoe_error *err) {
    if (layers == c->layers)
        return AOE_OK;
    if (!c->arch->encoder->taps || c->layer_groups || c->modules.layer_weights || c->modules.classes || c->mlm_head)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.layers requires an embedding model that is a transformer, whose layers have weights of "
            "their own, and without the module WeightedLayerPooling; this model can only be used with all layers",
            dir);
    if (c->pre_norm)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.layers is %zu, but this model can only be used with all %zu layers: a norm follows the "
            "last layer, but no norm follows the other layers, so a model with fewer layers and this norm would "
            "compute other vectors than those of its last layer; options.layers requires a model with norms "
            "after the residual sums, such as BERT",
            dir, layers, c->layers);
    if (layers > c->layers)
        return aoei_fail(err, AOE_EARG, "options.layers is %zu, but the model %s has only %zu layers", layers, dir,
                         c->layers);
    return AOE_OK;
}

int aoei_first_layers_select(aoei_encoder_config *c, size_t layers, const char *dir, aoe_error *err) {
    const int code = layers ? aoei_first_layers_check(c, layers, dir, err) : AOE_OK;
    if (!code && layers)
        c->layers = layers;
    return code;
}

int aoei_first_dims_check(const aoei_settings *s, const aoei_encoder_config *c, size_t dims, const char *dir,
                          aoe_error *err) {
    const size_t all = aoei_settings_dims(s, aoei_vector_dims(c));
    if (dims && c->modules.classes)
        return aoei_fail(err, AOE_EARG, "%s: options.dims: a cross-encoder has no embeddings", dir);
    if (dims > all)
        return aoei_fail(err, AOE_EARG, "options.dims is %zu, but the embeddings of %s have only %zu components", dims,
                         dir, all);
    return AOE_OK;
}
