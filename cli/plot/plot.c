/* SPDX-License-Identifier: MIT
 * Parses the options that all plot commands have, and finds and reads their input files.
 */
#include "cli/plot/plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/common/option_rows.h"
#include "cli/common/words.h"

#define AT(field) .offset = offsetof(cli_plot_options, field)

const aoei_option cli_plot_table[CLI_PLOT_COUNT] = {
    AOEI_ROW_OUTPUT(AT(output), "NAME",
                    "write the plot to NAME.svg and NAME.png, the plotted data to NAME.dat and the gnuplot "
                    "script to NAME.gp"),
    {.name = "title",
     .kind = AOEI_OPTION_TEXT,
     .value = "TEXT",
     AT(title),
     .help = "title of the plot",
     .fallback = "none"},
};

void cli_plot_defaults(cli_plot_options *o) {
    memset(o, 0, sizeof *o);
    cli_general_defaults(&o->general);
    o->title = "";
}

int cli_plot_run(const cli_syntax *s, const cli_plot_options *o, int argc, char **argv,
                 int (*draw)(const cli_args *args, const void *options)) {
    cli_args args;
    int code = cli_parse(&args, s, argc, argv);
    if (code == CLI_GO && !o->output)
        code = cli_usage(s->command, "missing output name: -o NAME");
    if (code == CLI_GO) {
        cli_set_quiet(o->general.quiet);
        code = cli_check_parent(o->output) ? 1 : draw(&args, o);
    }
    cli_args_free(&args);
    return code;
}

char *cli_plot_input(const char *given, const char *name) {
    return aoei_is_dir(given) ? cli_format("%s/%s", given, name) : cli_strdup(given);
}

int cli_plot_read_lines(const char *path, const char *advice,
                        int (*take)(void *user, char *line, size_t len, size_t number), void *user) {
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t got;
    int failed = 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return cli_fail("%s: cannot open: %s; %s", path, strerror(errno), advice);
    while (!failed && (got = getline(&line, &capacity, f)) > 0)
        failed = take(user, line, (size_t)got, ++number);
    if (!failed && ferror(f))
        failed = cli_fail("%s: cannot read: %s", path, strerror(errno));
    free(line);
    fclose(f);
    return failed;
}
