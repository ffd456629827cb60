/* SPDX-License-Identifier: MIT
 * Finds the tensors of LoRA adapters by name. The tensor names in adapter_model.safetensors depend on the class of the library
 * transformers, such as AutoModel or AutoModelForCausalLM, with which the base model was loaded during training. Each tensor is
 * therefore searched for with every prefix that checkpoints of the architecture may have.
 */
#include "modeldir/adapter_tensors.h"

#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/error.h"
#include "modeldir/layout.h"
#include "modeldir/peft.h"

const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c) {
    return c->classes ? c->arch->head->prefix : c->causal ? f->prefix : "";
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

/* Returns an error if the data type of t is not supported. */
static int check_type(const aoei_model_files *f, const aoei_st_tensor *t, aoe_error *err) {
    if (t->dtype == AOEI_ST_F32 || t->dtype == AOEI_ST_F16 || t->dtype == AOEI_ST_BF16)
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the data type of tensor '%s' is %s; adapters must be F32, F16 or BF16",
                     aoei_safetensors_path(f->adapters, t), t->name, aoei_st_dtype_name(t->dtype));
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
    return check_type(f, t, err);
}

/* Returns 1 if the tensor belongs to a module that has no effect: a head that the model does not use, or the pooler that
 * transformers adds to the encoder, unless it is a part of the head. PEFT stores copies of the original weights of a module in
 * modules_to_save; they have no effect either. */
static int has_no_effect(const aoei_encoder_config *c, const char *name) {
    static const char *const parts[] = {"lm_head.", ".original_module.", "cls.predictions.",
                                        /* parts of a classification head */
                                        "pooler.", "classifier.", "score.", ".modules_to_save."};
    const size_t n = c->classes ? 3 : sizeof parts / sizeof *parts;
    const aoei_classification_head *h = c->classes ? NULL : c->arch->head;
    for (size_t i = 0; i < n; i++)
        if (strstr(name, parts[i]))
            return 1;
    for (size_t i = 0; h && i < h->n; i++)
        if (h->module[i].name && strstr(name, h->module[i].name))
            return 1;
    return 0;
}

/* Returns 1 if `name`, a tensor name in adapter_model.safetensors, is the weight slot_name with any prefix. PEFT adds the
 * component base_layer to the names of weights of adapted modules. */
static int names_weight(const aoei_encoder_config *c, const char *name, const char *slot_name) {
    char wanted[256], found[256];
    const char *base = strstr(name, ".base_layer.");
    snprintf(found, sizeof found, "%.*s%s", base ? (int)(base - name) : (int)strlen(name), name,
             base ? base + strlen(".base_layer") : "");
    for (const char *const *p = c->arch->prefixes; *p; p++) {
        aoei_peft_name(wanted, sizeof wanted, *p, slot_name);
        if (!strcmp(found, wanted))
            return 1;
    }
    return 0;
}

const aoei_st_tensor *aoei_adapters_saved(const aoei_model_files *f, const aoei_encoder_config *c, const char *slot_name) {
    for (size_t i = 0; f->adapters && i < aoei_safetensors_count(f->adapters); i++)
        if (names_weight(c, aoei_safetensors_at(f->adapters, i)->name, slot_name))
            return aoei_safetensors_at(f->adapters, i);
    return NULL;
}

/* Returns 1 if the tensors of adapters may replace the weight: it is a weight of the encoder or of the classification head. */
static int is_replaceable(const aoei_slot *slot) {
    return !slot->absent && !slot->adapter && !slot->pooled && (!slot->head || slot->classifier);
}

int aoei_adapters_replace_encoder(const aoei_model_files *f, const aoei_encoder_config *c) {
    for (size_t i = 0; i < aoei_slot_count(c) && c->lora.replaces; i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (is_replaceable(&slot) && !slot.classifier && aoei_adapters_saved(f, c, slot.name))
            return 1;
    }
    return 0;
}

/* If t replaces a weight of the base model (modules_to_save, bias), sets the element of f->tensors for this weight to t. Sets
 * *found to 1 if it does, and to 0 otherwise. A new classification head replaces the last layer of a saved head. */
