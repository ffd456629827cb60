/* SPDX-License-Identifier: MIT
 * Reads and writes adapter_config.json. This file lists the targets, which are the linear layers with adapters. As in PEFT, a
 * target is given by the complete name of a module, or by the last components of this name, such as "q_proj".
 */
#include "modeldir/peft.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "encoder/arch.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "modeldir/layout.h"

#define NAME_PREFIX "base_model.model." /* prefix of all tensor names in PEFT files */

int aoei_peft_check(const aoei_encoder_config *c, aoe_error *err) {
    if (c->arch->supports_adapters)
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "LoRA adapters are not supported for %s models; train all weights instead",
                     c->arch->model_type);
}

/* Parses DIR/adapter_config.json. The caller must free *root and *path, even if the function fails. */
static int load_config(json_t **root, char **path, const char *dir, aoe_error *err) {
    *root = NULL;
    *path = aoei_path_join(dir, AOEI_PEFT_CONFIG);
    if (!*path)
        return aoei_fail_nomem(err, strlen(dir));
    const int rc = aoei_json_load(root, *path, err);
    if (!rc && !json_is_object(*root))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; PEFT's adapter_config.json is expected", *path);
    return rc;
}

int aoei_peft_base(char **base, const char *dir, const char *given, aoe_error *err) {
    json_t *root = NULL;
    char *path = NULL, *inside = NULL;
    const char *name = given;
    int rc = 0;
    *base = NULL;
    if (!given && !(rc = load_config(&root, &path, dir, err)))
        rc = aoei_json_string(root, "base_model_name_or_path", &name, NULL, path, err);
    if (!rc && !name)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: \"base_model_name_or_path\" is missing; set options.base to the directory of the base model", path);
    if (!rc && !given && *name != '/') {
        inside = aoei_path_join(dir, name);
        if (!inside)
            rc = aoei_fail_nomem(err, strlen(dir));
        else if (aoei_entry_exists(inside, "config.json"))
            name = inside;
    }
    if (!rc && !aoei_is_dir(name))
        rc = aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory '%s' of the base model does not exist; set options.base to the directory of the base model", dir,
            name);
    if (!rc && !(*base = aoei_strdup(name)))
        rc = aoei_fail_nomem(err, strlen(name));
    json_decref(root);
    aoei_free(path);
    aoei_free(inside);
    return rc;
}

/* Writes to out the module name of a linear layer in layer 0. The module name is the tensor name without ".weight". index:
 * number of the bit in aoei_lora.targets that stands for the linear layer. Returns 0 if the model has no such linear layer, and
 * 1 otherwise. */
static int module_name(char *out, size_t size, const aoei_encoder_config *c, size_t index) {
    aoei_slot slot;
    aoei_slot_describe(c, aoei_layer_slot(0, aoei_adapter_kind(index)), &slot);
    snprintf(out, size, "%.*s", (int)(strlen(slot.name) - strlen(".weight")), slot.name);
    return !slot.absent;
}

/* Returns 1 if `name` is equal to the module name `module` or to its last components. Components are separated by dots. */
static int matches_module(const char *name, const char *module) {
    const size_t len = strlen(name), full = strlen(module);
    return len <= full && !strcmp(module + full - len, name) && (len == full || module[full - len - 1] == '.');
}

/* Copies the module name `name` to out and replaces all layer numbers by 0, because all layers have the same targets. */
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

/* Returns a bit mask, as in aoei_lora.targets, of the linear layers that `name` matches. The first component of a complete
 * module name may be the prefix of a checkpoint, such as "bert". */
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

/* Returns 1 if `name` matches a module that is not in `targets`, a bit mask as in aoei_lora.targets. Such a module is another
 * linear layer, or the pooler that transformers adds to the encoder.
 */
static int matches_others(const char *name, unsigned targets, const aoei_encoder_config *c) {
    return (matching_targets(name, c) & ~targets) || matches_module(name, "pooler.dense");
}

