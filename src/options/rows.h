/* SPDX-License-Identifier: MIT
 * Rows of the library's option tables that commands of the program also use, for other fields. The last arguments of a
 * macro initialize further members of the row, such as .offset = offsetof(options, force).
 */
#pragma once

#include "options/option.h"

/* NULL-terminated list of the names of the values of aoe_similarity_function */
extern const char *const aoei_similarity_names[];
/* NULL-terminated lists of the names of the values of aoe_dtype, aoe_layer_prior, aoe_distill and aoe_teacher_map. */
extern const char *const aoei_dtype_names[], *const aoei_layer_prior_names[], *const aoei_distill_names[],
                                                                                  *const aoei_teacher_map_names[];

#define AOEI_DEFAULT_THRESHOLD "lowest label + 0.8 x (highest label - lowest label)"
#define AOEI_DEFAULT_POOLING   "last-token for causal models, cell-mean for RAN models and mean for other models"
#define AOEI_DEFAULT_COLUMNS   "the columns with names listed in docs/data.md, such as sentence1 or query"
#define AOEI_DEFAULT_LABELS    "entailment=1,contradiction=0,neutral=drop,not_entailment=0"
#define AOEI_DEFAULT_CLASSES   "entailment=1,contradiction=0,neutral=2,not_entailment=0"
#define AOEI_STORAGE_HELP                                                                                              \
    "data type of the stored weights: f32, bf16 or int8 (8 bits per weight and one scale per "                         \
    "row, a format that only aoe can read)"
#define AOEI_POOLING_HELP                                                                                              \
    "pooling of the token vectors: cls, mean, max, last-token, mean-sqrt-len, weighted-mean, cls-last-avg, "           \
    "first-last-avg, last-two-avg, layer1-last-avg, mask, or a concatenation such as cls+mean. cls-last-avg is the "   \
    "average of cls and mean. first-last-avg, last-two-avg and layer1-last-avg are the mean over two layers: the "     \
    "embedding layer and the last layer, the last two layers, or the first and the last layer. mask is the hidden "    \
    "state of the token [MASK], which the prompt must contain. Recurrent attention networks (RAN) also support "       \
    "cell-last, cell-mean and cell-max, which pool the recurrent states. last-avg and last-max (AnglE paper) are "     \
    "aliases of mean and max"
#define AOEI_ROW_ANGLE_FORM(...)                                                                                       \
    {                                                                                                                  \
        .name = "angle-form", .kind = AOEI_OPTION_CHOICE, __VA_ARGS__, .choices = AOEI_CHOICES("reference", "phase"),  \
        .noun = "angle form",                                                                                          \
        .help = "formula of the angle score: reference (the formula in the code of the AnglE authors) or "             \
                "phase (minus the weighted mean of the angles between complex components); see "                       \
                "docs/objectives.md"                                                                                   \
    }
#define AOEI_ROW_BASE_MODEL(...)                                                                                       \
    {                                                                                                                  \
        .name = "base", .kind = AOEI_OPTION_MODEL, .value = "DIR", __VA_ARGS__,                                        \
        .help = "directory of the base model of the LoRA adapters",                                                    \
        .fallback = "the model named in adapter_config.json"                                                           \
    }
#define AOEI_ROW_DTYPE(...)                                                                                            \
    {                                                                                                                  \
        .name = "dtype", .kind = AOEI_OPTION_CHOICE, .value = "TYPE", __VA_ARGS__, .choices = aoei_dtype_names,        \
        .noun = "data type",                                                                                           \
        .help = "data type of computation: f32, bf16, int8 (inference only; used for the linear layers of the "        \
                "transformer except the value projections; everything else as with auto), or auto (bf16 if the CPU "   \
                "has bf16 instructions, otherwise f32)"                                                                \
    }
#define AOEI_ROW_FORCE(...)                                                                                            \
    {                                                                                                                  \
        .name = "force", .kind = AOEI_OPTION_FLAG, __VA_ARGS__,                                                        \
        .help =                                                                                                        \
            "replace an existing model in the output directory, including its README.md; files of a directory that "   \
            "contains no model are never replaced"                                                                     \
    }
#define AOEI_ROW_LORA_R(about, usual, ...)                                                                             \
    {                                                                                                                  \
        .name = "lora-r", .field = "lora.r", .kind = AOEI_OPTION_SIZE, __VA_ARGS__, .min = 1, .max = 65536,            \
        .help = about, .fallback = usual                                                                               \
    }
