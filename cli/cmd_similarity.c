/* SPDX-License-Identifier: MIT
 * aoe similarity: cosine and angle score of two texts.
 */
#include "common.h"

#include <stdlib.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_angle_form angle_form;
} options;

static const cli_option table[] = {
    {.name = "angle-form",
     .kind = CLI_NAMED,
     .value = "NAME",
     .offset = offsetof(options, angle_form),
     .parse = cli_parse_angle_form,
     .help = "how the angle is scored: reference or phase",
     .fallback = "reference"},
};

static int print_scores(const cli_session *s, const options *o, const float *v) {
    size_t dims = aoe_model_dims(s->model);
    double cosine = aoe_cosine(v, v + dims, dims);
    double angle = aoe_angle_score(v, v + dims, dims, o->angle_form);
    if (dims % 2)
        cli_warn("%s: the angle score needs an even number of components, not %zu", s->dir, dims);
    if (o->general.json) {
        cli_print_json(json_pack("{s:o,s:o}", "cosine", cli_json_real(cosine), "angle", cli_json_real(angle)));
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

static int run_similarity(cli_session *s, const options *o, const cli_args *args) {
    aoe_error err;
    aoe_text texts[2] = {aoe_text_of(args->operand[0]), aoe_text_of(args->operand[1])};
    if (cli_session_open(s, &o->general, &o->model))
        return 1;
    float *vectors = cli_realloc(NULL, 2 * aoe_model_dims(s->model) * sizeof *vectors);
    int code =
        aoe_embed(s->embedder, texts, 2, vectors, NULL, &err) ? cli_fail("%s", err.message) : print_scores(s, o, vectors);
    free(vectors);
    return code;
}

int cli_similarity(int argc, char **argv) {
    options o = {.angle_form = AOE_ANGLE_REFERENCE};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("score", table, &o),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("long texts", cli_chunk_table, &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "similarity",
        .operands = "TEXT1 TEXT2",
        .about = "Prints the cosine of the vectors of two texts, from -1 to 1, and their angle score.\n"
                 "A text that begins with - or @ goes behind --.\n",
        .examples = "  aoe similarity -m model 'A plane is taking off.' 'An aircraft departs.'\n",
        .groups = groups,
        .n_groups = 4,
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
