/* SPDX-License-Identifier: MIT
 * A tiny masked language model for tests.
 */
#pragma once

/* Pretrains the model `start` on a few texts for `steps` steps. Returns the directory dir/name of the result, which has
 * a masked-LM head. The caller frees the path. */
char *tiny_mlm(const char *dir, const char *name, const char *start, unsigned steps);
