/* SPDX-License-Identifier: MIT
 * Parts of the work of a command. A scheduler runs the same command n times, with the parts 0/n to (n-1)/n, on any
 * number of machines and without communication; a last command joins the parts.
 *
 * Part i of n of the output OUT is the file OUT.part-i-of-n. When it is complete, its marker OUT.part-i-of-n.json is
 * written and renamed. The marker contains the identity of the work: a JSON object with one object per subject, such as
 * the model, the options and the input, which names everything that determines the bytes of the output. Two parts
 * belong together if their identities are equal. The marker also contains the size and the hash of the file, so that a
 * damaged part is detected. A part without a marker is not complete, whatever its file contains.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "aoe.h"

enum { AOEI_MAX_PARTS = 100000 /* maximum number of parts */ };

/* Part i of n, i < n. If n is 0, the work is not divided. */
typedef struct aoei_part {
    size_t i, n;
} aoei_part;

/* Parses "i/n" or "auto/n". For "auto", i is the value of the first of the environment variables SLURM_ARRAY_TASK_ID,
 * SLURM_PROCID and JOB_COMPLETION_INDEX that is set. Errors: AOE_EARG. */
int aoei_part_parse(aoei_part *p, const char *text, aoe_error *err);
/* Returns the part of n that contains an element of the input. before: sum of the weights of the elements before it;
 * weight: its weight, at least 1; total: sum of all weights. The part is the one in which the middle of the element
 * lies, so that the parts are contiguous and have nearly equal weights. total must be less than 2^63 /
 * AOEI_MAX_PARTS. */
size_t aoei_part_of(size_t n, uint64_t before, uint64_t weight, uint64_t total);
/* Returns "OUTPUT.part-i-of-n", or NULL if out of memory; the caller frees it with aoei_free. */
char *aoei_part_path(const char *output, aoei_part p);
/* Returns the path of the marker of the part, as above. */
char *aoei_part_marker(const char *output, aoei_part p);

/* Writes the marker of a part whose file is complete. identity: borrowed. Errors: AOE_ENOENT (there is no file),
 * AOE_EIO, AOE_ENOSPC, AOE_ENOMEM. */
int aoei_part_complete(const char *output, aoei_part p, const json_t *identity, aoe_error *err);
/* Sets *complete to 1 if the part has a marker with this identity, and a file of the size in the marker; otherwise to
 * 0. Errors: AOE_EARG if the part is complete, but has another identity (the message names the difference);
 * AOE_EFORMAT (damaged marker), AOE_EIO, AOE_ENOMEM. */
int aoei_part_check(int *complete, const char *output, aoei_part p, const json_t *identity, aoe_error *err);
/* Finds the parts of an output and checks them: all parts exist, have equal identities, and have the sizes and hashes
 * in their markers. Sets *n to the number of parts, and *identity to their identity, which the caller releases with
 * json_decref. Errors: AOE_ENOENT (no parts, or missing parts; the message names them), AOE_EARG (parts that do not
 * belong together; the message names a file and the difference), AOE_EFORMAT (damaged part), AOE_EIO, AOE_ENOMEM. */
int aoei_parts_check(size_t *n, json_t **identity, const char *output, aoe_error *err);