static int replace_weight(aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t, int *found,
                          aoe_error *err) {
    *found = 0;
    for (size_t i = 0; i < aoei_slot_count(c) && c->lora.replaces; i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!is_replaceable(&slot) || !names_weight(c, t->name, slot.name))
            continue;
        *found = 1;
        if (f->new_head && slot.classifier == 2)
            return 0;
        if (slot.stored_rows)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: tensor '%s' replaces a weight that several layers share, which is not supported; merge the "
                             "adapters with PEFT",
                             aoei_safetensors_path(f->adapters, t), t->name);
        const aoei_slot shape = slot;
        const size_t dims = shape.vector ? 1 : 2, *size = t->shape;
        if (t->n_dims != dims || size[dims - 1] != shape.cols || (dims == 2 && size[0] != shape.rows))
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: tensor '%s' does not have the shape of the weight of the base model %s; use the base model for "
                "which the adapters were trained",
                aoei_safetensors_path(f->adapters, t), t->name, f->base_dir);
        const int rc = check_type(f, t, err);
        f->tensors[i] = t;
        return rc;
    }
    return 0;
}

/* Returns 1 if t is the vector of magnitudes (DoRA) of an adapter. */
static int is_magnitude(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t) {
    for (size_t i = 0; i < aoei_slot_count(c) && c->lora.magnitudes; i++)
        if (aoei_adapter_slot(c, i) && aoei_adapter_magnitudes(f, c, i) == t)
            return 1;
    return 0;
}

/* Checks the tensors of adapter_model.safetensors that are not weights of adapters. They may replace weights of the base model,
 * or have no effect on embeddings. Returns an error for other tensors, because PEFT would use them and compute different
 * results. */
static int check_others(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const size_t slots = aoei_slot_count(c);
    for (size_t i = 0; i < aoei_safetensors_count(f->adapters); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f->adapters, i);
        size_t slot = 0;
        int found = 0;
        while (slot < slots && f->tensors[slot] != t)
            slot++;
        if (slot < slots)
            continue;
        if (has_no_effect(c, t->name)) {
            f->ignored_adapters += strstr(t->name, ".lora_A.") != NULL && !strstr(t->name, "lm_head.");
            continue;
        }
        const int rc = replace_weight(f, c, t, &found, err);
        if (rc)
            return rc;
        if (!found && !is_magnitude(f, c, t))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: tensor '%s' does not belong to an adapter of the target_modules in " AOEI_PEFT_CONFIG
                             "; only linear layers of the transformer layers can have adapters",
                             aoei_safetensors_path(f->adapters, t), t->name);
    }
    return 0;
}

const aoei_st_tensor *aoei_adapter_magnitudes(const aoei_model_files *f, const aoei_encoder_config *c, size_t slot) {
    static const char *const ends[] = {"lora_magnitude_vector", "lora_magnitude_vector.weight",
                                       "lora_magnitude_vector.default.weight"};
    const aoei_st_tensor *t = NULL;
    aoei_slot d;
    char name[256];
    aoei_slot_describe(c, slot, &d);
    const int stem = (int)(strlen(d.name) - strlen("weight"));
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !t; i++) {
        snprintf(name, sizeof name, "%.*s%s", stem, d.name, ends[i]);
        t = find(f, c, name);
    }
    return t;
}

/* Checks the vectors of magnitudes of all adapters. */
static int check_magnitudes(const aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    for (size_t i = 0; i < aoei_slot_count(c) && c->lora.magnitudes; i++) {
        aoei_slot d;
        if (!aoei_adapter_slot(c, i))
            continue;
        aoei_slot_describe(c, i, &d);
        const aoei_st_tensor *t = aoei_adapter_magnitudes(f, c, i);
        if (!t || aoei_st_elements(t) != d.rows)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s/" AOEI_PEFT_WEIGHTS
                             ": the tensor 'lora_magnitude_vector' of '%s' is missing or does not have %zu "
                             "elements; " AOEI_PEFT_CONFIG " requires it (use_dora); download the adapters again",
                             f->dir, d.name, d.rows);
        const int rc = check_type(f, t, err);
        if (rc)
            return rc;
    }
    return 0;
}

int aoei_adapter_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
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
    }
    const int rc = check_magnitudes(f, c, err);
    return rc ? rc : check_others(f, c, err);
}
