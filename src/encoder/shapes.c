/* SPDX-License-Identifier: MIT
 * The sizes of well-known encoders, selected by name, for new models with random weights. Also computes the
 * configuration of a new model from its sizes.
 */
#include "encoder/shapes.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/struct_layout.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"

#define VOCAB     30522 /* vocabulary size of bert-base-uncased */
#define POSITIONS 512
#define SIZE      sizeof(aoe_shape)

static const struct {
    const char *name;
    aoe_shape shape; /* members in this order: struct_size, hidden, layers, heads, intermediate, vocab, positions,
                        kv_heads, architecture, head size of RAN, window of RAN */
} shapes[] = {{"bert-base", {SIZE, 768, 12, 12, 3072, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"bert-large", {SIZE, 1024, 24, 16, 4096, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"bert-small", {SIZE, 512, 4, 8, 2048, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"bert-mini", {SIZE, 256, 4, 4, 1024, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"bert-tiny", {SIZE, 128, 2, 2, 512, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"minilm-l6", {SIZE, 384, 6, 12, 1536, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"minilm-l12", {SIZE, 384, 12, 12, 1536, VOCAB, POSITIONS, 0, NULL, 0, 0}},
              {"aoe-mini", {SIZE, 256, 3, 4, 1024, 12000, 128, 0, NULL, 0, 0}},
              {"roberta-base", {SIZE, 768, 12, 12, 3072, 50265, 514, 0, "roberta", 0, 0}},
              {"llama2-7b", {SIZE, 4096, 32, 32, 11008, 32000, 4096, 0, "llama", 0, 0}},
              {"tinyllama-1.1b", {SIZE, 2048, 22, 32, 5632, 32000, 2048, 4, "llama", 0, 0}},
              {"qwen2.5-0.5b", {SIZE, 896, 24, 14, 4864, 151936, 32768, 2, "qwen2", 0, 0}},
              {"ran-base", {SIZE, 768, 4, 12, 0, VOCAB, POSITIONS, 0, "ran", 256, 256}},
              {"ran-mini", {SIZE, 256, 2, 4, 0, 12000, POSITIONS, 0, "ran", 128, 128}}};

int aoei_shape_config(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err) {
    const char *name = s->architecture ? s->architecture : aoei_arch_bert.model_type;
    const aoei_arch *arch = aoei_arch_find(name);
    *c = (aoei_encoder_config){0};
    if (!arch || !arch->defaults)
        return aoei_fail(
            err, AOE_EARG,
            "options.shape.architecture '%s' is not supported (supported: bert, roberta, xlm-roberta, llama, mistral, "
            "qwen2, ran)",
            name);
    arch->defaults(c);
    arch->set_shape(c, s);
    c->arch = arch;
    return 0;
}

int aoei_shape_checked(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err) {
    aoei_encoder_config wanted;
    aoe_shape shape = *s;
    shape.vocab = s->vocab ? s->vocab : VOCAB;
    shape.positions = s->positions ? s->positions : POSITIONS;
    int code = aoei_shape_config(&wanted, &shape, err);
    if (code)
        return code;
    aoe_error inner;
    json_t *config = json_object();
    code = !config || wanted.arch->write(&wanted, config) ? aoei_fail_nomem(&inner, sizeof wanted)
                                                          : aoei_config_read(c, config, "options.shape", &inner);
    json_decref(config);
    return code ? aoei_fail(err, code == AOE_ENOMEM ? code : AOE_EARG, "%s", inner.message) : 0;
}

int aoe_shape_named(aoe_shape *s, const char *name, aoe_error *err) {
    AOEI_CHECK(err, s, name);
    int code = aoei_struct_check(s, &aoei_layout_aoe_shape, __func__, err);
    if (code)
        return code;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!strcmp(shapes[i].name, name)) {
            aoei_struct_write(s, &shapes[i].shape, &aoei_layout_aoe_shape);
            return 0;
        }
    return aoei_fail(err, AOE_EARG, "shape '%s' is unknown; use one of: %s", name, aoe_shape_names());
}

const char *aoe_shape_names(void) {
    return "bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, "
           "llama2-7b, tinyllama-1.1b, qwen2.5-0.5b, ran-base, ran-mini";
}
