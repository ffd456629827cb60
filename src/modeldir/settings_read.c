/* SPDX-License-Identifier: MIT
 * Reads the settings of a model from these sources, in order of precedence:
 * 1. the options of the caller
 * 2. aoe.json
 * 3. the sentence-transformers files
 * 4. config.json
 * 5. the defaults of the architecture
 */
#include "modeldir/settings_read.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "base/alloc.h"
#include "base/error.h"
#include "modeldir/sentence_transformers.h"
#include "modeldir/settings_json.h"
#include "tokenizer/prompt.h"

/* Checks the options `o` of the caller and sets the settings that the options specify. */
static int apply_options(aoei_partial_settings *s, const aoei_encoder_config *c, const aoe_model_options *o,
                         aoe_error *err) {
    size_t max = c->arch->max_length(c);
    if (!aoe_pooling_name(o->pooling))
        return aoei_fail(err, AOE_EARG, "options.pooling is %d; use a value of aoe_pooling", (int)o->pooling);
    if (!o->max_length)
        return aoei_fail(err, AOE_EARG, "options.max_length must be at least 1");
    if (o->max_length != AOE_AUTO && o->max_length > max)
        return aoei_fail(err, AOE_EARG,
                         "options.max_length is %zu, but must be at most %zu, the number of positions of the model",
                         o->max_length, max);
    if (o->prompt && o->prompt_name)
        return aoei_fail(err, AOE_EARG, "options.prompt and options.prompt_name are both set; omit one of them");
    const int rc = o->prompt && *o->prompt ? aoei_template_check("options.prompt", o->prompt, err) : 0;
    if (rc)
        return rc;
    if (o->bidirectional_from != AOE_AUTO && !c->causal)
        return aoei_fail(err, AOE_EARG,
                         "the attention of a %s model is bidirectional in all layers; omit options.bidirectional_from",
                         c->arch->model_type);
    if (o->bidirectional_from != AOE_AUTO && o->bidirectional_from > c->layers)
        return aoei_fail(err, AOE_EARG,
                         "options.bidirectional_from is %zu, but must be at most %zu, the number of layers",
                         o->bidirectional_from, c->layers);
    s->bidirectional_from = o->bidirectional_from;
    s->pooling = o->pooling;
    s->pooling_from = s->max_length_from = "option";
    s->max_length = o->max_length;
    s->normalize = o->normalize;
    return o->prompt ? aoei_partial_settings_set_prompt(s, o->prompt, err) : 0;
}

/* Records the settings that the options `o` specify. */
static int add_sources(aoei_file_cache *cache, const aoe_model_options *o, aoe_error *err) {
    const struct {
        const char *setting, *option;
        int given;
    } options[] = {{"pooling", "options.pooling", o->pooling != AOE_POOLING_AUTO},
                   {"max_length", "options.max_length", o->max_length != AOE_AUTO},
                   {"normalize", "options.normalize", o->normalize != AOE_AUTO},
                   {"prompt", "options.prompt", o->prompt != NULL},
                   {"bidirectional_from", "options.bidirectional_from", o->bidirectional_from != AOE_AUTO},
                   {"activation", "options.activation", o->activation != AOE_AUTO},
                   {"dims", "options.dims", o->dims > 0}};
    int rc = 0;
    for (size_t i = 0; i < sizeof options / sizeof *options && !rc; i++)
        if (options[i].given)
            rc = aoei_source_add(cache, options[i].setting, NULL, NULL, options[i].option, err);
    return rc;
}

/* Returns an error if the architecture does not support the pooling in `s`. */
static int check_pooling(const aoei_partial_settings *s, const aoei_encoder_config *c, aoe_error *err) {
    const unsigned required = s->pooling < AOE_POOLING_CONCAT ? AOEI_POOLING_BIT(s->pooling) : AOEI_TOKEN_POOLINGS;
    if (s->include_prompt == 0 && (c->arch->poolings & AOEI_CELL_POOLINGS))
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "include_prompt is false, which is not supported by architecture '%s'; remove the key",
                         c->arch->model_type);
    if (s->pooling == AOE_POOLING_AUTO || (c->arch->poolings & required) == required)
        return 0;
    char names[256] = "";
    for (aoe_pooling p = AOE_POOLING_CLS; p < AOE_POOLING_COUNT; p++)
        if (c->arch->poolings & AOEI_POOLING_BIT(p))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "",
                     aoe_pooling_name(p));
    return aoei_fail(err, strcmp(s->pooling_from, "option") ? AOE_EFORMAT : AOE_EARG,
                     "pooling '%s' (%s) is not supported by architecture '%s' (supported: %s)",
                     aoe_pooling_name(s->pooling), s->pooling_from, c->arch->model_type, names);
}

