/* SPDX-License-Identifier: MIT
 * Finds the tensors of LoRA adapters by name. The tensor names in adapter_model.safetensors depend on the class of the
 * library transformers, such as AutoModel or AutoModelForCausalLM, with which the base model was loaded during
 * training. Each tensor is therefore searched for with every prefix that checkpoints of the architecture may have.
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

#define SAVED ".modules_to_save." /* name component of a second copy of a saved bias */

/* Returns 1 if the model is a cross-encoder with the classification head of its architecture. */
static int has_head(const aoei_encoder_config *c) {
    return c->modules.classes && !c->modules.head_in_modules;
}

const char *aoei_adapters_prefix(const aoei_model_files *f, const aoei_encoder_config *c) {
    return has_head(c) ? c->arch->head->prefix : c->causal ? f->prefix : "";
}

/* Returns the tensor of an adapter weight in f->adapters, or NULL if there is no such tensor. slot_name: name of the
 * weight (aoei_slot.name). In the file, this name may follow any of the prefixes in c->arch->prefixes. */
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
static int check_tensor(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_slot *slot,
                        const aoei_st_tensor *t, aoe_error *err) {
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
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' does not have the shape [%zu, %zu]; " AOEI_PEFT_CONFIG
            " requires this shape for the base model %s; use the base model for which the adapters were trained",
            path, t->name, slot->rows, slot->cols, f->base_dir);
    return check_type(f, t, err);
}

/* Returns 1 if the tensor belongs to a module that has no effect: a head that the model does not use, or the pooler
 * that transformers adds to the encoder. A pooler that is a part of the head has an effect. PEFT stores copies of the
 * original weights of a module in modules_to_save, and second copies of its biases; they have no effect either. */
static int has_no_effect(const aoei_model_files *f, const aoei_encoder_config *c, const char *name) {
    static const char *const parts[] = {"lm_head.", ".original_module.", "cls.predictions.",
                                        /* parts of a classification head */
                                        "pooler.", "classifier.", "score.", SAVED};
    const size_t n = has_head(c) ? 3 : sizeof parts / sizeof *parts;
    const aoei_classification_head *h = has_head(c) ? NULL : c->arch->head;
    const char *saved = has_head(c) ? strstr(name, SAVED) : NULL;
    char copied[256];
    snprintf(copied, sizeof copied, "%.*s%s", saved ? (int)(saved - name) : 0, name,
             saved ? saved + strlen(SAVED) - 1 : "");
    if (saved && aoei_safetensors_find(f->adapters, copied))
        return 1;
    for (size_t i = 0; i < n; i++)
        if (strstr(name, parts[i]))
            return 1;
    for (size_t i = 0; h && i < h->n; i++)
        if (h->module[i].name && strstr(name, h->module[i].name))
            return 1;
    return 0;
}

/* Returns 1 if `name`, a tensor name in adapter_model.safetensors, is the weight slot_name with any prefix. PEFT adds
 * the component base_layer to the names of weights of adapted modules. */
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

const aoei_st_tensor *aoei_adapters_saved(const aoei_model_files *f, const aoei_encoder_config *c,
                                          const char *slot_name) {
    for (size_t i = 0; f->adapters && i < aoei_safetensors_count(f->adapters); i++)
        if (names_weight(c, aoei_safetensors_at(f->adapters, i)->name, slot_name))
            return aoei_safetensors_at(f->adapters, i);
    return NULL;
}

/* Returns 1 if the tensors of adapters may replace the weight: it is a weight of the encoder or of the classification
 * head. */
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

/* Returns 1 if a tensor of this name belongs to a table of token embeddings in the architectures of transformers. */
static int is_token_table(const char *name) {
    static const char *const parts[] = {"word_embeddings", "embed_tokens", "tok_embeddings", "token_adapter",
                                        "shared.weight",   ".wte.",        "lora_embedding_"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return 1;
    return 0;
}

static int fail_token_table(const aoei_model_files *f, const aoei_st_tensor *t, aoe_error *err) {
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: tensor '%s' is a table of token embeddings that does not fit the base model: tokens were added, or token "
        "embeddings were trained with the adapters, which is not supported; resize the base model and merge the "
        "adapters with PEFT (resize_token_embeddings, then merge_and_unload), and open the merged model",
        aoei_safetensors_path(f->adapters, t), t->name);
}

