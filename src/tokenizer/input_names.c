/* SPDX-License-Identifier: MIT
 * The tables contain the classes and the model types of transformers 5 whose tokenizers pass token types.
 */
#include "tokenizer/input_names.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_parts.h"

/* Classes that pass token types. */
static const char *const classes[] = {"BertTokenizer",        "ElectraTokenizer",  "MobileBertTokenizer",
                                      "SqueezeBertTokenizer", "ConvBertTokenizer", "LayoutLMTokenizer",
                                      "LxmertTokenizer",      "DebertaTokenizer",  "DebertaV2Tokenizer"};
/* Model types whose default tokenizer class is one of these classes. */
static const char *const model_types[] = {"bert", "distilbert", "electra", "nomic_bert", "deberta-v2"};

static int class_passes_types(const char *name) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (aoei_tokenizer_class_is(name, classes[i]))
            return 1;
    return 0;
}

int aoei_input_names_read(int *types, const json_t *config, const char *file, aoe_error *err) {
    const json_t *names = json_object_get(config, "model_input_names");
    const char *class = NULL;
    const int rc = aoei_json_string(config, "tokenizer_class", &class, NULL, file, err);
    if (rc)
        return rc;
    if (names && !json_is_array(names))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"model_input_names\" is not a list of names; correct the value", file);
    *types = names ? 0 : class ? class_passes_types(class) : AOE_AUTO;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        *types |= name && !strcmp(name, "token_type_ids");
    }
    return 0;
}

int aoei_tokenizer_passes_types(const aoe_tokenizer *t, const json_t *model) {
    const char *class = json_string_value(json_object_get(model, "tokenizer_class")),
               *type = json_string_value(json_object_get(model, "model_type"));
    if (t->token_types != AOE_AUTO)
        return t->token_types;
    if (class)
        return class_passes_types(class);
    for (size_t i = 0; i < sizeof model_types / sizeof *model_types && type; i++)
        if (!strcmp(type, model_types[i]))
            return 1;
    return 0;
}
