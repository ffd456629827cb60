/* SPDX-License-Identifier: MIT
 * Writes the training log OUTPUT/train-log.jsonl. Each line is a JSON object that describes one event.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_train.h"

typedef struct aoei_train_log aoei_train_log;

/* Opens the log for writing. If resume is 1 and step is above 0, the lines of an existing log up to this step are kept.
 * Otherwise, the log is empty at first. metric: name of the evaluation score, which the start event contains; NULL:
 * unknown. */
int aoei_train_log_open(aoei_train_log **log, const char *output, int resume, uint64_t step, const char *metric,
                        aoe_error *err);
/* Appends an event and flushes the file. */
int aoei_train_log_write(aoei_train_log *log, const aoe_train_event *e, aoe_error *err);
void aoei_train_log_close(aoei_train_log *log); /* accepts NULL */
