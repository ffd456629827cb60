/* SPDX-License-Identifier: MIT
 * Checks the options of LoRA adapters (aoe_lora) and converts them to the configuration of adapters (aoei_lora).
 */
#include "model/lora_options.h"

#include <string.h>

#include "aoe_lora.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "encoder/slots.h"
#include "modeldir/adapter_tensors.h"
#include "modeldir/peft.h"

#define DEFAULT_ALPHA   32.0
#define DEFAULT_DROPOUT 0.1

AOEI_DEFAULTS(aoe_lora) {
    *o = (aoe_lora){.struct_size = sizeof *o, .alpha = AOE_AUTO, .dropout = AOE_AUTO};
}

/* Splits the list `copy` at commas and replaces the commas by NUL characters. Sets *names to an array of pointers into
 * `copy`. The caller frees the array with aoei_free, even if the function fails. */
static int split(const char ***names, size_t *n, char *copy, aoe_error *err) {
    size_t commas = 0;
    for (const char *p = copy; *p; p++)
        commas += *p == ',';
    *n = 0;
    *names = aoei_calloc(commas + 1, sizeof **names);
    if (!*names)
        return aoei_fail_nomem(err, (commas + 1) * sizeof **names);
    for (char *at = copy, *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, ',');
        if (end)
            *end = '\0';
        (*names)[(*n)++] = at;
        if (!*at)
            return aoei_fail(err, AOE_EARG, "options.lora.targets has an empty name; separate names by single commas");
    }
    return 0;
}

/* Sets *targets to a bit mask, as in aoei_lora.targets, of the linear layers that `list` names. The names are separated
 * by commas, for example "q_proj,v_proj". If `list` is NULL, all supported linear layers are selected. */
static int read_targets(unsigned *targets, const char *list, const aoei_encoder_config *c, aoe_error *err) {
    const char **names = NULL;
    size_t n = 0;
    if (!list)
        return aoei_peft_targets(targets, NULL, 0, c, 0, err);
    char *copy = aoei_strdup(list);
    int rc = copy ? split(&names, &n, copy, err) : aoei_fail_nomem(err, strlen(list));
    if (!rc && (rc = aoei_peft_targets(targets, names, n, c, 0, err)))
        aoei_error_prefix(err, "options.lora.targets");
    aoei_free(names);
    aoei_free(copy);
    return rc;
}

int aoei_lora_resolve(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err) {
    *lora = (aoei_lora){.r = wanted->r,
                        .alpha = aoei_is_auto(wanted->alpha) ? DEFAULT_ALPHA : wanted->alpha,
                        .dropout = aoei_is_auto(wanted->dropout) ? DEFAULT_DROPOUT : wanted->dropout};
    int rc = aoei_peft_check(c, err);
    if (rc)
        return rc;
    if (lora->r > c->hidden)
        return aoei_fail(err, AOE_EARG, "options.lora.r is %zu, but must be at most the model's hidden size, %zu",
                         lora->r, c->hidden);
    if (!(lora->alpha > 0 && lora->alpha <= AOEI_MAX_ALPHA) || !(lora->dropout >= 0 && lora->dropout < 1))
        return aoei_fail(
            err, AOE_EARG,
            "options.lora.alpha must be positive and at most 1e6, and options.lora.dropout at least 0 and below 1");
    return read_targets(&lora->targets, wanted->targets, c, err);
}

/* Applies the options `wanted` to the saved adapters in `dir`. The rank, alpha and targets of saved adapters cannot be
 * changed. The dropout can be changed, because it is used only in training. */
static int change_saved(aoei_lora *lora, const char *dir, const aoe_lora *wanted, aoe_error *err) {
    if (wanted->r || !aoei_is_auto(wanted->alpha) || wanted->targets)
        return aoei_fail(
            err, AOE_EARG,
            "%s contains adapters of rank %zu; the rank, alpha and targets of saved adapters cannot be changed; omit "
            "options.lora.r, options.lora.alpha and options.lora.targets, or merge the adapters first (aoe merge)",
            dir, lora->r);
    if (!aoei_is_auto(wanted->dropout) && !(wanted->dropout >= 0 && wanted->dropout < 1))
        return aoei_fail(err, AOE_EARG, "options.lora.dropout must be at least 0 and below 1");
    if (!aoei_is_auto(wanted->dropout))
        lora->dropout = wanted->dropout;
    return 0;
}

int aoei_lora_configure(aoei_encoder_config *c, const aoei_model_files *f, const aoe_lora *wanted, aoe_error *err) {
    if (!wanted)
        return 0;
    if (c->lora.magnitudes || aoei_adapters_replace_encoder(f, c))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: training these adapters is not supported, because they %s; merge them first (aoe merge)",
                         f->dir,
                         c->lora.magnitudes ? "are weight-decomposed (use_dora)"
                                            : "also replace weights of the base model (modules_to_save or bias)");
    for (size_t i = aoei_pooled_slot(c, 0); c->modules.classes && i < aoei_slot_count(c); i++)
        if (aoei_head_adapter((const aoei_st_tensor *[2]){NULL}, f, c, i).r)
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: training these adapters is not supported, because a layer of the classification head has an "
                "adapter; merge them first (aoe merge)",
                f->dir);
    if (f->adapters)
        return change_saved(&c->lora, f->dir, wanted, err);
    if (wanted->r)
        return aoei_lora_resolve(&c->lora, wanted, c, err);
    const char *field = wanted->load_8bit                ? "load_8bit"
                        : wanted->targets                ? "targets"
                        : !aoei_is_auto(wanted->alpha)   ? "alpha"
                        : !aoei_is_auto(wanted->dropout) ? "dropout"
                                                         : NULL;
    if (field)
        return aoei_fail(
            err, AOE_EARG,
            "options.lora.%s requires adapters, but %s contains none; set options.lora.r to train new adapters, "
            "or open a directory of saved adapters",
            field, f->dir);
    return 0;
}
