/* SPDX-License-Identifier: MIT
 * Reads and writes adapter_config.json. This file lists the targets, which are the linear layers with adapters. As in
 * PEFT, a target is given by the complete name of a module, or by the last components of this name, such as "q_proj".
 */
#include "modeldir/peft.h"

#include <limits.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "modeldir/layout.h"
#include "modeldir/peft_match.h"

#define NAME_PREFIX "base_model.model." /* prefix of all tensor names in PEFT files */

int aoei_peft_check(const aoei_encoder_config *c, aoe_error *err) {
    if (c->arch->supports_adapters)
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "LoRA adapters are not supported for %s models; train all weights instead",
                     c->arch->model_type);
}

/* Parses adapter_config.json in `dir`. */
static int load_config(json_t **root, const char **path, aoei_model_dir dir, aoe_error *err) {
    const int rc = aoei_model_dir_need_json(root, path, dir, AOEI_PEFT_CONFIG, err);
    if (!rc && !json_is_object(*root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; PEFT's adapter_config.json is expected", *path);
    return rc;
}

int aoei_peft_hub_base(aoei_hub_name *name, const json_t *config) {
    const char *base = json_string_value(json_object_get(config, "base_model_name_or_path")),
               *revision = json_string_value(json_object_get(config, "revision"));
    if (!base || !aoei_hub_name_parse(name, base))
        return 0;
    if (revision && !strchr(base, '@') && strlen(revision) <= AOEI_HUB_REVISION_MAX && aoei_hub_safe_path(revision))
        memcpy(name->revision, revision, strlen(revision) + 1);
    return 1;
}

int aoei_peft_base(char **base, aoei_model_dir dir, const char *given, aoe_error *err) {
    json_t *root = NULL;
    char *inside = NULL, found[PATH_MAX], pinned[sizeof(aoei_hub_name) + 1];
    aoei_hub_name hub;
    const char *path = NULL, *name = given;
    int rc = 0;
    *base = NULL;
    if (!given && !(rc = load_config(&root, &path, dir, err)))
        rc = aoei_json_string(root, "base_model_name_or_path", &name, NULL, path, err);
    if (!rc && !name)
        rc = aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"base_model_name_or_path\" is missing; set options.base to the directory of the base model", path);
    if (!rc && !given && *name != '/') {
        inside = aoei_path_join(dir.path, name);
        if (!inside)
            rc = aoei_fail_nomem(err, strlen(dir.path));
        else if (aoei_entry_exists(inside, "config.json"))
            name = inside;
    }
    if (!rc && !given && !aoei_is_dir(name) && aoei_peft_hub_base(&hub, root)) {
        (void)snprintf(pinned, sizeof pinned, "%s@%s", hub.id, hub.revision);
        name = strcmp(hub.revision, "main") == 0 ? name : pinned;
    }
    if (!rc && !aoei_is_dir(name) && !(rc = aoe_model_find(found, sizeof found, name, err)))
        name = found;
    if (rc == AOE_ENOENT && name)
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory '%s' of the base model does not exist; set options.base to the directory of the base "
            "model, or download the model (aoe pull %s)",
            dir.path, name, name);
    else if (!rc && !aoei_is_dir(name))
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory '%s' of the base model does not exist; set options.base to the directory of the "
            "base model",
            dir.path, name);
    if (!rc && !(*base = aoei_strdup(name)))
        rc = aoei_fail_nomem(err, strlen(name));
    if (!rc && given)
        rc = aoei_source_add(dir.cache, "adapters.base_model_name_or_path", NULL, NULL, "options.base", err);
    aoei_free(inside);
    return rc;
}

/* Writes to out the module name of a linear layer in layer 0. The module name is the tensor name without ".weight".
 * index: number of the bit in aoei_lora.targets that stands for the linear layer. Returns 0 if the model has no such
 * linear layer, and 1 otherwise. */
