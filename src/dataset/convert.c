/* SPDX-License-Identifier: MIT
 * Implements aoe_data_convert. Depending on the options, rows are copied to another file format (convert_rows.h), or
 * examples are converted to another kind (convert_examples.h).
 */

#include "aoe.h"
#include "aoe_data.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "dataset/convert_examples.h"
#include "dataset/convert_rows.h"

AOEI_DEFAULTS(aoe_data_convert_options) {
    *o = (aoe_data_convert_options){
        .struct_size = sizeof *o, .threshold = AOE_AUTO, .pairing = AOE_PAIRING_ZIP, .negatives = 1, .seed = 42};
    aoe_table_options_defaults(&o->table);
}

int aoe_data_convert(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result,
                     aoe_error *err) {
    AOEI_CHECK(err, path);
    AOEI_RESULT(aoe_data_convert_result, result, err);
    AOEI_OPTIONS(aoe_data_convert_options, o, err);
    if (!o->name || !o->write)
        return aoei_fail(err, AOE_EARG, "options.%s is missing", o->name ? "write" : "name");
    if (aoei_check_option("options.threshold", o->threshold, err))
        return AOE_EARG;
    return o->to == AOE_EXAMPLES_AUTO ? aoei_convert_rows(path, o, result, err)
                                      : aoei_convert_examples(path, o, result, err);
}
