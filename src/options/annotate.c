/* SPDX-License-Identifier: MIT
 * The option tables of aoe_chat_options, aoe_annotate_options and aoe_score_options.
 */
#include "options/annotate.h"

#include <float.h>
#include <stddef.h>

#include "aoe_annotate.h"
#include "options/rows.h"
#include "options/table.h"

#define ANNOTATE(field) AOEI_AT(aoe_annotate_options, field)

static const aoei_option generated_rows[] = {
    {.name = "form",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     ANNOTATE(kind),
     .parse = aoei_parse_output_form,
     .name_of = aoei_form_name,
     .choices = aoei_output_forms,
     .help =
         "columns of the output: pairs (text1, text2, label, source) or triplets (query, positive, negative, source); "
         "source is the name of the chat model",
     .fallback = "pairs"},
    {.name = "positives",
     .letter = 'n',
     .kind = AOEI_OPTION_SIZE,
     ANNOTATE(positives),
     .max = 1000,
     .help = "number of sentences of equal meaning to request per text and model"},
    {.name = "negatives",
     .kind = AOEI_OPTION_SIZE,
     ANNOTATE(negatives),
     .max = 1000,
     .help = "number of sentences of opposite meaning to request per text and model"},
    {.name = "positive-prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     ANNOTATE(positive_prompt),
     .help =
         "prompt that requests sentences of equal meaning; {size} is replaced by their number, and {text} by the text",
     .fallback = "the prompt of the AnglE paper; see docs/annotate.md"},
    {.name = "negative-prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     ANNOTATE(negative_prompt),
     .help = "prompt that requests sentences of opposite meaning; {size} is replaced by their number, and {text} by "
             "the text",
     .fallback = "the prompt of the AnglE paper; see docs/annotate.md"},
    {.name = "positive-label",
     .kind = AOEI_OPTION_REAL,
     ANNOTATE(positive_label),
     .min = -DBL_MAX,
     .max = DBL_MAX,
     .help = "label of pairs of equal meaning"},
    {.name = "negative-label",
     .kind = AOEI_OPTION_REAL,
     ANNOTATE(negative_label),
     .min = -DBL_MAX,
     .max = DBL_MAX,
     .help = "label of pairs of opposite meaning"},
};

static const aoei_option annotate_data_rows[] = {
    AOEI_ROW_COLUMNS(ANNOTATE(table.columns), "text=NAME", "name of the text column",
                     "all text columns with a name listed in docs/data.md, such as sentence1"),
    AOEI_ROW_SKIP_BAD_ROWS(ANNOTATE(table.skip_bad_rows)),
};

#define SCORE(field) AOEI_AT(aoe_score_options, field)

static const aoei_option score_rows[] = {
    {.name = "prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     SCORE(prompt),
     .help = "prompt that asks for a number from 0 to 5; {text1} and {text2} are replaced by the texts of a pair",
     .fallback = "the prompt in docs/annotate.md"},
    {.name = "label",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     SCORE(label),
     .help = "name of the output column for the mean score; an existing column with this name is replaced"},
    {.name = "each",
     .kind = AOEI_OPTION_FLAG,
     SCORE(each),
     .help = "also add one column per model, which contains the score by this model; the column is "
             "named score:SOURCE, where SOURCE is the setting source= of --model"},
};

static const aoei_option score_data_rows[] = {
    AOEI_ROW_COLUMNS(SCORE(table.columns), "ROLE=NAME,...",
                     "columns to read: ROLE=NAME reads the column NAME as ROLE, for example text1=a,text2=b",
                     AOEI_DEFAULT_COLUMNS),
    AOEI_ROW_SKIP_BAD_ROWS(SCORE(table.skip_bad_rows)),
};

#define CHAT(field) AOEI_AT(aoe_chat_options, field)