/* If t replaces a weight of the base model (modules_to_save, bias), sets the element of f->tensors for this weight to
 * t. Sets *found to 1 if it does, and to 0 otherwise. A new classification head replaces the last layer of a saved
 * head. */
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
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: tensor '%s' replaces a weight that several layers share, which is not supported; merge the "
                "adapters with PEFT",
                aoei_safetensors_path(f->adapters, t), t->name);
        const aoei_slot shape = slot;
        const size_t dims = shape.vector ? 1 : 2, *size = t->shape;
        const int differs = t->n_dims != dims || size[dims - 1] != shape.cols || (dims == 2 && size[0] != shape.rows);
        if (differs && is_token_table(t->name))
            return fail_token_table(f, t, err);
        if (differs)
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

/* Returns 1 if the linear layer `slot` of the encoder or of a classification head has an adapter. */
static int has_adapter(const aoei_model_files *f, const aoei_encoder_config *c, size_t slot) {
    const aoei_st_tensor *pair[2];
    return aoei_adapter_slot(c, slot) || aoei_head_adapter(pair, f, c, slot).r;
}

/* Returns 1 if t is the vector of magnitudes (DoRA) of an adapter. */
static int is_magnitude(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t) {
    for (size_t i = 0; i < aoei_slot_count(c) && c->lora.magnitudes; i++)
        if (has_adapter(f, c, i) && aoei_adapter_magnitudes(f, c, i) == t)
            return 1;
    return 0;
}

/* Returns 1 if t is a matrix of an adapter of a classification head. */
static int is_of_head(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t) {
    const aoei_st_tensor *pair[2];
    for (size_t i = aoei_pooled_slot(c, 0); c->modules.classes && i < aoei_slot_count(c); i++)
        if (aoei_head_adapter(pair, f, c, i).r && (t == pair[0] || t == pair[1]))
            return 1;
    return 0;
}

/* Checks the tensors of adapter_model.safetensors that are not weights of adapters. They may replace weights of the
 * base model, or have no effect on embeddings. Returns an error for other tensors, because PEFT would use them and
 * compute different results. */
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
        if (has_no_effect(f, c, t->name)) {
            f->ignored_adapters += strstr(t->name, ".lora_A.") != NULL && !strstr(t->name, "lm_head.");
            continue;
        }
        const int rc = replace_weight(f, c, t, &found, err);
        if (rc)
            return rc;
        if (!found && is_token_table(t->name))
            return fail_token_table(f, t, err);
        if (!found && !is_magnitude(f, c, t) && !is_of_head(f, c, t))
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
        if (!has_adapter(f, c, i))
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

aoei_lora_layer aoei_head_adapter(const aoei_st_tensor *pair[2], const aoei_model_files *f,
                                  const aoei_encoder_config *c, size_t slot) {
    static const char *const ends[] = {"lora_A.weight", "lora_B.weight"};
    const aoei_lora_layer none = {0};
    const size_t first = aoei_pooled_slot(c, 0);
    aoei_slot d;
    char name[256];
    if (!f->adapters || slot < first || aoei_slot_describe(c, slot, &d) || !d.classifier || d.absent || d.vector)
        return none;
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%.*s%s", (int)(strlen(d.name) - strlen("weight")), d.name, ends[i]);
        pair[i] = find(f, c, name);
    }
    return pair[0] || pair[1] ? c->lora.head[(slot - first) / AOEI_MODULE_WEIGHTS] : none;
}

/* Checks the matrices of the adapters of a classification head. */
static int check_head_adapters(const aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const aoei_st_tensor *pair[2];
    int rc = 0;
    for (size_t i = aoei_pooled_slot(c, 0); c->modules.classes && i < aoei_slot_count(c) && !rc; i++) {
        const size_t r = aoei_head_adapter(pair, f, c, i).r;
        for (size_t k = 0; r && k < 2 && !rc; k++) {
            aoei_slot d, matrix;
            aoei_slot_describe(c, i, &d);
            matrix = (aoei_slot){.rows = k ? d.rows : r, .cols = k ? r : d.cols};
            snprintf(matrix.name, sizeof matrix.name, "%.*slora_%c.weight", (int)(strlen(d.name) - strlen("weight")),
                     d.name, k ? 'B' : 'A');
            rc = check_tensor(f, c, &matrix, pair[k], err);
        }
    }
    return rc;
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
    int rc = check_head_adapters(f, c, err);
    if (!rc)
        rc = check_magnitudes(f, c, err);
    return rc ? rc : check_others(f, c, err);
}
