/* SPDX-License-Identifier: MIT
 * Rows (aoei_option) that the option tables of several commands contain. The macro argument `target` initializes the
 * offset of the option's target, for example .offset = offsetof(options, table.skip_bad_rows). The texts in `choices`
 * are the names of the values of an enum, in the order of the values.
 */
#pragma once

#include "cli/common/syntax.h"
#include "options/rows.h"

#define CLI_DEFAULT_MODEL   "$AOE_MODEL if set, otherwise the model installed with aoe"
#define CLI_DEFAULT_CLASSES "entailment=1,contradiction=0,neutral=2,not_entailment=0"
/* Lines for the description of a command that reads the texts of files. */
#define CLI_FILES_HELP                                                                                                 \
    "A FILE is a table (.tsv, .csv, .jsonl or .json) or contains one text per line, and may be compressed\n"           \
    "(.gz or .zst). With --whole-files, each file is one text. Without FILE, or if FILE is -, texts are\n"             \
    "read from stdin.\n"
#define CLI_STORAGE_HELP                                                                                               \
    "data type of the stored weights: f32, bf16 or int8 (8 bits per weight and one scale per "                         \
    "row, a format that only aoe can read)"
#define CLI_INT5_REQUIRES "--embedding-dtype int5 requires --dtype int8"
#define CLI_SHAPE_NAMES                                                                                                \
    "bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, "         \
    "llama2-7b, "                                                                                                      \
    "tinyllama-1.1b, qwen2.5-0.5b, ran-base or ran-mini"
#define CLI_OPTION_EMBEDDING_STORAGE(target)                                                                           \
    {                                                                                                                  \
        .name = "embedding-dtype", .field = "embedding_storage", .kind = AOEI_OPTION_CHOICE, .value = "TYPE", target,  \
        .choices = AOEI_CHOICES("auto", "int5"), .noun = "storage type",                                               \
        .help =                                                                                                        \
            "data type of the stored token embeddings: auto (the type of --dtype) or int5 (5 bits per weight and one " \
            "scale per row; requires --dtype int8)"                                                                    \
    }
#define CLI_OPTION_ORDERED(target)                                                                                     \
    { .name = "ordered", .kind = AOEI_OPTION_FLAG, target, .help = "treat (a, b) and (b, a) as different pairs" }
#define CLI_OPTION_OUTPUT(target, form, about)                                                                         \
    { .name = "output", .letter = 'o', .kind = AOEI_OPTION_TEXT, .value = form, target, .help = about }
#define CLI_OPTION_OUTPUT_FILE(target, formats)                                                                        \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = AOEI_OPTION_TEXT, .value = "FILE", target,                            \
        .help = "output file" formats "; it is written completely or not at all, and replaces an existing file",       \
        .fallback = "stdout"                                                                                           \
    }
#define CLI_OPTION_SAME(target)                                                                                        \
    {                                                                                                                  \
        .name = "same", .kind = AOEI_OPTION_CHOICE, target,                                                            \
        .choices = AOEI_CHOICES("exact", "space", "case", "letters"), .noun = "text comparison",                       \
        .help =                                                                                                        \
            "how texts are compared for equality: exact (same bytes), space (ignoring white space), case (ignoring "   \
            "white space "                                                                                             \
            "and case) or letters (same letters and digits, ignoring case)"                                            \
    }
#define CLI_OPTION_SCORE_CLASS(target, usual)                                                                          \
    {                                                                                                                  \
        .name = "class", .kind = AOEI_OPTION_TEXT, .value = "NAME", target, .field = "score_class",                    \
        .help = "models with several outputs: name or number (from 0) of the output that is the score",                \
        .fallback = usual                                                                                              \
    }
#define CLI_OPTION_STORAGE(flag, target, about, usual)                                                                 \
    {                                                                                                                  \
        .name = flag, .kind = AOEI_OPTION_CHOICE, .value = "TYPE", target,                                             \
        .choices = AOEI_CHOICES("f32", "bf16", "int8"), .noun = "storage type", .help = about, .fallback = usual       \
    }
#define CLI_OPTION_TABLE_FORMAT(target, about)                                                                         \
    {                                                                                                                  \
        .name = "format", .letter = 'f', .kind = AOEI_OPTION_CHOICE, target, .excludes = "json",                       \
        .choices = AOEI_CHOICES("table", "csv", "markdown"), .noun = "format", .help = about                           \
    }
#define CLI_OPTION_TEXT_COLUMNS(target)                                                                                \
    AOEI_ROW_COLUMNS(                                                                                                  \
        target, "ROLE=NAME,...",                                                                                       \
        "columns to read: ROLE=NAME reads the column NAME as ROLE, for example text1=a,text2=b,label=c, or a list "    \
        "of text "                                                                                                     \
        "columns: a,b",                                                                                                \
        AOEI_DEFAULT_COLUMNS)
#define CLI_OPTION_THRESHOLD(target)                                                                                   \
    {                                                                                                                  \
        .name = "threshold", .kind = AOEI_OPTION_REAL, target, .min = -1e30, .max = 1e30,                              \
        .help = "pairs with a label of at least X are positive", .fallback = AOEI_DEFAULT_THRESHOLD                    \
    }
