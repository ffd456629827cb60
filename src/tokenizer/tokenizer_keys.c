/* SPDX-License-Identifier: MIT
 * Finds keys of tokenizer.json that are on no list. The section "decoder" is not needed for encoding, so its keys are
 * not checked.
 */
#include "tokenizer/tokenizer_keys.h"

enum {
    MAX_DEPTH = 8
}; /* maximum nesting depth of components of the type Sequence; deeper components are rejected elsewhere */

/* Collects the unknown keys of a component of the section `within`, and of the components of a sequence. A component
 * without a type is a model of an old version of the format. */
static void collect_component(aoei_unknown_keys *unknown, const json_t *component, int depth, const char *within) {
    static const char *const lists[] = {"normalizers", "pretokenizers", "processors"};
    const char *type = json_string_value(json_object_get(component, "type"));
    if (type)
        aoei_json_keys_collect(unknown, component, AOEI_KEYS_COMPONENT, type, within);
    for (size_t k = 0; k < sizeof lists / sizeof *lists && depth < MAX_DEPTH; k++) {
        const json_t *list = json_object_get(component, lists[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            collect_component(unknown, json_array_get(list, i), depth + 1, within);
    }
}

void aoei_tokenizer_keys_collect(aoei_unknown_keys *unknown, const json_t *root) {
    static const char *const sections[] = {"normalizer", "pre_tokenizer", "post_processor", "model"};
    const json_t *added = json_object_get(root, "added_tokens");
    aoei_json_keys_collect(unknown, root, AOEI_KEYS_TOKENIZER_JSON, NULL, NULL);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        collect_component(unknown, json_object_get(root, sections[i]), 0, sections[i]);
    for (size_t i = 0; i < json_array_size(added) && !unknown->n; i++)
        aoei_json_keys_collect(unknown, json_array_get(added, i), AOEI_KEYS_ADDED_TOKEN, NULL, "added_tokens");
}
