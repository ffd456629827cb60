/* SPDX-License-Identifier: MIT
 * Rejects copies of a program that would write to the same directory.
 */
#include "cli/train/distributed.h"

#include <aoe_comm.h>

#include "cli/common/output.h"

int cli_check_single(const char *output) {
    const char *variable = NULL;
    const int copies = aoe_comm_copies(&variable);
    return copies == 1 ? 0
                       : cli_fail("%d copies of this command were started (%s), and all of them would write to %s; "
                                  "start one copy. If each copy has an output directory of its own, unset %s in its "
                                  "environment",
                                  copies, variable, output, variable);
}