static int module_name(char *out, size_t size, const aoei_encoder_config *c, size_t index) {
    aoei_slot slot;
    aoei_slot_describe(c, aoei_layer_slot(0, aoei_adapter_kind(index)), &slot);
    snprintf(out, size, "%.*s", (int)(strlen(slot.name) - strlen(".weight")), slot.name);
    return !slot.absent;
}

/* Returns 1 if `name` is equal to the module name `module` or to its last components. Components are separated by
 * dots. */
static int matches_module(const char *name, const char *module) {
    const size_t len = strlen(name), full = strlen(module);
    return len <= full && !strcmp(module + full - len, name) && (len == full || module[full - len - 1] == '.');
}

/* Copies the module name `name` to out and replaces all layer numbers by 0, because all layers have the same
 * targets. */
static void replace_layer_numbers(char *out, size_t size, const char *name) {
    size_t n = 0;
    while (*name && n + 1 < size) {
        const size_t part = strcspn(name, "."), digits = strspn(name, "0123456789");
        if (part && digits == part)
            out[n++] = '0';
        for (size_t i = digits == part ? part : 0; i < part && n + 1 < size; i++)
            out[n++] = name[i];
        name += part;
        if (*name && n + 1 < size)
            out[n++] = *name++;
    }
    out[n] = 0;
}

/* Returns a bit mask, as in aoei_lora.targets, of the linear layers that `name` matches. The first component of a
 * complete module name may be the prefix of a checkpoint, such as "bert". */
static unsigned matching_targets(const char *name, const aoei_encoder_config *c) {
    unsigned targets = 0;
    char module[128], first[256];
    replace_layer_numbers(first, sizeof first, name);
    for (size_t i = 0; i < AOEI_ADAPTERS; i++)
        if (module_name(module, sizeof module, c, i) &&
            (matches_module(first, module) || (strchr(first, '.') && !strcmp(strchr(first, '.') + 1, module))))
            targets |= 1u << i;
    return targets;
}

/* Returns 1 if `name` matches a module that is not in `targets`, a bit mask as in aoei_lora.targets. Such a module is
 * another linear layer, or the pooler that transformers adds to the encoder.
 */
static int matches_others(const char *name, unsigned targets, const aoei_encoder_config *c) {
    return (matching_targets(name, c) & ~targets) || matches_module(name, "pooler.dense");
}

/* Returns the shortest suffix of the module name that matches only targets. This is the last component, such as
 * "q_proj", unless this component also matches other modules. In that case, preceding components are added, at most
 * back to the layer number. */
static const char *shortest_name(const char *module, unsigned targets, const aoei_encoder_config *c) {
    const char *at = strrchr(module, '.');
    while (at && matches_others(at + 1, targets, c)) {
        const char *before = at;
        do
            before--;
        while (before > module && *before != '.');
        at = before > module ? before : NULL;
    }
    return at ? at + 1 : module;
}

/* Returns an error that says that the model has no linear layer with this name. The message lists all linear layers. */
static int fail_unknown(const char *name, const aoei_encoder_config *c, aoe_error *err) {
    const aoei_lora all = {.targets = (1u << AOEI_ADAPTERS) - 1};
    aoei_buffer known = {0};
    int rc = aoei_peft_append_targets(&known, &all, c);
    if (rc)
        rc = aoei_fail_nomem(err, 0);
    else
        rc = aoei_fail(err, AOE_EARG, "a %s model has no linear layer '%s'; its linear layers are %s",
                       c->arch->model_type, name, known.data);
    aoei_buffer_free(&known);
    return rc;
}

/* Returns an error if a target is a part of a fused tensor (encoder/arch.h). For such a layer, PEFT has one adapter for
 * the whole tensor, which is not supported. */
static int check_not_fused(unsigned targets, const aoei_encoder_config *c, aoe_error *err) {
    for (size_t i = 0; i < AOEI_ADAPTERS; i++) {
        aoei_slot slot;
        aoei_slot_describe(c, aoei_layer_slot(0, aoei_adapter_kind(i)), &slot);
        if (targets >> i & 1 && !slot.absent && slot.stored_rows)
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "LoRA adapters are not supported for '%s', because this tensor contains the weights of several "
                "layers; choose other layers as targets",
                slot.name);
    }
    return 0;
}

