/* SPDX-License-Identifier: MIT
 * Finds the tensors of LoRA adapters by name. The tensor names in adapter_model.safetensors depend on the class of the library
 * transformers, such as AutoModel or AutoModelForCausalLM, with which the base model was loaded during training. Each tensor is
 * therefore searched for with every prefix that checkpoints of the architecture may have.
 */
#include "modeldir/adapter_tensors.h"

#include <string.h>

#include "encoder/arch.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/error.h"
#include "modeldir/layout.h"
#include "modeldir/peft.h"

const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c) {
    return c->causal ? f->prefix : "";
}

/* Returns the tensor of an adapter weight in f->adapters, or NULL if there is no such tensor. slot_name: name of the weight
 * (aoei_slot.name). In the file, this name may follow any of the prefixes in c->arch->prefixes. */
static const aoei_st_tensor *find(const aoei_model_files *f, const aoei_encoder_config *c, const char *slot_name) {
    const aoei_st_tensor *t = NULL;
    char name[256];
    for (const char *const *p = c->arch->prefixes; *p && !t; p++) {
        aoei_peft_name(name, sizeof name, *p, slot_name);
        t = aoei_safetensors_find(f->adapters, name);
    }
    return t;
}

/* Returns an error if t, the tensor of an adapter, is NULL or has a wrong shape or data type. */
static int check_tensor(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_slot *slot, const aoei_st_tensor *t,
                        aoe_error *err) {
    char name[256];
    if (!t) {
        aoei_peft_name(name, sizeof name, aoei_adapters_prefix(f, c), slot->name);
        return aoei_fail(err, AOE_EFORMAT,
                         "%s/" AOEI_PEFT_WEIGHTS ": tensor '%s' is missing; " AOEI_PEFT_CONFIG
                         " requires it for the base model %s; use the base model for which the adapters were trained",
                         f->dir, name, f->base_dir);
    }
    const char *path = aoei_safetensors_path(f->adapters, t);
    if (t->n_dims != 2 || t->shape[0] != slot->rows || t->shape[1] != slot->cols)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s' does not have the shape [%zu, %zu]; " AOEI_PEFT_CONFIG
                         " requires this shape for the base model %s; use the base model for which the adapters were trained",
                         path, t->name, slot->rows, slot->cols, f->base_dir);
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the data type of tensor '%s' is %s; adapters must be F32, F16 or BF16",
                         path, t->name, aoei_st_dtype_name(t->dtype));
    return 0;
}

/* Returns an error if adapter_model.safetensors contains a tensor that is not in f->tensors, because PEFT would use this tensor
 * and compute different results. n: number of tensors of this file that are in f->tensors. Tensors of a language-model head are
 * ignored. */
static int check_others(const aoei_model_files *f, const aoei_encoder_config *c, size_t n, aoe_error *err) {
    const size_t slots = aoei_slot_count(c);
    for (size_t i = 0; i < aoei_safetensors_count(f->adapters) && n < aoei_safetensors_count(f->adapters); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f->adapters, i);
        size_t slot = 0;
        while (slot < slots && f->tensors[slot] != t)
            slot++;
        if (slot == slots && !strstr(t->name, "lm_head."))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: tensor '%s' does not belong to an adapter of the target_modules in " AOEI_PEFT_CONFIG
                             "; only linear layers of the transformer layers can have adapters",
                             aoei_safetensors_path(f->adapters, t), t->name);
    }
    return 0;
}

int aoei_adapter_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    size_t n = 0;
    if (!f->adapters)
        return 0;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!slot.adapter || slot.absent)
            continue;
        f->tensors[i] = find(f, c, slot.name);
        const int rc = check_tensor(f, c, &slot, f->tensors[i], err);
        if (rc)
            return rc;
        n++;
    }
    return check_others(f, c, n, err);
}
