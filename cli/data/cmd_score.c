/* SPDX-License-Identifier: MIT
 * Implements `aoe data score`: chat models rate the similarity of pairs.
 */
#include "aoe_annotate.h"
#include "cli/common/dispatch.h"
#include "cli/data/chat_job.h"
#include "options/annotate.h"

#include <string.h>

static json_t *as_json(const cli_chat *c, const aoe_score_result *r) {
    json_t *output = c->output ? cli_json_text(c->output, strlen(c->output)) : json_null();
    return json_pack("{s:o,s:b,s:I,s:I,s:I,s:o}", "output", output, "dry_run", c->o.dry_run, "rows",
                     (json_int_t)r->rows, "scored", (json_int_t)r->scored, "skipped", (json_int_t)r->skipped, "mean",
                     cli_json_real(r->mean));
}

static int run(void *own, cli_chat *c, const cli_args *args) {
    aoe_score_options *o = own;
    aoe_score_result r = {.struct_size = sizeof r, .chat = {.struct_size = sizeof r.chat}};
    aoe_error err;
    char rows[128];
    o->chat = c->o;
    o->file = args->operand[0];
    o->name = c->name;
    o->write = cli_chat_write;
    o->user = c;
    const int code = aoe_score(o, &r, &err);
    if (code)
        return cli_chat_fail(c, code, &r.chat, &err);
    cli_chat_warn(c, &r.chat, r.skipped);
    if (!c->o.dry_run && !r.scored)
        return cli_fail(
            "no scores for %zu pairs (responses: %zu, of which refusals: %zu, without a score: %zu); try another "
            "prompt or model",
            r.rows, r.chat.asked + r.chat.kept, r.chat.refused, r.chat.unreadable);
    snprintf(rows, sizeof rows, "%zu of %zu pairs scored, mean %.2f", r.scored, r.rows, r.mean);
    return cli_chat_finish(c, &r.chat, rows, as_json(c, &r));
}

static int check(const void *own) {
    const aoe_score_options *o = own;
    return *o->label ? CLI_GO : cli_usage("data score", "--label must not be empty");
}

static int run_command(int argc, char **argv) {
    aoe_score_options o;
    aoe_score_options_defaults(&o);
    cli_chat chat = {.o = o.chat, .most_prompts = 1};
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_score_rows, &o),
        CLI_LIBRARY_GROUP(&aoei_score_data_rows, &o),
        CLI_TABLE_INPUT_GROUP(&o.table),
    };
    const cli_chat_command command = {
        .command = "data score",
        .operands = "FILE",
        .about = "Labels text pairs with chat models. The models score the similarity of the two texts from 0 to 5.\n"
                 "Each row of the input is written with the mean of its scores as label. Pairs for which no response\n"
                 "contains a score are omitted from the output, and their number is reported. The API key is read\n"
                 "from an environment variable (--key-env). Every response is stored in a cache (--cache) as soon as\n"
                 "it arrives. To continue an interrupted run, run the command again. Repeating a complete run sends\n"
                 "no requests.\n",
        .examples = "  aoe data score pairs.tsv -m MODEL --api https://api.openai.com/v1 -o scored.tsv\n"
                    "  aoe data score pairs.tsv -m A api=http://localhost:8000/v1 B api=http://localhost:8001/v1 \\\n"
                    "      --each -o scored.tsv\n",
        .max_operands = 1,
        CLI_GROUPS(groups),
        .own = &o,
        .check = check,
        .run = run,
    };
    return cli_chat_run(&chat, &command, argc, argv);
}

const cli_command cli_data_score_command = {
    .name = "score",
    .summary = "score the similarity of pairs from 0 to 5 with chat models",
    .run = run_command,
};
