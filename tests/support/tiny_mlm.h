/* SPDX-License-Identifier: MIT
 * A tiny masked language model for tests.
 */
#ifndef AOE_TESTS_TINY_MLM_H
#define AOE_TESTS_TINY_MLM_H

/* Pretrains the model `start` on a few texts for `steps` steps. Returns the directory dir/name of the result, which has
 * a masked-LM head. The caller frees the path. */
char *tiny_mlm(const char *dir, const char *name, const char *start, unsigned steps);

#endif
