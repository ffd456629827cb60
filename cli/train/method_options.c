/* SPDX-License-Identifier: MIT
 * The tables of the options that only some training methods use.
 */
#include "cli/train/method_options.h"

/* Groups of options, which docs/methods.md describes. */
enum {
    COSINE = 1,
    ISP = 2,
    WEIGHTS = 4,
    ANGLE = 8,
    TAU_IBN = 16,
    REGRESSION = 32,
    POSITIVES = 64,
    HARD = 128,
    CLASSES = 256,
    PROJECTION = 512,
    HEAD = 1024,
    DIRECTIONS = 2048,
    GUIDE = 4096,
    FEATURES = 8192,
    NEGATIVES = 16384,
    VIEWS = 32768,
    GENERATOR = 65536,
    LSTM = 131072,
    TEMPLATES = 262144,
    BIGRAMS = 524288,
    DISTILL = 1048576,
    TEACHER = 2097152
};
/* Groups of options that a method uses. A method without an entry uses none of them. */
static const unsigned used_by[AOE_METHOD_COUNT] = {
    [AOE_METHOD_ANGLE] = COSINE | ISP | WEIGHTS | ANGLE | TAU_IBN | POSITIVES | HARD | TEACHER,
    [AOE_METHOD_COSENT] = COSINE | TEACHER,
    [AOE_METHOD_SBERT_CLASSIFICATION] = CLASSES | FEATURES | TEACHER,
    [AOE_METHOD_SBERT_REGRESSION] = REGRESSION | TEACHER,
    [AOE_METHOD_SIMCSE_UNSUP] = TAU_IBN | PROJECTION | TEACHER,
    [AOE_METHOD_SIMCSE_SUP] = TAU_IBN | POSITIVES | HARD | PROJECTION | TEACHER,
    [AOE_METHOD_CONTRASTIVE] = WEIGHTS | TAU_IBN | POSITIVES | HARD | TEACHER,
    [AOE_METHOD_CROSS_ENCODER] = CLASSES | REGRESSION | HEAD | TEACHER,
    [AOE_METHOD_SYMMETRIC] = TAU_IBN | POSITIVES | DIRECTIONS | TEACHER,
    [AOE_METHOD_GIST] = TAU_IBN | POSITIVES | GUIDE | TEACHER,
    [AOE_METHOD_CT] = NEGATIVES,
    [AOE_METHOD_CT_IN_BATCH] = TAU_IBN,
    [AOE_METHOD_IS_BERT] = TEACHER,
    [AOE_METHOD_DIFFCSE] = TAU_IBN | GENERATOR | TEACHER,
    [AOE_METHOD_PROMPTBERT] = TAU_IBN | TEMPLATES | TEACHER,
    [AOE_METHOD_INFERSENT] = CLASSES | FEATURES | LSTM | TEACHER,
    [AOE_METHOD_PROMPTBERT_SUP] = TAU_IBN | POSITIVES | HARD | TEACHER,
    [AOE_METHOD_DAN] = CLASSES | FEATURES | BIGRAMS | TEACHER,
    [AOE_METHOD_DISTILL] = DISTILL,
    [AOE_METHOD_CONSERT] = TAU_IBN | VIEWS | TEACHER,
    [AOE_METHOD_CONSERT_SUP] = TAU_IBN | VIEWS | CLASSES | FEATURES | TEACHER,
};
/* The options of these groups. */
static const struct {
    const char *name;
    unsigned groups; /* the option is used by the methods of one of these groups */
} list[] = {
    {"w-cosine", ANGLE},        {"w-ibn", WEIGHTS | VIEWS},    {"w-angle", ANGLE},
    {"w-cln", WEIGHTS},         {"tau-cosine", COSINE},        {"tau-ibn", TAU_IBN},
    {"tau-angle", ANGLE},       {"ibn-threshold", POSITIVES},  {"no-isp", ISP},
    {"angle-form", ANGLE},      {"hard-negative", HARD},       {"label-max", REGRESSION},
    {"classes", CLASSES},       {"no-projection", PROJECTION}, {"new-head", HEAD},
    {"directions", DIRECTIONS}, {"joint", DIRECTIONS},         {"guide-margin", GUIDE},
    {"guide-relative", GUIDE},  {"features", FEATURES},        {"negatives", NEGATIVES},
    {"views", VIEWS},           {"generator", GENERATOR},      {"w-detection", GENERATOR},
    {"mask-rate", GENERATOR},   {"lstm-dims", LSTM},           {"second-prompt", TEMPLATES},
    {"bigrams", BIGRAMS},       {"w-vectors", DISTILL},        {"vector-loss", DISTILL},
    {"teacher-map", DISTILL},   {"w-similarities", DISTILL},   {"w-teacher", TEACHER},
    {"distill", TEACHER},
};

_Static_assert(sizeof list / sizeof *list == CLI_METHOD_OPTIONS,
               "CLI_METHOD_OPTIONS is the number of options in the list");

void cli_method_rejected(const char *names[CLI_METHOD_OPTIONS + 1], aoe_method method) {
    size_t n = 0;
    for (size_t i = 0; i < CLI_METHOD_OPTIONS; i++)
        if (!(list[i].groups & used_by[method]))
            names[n++] = list[i].name;
    names[n] = NULL;
}

const char *cli_method_first_rejected(aoe_method method, const cli_args *args) {
    const char *names[CLI_METHOD_OPTIONS + 1];
    size_t n = 0;
    cli_method_rejected(names, method);
    while (names[n])
        n++;
    return cli_first_given(args, names, n);
}
