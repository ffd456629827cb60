/* SPDX-License-Identifier: MIT
 * Option defaults and checks shared by aoe_annotate and aoe_score.
 */
#include "annotate/chat_options.h"

#include <string.h>

#include "aoe_annotate.h"
#include "base/error.h"
#include "base/options.h"
#include "table/table.h"

AOEI_DEFAULTS(aoe_chat_model) {
    *o = (aoe_chat_model){.struct_size = sizeof *o};
}

AOEI_DEFAULTS(aoe_chat_options) {
    *o = (aoe_chat_options){.struct_size = sizeof *o,
                            .concurrency = 4,
                            .attempts = 6,
                            .retry_delay = 1,
                            .timeout = 120,
                            .max_tokens = 1024,
                            .temperature = AOE_AUTO,
                            .seed = 42};
}

int aoei_check_tsv_text(aoe_text text, const char *output, const char *file, size_t line, aoe_error *err) {
    aoe_table_format format;
    int rc = output ? aoei_table_format_of(&format, output, err) : 0;
    if (rc || !output || format != AOE_TABLE_TSV)
        return rc;
    for (size_t i = 0; i < text.len; i++)
        if (strchr("\t\n\r", text.data[i]) && text.data[i])
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: the text contains a TAB or a line end, which .tsv cannot represent; use .jsonl or .csv for "
                "the output",
                file, line);
    return 0;
}

int aoei_check_output(const aoe_chat_options *chat, const char *name, aoe_write_fn write, aoe_error *err) {
    if (chat->dry_run || (name && write))
        return 0;
    return aoei_fail(err, AOE_EARG, "options.%s is missing", name ? "write" : "name");
}
