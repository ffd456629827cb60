/* SPDX-License-Identifier: MIT
 * What messages need to know of the progress bar (output.h has the rest).
 */
#ifndef AOE_CLI_COMMON_PROGRESS_H
#define AOE_CLI_COMMON_PROGRESS_H

void cli_progress_clear(void); /* wipes the bar's line, when there is one; the next update draws it again */

#endif
