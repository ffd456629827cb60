/* SPDX-License-Identifier: MIT
 * aoe data score: adds labels from chat models to pairs.
 */
#include "aoe_annotate.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/chat_job.h"
#include "cli/data/data_tools.h"

#include <string.h>

typedef struct options {
    cli_general general;
    cli_chat chat;
    aoe_score_options s;
} options;

#define AT(field) .offset = offsetof(options, field)

static const cli_option score_table[] = {
    {.name = "prompt",
     .kind = CLI_TEXT,
     .value = "TEMPLATE",
     AT(s.prompt),
     .help = "prompt with {text1} and {text2} that asks for a number from 0 to 5",
     .fallback = "see docs/annotate.md"},
    {.name = "label",
     .kind = CLI_TEXT,
     .value = "NAME",
     AT(s.label),
     .help = "output column for the score; an existing column of this name is replaced"},
    {.name = "each", .kind = CLI_FLAG, AT(s.each), .set = 1, .help = "add one column per model, named score:SOURCE"},
};

static const cli_option data_table[] = {
    CLI_OPTION_COLUMNS(AT(s.table.columns), "ROLE=NAME,...", "columns to read, for example text1=a,text2=b",
                       "recognised names"),
    CLI_OPTION_SKIP_BAD_ROWS(AT(s.table.skip_bad_rows)),
};

static json_t *as_json(const options *o, const aoe_score_result *r) {
    const char *output = o->chat.output;
    return json_pack("{s:o,s:b,s:I,s:I,s:I,s:o}", "output", output ? cli_json_text(output, strlen(output)) : json_null(),
                     "dry_run", o->chat.o.dry_run, "rows", (json_int_t)r->rows, "scored", (json_int_t)r->scored, "skipped",
                     (json_int_t)r->skipped, "mean", cli_json_real(r->mean));
}

static int run(options *o, const cli_args *args) {
    aoe_score_result r = {.rows = 0};
    aoe_error err;
    char rows[128];
    o->s.chat = o->chat.o;
    o->s.chat.seed = o->general.seed;
    o->s.file = args->operand[0];
    o->s.name = o->chat.name;
    o->s.write = cli_chat_write;
    o->s.user = &o->chat;
    if (cli_chat_begin(&o->chat, args))
        return 1;
    const int code = aoe_score(&o->s, &r, &err);
    if (code)
        return cli_chat_fail(&o->chat, code, &r.chat, &err);
    cli_chat_end_progress(&o->chat);
    cli_warn_skipped(NULL, r.skipped);
    cli_chat_warn(&o->chat, &r.chat);
    if (!o->chat.o.dry_run && !r.scored)
        return cli_fail("no scores for %zu pairs: of %zu answers, %zu are refusals and %zu contain no score; try another "
                        "prompt or model",
                        r.rows, r.chat.asked + r.chat.kept, r.chat.refused, r.chat.unreadable);
    snprintf(rows, sizeof rows, "%zu of %zu pairs scored, mean %.2f", r.scored, r.rows, r.mean);
    return cli_chat_finish(&o->chat, &r.chat, rows, as_json(o, &r));
}

static int run_command(int argc, char **argv) {
    options o = {.general = {.quiet = 0}};
    cli_general_defaults(&o.general);
    cli_chat_defaults(&o.chat);
    aoe_score_options_defaults(&o.s);
    o.chat.o = o.s.chat;
    o.chat.most_prompts = 1;
    const cli_group groups[] = {
        CLI_GROUP("output", cli_chat_output_table, &o.chat),
        CLI_GROUP("scores", score_table, &o),
        CLI_GROUP("data", data_table, &o),
        CLI_GROUP("models", cli_chat_model_table, &o.chat),
        CLI_GROUP("calls", cli_chat_calls_table, &o.chat),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data score",
        .operands = "FILE",
        .about = "Asks chat models to rate the similarity of the texts of each pair from 0 to 5, and writes the rows\n"
                 "with the mean rating as label. Answers that are not a single number are skipped and counted. API\n"
                 "keys, cache and resuming work as in aoe data annotate.\n",
        .examples = "  aoe data score pairs.tsv -m MODEL --api https://api.openai.com/v1 -o scored.tsv\n"
                    "  aoe data score pairs.tsv -m A api=http://localhost:8000/v1 B api=http://localhost:8001/v1 \\\n"
                    "      --each -o scored.tsv\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !*o.s.label)
        code = cli_usage("data score", "--label must not be empty");
    if (code == CLI_GO)
        code = cli_chat_prepare(&o.chat, "data score", o.general.json);
    if (code == CLI_GO) {
        cli_set_quiet(o.general.quiet);
        code = run(&o, &args);
    }
    cli_chat_close(&o.chat);
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_score_command = {
    .name = "score",
    .summary = "label pairs from 0 to 5 with chat models",
    .run = run_command,
};
