/* SPDX-License-Identifier: MIT
 * aoe data annotate: generates training rows from texts with chat models.
 */
#include "aoe_annotate.h"
#include "aoe_data.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/chat_job.h"
#include "cli/data/data_tools.h"

#include <string.h>

typedef struct options {
    cli_general general;
    cli_chat chat;
    aoe_annotate_options a;
} options;

#define AT(field) .offset = offsetof(options, field)

static const cli_option row_table[] = {
    {.name = "form",
     .kind = CLI_NAMED,
     .value = "NAME",
     AT(a.kind),
     .parse = cli_parse_output_form,
     .help = "pairs (text1, text2, label, source) or triplets (query, positive, negative, source)",
     .fallback = "pairs"},
    {.name = "positives",
     .letter = 'n',
     .kind = CLI_SIZE,
     .value = "N",
     AT(a.positives),
     .max = 1000,
     .help = "number of synonymous sentences to request per text and model; 0: none"},
    {.name = "negatives",
     .kind = CLI_SIZE,
     .value = "N",
     AT(a.negatives),
     .max = 1000,
     .help = "number of sentences of opposite meaning to request per text and model; 0: none"},
    {.name = "positive-prompt",
     .kind = CLI_TEXT,
     .value = "TEMPLATE",
     AT(a.positive_prompt),
     .help = "prompt for synonymous sentences, with {size} and {text}",
     .fallback = "the prompt of the AnglE paper (figure 4)"},
    {.name = "negative-prompt",
     .kind = CLI_TEXT,
     .value = "TEMPLATE",
     AT(a.negative_prompt),
     .help = "prompt for sentences of opposite meaning, with {size} and {text}",
     .fallback = "the prompt of the AnglE paper"},
    {.name = "positive-label",
     .kind = CLI_REAL,
     .value = "X",
     AT(a.positive_label),
     .min = -1e30,
     .max = 1e30,
     .help = "label of pairs of equal meaning"},
    {.name = "negative-label",
     .kind = CLI_REAL,
     .value = "X",
     AT(a.negative_label),
     .min = -1e30,
     .max = 1e30,
     .help = "label of pairs of opposite meaning"},
};

static const cli_option data_table[] = {
    CLI_OPTION_COLUMNS(AT(a.table.columns), "text=NAME", "name of the text column", "every column with a recognised name"),
    CLI_OPTION_SKIP_BAD_ROWS(AT(a.table.skip_bad_rows)),
};

static json_t *as_json(const options *o, const aoe_annotate_result *r) {
    const char *output = o->chat.output;
    return json_pack("{s:o,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "output",
                     output ? cli_json_text(output, strlen(output)) : json_null(), "dry_run", o->chat.o.dry_run, "texts",
                     (json_int_t)r->texts, "repeated_inputs", (json_int_t)r->repeated_inputs, "without", (json_int_t)r->without,
                     "rows", (json_int_t)r->rows, "positives", (json_int_t)r->positives, "negatives", (json_int_t)r->negatives,
                     "copies", (json_int_t)r->copies, "repeated", (json_int_t)r->repeated, "conflicts",
                     (json_int_t)r->conflicts, "skipped", (json_int_t)r->skipped);
}

/* out: [len] */
static void describe(char *out, size_t len, const options *o, const aoe_annotate_result *r) {
    const int n = snprintf(out, len, "%zu %s from %zu of %zu texts: %zu synonymous and %zu opposite sentences", r->rows,
                           o->a.kind == AOE_EXAMPLES_TRIPLETS ? "triplets" : "pairs", r->texts - r->without, r->texts,
                           r->positives, r->negatives);
    if (r->copies + r->repeated + r->conflicts)
        snprintf(out + n, len - (size_t)n, "; skipped: %zu that cop%s the input, %zu repeated, %zu listed as both", r->copies,
                 r->copies == 1 ? "ies" : "y", r->repeated, r->conflicts);
}

