/* SPDX-License-Identifier: MIT
 * Implements `aoe data annotate`: chat models write training sentences for given texts.
 */
#include "aoe_annotate.h"
#include "aoe_data.h"
#include "cli/common/dispatch.h"
#include "cli/data/chat_job.h"
#include "options/annotate.h"

#include <string.h>

static json_t *as_json(const cli_chat *c, const aoe_annotate_result *r) {
    json_t *output = c->output ? cli_json_text(c->output, strlen(c->output)) : json_null();
    return json_pack("{s:o,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "output", output, "dry_run", c->o.dry_run,
                     "texts", (json_int_t)r->texts, "repeated_inputs", (json_int_t)r->repeated_inputs, "without",
                     (json_int_t)r->without, "rows", (json_int_t)r->rows, "positives", (json_int_t)r->positives,
                     "negatives", (json_int_t)r->negatives, "copies", (json_int_t)r->copies, "repeated",
                     (json_int_t)r->repeated, "conflicts", (json_int_t)r->conflicts, "skipped", (json_int_t)r->skipped);
}

/* Writes the summary of a run to out[len]. */
static void describe(char *out, size_t len, const aoe_annotate_options *o, const aoe_annotate_result *r) {
    const int n = snprintf(out, len, "%zu %s from %zu of %zu texts: %zu synonymous and %zu opposite sentences", r->rows,
                           o->kind == AOE_EXAMPLES_TRIPLETS ? "triplets" : "pairs", r->texts - r->without, r->texts,
                           r->positives, r->negatives);
    if (r->copies + r->repeated + r->conflicts)
        snprintf(out + n, len - (size_t)n,
                 "; skipped: %zu equal to the input, %zu repeated, %zu both synonymous and opposite", r->copies,
                 r->repeated, r->conflicts);
}

static int run(void *own, cli_chat *c, const cli_args *args) {
    aoe_annotate_options *o = own;
    aoe_annotate_result r = {.struct_size = sizeof r, .chat = {.struct_size = sizeof r.chat}};
    aoe_error err;
    char rows[512];
    o->chat = c->o;
    o->files = args->operand;
    o->n_files = args->n;
    o->name = c->name;
    o->write = cli_chat_write;
    o->user = c;
    const int code = aoe_annotate(o, &r, &err);
    if (code)
        return cli_chat_fail(c, code, &r.chat, &err);
    cli_chat_warn(c, &r.chat, r.skipped);
    if (r.repeated_inputs)
        cli_note("%zu text%s repeated and annotated once", r.repeated_inputs,
                 r.repeated_inputs == 1 ? " was" : "s were");
    if (!c->o.dry_run && !r.rows)
        return cli_fail(
            "no rows from %zu texts (responses: %zu, of which refusals: %zu, unreadable: %zu); try another prompt or "
            "model",
            r.texts, r.chat.asked + r.chat.kept, r.chat.refused, r.chat.unreadable);
    describe(rows, sizeof rows, o, &r);
    return cli_chat_finish(c, &r.chat, rows, as_json(c, &r));
}

static int check(const void *own) {
    const aoe_annotate_options *o = own;
    aoe_annotate_options d;
    aoe_annotate_options_defaults(&d);
    if (!o->positives && !o->negatives)
        return cli_usage("data annotate", "--positives and --negatives must not both be 0");
    if (o->kind == AOE_EXAMPLES_TRIPLETS &&
        (o->positive_label != d.positive_label || o->negative_label != d.negative_label))
        return cli_usage("data annotate", "--positive-label and --negative-label require --form pairs");
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    aoe_annotate_options o;
    aoe_annotate_options_defaults(&o);
    cli_chat chat = {.o = o.chat, .most_prompts = 2};
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_annotate_rows, &o),
        CLI_LIBRARY_GROUP(&aoei_annotate_data_rows, &o),
        CLI_TEXT_INPUT_GROUP(&o.table),
    };
    const cli_chat_command command = {
        .command = "data annotate",
        .operands = "FILE...",
        .about = "Generates training data with chat models. For each text of the files (.txt or tables), the models\n"
                 "write sentences of equal and of opposite meaning. The text and these sentences form labeled pairs\n"
                 "or triplets. The API key is read from an environment variable (--key-env). Every response is stored\n"
                 "in a cache (--cache) as soon as it arrives. To continue an interrupted run, run the command again.\n"
                 "Repeating a complete run sends no requests.\n",
        .examples =
            "  aoe data annotate texts.txt -m MODEL --api https://api.openai.com/v1 -o pairs.tsv --dry-run\n"
            "  aoe data annotate texts.txt -m MODEL --api https://api.openai.com/v1 -o pairs.tsv \\\n"
            "      --price 0.15,0.6 --max-cost 2\n"
            "  aoe data annotate texts.txt -m A api=http://localhost:8000/v1 B api=http://localhost:8001/v1 \\\n"
            "      --form triplets -o triplets.jsonl\n",
        .max_operands = SIZE_MAX,
        CLI_GROUPS(groups),
        .own = &o,
        .check = check,
        .run = run,
    };
    return cli_chat_run(&chat, &command, argc, argv);
}

const cli_command cli_data_annotate_command = {
    .name = "annotate",
    .summary = "generate pairs and triplets with chat models",
    .run = run_command,
};
