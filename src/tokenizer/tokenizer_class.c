/* SPDX-License-Identifier: MIT
 * The table contains the classes that transformers 5 registers for the model types that aoe supports.
 */
#include "tokenizer/tokenizer_class.h"

#include <string.h>

static const char backend[] = "TokenizersBackend";

/* The class of a model type. If `forced` is 1, it is used even if the files name another class. */
static const struct registered {
    const char *model_type, *class;
    int forced;
} types[] = {
    {"albert", "AlbertTokenizer", 0},
    {"bert", "BertTokenizer", 0},
    {"camembert", "CamembertTokenizer", 0},
    {"deberta-v2", "DebertaV2Tokenizer", 0},
    {"distilbert", "BertTokenizer", 0},
    {"electra", "BertTokenizer", 0},
    {"gemma3_text", "GemmaTokenizer", 0},
    {"gte", "XLMRobertaTokenizer", 0},
    {"ministral", backend, 0},
    {"mistral", backend, 0},
    {"modernbert", backend, 1},
    {"mpnet", "MPNetTokenizer", 0},
    {"nomic_bert", "BertTokenizer", 0},
    {"qwen2", "Qwen2Tokenizer", 1},
    {"qwen3", "Qwen2Tokenizer", 0},
    {"roberta", "RobertaTokenizer", 0},
    {"xlm-roberta", "XLMRobertaTokenizer", 0},
};

int aoei_tokenizer_class_is(const char *written, const char *name) {
    const size_t len = strlen(name);
    return written && !strncmp(written, name, len) && (!written[len] || !strcmp(written + len, "Fast"));
}

static const struct registered *find_registered(const json_t *model) {
    const char *type = json_string_value(json_object_get(model, "model_type"));
    for (size_t i = 0; i < sizeof types / sizeof *types && type; i++)
        if (!strcmp(type, types[i].model_type))
            return &types[i];
    return NULL;
}

const char *aoei_tokenizer_class_select(const char *written, const json_t *model, const char *subword, int byte_level) {
    const struct registered *r = find_registered(model);
    const int forced = r && r->forced && (r->class == backend || (subword && !strcmp(subword, "BPE")));
    const char *class = written ? written : json_string_value(json_object_get(model, "tokenizer_class"));
    if (!class)
        return r ? r->class : backend;
    if (aoei_tokenizer_class_is(class, "LlamaTokenizer") && (!model || (byte_level && !forced)))
        return backend;
    if (!r || aoei_tokenizer_class_is(class, r->class))
        return class;
    return forced || r->class == backend ? r->class : class;
}