static int run(options *o, const cli_args *args) {
    aoe_annotate_result r = {.texts = 0};
    aoe_error err;
    char rows[512];
    o->a.chat = o->chat.o;
    o->a.chat.seed = o->general.seed;
    o->a.files = args->operand;
    o->a.n_files = args->n;
    o->a.name = o->chat.name;
    o->a.write = cli_chat_write;
    o->a.user = &o->chat;
    if (cli_chat_begin(&o->chat, args))
        return 1;
    const int code = aoe_annotate(&o->a, &r, &err);
    if (code)
        return cli_chat_fail(&o->chat, code, &r.chat, &err);
    cli_chat_end_progress(&o->chat);
    cli_warn_skipped(NULL, r.skipped);
    if (r.repeated_inputs)
        cli_note("%zu text%s repeated and annotated once", r.repeated_inputs, r.repeated_inputs == 1 ? " was" : "s were");
    cli_chat_warn(&o->chat, &r.chat);
    if (!o->chat.o.dry_run && !r.rows)
        return cli_fail("no rows from %zu texts: of %zu answers, %zu are refusals and %zu are unreadable; try another "
                        "prompt or model",
                        r.texts, r.chat.asked + r.chat.kept, r.chat.refused, r.chat.unreadable);
    describe(rows, sizeof rows, o, &r);
    return cli_chat_finish(&o->chat, &r.chat, rows, as_json(o, &r));
}

static int run_command(int argc, char **argv) {
    options o = {.general = {.quiet = 0}};
    cli_general_defaults(&o.general);
    cli_chat_defaults(&o.chat);
    aoe_annotate_options d;
    aoe_annotate_options_defaults(&o.a);
    aoe_annotate_options_defaults(&d);
    o.chat.o = o.a.chat;
    o.chat.most_prompts = 2;
    const cli_group groups[] = {
        CLI_GROUP("output", cli_chat_output_table, &o.chat),
        CLI_GROUP("rows", row_table, &o),
        CLI_GROUP("data", data_table, &o),
        CLI_GROUP("models", cli_chat_model_table, &o.chat),
        CLI_GROUP("calls", cli_chat_calls_table, &o.chat),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data annotate",
        .operands = "FILE...",
        .about = "Generates training data with chat models: for each text, sentences of equal and of opposite meaning,\n"
                 "written as labelled pairs or triplets. The API key is read from the environment. Every answer is\n"
                 "stored as it arrives: the same command continues a run that was stopped, and running a complete\n"
                 "command again sends no requests.\n",
        .examples = "  aoe data annotate texts.txt -m MODEL --api https://api.openai.com/v1 -o pairs.tsv --dry-run\n"
                    "  aoe data annotate texts.txt -m MODEL --api https://api.openai.com/v1 -o pairs.tsv \\\n"
                    "      --price 0.15,0.6 --max-cost 2\n"
                    "  aoe data annotate texts.txt -m A api=http://localhost:8000/v1 B api=http://localhost:8001/v1 \\\n"
                    "      --form triplets -o triplets.jsonl\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !o.a.positives && !o.a.negatives)
        code = cli_usage("data annotate", "--positives and --negatives must not both be 0");
    if (code == CLI_GO && o.a.kind == AOE_EXAMPLES_TRIPLETS &&
        (o.a.positive_label != d.positive_label || o.a.negative_label != d.negative_label))
        code = cli_usage("data annotate", "--positive-label and --negative-label require --form pairs");
    if (code == CLI_GO)
        code = cli_chat_prepare(&o.chat, "data annotate", o.general.json);
    if (code == CLI_GO) {
        cli_set_quiet(o.general.quiet);
        code = run(&o, &args);
    }
    cli_chat_close(&o.chat);
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_annotate_command = {
    .name = "annotate",
    .summary = "generate pairs and triplets with chat models",
    .run = run_command,
};
