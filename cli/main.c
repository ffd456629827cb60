/* SPDX-License-Identifier: MIT
 * aoe: the program. Holds the tree of commands, runs one, and checks that everything printed was written.
 * Exit codes: 0 success, 1 failure (one line on stderr), 2 usage error.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/common/dispatch.h"
#include "cli/common/output.h"

#define COMMAND(n, s, f)                                                                                                       \
    { .name = (n), .summary = (s), .run = (f) }
#define CHILDREN(table) .children = (table), .n_children = sizeof(table) / sizeof *(table)

static const cli_command data_commands[] = {
    COMMAND("convert", "convert a table to another format (.tsv, .csv, .jsonl) or to triplets", cli_data_convert),
    COMMAND("split", "split rows into train, dev and test sets that share no text", cli_data_split),
    COMMAND("dedup", "remove duplicate rows and report contradicting labels", cli_data_dedup),
    COMMAND("stats", "count rows, texts and labels, and measure text lengths", cli_data_stats),
    COMMAND("check", "report bad rows, duplicates and texts shared between files", cli_data_check),
    COMMAND("github-issues", "collect pairs of duplicate issues from GitHub repositories", cli_data_github_issues),
    COMMAND("mine", "find hard negatives for queries and their positives", cli_data_mine),
    COMMAND("annotate", "generate pairs and triplets with chat models", cli_data_annotate),
    COMMAND("score", "label pairs from 0 to 5 with chat models", cli_data_score),
};

static const cli_command eval_commands[] = {
    COMMAND("sts", "semantic similarity: correlation of cosines with gold scores", cli_eval_sts),
    COMMAND("suite", "STS12 to STS16, STS-B and SICK-R with their average", cli_eval_suite),
    COMMAND("pairs", "binary pair classification: accuracy, F1, average precision", cli_eval_pairs),
    COMMAND("retrieval", "retrieval in groups of texts and BEIR folders: recall, MRR, nDCG", cli_eval_retrieval),
    COMMAND("triplets", "how often the positive is closer to the query than the negative", cli_eval_triplets),
};

static const cli_command plot_commands[] = {
    COMMAND("density", "distribution of cosines for each gold score", cli_plot_density),
    COMMAND("lengths", "distribution of text lengths in tokens", cli_plot_lengths),
    COMMAND("saturation", "cosine, angle score and their gradients over the angle of two vectors", cli_plot_saturation),
    COMMAND("curve", "loss, dev score and perplexity of training runs", cli_plot_curve),
    COMMAND("grid", "scores of a grid search over two of its options", cli_plot_grid),
};

static const cli_command commands[] = {
    COMMAND("init", "create a model with random weights and its own vocabulary", cli_init),
    COMMAND("pretrain", "train a model on plain text with masked language modeling", cli_pretrain),
    COMMAND("train", "fine-tune a model on pairs or triplets of texts", cli_train),
    {.name = "data",
     .summary = "create, convert, split, check and annotate training data",
     .about = "Creates training data and prepares it for training.\n",
     CHILDREN(data_commands)},
    COMMAND("grid", "train with every combination of option values, report the best", cli_grid),
    COMMAND("compare", "train several configurations with several seeds, test the differences", cli_compare),
    {.name = "eval",
     .summary = "evaluate a model: STS, pair classification, retrieval, triplets",
     .about = "Evaluates a model.\n",
     CHILDREN(eval_commands)},
    {.name = "plot",
     .summary = "plot similarity distributions, training runs and grid searches",
     .about = "Draws a plot with gnuplot: NAME.svg and NAME.png. The plotted data (NAME.dat) and the gnuplot script\n"
              "(NAME.gp) are written next to them; after editing the script, `gnuplot NAME.gp` draws the plot again.\n",
     CHILDREN(plot_commands)},
    COMMAND("embed", "compute embeddings of texts", cli_embed),
    COMMAND("similarity", "compute the similarity of two texts", cli_similarity),
    COMMAND("tokenize", "convert texts to token ids", cli_tokenize),
    COMMAND("info", "show the contents of a model directory", cli_info),
    COMMAND("convert", "store weights as f32, bf16 or int8, or convert word vectors to a model", cli_convert),
    COMMAND("merge", "merge adapters into their base model, or average models", cli_merge),
    COMMAND("whiten", "add a linear layer that whitens the embeddings of a model", cli_whiten),
    COMMAND("verify", "check the numerical results of this build against reference values", cli_verify),
    COMMAND("bench", "measure the speed of the encoder on this machine", cli_bench),
};

static const cli_command program = {
    .name = "",
    .about = "aoe trains, evaluates and runs text embedding models. It runs on CPUs; GPUs are not supported yet.\n",
    .examples = "  aoe help COMMAND      the same, for example: aoe help data mine\n"
                "  aoe --version         version\n\n"
                "examples (every command uses the default model unless you pass -m):\n"
                "  aoe similarity 'A plane is taking off.' 'An aircraft departs.'\n"
                "  aoe train -d examples/train.tsv -o model --epochs 8 --lr 3e-4\n"
                "  aoe eval sts -m model examples/test.tsv\n",
    CHILDREN(commands)};

/* Opens /dev/null for each closed standard descriptor: otherwise the next file opened would receive the output. */
static void fill_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* using it fails, as it should */
}

int main(int argc, char **argv) {
    fill_standard_descriptors();
    aoei_json_init();
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a write error with a message */
    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe is an error like any other, and the command cleans up */
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a write error with a message */
    int code = cli_dispatch(&program, "", argc - (argc > 0), argv + (argc > 0));
    int lost = cli_check_stdout();
    if (cli_stdout_closed()) { /* end as a program that does not ignore SIGPIPE */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return code ? code : lost;
}
