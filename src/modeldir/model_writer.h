/* SPDX-License-Identifier: MIT
 * Writes model directories.
 */
#ifndef AOEI_MODELDIR_MODEL_WRITER_H
#define AOEI_MODELDIR_MODEL_WRITER_H

#include "base/log.h"
#include "modeldir/contents.h"

/* Writes all files into the existing directory `dir`. An interruption leaves an incomplete directory; publish.h can prevent
 * this. Errors: AOE_EIO, AOE_ENUMERIC (the data type m->storage cannot represent a value), AOE_ENOMEM. */
int aoei_contents_write(const aoei_model_contents *m, const char *dir, aoe_error *err);
/* Writes all files into a temporary folder of `dir` (the staging folder) and moves them to `dir` when they are complete. `dir`
 * is created if necessary and never contains a mixture of two models. On failure, the previous model is restored; if the
 * process is killed, the next save restores it. Other files in `dir`, such as checkpoints/, are kept. Warnings are written to
 * `log`. Errors: see aoei_contents_write. */
int aoei_contents_save(const aoei_model_contents *m, const char *dir, const aoei_log *log, aoe_error *err);

#endif
