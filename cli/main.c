/* SPDX-License-Identifier: MIT
 * aoe: the program. Finds the command, and makes sure that what it printed
 * arrived. Exit codes: 0 done, 1 failed (one line on stderr), 2 usage.
 */
#include "cli/common/common.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const cli_command commands[] = {
    {"init", "make a new model with random weights and a vocabulary of its own", cli_init},
    {"pretrain", "train a model to predict masked words of plain text", cli_pretrain},
    {"train", "fine-tune a model on scored pairs of texts", cli_train},
    {"data", "make training data, and look after it: collect, annotate, split, check", cli_data},
    {"grid", "train over combinations of options and seeds, and find the best", cli_grid},
    {"compare", "train several ways with several seeds, and judge the differences", cli_compare},
    {"eval", "judge a model: STS, classes of pairs, retrieval, triples", cli_eval},
    {"plot", "pictures of distributions, training runs and grids, by gnuplot", cli_plot},
    {"embed", "texts to vectors, a line each", cli_embed},
    {"similarity", "how alike two texts are", cli_similarity},
    {"tokenize", "texts to token ids", cli_tokenize},
    {"info", "what a model directory holds", cli_info},
    {"convert", "store a model's weights as f32, bf16 or int8; word vectors as a model", cli_convert},
    {"merge", "adapters and their model as one model; the mean of models", cli_merge},
    {"whiten", "a linear layer behind a model that whitens its vectors", cli_whiten},
    {"verify", "check the numbers of this build against reference cases", cli_verify},
    {"bench", "speed of the encoder on this machine", cli_bench},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
    fprintf(out,
            "aoe %s: train, judge and run text-embedding models\n\n"
            "usage: aoe COMMAND [OPTIONS] [FILES]\n\n",
            aoe_version());
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-12s%s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n  aoe COMMAND --help    the options of a command\n"
                 "  aoe --version         the version\n\n"
                 "start with (the default model is used where -m names no other):\n"
                 "  aoe similarity 'A plane is taking off.' 'An aircraft departs.'\n"
                 "  aoe train -d examples/train.tsv -o model --epochs 8 --lr 3e-4\n"
                 "  aoe eval sts -m model examples/test.tsv\n");
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *closest = cli_closest(name, names, N_COMMANDS);
    if (closest)
        cli_message("aoe: unknown command '%s', did you mean %s?", name, closest);
    else
        cli_message("aoe: unknown command '%s'; aoe help lists them", name);
    return 2;
}

static int help(const char *topic) {
    if (!topic) {
        print_help(stdout);
        return 0;
    }
    static char flag[] = "--help";
    char *argument = flag;
    const cli_command *command = find_command(topic);
    return command ? command->run(1, &argument) : unknown_command(topic);
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("aoe %s\n", aoe_version());
        return 0;
    }
    if (argv[1][0] == '-') {
        cli_message("aoe: '%s' stands before the command: aoe COMMAND [OPTIONS]; aoe help lists the commands", argv[1]);
        return 2;
    }
    const cli_command *command = find_command(argv[1]);
    return command ? command->run(argc - 2, argv + 2) : unknown_command(argv[1]);
}

/* A descriptor that was closed would be given to the next file opened, which would then get what is printed. */
static void fill_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* using it fails, as it should */
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe ends the work in good order first */
    int code = run(argc, argv);
    int lost = cli_check_stdout();
    if (cli_stdout_closed()) { /* and the program as it ends any other */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return code ? code : lost;
}