/* Returns the shortest suffix of the module name that matches only targets. This is the last component, such as "q_proj",
 * unless this component also matches other modules. In that case, preceding components are added, at most back to the layer
 * number. */
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
        rc = aoei_fail(err, AOE_EARG, "a %s model has no linear layer '%s'; its linear layers are %s", c->arch->model_type,
                       name, known.data);
    aoei_buffer_free(&known);
    return rc;
}

/* Returns an error if a target is a part of a fused tensor (encoder/arch.h). For such a layer, PEFT has one adapter for the
 * whole tensor, which is not supported. */
static int check_not_fused(unsigned targets, const aoei_encoder_config *c, aoe_error *err) {
    for (size_t i = 0; i < AOEI_ADAPTERS; i++) {
        aoei_slot slot;
        aoei_slot_describe(c, aoei_layer_slot(0, aoei_adapter_kind(i)), &slot);
        if (targets >> i & 1 && !slot.absent && slot.stored_rows)
            return aoei_fail(err, AOE_EUNSUPPORTED,
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

/* Returns 1 if v is missing, null, false, or an empty object, array or string. */
static int is_unset(const json_t *v) {
    return !v || json_is_null(v) || json_is_false(v) || (json_is_object(v) && !json_object_size(v)) ||
           (json_is_array(v) && !json_array_size(v)) || (json_is_string(v) && !json_string_length(v));
}

/* Checks init_lora_weights, the initialization of the adapters. Some initializations replace the base weights by a residual,
 * so that the saved adapters belong to changed base weights, which the directory does not contain. */
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
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: init_lora_weights \"%s\" is not supported, because this initialization changes the base "
                             "weights; merge the adapters with PEFT, or save them with "
                             "path_initial_model_for_weight_conversion",
                             file, name);
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: init_lora_weights \"%s\" is not supported (supported: true, false, gaussian, eva, orthogonal, mica)",
                     file, name);
}

/* Returns an error if adapter_config.json contains a setting that is not supported and affects the results. */
static int check_supported(const json_t *root, const char *file, aoe_error *err) {
    static const char *const unset[] = {"use_dora",
                                        "fan_in_fan_out",
                                        "lora_bias",
                                        "use_qalora",
                                        "use_bdlora",
                                        "rank_pattern",
                                        "alpha_pattern",
                                        "modules_to_save",
                                        "exclude_modules",
                                        "layers_to_transform",
                                        "layer_replication",
                                        "target_parameters",
                                        "loftq_config",
                                        "trainable_token_indices",
                                        "alora_invocation_tokens",
                                        "arrow_config",
                                        "kasa_config",
                                        "monteclora_config",
                                        "velora_config",
                                        "megatron_config"};
    const char *type = NULL, *bias = "none";
    int rc = aoei_json_string(root, "peft_type", &type, NULL, file, err);
    if (!rc)
        rc = aoei_json_string(root, "bias", &bias, NULL, file, err);
    if (rc)
        return rc;
    if (!type || strcmp(type, "LORA") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: peft_type \"%s\" is not supported (supported: LORA)", file,
                         type ? type : "");
    if (strcmp(bias, "none") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: bias \"%s\" is not supported (supported: none)", file, bias);
    if ((rc = check_initialization(root, file, err)))
        return rc;
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!is_unset(json_object_get(root, unset[i])))
            return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s is set, which is not supported; merge the adapters with PEFT", file,
                             unset[i]);
    return 0;
}

/* Reads the key target_modules and sets *targets to a bit mask as in aoei_lora.targets. file: path for messages. */
static int read_targets(unsigned *targets, const json_t *root, const aoei_encoder_config *c, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(root, "target_modules");
    const char *text = json_string_value(list);
    if (text && !strcmp(text, "all-linear"))
        return aoei_peft_targets(targets, NULL, 0, c, 1, err);
    if (!json_is_array(list) || !json_array_size(list))
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: target_modules must be a list of names, or \"all-linear\"", file);
    const size_t n = json_array_size(list);
    const char **names = aoei_calloc(n, sizeof *names);
    int rc = names ? 0 : aoei_fail_nomem(err, n * sizeof *names);
    for (size_t i = 0; i < n && !rc; i++) {
        names[i] = json_string_value(json_array_get(list, i));
        if (!names[i] || !*names[i])
            rc = aoei_fail(err, AOE_EFORMAT, "%s: an element of target_modules is not a name; correct it", file);
    }
    if (!rc && (rc = aoei_peft_targets(targets, names, n, c, 1, err)) == AOE_EARG) {
        aoei_error_prefix(err, "%s", file);
        if (err)
            err->code = AOE_EFORMAT;
        rc = AOE_EFORMAT;
    }
    aoei_free(names);
    return rc;
}