int aoei_peft_targets(unsigned *targets, const char *const *names, size_t n, const aoei_encoder_config *c, int lenient,
                      aoe_error *err) {
    char module[128];
    *targets = 0;
    for (size_t i = 0; i < AOEI_ADAPTERS && !n; i++)
        if (module_name(module, sizeof module, c, i))
            *targets |= 1u << i;
    for (size_t i = 0; i < n; i++) {
        const unsigned found = matching_targets(names[i], c);
        if (!found && (!lenient || (i + 1 == n && !*targets)))
            return fail_unknown(names[i], c, err);
        *targets |= found;
    }
    return check_not_fused(*targets, c, err);
}

/* Checks init_lora_weights, the initialization of the adapters. Some initializations replace the base weights by a
 * residual, so that the saved adapters belong to changed base weights, which the directory does not contain. */
static int check_initialization(const json_t *root, const char *file, aoe_error *err) {
    static const char *const unchanged[] = {"gaussian", "eva", "orthogonal", "mica"};
    static const char *const changed[] = {"pissa", "olora", "loftq", "corda", "lora_ga"};
    const json_t *v = json_object_get(root, "init_lora_weights");
    if (!v || json_is_null(v) || json_is_boolean(v))
        return 0;
    const char *name = json_is_string(v) ? json_string_value(v) : "(not a string)";
    for (size_t i = 0; i < sizeof unchanged / sizeof *unchanged; i++)
        if (!strcasecmp(name, unchanged[i]))
            return 0;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (!strncasecmp(name, changed[i], strlen(changed[i])))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: init_lora_weights \"%s\" is not supported, because this initialization changes the base weights; "
                "merge the adapters with PEFT, or save them with path_initial_model_for_weight_conversion",
                file, name);
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: init_lora_weights \"%s\" is not supported (supported: true, false, gaussian, eva, orthogonal, mica)", file,
        name);
}

/* Returns an error if adapter_config.json contains a setting that is not supported and affects the results. */
static int check_supported(const json_t *root, const char *file, aoe_error *err) {
    static const char *const unset[] = {
        "fan_in_fan_out",          "lora_bias",         "use_qalora",   "use_bdlora",
        "layer_replication",       "target_parameters", "loftq_config", "trainable_token_indices",
        "alora_invocation_tokens", "arrow_config",      "kasa_config",  "monteclora_config",
        "velora_config",           "megatron_config"};
    const char *type = NULL, *bias = "none";
    int rc = aoei_json_string(root, "peft_type", &type, NULL, file, err);
    if (!rc)
        rc = aoei_json_string(root, "bias", &bias, NULL, file, err);
    if (rc)
        return rc;
    if (!type || strcmp(type, "LORA") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: peft_type \"%s\" is not supported (supported: LORA)", file,
                         type ? type : "");
    if (strcmp(bias, "none") != 0 && strcmp(bias, "all") != 0 && strcmp(bias, "lora_only") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: bias \"%s\" is not supported (supported: none, all, lora_only)",
                         file, bias);
    if ((rc = check_initialization(root, file, err)))
        return rc;
    const json_t *kasa = json_object_get(root, "kasa_config"); /* an empty object has an effect */
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!aoei_json_is_unset(json_object_get(root, unset[i])) ||
            (!strcmp(unset[i], "kasa_config") && json_is_object(kasa)))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: %s is set, which is not supported; merge the adapters with PEFT", file, unset[i]);
    return 0;
}

/* Returns an error if target_modules is neither a list of names nor a string. Sets *last to the last name. */
static int check_targets(const char **last, const json_t *root, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(root, "target_modules");
    *last = json_string_value(list);
    if (*last && **last)
        return 0;
    if (!json_is_array(list) || !json_array_size(list))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: target_modules must be a list of names, a regular expression or \"all-linear\"", file);
    for (size_t i = 0; i < json_array_size(list); i++) {
        *last = json_string_value(json_array_get(list, i));
        if (!*last || !**last)
            return aoei_fail(err, AOE_EFORMAT, "%s: an element of target_modules is not a name; correct it", file);
    }
    return 0;
}

