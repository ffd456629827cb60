/* SPDX-License-Identifier: MIT
 * The option table of aoe_table_options.
 */
#include "options/table.h"

#include <stddef.h>
#include <string.h>

#include "aoe_data.h"
#include "base/error.h"
#include "options/rows.h"

#define AT(field) AOEI_AT(aoe_table_options, field)

static int parse_delimiter(void *target, const char *text, aoe_error *err) {
    const char c = strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0 ? '\t' : text[0];
    if (!c || (c == text[0] && text[1]))
        return aoei_fail(err, AOE_EARG, "expected one character or tab, not '%.100s'", text);
    *(char *)target = c;
    return 0;
}

static json_t *delimiter_json(const void *target) {
    return json_integer(*(const char *)target);
}

const char *const aoei_table_formats[] = {"auto", "tsv", "csv", "jsonl", "txt", "json", NULL};

const char *const aoei_forms[] = {"auto", "pairs", "positives", "triplets", NULL};
const char *const aoei_output_forms[] = {"pairs", "triplets", NULL};

/* Returns the index of a form in `names`. "triples" means "triplets". */
static size_t find_form(const char *const *names, const char *text, aoe_error *err) {
    return aoei_choose(names, strcmp(text, "triples") == 0 ? "triplets" : text, "form", err);
}

int aoei_parse_form(void *target, const char *text, aoe_error *err) {
    const size_t i = find_form(aoei_forms, text, err);
    if (!aoei_forms[i])
        return err->code;
    *(aoe_example_kind *)target = (aoe_example_kind)i;
    return 0;
}

int aoei_parse_output_form(void *target, const char *text, aoe_error *err) {
    const size_t i = find_form(aoei_output_forms, text, err);
    if (!aoei_output_forms[i])
        return err->code;
    *(aoe_example_kind *)target = i ? AOE_EXAMPLES_TRIPLETS : AOE_EXAMPLES_PAIRS;
    return 0;
}

const char *aoei_form_name(char out[AOEI_NAME_SIZE], const void *target) {
    (void)out;
    const aoe_example_kind kind = *(const aoe_example_kind *)target;
    return kind == AOE_EXAMPLES_AUTO ? NULL : aoei_forms[kind];
}

const aoei_option aoei_table_table[AOEI_TABLE_ROWS] = {
    AOEI_ROW_COLUMNS(
        AT(columns), "ROLE=NAME,...",
        "columns to read: ROLE=NAME reads the column NAME as ROLE, for example text1=a,text2=b,label=c; ignore=NAME "
        "marks an unused column",
        AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_LABEL_MAP(AT(label_map)),
    AOEI_ROW_SKIP_BAD_ROWS(AT(skip_bad_rows)),
    {.name = "decimal-comma",
     .kind = AOEI_OPTION_FLAG,
     AT(decimal_comma),
     .help = "labels may have a decimal comma, such as 0,5"},
    {.name = "input-format",
     .kind = AOEI_OPTION_CHOICE,
     AT(input_format),
     .choices = aoei_table_formats,
     .noun = "format",
     .help = "format of the input: tsv, csv, jsonl, json or txt",
     .fallback = "from the file extension; txt for stdin"},
    {.name = "delimiter",
     .kind = AOEI_OPTION_NAMED,
     .value = "CHAR",
     AT(delimiter),
     .parse = parse_delimiter,
     .json_of = delimiter_json,
     .help = "field separator of tables: one character, or the word tab",
     .fallback = "detected from the header: comma, semicolon, tab or |"},
    {.name = "no-header",
     .kind = AOEI_OPTION_FLAG,
     AT(no_header),
     .help = "the first line of a .tsv or .csv table is a row; the columns are named 1, 2 and so on, or text if there "
             "is only one"},
    {.name = "quoting",
     .kind = AOEI_OPTION_CHOICE,
     AT(quoting),
     /* names of the values of aoe_quoting, in the order of the values */
     .choices = AOEI_CHOICES("auto", "csv", "none"),
     .noun = "quoting",
     .help =
         "quotes in .tsv and .csv tables: csv (a field in double quotes may contain delimiters and line ends) or none "
         "(quotes are ordinary characters)",
     .fallback = "csv for .csv, none for .tsv"},
    {.name = "whole-files",
     .kind = AOEI_OPTION_FLAG,
     AT(whole_files),
     .excludes = "columns",
     .help = "read each file as one text, whatever its name, for example documents (.md, .html) and source code"},
};