int aoei_peft_read(aoei_lora *lora, const char *dir, const aoei_encoder_config *c, aoe_error *err) {
    json_t *root;
    char *file;
    *lora = (aoei_lora){0};
    int rc = load_config(&root, &file, dir, err);
    if (rc || (rc = aoei_peft_check(c, err)) || (rc = check_supported(root, file, err)) ||
        (rc = aoei_json_need_size(root, "r", &lora->r, file, err)))
        goto done;
    lora->alpha = 8; /* PEFT's default */
    if ((rc = aoei_json_double(root, "lora_alpha", &lora->alpha, file, err)) ||
        (rc = aoei_json_double(root, "lora_dropout", &lora->dropout, file, err)) ||
        (rc = aoei_json_bool(root, "use_rslora", &lora->rank_stabilized, file, err)) ||
        (rc = read_targets(&lora->targets, root, c, file, err)))
        goto done;
    if (lora->r < 1 || lora->r > c->hidden)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"r\" is %zu, but must be from 1 to %zu; correct the value", file, lora->r,
                       c->hidden);
    else if (!(lora->alpha > 0 && lora->alpha <= AOEI_MAX_ALPHA))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"lora_alpha\" is %g, but must be positive and at most 1e6; correct the value",
                       file, lora->alpha);
    else if (!(lora->dropout >= 0 && lora->dropout < 1))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"lora_dropout\" is %g, but must be at least 0 and below 1; correct the value",
                       file, lora->dropout);
done:
    json_decref(root);
    aoei_free(file);
    return rc;
}

/* Appends `name` to the array `names`, unless the array already contains this name. */
static int append_unique(json_t *names, const char *name) {
    for (size_t k = 0; k < json_array_size(names); k++)
        if (!strcmp(json_string_value(json_array_get(names, k)), name))
            return 0;
    return json_array_append_new(names, json_string(name));
}

/* Appends one name for each layer. `name` must begin with the layer number 0, which is replaced by the number of the layer. */
static int append_layers(json_t *names, const char *name, const aoei_encoder_config *c) {
    char numbered[160];
    int failed = 0;
    for (size_t layer = 0; layer < c->layers && !failed; layer++) {
        snprintf(numbered, sizeof numbered, "%zu%s", layer, name + 1);
        failed = append_unique(names, numbered);
    }
    return failed;
}

/* Returns an array of the shortest names of the targets, or NULL if an allocation fails. If a name contains a layer number, the
 * array contains one name for each layer (all_layers = 1) or only the name for layer 0 (all_layers = 0). */
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

json_t *aoei_peft_to_json(const aoei_encoder_config *c, const char *base, const char *prefix) {
    const aoei_lora *l = &c->lora;
    json_t *names = target_names(l, c, 1), *name = aoei_name_json(base);
    json_t *alpha = l->alpha < 1e9 && floor(l->alpha) == l->alpha ? json_integer((json_int_t)l->alpha) : json_real(l->alpha);
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:f, s:b, s:s, s:b, s:b, s:n, s:b, s:o}", "peft_type", "LORA", "task_type",
                     *prefix ? "CAUSAL_LM" : "FEATURE_EXTRACTION", "base_model_name_or_path", name, "r", (json_int_t)l->r,
                     "lora_alpha", alpha, "lora_dropout", l->dropout, "use_rslora", l->rank_stabilized, "bias", "none",
                     "use_dora", 0, "fan_in_fan_out", 0, "modules_to_save", "inference_mode", 1, "target_modules", names);
}

void aoei_peft_name(char *out, size_t size, const char *prefix, const char *slot_name) {
    snprintf(out, size, NAME_PREFIX "%s%s", prefix, slot_name);
}