/* Returns the prefix of module names in the adapter file: one of c->arch->prefixes. adapters: NULL if unknown.
 */
static const char *module_prefix(const aoei_safetensors *adapters, const aoei_encoder_config *c) {
    char start[256], layers[128];
    const char *const *p = c->arch->prefixes;
    c->arch->name(layers, sizeof layers, AOEI_GROUP_LAYER, AOEI_LW_Q, 0);
    layers[strcspn(layers, "0123456789")] = 0;
    for (; adapters && *p; p++) {
        aoei_peft_name(start, sizeof start, *p, layers);
        for (size_t i = 0; i < aoei_safetensors_count(adapters); i++)
            if (!strncmp(aoei_safetensors_at(adapters, i)->name, start, strlen(start)))
                return *p;
    }
    return "";
}

/* Sets each[layers * AOEI_ADAPTERS] to the adapters of all linear layers, and lora->targets to their union. */
static int match_modules(aoei_lora *lora, aoei_lora_layer *each, const json_t *root, const aoei_encoder_config *c,
                         const char *prefix, const char *file, aoe_error *err) {
    lora->targets = 0;
    for (size_t i = 0; i < c->layers * AOEI_ADAPTERS; i++) {
        const size_t layer = i / AOEI_ADAPTERS, kind = aoei_adapter_kind(i % AOEI_ADAPTERS);
        aoei_slot slot;
        char key[256];
        aoei_slot_describe(c, aoei_layer_slot(layer, kind), &slot);
        each[i] = (aoei_lora_layer){.r = slot.absent ? 0 : lora->r, .alpha = lora->alpha};
        snprintf(key, sizeof key, "%s%.*s", prefix, (int)(strlen(slot.name) - strlen(".weight")), slot.name);
        const int rc = slot.absent ? 0 : aoei_peft_match(&each[i], root, key, layer, file, err);
        if (rc)
            return rc;
        if (each[i].r && slot.stored_rows)
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: an adapter of '%s' is not supported, because this tensor contains the weights of several "
                "layers; merge the adapters with PEFT",
                file, slot.name);
        if (each[i].r)
            lora->targets |= 1u << i % AOEI_ADAPTERS;
    }
    return 0;
}

/* Returns 1 if all encoder layers have the same targets, with the rank and alpha of adapter_config.json. */
static int are_equal(const aoei_lora *lora, const aoei_lora_layer *each, const aoei_encoder_config *c) {
    for (size_t i = 0; i < c->layers * AOEI_ADAPTERS; i++) {
        const size_t r = lora->targets >> i % AOEI_ADAPTERS & 1 ? lora->r : 0;
        if (each[i].r != r || (r && each[i].alpha != lora->alpha))
            return 0;
    }
    return 1;
}

/* Sets lora->head to the adapters that the dense layers of a classification head have according to
 * adapter_config.json. */
static int match_head(aoei_lora *lora, const json_t *root, const aoei_encoder_config *c, const char *prefix,
                      const char *file, aoe_error *err) {
    const aoei_classification_head *h = c->arch->head;
    int rc = 0;
    for (size_t i = 0; h && i < h->n && !rc; i++) {
        const aoei_head_module *m = &h->module[i];
        char key[256];
        if (m->kind != AOEI_MODULE_DENSE)
            continue;
        lora->head[i] = (aoei_lora_layer){.r = lora->r, .alpha = lora->alpha};
        snprintf(key, sizeof key, "%s%s", m->in_encoder ? prefix : "", m->name);
        rc = aoei_peft_match(&lora->head[i], root, key, SIZE_MAX, file, err);
        if (!rc && lora->head[i].r && !(lora->head[i].alpha > 0 && lora->head[i].alpha <= AOEI_MAX_ALPHA))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: alpha_pattern contains %g, but alpha must be positive and at most 1e6; correct it",
                           file, lora->head[i].alpha);
    }
    return rc;
}