static const aoei_option chat_output_rows[] = {
    {.name = "cache",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     CHAT(cache),
     .help = "SQLite file in which every response is stored as soon as it arrives; stored responses are not requested "
             "again",
     .fallback = "the --output name followed by .sqlite"},
};

static const aoei_option chat_models_rows[] = {
    {.name = "system",
     .kind = AOEI_OPTION_TEXT,
     .value = "TEXT",
     CHAT(system),
     .help = "system message",
     .fallback = "none"},
    {.name = "temperature",
     .kind = AOEI_OPTION_REAL,
     CHAT(temperature),
     .name_of = aoei_real_text,
     .max = 5,
     .help = "sampling temperature",
     .fallback = "chosen by the endpoint"},
    {.name = "max-tokens",
     .kind = AOEI_OPTION_SIZE,
     CHAT(max_tokens),
     .max = 1e6,
     .help = "maximum number of completion tokens per request; with 0, the endpoint chooses the limit"},
    {.name = "request",
     .kind = AOEI_OPTION_TEXT,
     .value = "JSON",
     CHAT(request),
     .help = "JSON object whose keys are added to every request, for example {\"top_p\": 0.9}; the value null "
             "removes a key",
     .fallback = "none"},
};

static const aoei_option chat_calls_rows[] = {
    {.name = "concurrency",
     .letter = 'j',
     .kind = AOEI_OPTION_SIZE,
     CHAT(concurrency),
     .min = 1,
     .max = 256,
     .help = "number of simultaneous requests; the results do not depend on it"},
    {.name = "per-minute",
     .kind = AOEI_OPTION_REAL,
     CHAT(per_minute),
     .max = 1e6,
     .help = "maximum number of requests per minute for each model",
     .fallback = "unlimited"},
    {.name = "attempts",
     .kind = AOEI_OPTION_SIZE,
     CHAT(attempts),
     .min = 1,
     .max = 100,
     .help = "number of attempts per request"},
    {.name = "timeout",
     .kind = AOEI_OPTION_REAL,
     .value = "S",
     CHAT(timeout),
     .min = 0.1,
     .max = 1e5,
     .help = "timeout of a request in seconds"},
    {.name = "max-cost",
     .kind = AOEI_OPTION_REAL,
     CHAT(max_cost),
     .max = 1e9,
     .help = "stop before this run costs more than X, in the currency of --price",
     .fallback = "unlimited"},
    {.name = "max-total-tokens",
     .kind = AOEI_OPTION_REAL,
     .value = "N",
     CHAT(max_total_tokens),
     .max = 1e15,
     .help = "stop before this run uses more than N tokens",
     .fallback = "unlimited"},
    {.name = "skip-failed",
     .kind = AOEI_OPTION_FLAG,
     CHAT(skip_failed),
     .help = "skip requests that fail after all attempts and report their number, instead of ending with an error"},
    {.name = "dry-run",
     .kind = AOEI_OPTION_FLAG,
     CHAT(dry_run),
     .help =
         "send no requests; print the prompts for the first text or pair, the number of requests and an estimate of "
         "their cost"},
};

const aoei_option_group aoei_annotate_rows = AOEI_GROUP("generated rows", aoe_annotate_options, generated_rows);
const aoei_option_group aoei_annotate_data_rows = AOEI_GROUP("data", aoe_annotate_options, annotate_data_rows);
const aoei_option_group aoei_score_rows = AOEI_GROUP("scores", aoe_score_options, score_rows);
const aoei_option_group aoei_score_data_rows = AOEI_GROUP("data", aoe_score_options, score_data_rows);
const aoei_option_group aoei_chat_output_rows = AOEI_GROUP("output", aoe_chat_options, chat_output_rows);
const aoei_option_group aoei_chat_models_rows = AOEI_GROUP("models", aoe_chat_options, chat_models_rows);
const aoei_option_group aoei_chat_calls_rows = AOEI_GROUP("calls", aoe_chat_options, chat_calls_rows);
