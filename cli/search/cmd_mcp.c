/* SPDX-License-Identifier: MIT
 * Implements `aoe mcp`, a server of the Model Context Protocol on stdin and stdout: reads one message per line, and
 * writes one line per answer. Stdout contains nothing else; messages for people are written to stderr. The server ends
 * at the end of stdin. The model and the index are opened at their first use, because clients stop a server that starts
 * slowly.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/search/mcp_tools.h"

enum { MAX_LINE = 1 << 20 /* bytes */ };

typedef struct options {
    cli_general general;
    cli_model_options model;
    const char *index; /* directory of the index; NULL: the nearest one */
    cli_refresh refresh;
} options;

/* Lines of stdin. */
typedef struct input {
    aoei_buffer line;  /* bytes of the current line; owned */
    int is_long;       /* 1: the line is too long, and its bytes are not stored */
    char block[65536]; /* [n] bytes that were read, from `at` not yet used */
    size_t at, n;
} input;

static const aoei_option table[] = {
    CLI_OPTION_INDEX(.offset = offsetof(options, index)),
    CLI_OPTION_REFRESH(.offset = offsetof(options, refresh), "each search", "the answer"),
};

/* Reads the next line, also a last one without a line end. Returns 1, 0 at the end of stdin, or -1 after reporting an
 * error. */
static int read_line(input *in) {
    aoei_buffer_clear(&in->line);
    in->is_long = 0;
    for (;;) {
        if (in->at == in->n) {
            ssize_t n;
            do {
                n = read(STDIN_FILENO, in->block, sizeof in->block);
            } while (n < 0 && errno == EINTR);
            if (n < 0)
                return cli_fail("stdin: %s", strerror(errno)), -1;
            if (n == 0)
                return in->line.len > 0 || in->is_long;
            in->at = 0;
            in->n = (size_t)n;
        }
        const char *from = in->block + in->at, *nl = memchr(from, '\n', in->n - in->at);
        const size_t n = nl ? (size_t)(nl - from) : in->n - in->at;
        in->is_long |= n > MAX_LINE - in->line.len;
        if (!in->is_long && aoei_buffer_append(&in->line, from, n))
            return cli_fail("out of memory for a message"), -1;
        in->at += n + (nl != NULL);
        if (nl)
            return 1;
    }
}

/* Answers the messages until the end of stdin. Returns the exit code. */
static int serve(cli_mcp *server) {
    input *in = cli_calloc(1, sizeof *in);
    aoei_buffer out = {0};
    int more, code = 0;
    while (!code && (more = read_line(in)) != 0) {
        if (more < 0) {
            code = 1;
            break;
        }
        aoei_buffer_clear(&out);
        if (in->is_long)
            cli_mcp_answer_long(MAX_LINE, &out);
        else
            cli_mcp_answer(server, in->line.data ? in->line.data : "", in->line.len, &out);
        if (out.failed)
            code = cli_fail("out of memory for an answer");
        else if (out.len && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout)))
            code = 1; /* the client has closed its end; main reports other errors */
    }
    aoei_buffer_free(&in->line);
    aoei_buffer_free(&out);
    free(in);
    return code;
}

static int run(const options *o) {
    cli_mcp_index *index = cli_calloc(1, sizeof *index);
    index->dir = o->index;
    index->refresh = o->refresh;
    index->index.general = &o->general;
    index->index.model = &o->model;
    cli_set_quiet(1);
    cli_hit_output_begin(&index->output);
    index->output.color = index->output.links = 0;
    cli_mcp server = {
        .tools = cli_mcp_tools, .n_tools = CLI_MCP_TOOLS, .instructions = cli_mcp_instructions, .user = index};
    if (isatty(STDIN_FILENO))
        cli_message("waiting for messages of the Model Context Protocol on stdin; press Ctrl-D to finish");
    const int code = serve(&server);
    cli_hit_output_end(&index->output);
    cli_index_close(&index->index);
    free(index);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("index", table, &o),
        CLI_INDEX_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT - 1, &o.general),
    };
    const cli_syntax syntax = {
        .command = "mcp",
        .operands = "",
        .about = "Lets editors and agents search an index (aoe index): speaks the Model Context Protocol on stdin and\n"
                 "stdout, with the tools search, get and status, which only read. docs/agents.md shows how clients\n"
                 "are configured. The model and the index are opened at the first call of a tool.\n",
        .examples = "  aoe mcp\n"
                    "  aoe mcp -i ~/notes/.aoe-index\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = run(&o);
    cli_args_free(&args);
    return code;
}

const cli_command cli_mcp_command = {
    .name = "mcp",
    .summary = "let editors and agents search an index (Model Context Protocol)",
    .run = run_command,
};