/* Sets lora->r to the largest rank and checks all ranks and alphas. */
static int check_each(aoei_lora *lora, const aoei_lora_layer *each, const aoei_encoder_config *c, const char *file,
                      aoe_error *err) {
    lora->r = 0;
    for (size_t i = 0; i < c->layers * AOEI_ADAPTERS; i++) {
        if (each[i].r > c->hidden)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: rank_pattern contains the rank %zu, but ranks must be from 1 to %zu; correct it",
                             file, each[i].r, c->hidden);
        if (each[i].r && !(each[i].alpha > 0 && each[i].alpha <= AOEI_MAX_ALPHA))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: alpha_pattern contains %g, but alpha must be positive and at most 1e6; correct it",
                             file, each[i].alpha);
        lora->r = each[i].r > lora->r ? each[i].r : lora->r;
    }
    return 0;
}

/* Returns an error that says that no linear layer has an adapter. last: a name in target_modules. */
static int fail_no_target(const json_t *root, const char *last, const aoei_encoder_config *c, const char *file,
                          aoe_error *err) {
    static const char *const keys[] = {"layers_to_transform", "exclude_modules"};
    const char *why = json_is_string(json_object_get(root, "target_modules")) ? "target_modules" : NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !why; i++)
        if (!aoei_json_is_unset(json_object_get(root, keys[i])))
            why = keys[i];
    if (why && *why == 't')
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the regular expression '%s' in target_modules matches the complete name of no linear layer of the "
            "model",
            file, last);
    if (why)
        return aoei_fail(err, AOE_EFORMAT, "%s: %s leaves no linear layer with an adapter; correct it", file, why);
    const int rc = fail_unknown(last, c, err);
    aoei_error_prefix(err, "%s: target_modules", file);
    if (err && rc != AOE_ENOMEM)
        err->code = AOE_EFORMAT;
    return rc == AOE_ENOMEM ? rc : AOE_EFORMAT;
}

/* Checks layers_to_transform, which is an index of a layer or a list of indices. */
static int check_transformed(const json_t *root, const char *file, aoe_error *err) {
    const json_t *v = json_object_get(root, "layers_to_transform");
    const size_t n = json_array_size(v);
    int valid = !v || json_is_null(v) || json_is_array(v) || (json_is_integer(v) && json_integer_value(v) >= 0);
    for (size_t i = 0; i < n; i++)
        valid = valid && json_is_integer(json_array_get(v, i)) && json_integer_value(json_array_get(v, i)) >= 0;
    return valid ? 0
                 : aoei_fail(err, AOE_EFORMAT,
                             "%s: layers_to_transform is neither an index of a layer nor a list of indices; correct it",
                             file);
}

/* Reads which linear layers have adapters, and their ranks and alphas. */
static int read_targets(aoei_lora *lora, aoei_lora_layer **out, const json_t *root, const aoei_encoder_config *c,
                        const char *prefix, const char *file, aoe_error *err) {
    const char *last;
    int rc;
    if ((rc = check_targets(&last, root, file, err)) || (rc = check_transformed(root, file, err)))
        return rc;
    aoei_lora_layer *each = aoei_calloc(c->layers * AOEI_ADAPTERS + 1, sizeof *each);
    if (!each)
        return aoei_fail_nomem(err, c->layers * AOEI_ADAPTERS * sizeof *each);
    rc = match_modules(lora, each, root, c, prefix, file, err);
    if (!rc && !lora->targets)
        rc = fail_no_target(root, last, c, file, err);
    if (!rc && !are_equal(lora, each, c) && !(rc = check_each(lora, each, c, file, err))) {
        lora->each = *out = each;
        return 0;
    }
    aoei_free(each);
    return rc;
}