#define AOEI_ROW_COLUMNS(target, form, about, usual)                                                                   \
    { .name = "columns", .kind = AOEI_OPTION_TEXT, .value = form, target, .help = about, .fallback = usual }
#define AOEI_ROW_LABEL_MAP(target)                                                                                     \
    {                                                                                                                  \
        .name = "label-map", .kind = AOEI_OPTION_TEXT, .value = "LABEL=N,...", target,                                 \
        .help =                                                                                                        \
            "numbers for text labels, in addition to the predefined ones; LABEL=drop skips the rows with this label",  \
        .fallback = AOEI_DEFAULT_LABELS                                                                                \
    }
#define AOEI_ROW_SKIP_BAD_ROWS(target)                                                                                 \
    {                                                                                                                  \
        .name = "skip-bad-rows", .kind = AOEI_OPTION_FLAG, target,                                                     \
        .help = "skip unreadable rows and report how many were skipped; without this option, the command "             \
                "stops at the first unreadable row"                                                                    \
    }
#define AOEI_ROW_EMBEDDING_STORAGE(target)                                                                             \
    {                                                                                                                  \
        .name = "embedding-dtype", .field = "embedding_storage", .kind = AOEI_OPTION_CHOICE, .value = "TYPE", target,  \
        .choices = AOEI_CHOICES("auto", "int5"), .noun = "storage type",                                               \
        .help =                                                                                                        \
            "data type of the stored token embeddings: auto (the type of --dtype) or int5 (5 bits per weight and one " \
            "scale per row; requires --dtype int8)"                                                                    \
    }
#define AOEI_ROW_ORDERED(target)                                                                                       \
    { .name = "ordered", .kind = AOEI_OPTION_FLAG, target, .help = "treat (a, b) and (b, a) as different pairs" }
#define AOEI_ROW_SAME(target)                                                                                          \
    {                                                                                                                  \
        .name = "same", .kind = AOEI_OPTION_CHOICE, target,                                                            \
        .choices = AOEI_CHOICES("exact", "space", "case", "letters"), .noun = "text comparison",                       \
        .help =                                                                                                        \
            "how texts are compared for equality: exact (same bytes), space (ignoring white space), case (ignoring "   \
            "white space "                                                                                             \
            "and case) or letters (same letters and digits, ignoring case)"                                            \
    }
#define AOEI_ROW_SIMILARITY(about, ...)                                                                                \
    {                                                                                                                  \
        .name = "similarity", .kind = AOEI_OPTION_CHOICE, __VA_ARGS__, .choices = aoei_similarity_names,               \
        .noun = "similarity",                                                                                          \
        .help = about ": cosine, dot (inner product), or minus the euclidean or the manhattan distance"                \
    }
#define AOEI_ROW_STORAGE(flag, target, about, usual)                                                                   \
    {                                                                                                                  \
        .name = flag, .field = "storage", .kind = AOEI_OPTION_CHOICE, .value = "TYPE", target,                         \
        .choices = AOEI_CHOICES("f32", "bf16", "int8"), .noun = "storage type", .help = about, .fallback = usual       \
    }
#define AOEI_ROW_TEXT_COLUMNS(target)                                                                                  \
    {                                                                                                                  \
        .name = "columns", .kind = AOEI_OPTION_TEXT, .value = "ROLE=NAME,...", target,                                 \
        .help = "columns to read: ROLE=NAME reads the column NAME as ROLE, for example text1=a,text2=b,label=c, or a " \
                "list of text columns: a,b",                                                                           \
        .fallback = AOEI_DEFAULT_COLUMNS                                                                               \
    }
#define AOEI_ROW_THRESHOLD(target)                                                                                     \
    {                                                                                                                  \
        .name = "threshold", .kind = AOEI_OPTION_REAL, target, .min = -1e30, .max = 1e30,                              \
        .help = "pairs with a label of at least X are positive", .fallback = AOEI_DEFAULT_THRESHOLD                    \
    }
#define AOEI_ROW_OUTPUT(target, form, about)                                                                           \
    { .name = "output", .letter = 'o', .kind = AOEI_OPTION_TEXT, .value = form, target, .help = about }
