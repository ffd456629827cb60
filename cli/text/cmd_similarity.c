/* SPDX-License-Identifier: MIT
 * Implements `aoe similarity`: prints the cosine and the angle score of two texts.
 */
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"

#include <stdlib.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_angle_form angle_form;
} options;

static const cli_option table[] = {
    CLI_OPTION_ANGLE_FORM(.offset = offsetof(options, angle_form)),
};

static int print_scores(const cli_session *s, const options *o, const float *v, const aoe_text_info *info) {
    size_t dims = aoe_model_dims(s->model);
    double cosine = aoe_cosine(v, v + dims, dims);
    double angle = aoe_angle_score(v, v + dims, dims, o->angle_form) + 0.0; /* adding 0.0 changes -0 to 0 */
    if (dims % 2)
        cli_warn("%s: the angle score requires an even embedding size, not %zu", s->dir, dims);
    if (o->general.json) {
        cli_print_json(json_pack("{s:o,s:o,s:i}", "cosine", cli_json_real(cosine), "angle", cli_json_real(angle), "truncated",
                                 info[0].truncated + info[1].truncated));
        return 0;
    }
    cli_table t;
    cli_table_begin(&t, "lr");
    cli_table_cell(&t, "cosine");
    cli_table_cell(&t, "%.4f", cosine);
    cli_table_cell(&t, "angle");
    if (dims % 2)
        cli_table_cell(&t, "undefined");
    else
        cli_table_cell(&t, "%.4f", angle);
    cli_table_print(&t);
    return 0;
}

/* Prints a warning for each text that has no known tokens, is empty, was truncated, or was split into chunks. */
static void report_texts(const cli_session *s, const aoe_text *texts, const aoe_text_info *info) {
    aoe_model_info m;
    aoe_model_get_info(s->model, &m);
    for (int i = 0; i < 2; i++) {
        if (!info[i].tokens)
            cli_warn("text %d has no known tokens; its embedding is zero", i + 1);
        else if (!texts[i].len)
            cli_warn("text %d is empty; only special tokens are embedded", i + 1);
        if (info[i].truncated)
            cli_warn("text %d was truncated to the maximum sequence length of %zu tokens; %suse all tokens with --chunk mean",
                     i + 1, m.max_length, m.max_length < m.longest ? "set --max-length, or " : "");
        if (info[i].chunks > 1)
            cli_note("text %d is longer than the maximum sequence length; its embedding is the mean of %u chunks", i + 1,
                     (unsigned)info[i].chunks);
    }
}

static int run_similarity(cli_session *s, const options *o, const cli_args *args) {
    aoe_error err;
    aoe_text_info info[2];
    aoe_text texts[2] = {aoe_text_of(args->operand[0]), aoe_text_of(args->operand[1])};
    if (cli_session_open(s, &o->general, &o->model))
        return 1;
    cli_session_describe(s);
    cli_session_warn_similarity(s);
    float *vectors = cli_realloc(NULL, 2 * aoe_model_dims(s->model) * sizeof *vectors);
    int code;
    if (aoe_embed(s->embedder, texts, 2, vectors, info, &err)) {
        const size_t failed = aoe_embed_failed_text(s->embedder);
        code = failed < 2 ? cli_fail("text %zu: %s", failed + 1, err.message) : cli_fail("%s", err.message);
    } else {
        report_texts(s, texts, info);
        code = print_scores(s, o, vectors, info);
    }
    free(vectors);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {.angle_form = AOE_ANGLE_REFERENCE};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("score", table, &o),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("long texts", cli_chunk_table, &o.model),
        {"general", cli_general_table, CLI_GENERAL_COUNT, &o.general},
    };
    const cli_syntax syntax = {
        .command = "similarity",
        .operands = "TEXT1 TEXT2",
        .about = "Prints the cosine similarity of the embeddings of two texts, from -1 to 1, and their angle score,\n"
                 "from which the angle loss of AnglE is computed. With --angle-form reference, the angle score has the\n"
                 "formula that the code of the AnglE authors uses (docs/objectives.md). This score is between 0 and\n"
                 "1.41. Identical texts have the score 1, and different texts can have a higher score. With\n"
                 "--angle-form phase, the embeddings are regarded as complex vectors, and the angle score is\n"
                 "minus the weighted mean of the angles between corresponding components, in radians. This score is\n"
                 "between -3.14 and 0. Identical texts have the score 0. Write -- before texts that begin with - or @.\n",
        .examples = "  aoe similarity -m model 'A plane is taking off.' 'An aircraft departs.'\n"
                    "  aoe similarity -m model -- '-5 degrees' 'It is cold.'\n",
        CLI_GROUPS(groups),
        .min_operands = 2,
        .max_operands = 2,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_session s = {0};
        cli_set_quiet(o.general.quiet);
        code = run_similarity(&s, &o, &args);
        cli_session_close(&s);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_similarity_command = {
    .name = "similarity",
    .summary = "compute the similarity of two texts",
    .run = run_command,
};
