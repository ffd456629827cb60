/* SPDX-License-Identifier: MIT
 * Rows of the option tables of the library that commands of the program also have for other fields. The last arguments
 * of a macro initialize further members of the row, such as .offset = offsetof(options, force).
 */
#ifndef AOEI_OPTIONS_ROWS_H
#define AOEI_OPTIONS_ROWS_H

#include "options/option.h"

#define AOEI_DEFAULT_THRESHOLD "lowest label + 0.8 x (highest label - lowest label)"
#define AOEI_ROW_ANGLE_FORM(...)                                                                                       \
    {                                                                                                                  \
        .name = "angle-form", .kind = AOEI_OPTION_CHOICE, __VA_ARGS__, .choices = AOEI_CHOICES("reference", "phase"),  \
        .noun = "angle form",                                                                                          \
        .help = "formula of the angle score: reference (the formula in the code of the AnglE authors) or "             \
                "phase (minus the weighted mean of the angles between complex components); see "                       \
                "docs/objectives.md"                                                                                   \
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

#endif
