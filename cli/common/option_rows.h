/* SPDX-License-Identifier: MIT
 * Rows (aoei_option) that the option tables of several commands contain. The macro argument `target` initializes the
 * offset of the option's target, for example .offset = offsetof(options, table.skip_bad_rows). The texts in `choices`
 * are the names of the values of an enum, in the order of the values.
 */
#pragma once

#include "cli/common/part.h"
#include "cli/common/syntax.h"
#include "options/rows.h"

#define CLI_DEFAULT_MODEL "$AOE_MODEL if set, otherwise the model installed with aoe"
/* Lines for the description of a command that reads the texts of files. */
#define CLI_FILES_HELP                                                                                                 \
    "A FILE is a table (.tsv, .csv, .jsonl or .json) or contains one text per line, and may be compressed\n"           \
    "(.gz or .zst). With --whole-files, each file is one text. Without FILE, or if FILE is -, texts are\n"             \
    "read from stdin.\n"
#define CLI_INT5_REQUIRES "--embedding-dtype int5 requires --dtype int8"
#define CLI_SHAPE_NAMES                                                                                                \
    "bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, "         \
    "llama2-7b, "                                                                                                      \
    "tinyllama-1.1b, qwen2.5-0.5b, ran-base or ran-mini"
#define CLI_OPTION_OUTPUT_FILE(target, formats)                                                                        \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = AOEI_OPTION_TEXT, .value = "FILE", target,                            \
        .help = "output file" formats "; it is written completely or not at all, and replaces an existing file",       \
        .fallback = "stdout"                                                                                           \
    }
#define CLI_OPTION_MODEL_DIR(usual)                                                                                    \
    {                                                                                                                  \
        .name = "model", .letter = 'm', .kind = AOEI_OPTION_MODEL, .value = "DIR",                                     \
        .offset = offsetof(cli_model_options, dir),                                                                    \
        .help = "model directory, a directory with LoRA adapters, or the name ORG/NAME[@REVISION] of a model that "    \
                "aoe pull downloaded",                                                                                 \
        .fallback = usual                                                                                              \
    }
/* The options of a command whose work can be divided into parts. The targets are an aoei_part and an int. */
#define CLI_OPTION_PART(target)                                                                                        \
    {                                                                                                                  \
        .name = "part", .kind = AOEI_OPTION_NAMED, .value = "I/N", target, .parse = cli_part_parse,                    \
        .excludes = "join",                                                                                            \
        .help =                                                                                                        \
            "compute only part I of N, with I from 0 to N-1, and write it next to the output; auto/N takes I from "    \
            "SLURM_ARRAY_TASK_ID, SLURM_PROCID or JOB_COMPLETION_INDEX. A part that is complete is skipped "           \
            "(docs/cluster.md)",                                                                                       \
        .fallback = "the whole"                                                                                        \
    }
#define CLI_OPTION_JOIN(target)                                                                                        \
    {                                                                                                                  \
        .name = "join", .kind = AOEI_OPTION_FLAG, target,                                                              \
        .help = "check that all parts of the output exist and belong together, and write the output from them"         \
    }
#define CLI_OPTION_SCORE_CLASS(target, usual)                                                                          \
    {                                                                                                                  \
        .name = "class", .kind = AOEI_OPTION_TEXT, .value = "NAME", target, .field = "score_class",                    \
        .help = "models with several outputs: name or number (from 0) of the output that is the score",                \
        .fallback = usual                                                                                              \
    }
#define CLI_OPTION_TABLE_FORMAT(target, about)                                                                         \
    {                                                                                                                  \
        .name = "format", .letter = 'f', .kind = AOEI_OPTION_CHOICE, target, .excludes = "json",                       \
        .choices = AOEI_CHOICES("table", "csv", "markdown"), .noun = "format", .help = about                           \
    }
