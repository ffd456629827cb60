/* SPDX-License-Identifier: MIT
 * The tools that `aoe mcp` offers: search, get and status, on one index. The index is opened for each call, so that
 * each answer is up to date and other programs can change the index between the calls. The model stays open after its
 * first use.
 */
#pragma once

#include "cli/search/hit_output.h"
#include "cli/search/index_session.h"
#include "cli/search/mcp_server.h"

enum { CLI_MCP_TOOLS = 3 };
extern const cli_mcp_tool cli_mcp_tools[CLI_MCP_TOOLS]; /* user: a cli_mcp_index */
extern const char cli_mcp_instructions[];               /* for the language model */

typedef struct cli_mcp_index {
    const char *dir;       /* directory of the index, borrowed; NULL: the nearest one */
    cli_refresh refresh;   /* whether a search brings the index up to date */
    cli_index index;       /* the caller sets its options, and closes it */
    cli_hit_output output; /* names of files are relative to the current folder */
    char message[2048];    /* last message of a call */
} cli_mcp_index;