/* Reads the settings of all adapters, except their targets. */
static int read_settings(aoei_lora *lora, const json_t *root, const aoei_encoder_config *c, const char *file,
                         aoe_error *err) {
    const char *bias = "none";
    int rc;
    lora->alpha = 8; /* PEFT's default */
    if ((rc = aoei_json_need_size(root, "r", &lora->r, file, err)) ||
        (rc = aoei_json_double(root, "lora_alpha", &lora->alpha, file, err)) ||
        (rc = aoei_json_double(root, "lora_dropout", &lora->dropout, file, err)) ||
        (rc = aoei_json_bool(root, "use_rslora", &lora->rank_stabilized, file, err)) ||
        (rc = aoei_json_bool(root, "use_dora", &lora->magnitudes, file, err)) ||
        (rc = aoei_json_string(root, "bias", &bias, NULL, file, err)))
        return rc;
    lora->replaces = strcmp(bias, "none") != 0 || !aoei_json_is_unset(json_object_get(root, "modules_to_save"));
    if (lora->r < 1 || lora->r > c->hidden)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"r\" is %zu, but must be from 1 to %zu; correct the value", file,
                         lora->r, c->hidden);
    if (!(lora->alpha > 0 && lora->alpha <= AOEI_MAX_ALPHA))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"lora_alpha\" is %g, but must be positive and at most 1e6; correct the value", file,
                         lora->alpha);
    if (!(lora->dropout >= 0 && lora->dropout < 1))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"lora_dropout\" is %g, but must be at least 0 and below 1; correct the value", file,
                         lora->dropout);
    return 0;
}

int aoei_peft_read(aoei_lora *lora, aoei_lora_layer **each, aoei_model_dir dir, const aoei_safetensors *adapters,
                   const aoei_encoder_config *c, aoe_error *err) {
    json_t *root;
    const char *file;
    *lora = (aoei_lora){0};
    *each = NULL;
    int rc = load_config(&root, &file, dir, err);
    if (!rc && !(rc = aoei_peft_check(c, err)) && !(rc = check_supported(root, file, err)) &&
        !(rc = read_settings(lora, root, c, file, err)) &&
        !(rc = match_head(lora, root, c, module_prefix(adapters, c), file, err)))
        rc = read_targets(lora, each, root, c, module_prefix(adapters, c), file, err);
    return rc ? rc : aoei_source_add_keys(dir.cache, "adapters", root, file, err);
}

/* Appends `name` to the array `names`, unless the array already contains this name. */
static int append_unique(json_t *names, const char *name) {
    for (size_t k = 0; k < json_array_size(names); k++)
        if (!strcmp(json_string_value(json_array_get(names, k)), name))
            return 0;
    return json_array_append_new(names, json_string(name));
}

/* Appends one name for each layer. `name` must begin with the layer number 0, which is replaced by the number of the
 * layer. */
static int append_layers(json_t *names, const char *name, const aoei_encoder_config *c) {
    char numbered[160];
    int failed = 0;
    for (size_t layer = 0; layer < aoei_distinct_layers(c) && !failed; layer++) {
        snprintf(numbered, sizeof numbered, "%zu%s", layer, name + 1);
        failed = append_unique(names, numbered);
    }
    return failed;
}

/* Returns an array of the shortest names of the targets, or NULL if an allocation fails. If a name contains a layer
 * number, the array contains one name for each layer (all_layers = 1) or only the name for layer 0 (all_layers = 0). */
static json_t *target_names(const aoei_lora *l, const aoei_encoder_config *c, int all_layers) {
    json_t *names = json_array();
    int failed = !names;
    for (size_t i = 0; i < AOEI_ADAPTERS && !failed; i++) {
        char module[128];
        if (!(l->targets >> i & 1) || !module_name(module, sizeof module, c, i))
            continue;
        const char *name = shortest_name(module, l->targets, c);
        failed = all_layers && !strncmp(name, "0.", 2) ? append_layers(names, name, c) : append_unique(names, name);
    }
    if (!failed)
        return names;
    json_decref(names);
    return NULL;
}

int aoei_peft_append_targets(aoei_buffer *names, const aoei_lora *lora, const aoei_encoder_config *c) {
    json_t *list = target_names(lora, c, 0);
    int rc = list ? 0 : AOE_ENOMEM;
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = aoei_buffer_printf(names, "%s%s", i ? ", " : "", json_string_value(json_array_get(list, i)));
    json_decref(list);
    return rc;
}

