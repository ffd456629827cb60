/* SPDX-License-Identifier: MIT
 * The functions of all commands: main.c lists them in its tables, and each is defined in the file of its command
 * (cli/FOLDER/cmd_NAME.c). argv[argc] holds the arguments after the command's name; the result is the exit code:
 * 0 success, 1 failure (reported on stderr), 2 usage error.
 */
#ifndef AOE_CLI_COMMANDS_H
#define AOE_CLI_COMMANDS_H

int cli_bench(int argc, char **argv);
int cli_compare(int argc, char **argv);
int cli_convert(int argc, char **argv);
int cli_data_annotate(int argc, char **argv);
int cli_data_check(int argc, char **argv);
int cli_data_convert(int argc, char **argv);
int cli_data_dedup(int argc, char **argv);
int cli_data_github_issues(int argc, char **argv);
int cli_data_mine(int argc, char **argv);
int cli_data_score(int argc, char **argv);
int cli_data_split(int argc, char **argv);
int cli_data_stats(int argc, char **argv);
int cli_embed(int argc, char **argv);
int cli_eval_pairs(int argc, char **argv);
int cli_eval_retrieval(int argc, char **argv);
int cli_eval_sts(int argc, char **argv);
int cli_eval_suite(int argc, char **argv);
int cli_eval_triplets(int argc, char **argv);
int cli_grid(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_init(int argc, char **argv);
int cli_merge(int argc, char **argv);
int cli_plot_curve(int argc, char **argv);
int cli_plot_density(int argc, char **argv);
int cli_plot_grid(int argc, char **argv);
int cli_plot_lengths(int argc, char **argv);
int cli_plot_saturation(int argc, char **argv);
int cli_pretrain(int argc, char **argv);
int cli_similarity(int argc, char **argv);
int cli_tokenize(int argc, char **argv);
int cli_train(int argc, char **argv);
int cli_verify(int argc, char **argv);
int cli_whiten(int argc, char **argv);

#endif