/* Replaces the prompt by the prompt with the name options.prompt_name. */
static int select_prompt(aoei_partial_settings *s, aoei_model_dir dir, const aoe_model_options *o, aoe_error *err) {
    const char *template = aoei_prompt_find(s->prompts, o->prompt_name), *name;
    char names[256] = "";
    const json_t *v;
    const int is_standard = !strcmp(o->prompt_name, "query") || !strcmp(o->prompt_name, "document");
    if (!template && o->prompt_optional)
        return 0;
    if (!template && is_standard) /* every model of sentence-transformers has these two prompts; they are empty by
                                     default */
        template = AOEI_PLACEHOLDER;
    if (template) {
        aoei_free(s->prompt);
        const int rc = aoei_partial_settings_set_prompt(s, template, err);
        return rc ? rc : aoei_source_replace(dir.cache, "prompt", NULL, NULL, "options.prompt_name", err);
    }
    json_object_foreach((json_t *)(uintptr_t)s->prompts, name, v) {
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%.40s", at ? ", " : "", name);
    }
    return aoei_fail(
        err, AOE_EARG,
        "%s: the model has no prompt '%s' (its prompts: %s); omit options.prompt_name or set options.prompt", dir.path,
        o->prompt_name, *names ? names : "none");
}

int aoei_settings_read(aoei_settings *s, json_t **record, aoei_model_dir dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err) {
    aoei_partial_settings st;
    int rc;
    *s = (aoei_settings){0};
    *record = NULL;
    aoei_partial_settings_init(&st);
    if ((rc = apply_options(&st, c, o, err)) || (rc = add_sources(dir.cache, o, err)) ||
        (rc = aoei_settings_json_read(&st, record, dir, c, err)))
        goto fail;
    st.skip_modules |= c->modules.classes > 0; /* a classification head has a pooling of its own and no other modules */
    if (c->modules.classes) {
        aoei_free(st.layer_pooling);
        st.layer_pooling = NULL;
        aoei_free(st.token_module_folder);
        st.token_module_folder = NULL;
        st.token_module = AOEI_TOKEN_MODULE_NONE;
    }
    if ((rc = aoei_sentence_transformers_read(&st, dir, c, err)) || (rc = check_pooling(&st, c, err)) ||
        (o->prompt_name && (rc = select_prompt(&st, dir, o, err))))
        goto fail;
    if (!st.prompt && (rc = aoei_partial_settings_set_prompt(&st, "", err)))
        goto fail;
    *s = (aoei_settings){
        .pooling = st.pooling != AOE_POOLING_AUTO           ? st.pooling
                   : c->pooling != AOE_POOLING_AUTO         ? c->pooling
                   : c->default_pooling != AOE_POOLING_AUTO ? c->default_pooling
                                                            : c->arch->default_pooling,
        .pooling_from = st.pooling != AOE_POOLING_AUTO   ? st.pooling_from
                        : c->pooling != AOE_POOLING_AUTO ? "config.json"
                                                         : "default",
        .max_length = st.max_length != AOE_AUTO ? st.max_length
                      : c->arch->default_length ? c->arch->default_length
                                                : aoei_sentence_transformers_positions(c),
        .max_length_from = st.max_length != AOE_AUTO ? st.max_length_from : "default",
        .prompt = st.prompt,
        .prompts = st.prompts,
        .modules = st.modules,
        .layer_pooling = st.layer_pooling,
        .token_module = st.token_module,
        .token_module_folder = st.token_module_folder,
        .normalize = st.normalize == 1,
        .lowercase = st.lowercase == 1,
        .bidirectional = st.bidirectional_from != AOE_AUTO,
        .bidirectional_from = st.bidirectional_from,
        .exclude_prompt = st.include_prompt == 0,
        .subtract_empty_prompt = st.subtract_empty_prompt,
        .truncate_dim = st.truncate_dim != AOE_AUTO ? st.truncate_dim : 0,
        .unit_truncated = o->normalize == 1,
        .chat = st.chat,
        .similarity = st.similarity != AOE_AUTO ? (aoe_similarity_function)st.similarity : AOE_SIMILARITY_COSINE,
    };
    return 0;
fail:
    aoei_partial_settings_free(&st);
    json_decref(*record);
    *record = NULL;
    return rc;
}
