/* SPDX-License-Identifier: MIT
 * Writes settings as files of sentence-transformers.
 */
#ifndef AOEI_MODELDIR_SENTENCE_TRANSFORMERS_WRITE_H
#define AOEI_MODELDIR_SENTENCE_TRANSFORMERS_WRITE_H

#include "modeldir/settings.h"

/* Writes the files, in the form before version 5.4, into the existing directory `dir`. first-last-avg pooling has no such form:
 * nothing is written for it. hidden: the encoder's hidden size. */
int aoei_sentence_transformers_write(const aoei_settings *s, size_t hidden, const char *dir, aoe_error *err);

#endif
