/* SPDX-License-Identifier: MIT
 * Runs of `aoe train` and `aoe pretrain` that several processes (ranks) compute together. Rank 0 prints; the messages
 * of the other ranks are kept until the run fails.
 */
#pragma once

#include <aoe_train.h>

#include "cli/common/common.h"

enum { CLI_DISTRIBUTED_COUNT = 1 };

typedef struct cli_distributed {
    int transport;      /* value of --distributed; 0: none */
    aoe_comm *comm;     /* NULL: this process alone */
    char message[2048]; /* last message of a rank above 0 */
} cli_distributed;

extern const aoei_option cli_distributed_table[CLI_DISTRIBUTED_COUNT]; /* cli_distributed */

/* Opens the transport and sets args->comm. Without --distributed, does nothing, but fails if a launcher started several
 * copies of the program, which would all write to args->output. Warns if rank 0 may use only one CPU, unless threads,
 * the value of --threads, is above 0. The caller calls cli_distributed_close, also after a failure. Returns 0, or 1
 * after reporting the error. */
int cli_distributed_open(cli_distributed *d, aoe_training_args *args, size_t threads);
/* Ends the communication. code: exit code of this rank. agreed: 1: all ranks have ended with the same result; 0: the
 * others may wait for this rank, so the function ends all ranks after one of them has printed its error. Returns code.
 */
int cli_distributed_close(cli_distributed *d, int code, int agreed);
