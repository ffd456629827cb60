/* SPDX-License-Identifier: MIT
 * Post-processors. Only the template of a single text is read; pairs are
 * encoded as two texts. Token types are not kept: they are 0 in a single text.
 */
#include "text/postprocessor.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "text/json_type.h"
#include "text/vocab.h"

int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id, aoe_error *err) {
    size_t n = p->n_before + p->n_after;
    if (aoei_grow((void **)&p->id, &p->capacity, n, sizeof *p->id))
        return aoei_fail_nomem(err, n * 2 * sizeof *p->id);
    p->id[n] = id;
    if (after)
        p->n_after++;
    else
        p->n_before++;
    return 0;
}

static int add_json_id(aoei_postprocessor *p, int after, const json_t *id, const char *file, aoe_error *err) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: a special token of \"post_processor\" has no id from 0 to %d; fetch the file again", file,
                         AOEI_VOCAB_MAX_ID);
    return aoei_postprocessor_add(p, after, (int32_t)json_integer_value(id), err);
}

/* {"SpecialToken": {"id": NAME}}: its ids stand in "special_tokens". */
static int add_special(aoei_postprocessor *p, int after, const json_t *special, const json_t *table, const char *file,
                       aoe_error *err) {
    const char *name = NULL;
    int rc = aoei_json_string(special, "id", &name, NULL, file, err);
    if (rc)
        return rc;
    const json_t *ids = name ? json_object_get(json_object_get(table, name), "ids") : NULL;
    if (!json_is_array(ids))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"special_tokens\" of \"post_processor\" has no ids for \"%s\"; fetch the file again", file,
                         name ? name : "(no id)");
    for (size_t i = 0; i < json_array_size(ids) && !rc; i++)
        rc = add_json_id(p, after, json_array_get(ids, i), file, err);
    return rc;
}

static int read_template(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    const json_t *single = json_object_get(section, "single"), *table = json_object_get(section, "special_tokens");
    int texts = 0, rc;
    if (!json_is_array(single))
        return aoei_fail(err, AOE_EFORMAT, "%s: TemplateProcessing without an array \"single\"; fetch the file again", file);
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *piece = json_array_get(single, i);
        const json_t *special = json_object_get(piece, "SpecialToken"), *sequence = json_object_get(piece, "Sequence");
        if (special) {
            if ((rc = add_special(p, texts > 0, special, table, file, err)))
                return rc;
        } else {
            const char *which = json_string_value(json_object_get(sequence, "id"));
            texts += which && strcmp(which, "A") == 0 ? 1 : 2;
        }
    }
    if (texts != 1)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the \"single\" template of TemplateProcessing must hold the sequence A exactly once", file);
    return 0;
}

/* {"cls": [NAME, ID], "sep": [NAME, ID]} */
static int read_bert(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    int rc = add_json_id(p, 0, json_array_get(json_object_get(section, "cls"), 1), file, err);
    return rc ? rc : add_json_id(p, 1, json_array_get(json_object_get(section, "sep"), 1), file, err);
}

int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err) {
    const char *type;
    if (!section || json_is_null(section))
        return 0;
    int rc = aoei_json_type(&type, section, "post_processor", file, err);
    if (rc)
        return rc;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(p, section, file, err);
    if (strcmp(type, "BertProcessing") == 0)
        return read_bert(p, section, file, err);
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: post_processor \"%s\" is not supported (TemplateProcessing and BertProcessing are)", file, type);
}

void aoei_postprocessor_free(aoei_postprocessor *p) {
    aoei_free(p->id);
    memset(p, 0, sizeof *p);
}
