/* SPDX-License-Identifier: MIT
 * Names of tokenizer classes of the library transformers.
 */
#ifndef AOEI_TOKENIZER_TOKENIZER_CLASS_H
#define AOEI_TOKENIZER_TOKENIZER_CLASS_H

/* Returns 1 if `written`, a value of "tokenizer_class", names the class `name`; in files, the suffix "Fast" may follow the
 * name. If `written` is NULL, returns 0. */
int aoei_tokenizer_class_is(const char *written, const char *name);

#endif
