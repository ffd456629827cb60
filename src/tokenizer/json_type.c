/* SPDX-License-Identifier: MIT
 * Reads the "type" of a component of tokenizer.json.
 */
#include "tokenizer/json_type.h"

#include "base/error.h"
#include "base/json.h"

int aoei_json_type(const char **type, const json_t *section, const char *what, const char *file, aoe_error *err) {
    *type = NULL;
    if (!json_is_object(section))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not an object; download the file again", file, what);
    int rc = aoei_json_string(section, "type", type, NULL, file, err);
    if (rc)
        return rc;
    if (!*type)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" has no \"type\"; download the file again", file, what);
    return 0;
}
