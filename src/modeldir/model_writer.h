/* SPDX-License-Identifier: MIT
 * Writes model directories.
 */
#pragma once

#include "base/log.h"
#include "modeldir/contents.h"

/* Writes all files into the directory `dir`, which must exist. If the function is interrupted, the directory is
 * incomplete. Errors: AOE_EIO, AOE_ENUMERIC (the data type m->storage cannot represent a value), AOE_ENOMEM. */
int aoei_contents_write(const aoei_model_contents *m, const char *dir, aoe_error *err);
/* Writes all files into a temporary folder in `dir` (the staging folder), and moves the files to `dir` when all of them
 * are complete. If `dir` does not exist, it is created. `dir` never contains a mixture of two models. If the function
 * fails, the previous model is restored. If the process is killed, the next save restores the previous model. Other
 * files in `dir`, such as checkpoints/, are kept. Warnings are written to `log`. Errors: see aoei_contents_write. */
int aoei_contents_save(const aoei_model_contents *m, const char *dir, const aoei_log *log, aoe_error *err);
