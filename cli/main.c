/* SPDX-License-Identifier: MIT
 * The program aoe. This file defines the tree of commands, runs the command that the arguments name, and checks that
 * all output to stdout was written. Exit codes: 0 after success, 1 after a failure (reported in one line on stderr), 2
 * after a usage error.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/source_tree.h"
#include "cli/common/dispatch.h"
#include "cli/common/output.h"
#include "cli/main.h"

/* The program finds the source tree by its own path; a copy of the program elsewhere must not use the tree of its
 * build. */
const char aoei_source_tree[] = "";

/* Lists of the commands, in the order in which --help prints them. Each command is defined in its own file,
 * cli/FOLDER/cmd_NAME.c. */
/* clang-format off */
#define DATA_COMMANDS(X) \
    X(data_convert) X(data_split) X(data_dedup) X(data_stats) X(data_check) X(data_github_issues) X(data_mine) \
    X(data_annotate) X(data_score)
#define EVAL_COMMANDS(X) \
    X(eval_sts) X(eval_suite) X(eval_pairs) X(eval_retrieval) X(eval_rerank) X(eval_triplets)
#define PLOT_COMMANDS(X) \
    X(plot_density) X(plot_lengths) X(plot_saturation) X(plot_curve) X(plot_grid) X(plot_matryoshka) \
    X(plot_bench)
#define TOP_COMMANDS(X) \
    X(init) X(pretrain) X(train) X(data) X(grid) X(compare) X(eval) X(plot) X(embed) X(similarity) X(similar) \
    X(rerank) X(index) X(search) X(get) X(mcp) X(serve) X(tokenize) X(info) X(pull) X(models) X(convert) \
    X(merge) X(whiten) X(flow) X(verify) X(bench) X(options) X(completion)
/* clang-format on */

#define DECLARE(command) extern const cli_command cli_##command##_command;
DATA_COMMANDS(DECLARE)
EVAL_COMMANDS(DECLARE)
PLOT_COMMANDS(DECLARE)
TOP_COMMANDS(DECLARE)

#define ELEMENT(command) &cli_##command##_command,
#define CHILDREN(table)  .children = (table), .n_children = sizeof(table) / sizeof *(table)

static const cli_command *const data_commands[] = {DATA_COMMANDS(ELEMENT)};
const cli_command cli_data_command = {
    .name = "data",
    .summary = "create, convert, split, check and annotate training data",
    .about = "Creates and prepares training data.\n",
    CHILDREN(data_commands),
};

static const cli_command *const eval_commands[] = {EVAL_COMMANDS(ELEMENT)};
const cli_command cli_eval_command = {
    .name = "eval",
    .summary = "evaluate a model: STS, pair classification, retrieval, reranking, triplets",
    .about = "Evaluates a model.\n",
    CHILDREN(eval_commands),
};

static const cli_command *const plot_commands[] = {PLOT_COMMANDS(ELEMENT)};
const cli_command cli_plot_command = {
    .name = "plot",
    .summary = "plot similarity distributions, training runs, grid searches and quality against size",
    .about = "Draws a plot with gnuplot and writes it to NAME.svg and NAME.png, where NAME is the value of -o. The\n"
             "plotted data (NAME.dat) and the gnuplot script (NAME.gp) are also written. To change the plot, edit\n"
             "the script and run `gnuplot NAME.gp`.\n",
    CHILDREN(plot_commands),
};

static const cli_command *const top_commands[] = {TOP_COMMANDS(ELEMENT)};
const cli_command cli_program = {
    .name = "",
    .about = "aoe trains, evaluates and runs text embedding models. It runs on CPUs; GPUs are not supported yet.\n",
    .examples = "  aoe help COMMAND      help of a command, for example: aoe help data mine\n"
                "  aoe --version         version\n\n"
                "examples (without -m, the model in $AOE_MODEL or the model installed with aoe is used):\n"
                "  aoe similarity 'A plane is taking off.' 'An aircraft departs.'\n"
                "  aoe train -d examples/train.tsv -o model --epochs 8 --lr 3e-4\n"
                "  aoe eval sts -m model examples/test.tsv\n\n"
                "environment:\n"
                "  AOE_MODEL             model that is used without -m\n"
                "  AOE_CPU               highest CPU tier (instruction set) to use, for example avx2\n",
    CHILDREN(top_commands)};

/* Opens /dev/null for each standard file descriptor (stdin, stdout, stderr) that is closed. Otherwise the next file
 * that is opened would get this descriptor, and messages could be written to the file. */
static void fill_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            /* stdin is opened for writing, stdout and stderr for reading, so that their use fails as with a closed
             * descriptor */
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    /* if SIGXFSZ is ignored, writing beyond the file size limit fails with EFBIG instead of killing the process */
    signal(SIGXFSZ, SIG_IGN);
    /* if SIGPIPE is ignored, writing to a closed pipe fails with EPIPE, so that the command can remove its temporary
     * files */
    signal(SIGPIPE, SIG_IGN);
    int code = cli_dispatch(&cli_program, "", argc - (argc > 0), argv + (argc > 0));
    int lost = cli_check_stdout();
    if (cli_stdout_closed()) { /* ends with SIGPIPE, like a program that does not ignore the signal */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return code ? code : lost;
}
