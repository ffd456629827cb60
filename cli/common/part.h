/* SPDX-License-Identifier: MIT
 * The options --part and --join of commands, and the values that the markers of parts contain (base/part.h).
 */
#pragma once

#include "base/part.h"
#include "cli/common/options.h"

/* Parses the value of --part; target: an aoei_part. For CLI_OPTION_PART. */
int cli_part_parse(void *target, const char *text, aoe_error *err);
/* Checks the options of a command whose work can be divided. output: path of the output. Returns CLI_GO, or 2 after
 * reporting that the parts need the name of an output file, or that --join was given with an operand or an option other
 * than --output, --quiet, --threads and those in `joined`, a NULL-terminated list. */
int cli_part_usage(const char *command, const cli_args *args, aoei_part part, int join, const char *output,
                   const char *const *joined);

/* Returns the values of all options of a command, except those of cli_general and of parts, the output, and the options
 * in `without`, a NULL-terminated list. They belong to the identity of a part. */
json_t *cli_part_options_json(const cli_syntax *s, const char *const *without);
/* Returns the version of the program and the CPU tier as an object for the identity of a part. */
json_t *cli_part_program_json(const aoe_context *ctx);
/* Returns a hash as JSON. */
json_t *cli_part_hash_json(uint64_t hash);
/* Sets *model to the fingerprint of a model as an object for the identity. Returns 0, or 1 after reporting the error.
 */
int cli_part_model_json(json_t **model, const aoe_model *m);

/* Checks whether a part is complete, and prints a note if it is. Returns 1 after reporting an error. */
int cli_part_find(int *complete, const char *output, aoei_part p, const json_t *identity);
/* Writes the marker of a part. Returns 0, or 1 after reporting the error. */
int cli_part_complete(const char *output, aoei_part p, const json_t *identity);
