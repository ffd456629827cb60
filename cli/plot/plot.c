/* SPDX-License-Identifier: MIT
 * aoe plot: the table of kinds of pictures, and what they share; each is a file of its own.
 */
#include "cli/plot/plot.h"
#include "cli/common/dispatch.h"

#include <string.h>
#include <sys/stat.h>

static const cli_command kinds[] = {
    {"density", "cosines of pairs by gold rating, beside the gold ratings", cli_plot_density},
    {"lengths", "how long texts are, in tokens, a violin a file", cli_plot_lengths},
    {"saturation", "cosine, angle score and their gradients over the angle between vectors", cli_plot_saturation},
    {"curve", "loss, dev score and perplexity of training runs", cli_plot_curve},
    {"grid", "scores of a grid search over two of its options", cli_plot_grid},
};

#define AT(field) .offset = offsetof(cli_plot_options, field)

const cli_option cli_plot_table[CLI_PLOT_COUNT] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "NAME",
     AT(output),
     .help = "NAME.svg and NAME.png are drawn, from NAME.dat by NAME.gp, which stay beside them"},
    {.name = "title", .kind = CLI_TEXT, .value = "TEXT", AT(title), .help = "title of the picture", .fallback = "none"},
};

void cli_plot_defaults(cli_plot_options *o) {
    memset(o, 0, sizeof *o);
    cli_general_defaults(&o->general);
    o->title = "";
}

int cli_plot_parse(cli_args *args, const cli_syntax *s, const cli_plot_options *o, int argc, char **argv) {
    const int code = cli_parse(args, s, argc, argv);
    if (code != CLI_GO)
        return code;
    if (!o->output)
        return cli_usage(s->command, "it needs -o NAME");
    cli_set_quiet(o->general.quiet);
    return CLI_GO;
}

char *cli_plot_input(const char *given, const char *name) {
    struct stat st;
    const size_t size = strlen(given) + strlen(name) + 2;
    char *path = cli_realloc(NULL, size);
    const int in_folder = stat(given, &st) == 0 && S_ISDIR(st.st_mode);
    snprintf(path, size, "%s%s%s", given, in_folder ? "/" : "", in_folder ? name : "");
    return path;
}

int cli_plot(int argc, char **argv) {
    const cli_family family = {
        .command = "plot",
        .noun = "kind of picture",
        .usage = "KIND [OPTIONS] [FILES] -o NAME",
        .about = "Draws a picture with gnuplot: NAME.svg and NAME.png. The numbers in it (NAME.dat) and the script that\n"
                 "draws them (NAME.gp) stay beside it: `gnuplot NAME.gp` draws it again, restyled as you like.\n",
        .list = kinds,
        .n = sizeof kinds / sizeof *kinds,
    };
    return cli_run_subcommand(&family, argc, argv);
}
