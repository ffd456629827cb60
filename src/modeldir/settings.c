/* SPDX-License-Identifier: MIT
 * Converts the names of poolings, and initializes, copies and frees settings.
 */
#include "modeldir/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"

static const char *const pooling_names[AOE_POOLING_COUNT] = {
    [AOE_POOLING_AUTO] = "auto",
    [AOE_POOLING_CLS] = "cls",
    [AOE_POOLING_CLS_LAST_AVG] = "cls-last-avg",
    [AOE_POOLING_LAST_AVG] = "last-avg",
    [AOE_POOLING_LAST_MAX] = "last-max",
    [AOE_POOLING_FIRST_LAST_AVG] = "first-last-avg",
    [AOE_POOLING_LAST_TOKEN] = "last-token",
    [AOE_POOLING_CELL_LAST] = "cell-last",
    [AOE_POOLING_CELL_MEAN] = "cell-mean",
    [AOE_POOLING_CELL_MAX] = "cell-max",
};

const char *aoe_pooling_name(aoe_pooling p) {
    return p >= 0 && p < AOE_POOLING_COUNT ? pooling_names[p] : NULL;
}

int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *err) {
    AOEI_CHECK(err, p, name);
    const char *canonical = !strcmp(name, "mean") ? "last-avg" : !strcmp(name, "max") ? "last-max" : name;
    for (int i = AOE_POOLING_AUTO + 1; i < AOE_POOLING_COUNT; i++)
        if (!strcmp(pooling_names[i], canonical)) {
            *p = (aoe_pooling)i;
            return 0;
        }
    return aoei_fail(err, AOE_EARG,
                     "unknown pooling '%s'; use cls, mean (or last-avg), max (or last-max), cls-last-avg, first-last-avg, "
                     "last-token, or for a RAN cell-last, cell-mean or cell-max",
                     name);
}

void aoei_partial_settings_init(aoei_partial_settings *s) {
    *s = (aoei_partial_settings){.pooling = AOE_POOLING_AUTO,
                                 .max_length = AOE_AUTO,
                                 .normalize = AOE_AUTO,
                                 .lowercase = AOE_AUTO,
                                 .bidirectional_from = AOE_AUTO};
}

void aoei_partial_settings_free(aoei_partial_settings *s) {
    aoei_free(s->prompt);
    aoei_free(s->dense);
    json_decref(s->prompts);
    aoei_partial_settings_init(s);
}

int aoei_partial_settings_set_prompt(aoei_partial_settings *s, const char *prompt, aoe_error *err) {
    s->prompt = aoei_strdup(strcmp(prompt, AOEI_PLACEHOLDER) != 0 ? prompt : "");
    return s->prompt ? 0 : aoei_fail_nomem(err, strlen(prompt) + 1);
}

void aoei_settings_free(aoei_settings *s) {
    aoei_free(s->prompt);
    aoei_free(s->dense);
    json_decref(s->prompts);
    *s = (aoei_settings){0};
}

int aoei_settings_copy(aoei_settings *to, const aoei_settings *from, aoe_error *err) {
    *to = *from;
    to->prompts = NULL;
    to->dense = NULL;
    to->prompt = aoei_strdup(from->prompt);
    if (to->prompt && from->dense)
        to->dense = aoei_strdup(from->dense);
    if (!to->prompt || !to->dense != !from->dense)
        return aoei_fail_nomem(err, strlen(from->prompt) + 1);
    to->prompts = json_incref(from->prompts); /* the object can be shared, because it is never modified after it was read */
    return 0;
}

int aoei_prompt_is_prefix(const char *prompt, size_t *len) {
    const char *at = strstr(prompt, AOEI_PLACEHOLDER);
    *len = at ? (size_t)(at - prompt) : 0;
    return at && !at[strlen(AOEI_PLACEHOLDER)];
}

int aoei_pooling_is_portable(aoe_pooling pooling) {
    return pooling != AOE_POOLING_FIRST_LAST_AVG;
}

const char *aoei_settings_limits(const aoei_settings *s, char *buf, size_t size) {
    size_t len, at = 0;
    const char *reasons[3];
    char unsupported[64];
    int n = 0;
    if (s->pooling >= AOE_POOLING_CELL_LAST)
        reasons[n++] = "they do not support recurrent encoders and pooling of cell states";
    if (!aoei_pooling_is_portable(s->pooling)) {
        snprintf(unsupported, sizeof unsupported, "they do not support %s pooling", aoe_pooling_name(s->pooling));
        reasons[n++] = unsupported;
    }
    if (*s->prompt && !aoei_prompt_is_prefix(s->prompt, &len))
        reasons[n++] = "they do not support prompts with text after {text}";
    if (s->bidirectional)
        reasons[n++] = "they use causal attention in all layers";
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s",
                               i ? ", and "
                                 : "other programs (sentence-transformers, text-embeddings-inference, angle_emb) compute "
                                   "different embeddings: ",
                               reasons[i]);
    return n ? buf : NULL;
}

const char *aoei_settings_dense_folder(const aoei_settings *s) {
    /* With cls-last-avg pooling, 2_Dense is the module that computes the mean of the [CLS] vector and the mean vector. */
    return s->pooling == AOE_POOLING_CLS_LAST_AVG ? "3_Dense" : "2_Dense";
}
