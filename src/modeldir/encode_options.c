/* SPDX-License-Identifier: MIT
 * Determines the options with which the model in a directory tokenizes texts, from its configuration and its settings.
 */
#include <limits.h>
#include <string.h>

#include "aoe.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "modeldir/layout.h"
#include "modeldir/model_files.h"
#include "modeldir/sentence_transformers.h"
#include "modeldir/weight_layout.h"
#include "tokenizer/tokenizer_file_names.h"

/* Sets *lowercase to the setting of the model in `dir`: that in aoe.json or, if it is not set there, that of the
 * sentence-transformers files. */
static int read_lowercase(int *lowercase, const char *dir, aoe_error *err) {
    char *path;
    json_t *root;
    int value = AOE_AUTO, rc = aoei_json_load_optional(&root, &path, dir, "aoe.json", err);
    if (!rc && root)
        rc = aoei_json_bool(root, "lowercase", &value, path, err);
    if (!rc && value == AOE_AUTO)
        rc = aoei_sentence_transformers_lowercase(&value, dir, err);
    *lowercase = !rc && value == 1;
    json_decref(root);
    aoei_free(path);
    return rc;
}

int aoe_encode_options_of(aoe_encode_options *o, const char *dir, aoe_error *err) {
    AOEI_CHECK(err, o);
    char found[PATH_MAX];
    const int code = dir ? 0 : aoe_default_model(found, sizeof found, err);
    aoe_encode_options_defaults(o);
    if (code)
        return code;
    dir = dir ? dir : found;
    aoei_model_files f;
    int rc = aoei_model_files_open_config(&f, dir, err);
    const char *type = json_string_value(json_object_get(f.config_json, "model_type"));
    const aoei_arch *arch = !rc && type ? aoei_arch_find(type) : NULL;
    aoei_encoder_config c = {.arch = arch};
    if (arch && f.weights)
        aoei_weight_layout_find(&c, f.weights);
    o->no_special_tokens = c.arch && c.arch->plain_tokens;
    o->drop_unknown = o->no_special_tokens && !c.arch->keeps_unknown;
    if (!rc && aoei_entry_exists(aoei_weights_dir(&f), AOEI_WORDS_FILE)) /* this tokenizer has no unknown token */
        o->drop_unknown = 1;
    if (!o->no_special_tokens && !rc)
        rc = read_lowercase(&o->lowercase, dir, err);
    aoei_model_files_close(&f);
    /* a directory may contain only a tokenizer, or an architecture that aoe does not support */
    return rc == AOE_ENOMEM || rc == AOE_EUNSUPPORTED ? rc : 0;
}