/* Adds to `config` the complete names of all adapted modules, and their ranks and alphas where they differ from those
 * of `l`. Dots in names of patterns are escaped, because the names are regular expressions. Returns 0 or -1. */
static int add_each(json_t *config, const aoei_encoder_config *c) {
    json_t *names = json_array(), *ranks = json_object(), *alphas = json_object();
    int failed = !names || !ranks || !alphas;
    for (size_t i = 0; i < c->layers * AOEI_ADAPTERS && !failed; i++) {
        const aoei_lora_layer a = c->lora.each[i];
        aoei_slot slot;
        char name[128], pattern[256];
        size_t n = 0;
        if (!a.r)
            continue;
        aoei_slot_describe(c, aoei_layer_slot(i / AOEI_ADAPTERS, aoei_adapter_kind(i % AOEI_ADAPTERS)), &slot);
        snprintf(name, sizeof name, "%.*s", (int)(strlen(slot.name) - strlen(".weight")), slot.name);
        for (const char *p = name; *p; p++) {
            if (*p == '.')
                pattern[n++] = '\\';
            pattern[n++] = *p;
        }
        pattern[n] = 0;
        failed = json_array_append_new(names, json_string(name)) ||
                 (a.r != c->lora.r && json_object_set_new(ranks, pattern, json_integer((json_int_t)a.r))) ||
                 (a.alpha != c->lora.alpha && json_object_set_new(alphas, pattern, json_real(a.alpha)));
    }
    failed |= json_object_set(config, "target_modules", names) || json_object_set(config, "rank_pattern", ranks) ||
              json_object_set(config, "alpha_pattern", alphas);
    json_decref(names);
    json_decref(ranks);
    json_decref(alphas);
    return failed ? -1 : 0;
}

/* Sets "modules_to_save" to the modules of the classification head, which are trained completely. A module is named by
 * the first component of its name, such as "pooler" for "pooler.dense", because PEFT adds "classifier" and "score" to
 * the list and cannot save a module and its parent. Returns 0 or -1. */
static int add_head(json_t *config, const aoei_encoder_config *c) {
    const aoei_classification_head *h = c->arch->head;
    json_t *names = json_array();
    int failed = !names;
    for (size_t i = 0; i < h->n && !failed; i++) {
        char name[64];
        if (!h->module[i].name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(h->module[i].name, "."), h->module[i].name);
        failed = append_unique(names, name);
    }
    failed |= json_object_set_new(config, "modules_to_save", names);
    return failed ? -1 : 0;
}

json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix) {
    const aoei_lora *l = &c->lora;
    json_t *names = target_names(l, c, 1), *name = aoei_name_json(base);
    json_t *alpha =
        l->alpha < 1e9 && floor(l->alpha) == l->alpha ? json_integer((json_int_t)l->alpha) : json_real(l->alpha);
    json_t *config =
        json_pack("{s:s, s:s, s:o, s:I, s:o, s:f, s:b, s:s, s:b, s:b, s:n, s:b, s:o}", "peft_type", "LORA", "task_type",
                  c->modules.classes ? "SEQ_CLS"
                  : *prefix          ? "CAUSAL_LM"
                                     : "FEATURE_EXTRACTION",
                  "base_model_name_or_path", name, "r", (json_int_t)l->r, "lora_alpha", alpha, "lora_dropout",
                  l->dropout, "use_rslora", l->rank_stabilized, "bias", "none", "use_dora", 0, "fan_in_fan_out", 0,
                  "modules_to_save", "inference_mode", 1, "target_modules", names);
    if (config && ((l->each && add_each(config, c)) || (c->modules.classes && add_head(config, c)))) {
        json_decref(config);
        return NULL;
    }
    return config;
}

void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name) {
    snprintf(out, size, NAME_PREFIX "%s%s", prefix, slot_name);
}
