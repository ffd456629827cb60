/* SPDX-License-Identifier: MIT
 * The list of architectures, and the reader of config.json. Sizes in config.json are untrusted. aoei_config_read
 * therefore checks that the size in bytes of all weights, gradients and optimizer states together fits size_t.
 */
#include "encoder/arch_registry.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/arch_nomic.h"
#include "encoder/slots.h"

static const aoei_arch *const archs[] = {
#define AOEI_ARCH(name) &aoei_arch_##name,
#include "encoder/archs.def"
#undef AOEI_ARCH
};

#define N_ARCHS (sizeof archs / sizeof *archs)

/* Maximum values of hidden_size and vocab_size. All published encoders are smaller. */
#define MAX_HIDDEN ((size_t)1 << 16)
#define MAX_VOCAB  ((size_t)1 << 24)
/* maximum number of bytes that one parameter needs, including its copies, gradient and optimizer state */
#define STATE_BYTES 64

const aoei_arch *aoei_arch_find(const char *model_type) {
    for (size_t i = 0; i < N_ARCHS; i++)
        if (!strcmp(archs[i]->model_type, model_type) ||
            (archs[i]->other_type && !strcmp(archs[i]->other_type, model_type)))
            return archs[i];
    return NULL;
}

/* Returns the architecture that reads a config.json with this model type, or NULL if it is not supported. */
static const aoei_arch *arch_of(const json_t *config, const char *model_type) {
    for (size_t i = 0; i < N_ARCHS; i++)
        if (archs[i]->recognizes && !strcmp(model_type, "bert") && archs[i]->recognizes(config))
            return archs[i];
    return aoei_arch_find(model_type);
}

const char *aoei_arch_names(void) {
    return "bert, roberta, xlm-roberta, llama, mistral, qwen2, model2vec, ran, mpnet, nomic_bert, jina_bert, qwen3, "
           "ministral, new, gte, deberta-v2, distilbert, camembert, electra, "
           "gemma3_text, modernbert, albert, word_embeddings";
}

/* Checks that the size in bytes of all weights, gradients and optimizer states together fits size_t. */
static int check_total(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    size_t total = 0, n, bytes;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!slot.absent && (aoei_mul_size(slot.rows, slot.cols, &n) || aoei_add_size(total, n, &total)))
            goto fail;
    }
    if (aoei_mul_size(total, STATE_BYTES, &bytes))
        goto fail;
    return 0;
fail:
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the weights need more bytes than this machine can address; reduce hidden_size, vocab_size or the "
        "number of layers",
        file);
}

/* Checks the key is_causal of an encoder. If it contradicts the architecture, the library transformers computes causal
 * attention in some batches only. */
static int check_direction(const aoei_encoder_config *c, const aoei_arch *arch, const json_t *config, const char *file,
                           aoe_error *err) {
    int causal = c->causal;
    if (arch->default_pooling == AOE_POOLING_LAST_TOKEN) /* a causal architecture, which uses the key */
        return 0;
    const int rc = aoei_json_bool(config, "is_causal", &causal, file, err);
    if (rc || causal == c->causal)
        return rc;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: is_causal is %s, which is not supported, because the attention of this %s model is %s; remove the key",
        file, causal ? "true" : "false", arch->model_type, c->causal ? "causal (is_decoder)" : "bidirectional");
}

/* Returns the pooling of models whose directory specifies none, or AOE_POOLING_AUTO for that of the architecture. For a
 * causal model, sentence-transformers uses the last token only if the class in config.json is ...ForCausalLM, and the
 * mean for classes that compute hidden states, such as Qwen3Model. */
static aoe_pooling default_pooling(const aoei_arch *arch, const json_t *config) {
    static const char suffix[] = "ForCausalLM";
    const char *name = json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    const size_t len = name ? strlen(name) : 0, tail = sizeof suffix - 1;
    if (arch->default_pooling != AOE_POOLING_LAST_TOKEN || (len >= tail && !strcmp(name + len - tail, suffix)))
        return AOE_POOLING_AUTO;
    return AOE_POOLING_LAST_AVG;
}

int aoei_config_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const char *model_type = NULL;
    *c = (aoei_encoder_config){0};
    if (!json_is_object(config))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; a model's config.json is expected", file);
    int rc = aoei_json_string(config, "model_type", &model_type, NULL, file, err);
    if (rc)
        return rc;
    if (!model_type)
        return aoei_fail(err, AOE_EFORMAT, "%s: no \"model_type\"; add it (supported: %s)", file, aoei_arch_names());
    const aoei_arch *arch = arch_of(config, model_type);
    if (!arch)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: model_type '%s' is not supported (supported: %s)", file,
                         model_type, aoei_arch_names());
    if (arch->defaults)
        arch->defaults(c);
    if ((rc = arch->read(c, config, file, err)) || (rc = check_direction(c, arch, config, file, err)))
        return rc;
    c->arch = arch;
    c->default_pooling = default_pooling(arch, config);
    if ((rc = aoei_json_bool(config, "output_hidden_states", &c->modules.output_hidden_states, file, err)) ||
        (rc = aoei_check_size("hidden_size", c->hidden, 1, MAX_HIDDEN, file, err)) ||
        (rc = aoei_check_size("vocab_size", c->vocab, 1, MAX_VOCAB, file, err)) ||
        (arch->check && (rc = arch->check(c, file, err))))
        return rc;
    return check_total(c, file, err);
}
