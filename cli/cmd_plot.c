/* SPDX-License-Identifier: MIT
 * aoe plot: finds the kind of picture; each is a file of its own.
 */
#include "plot.h"

#include <string.h>
#include <sys/stat.h>

static const cli_command kinds[] = {
    {"density", "cosines of pairs by gold rating, beside the gold ratings", cli_plot_density},
    {"lengths", "how long texts are, in tokens, a violin a file", cli_plot_lengths},
    {"saturation", "cosine, angle score and their gradients over the angle between vectors", cli_plot_saturation},
    {"curve", "loss, dev score and perplexity of training runs", cli_plot_curve},
    {"grid", "scores of a grid search over two of its options", cli_plot_grid},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

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

static void print_help(FILE *out) {
    fputs("usage: aoe plot KIND [OPTIONS] [FILES] -o NAME\n\n"
          "Draws a picture with gnuplot: NAME.svg and NAME.png. The numbers in it (NAME.dat) and the script that\n"
          "draws them (NAME.gp) stay beside it: `gnuplot NAME.gp` draws it again, restyled as you like.\n\n",
          out);
    for (size_t i = 0; i < N_KINDS; i++)
        fprintf(out, "  %-12s%s\n", kinds[i].name, kinds[i].summary);
    fputs("\n  aoe plot KIND --help    its options\n", out);
}

int cli_plot(int argc, char **argv) {
    const char *names[N_KINDS];
    if (argc == 0) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < N_KINDS; i++) {
        names[i] = kinds[i].name;
        if (strcmp(argv[0], names[i]) == 0)
            return kinds[i].run(argc - 1, argv + 1);
    }
    const char *closest = cli_closest(argv[0], names, N_KINDS);
    return closest ? cli_usage("plot", "unknown kind of picture '%s'; did you mean %s?", argv[0], closest)
                   : cli_usage("plot", "unknown kind of picture '%s'", argv[0]);
}
