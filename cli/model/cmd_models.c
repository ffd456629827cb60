/* SPDX-License-Identifier: MIT
 * `aoe models`: lists the models in the cache of the Hugging Face Hub on this machine.
 */
#include "aoe_hub.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/output.h"

#include <string.h>

typedef struct job {
    cli_general general;
    cli_table table;
    size_t n; /* number of models */
} job;

static int show(void *user, const aoe_hub_entry *e) {
    job *j = user;
    const char *kind = e->problem ? NULL : e->cross_encoder ? "cross-encoder" : "embedding";
    j->n++;
    if (j->general.json) {
        json_t *o = json_pack("{s:o,s:o,s:s,s:o,s:I,s:s?,s:b}", "name", cli_json_text(e->name, strlen(e->name)),
                              "revision", cli_json_text(e->revision, strlen(e->revision)), "commit", e->commit,
                              "directory", cli_json_text(e->dir, strlen(e->dir)), "bytes", (json_int_t)e->bytes, "kind",
                              kind, "opens", e->problem == NULL);
        if (e->problem)
            json_object_set_new(o, "problem", cli_json_text(e->problem, strlen(e->problem)));
        cli_print_json(o);
        return 0;
    }
    if (e->problem)
        cli_note("aoe cannot open %s: %s", e->name, e->problem);
    cli_table_cell(&j->table, "%s", e->name);
    cli_table_cell(&j->table, "%s", *e->revision ? e->revision : "-");
    cli_table_cell(&j->table, "%.12s", e->commit);
    cli_table_cell(&j->table, "%.1f MiB", (double)e->bytes / 0x1p20);
    cli_table_cell(&j->table, "%s", kind ? kind : "-");
    cli_table_cell(&j->table, "%s", e->problem ? "no" : "yes");
    return 0;
}

static int list(job *j) {
    static const char *const header[] = {"model", "revision", "commit", "size", "kind", "opens"};
    aoe_error err;
    cli_table_begin(&j->table, "lllrll");
    cli_table_cells(&j->table, header, sizeof header / sizeof *header);
    const int code = aoe_hub_list(show, j, &err);
    if (!code && j->n && !j->general.json)
        cli_table_print(&j->table);
    cli_table_free(&j->table);
    if (code)
        return cli_fail("%s", err.message);
    if (!j->n)
        cli_note("the cache contains no models; download one with aoe pull ORG/NAME");
    return 0;
}

static int run_command(int argc, char **argv) {
    job j = {.n = 0};
    cli_general_defaults(&j.general);
    const cli_group groups[] = {CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &j.general)};
    const cli_syntax syntax = {
        .command = "models",
        .operands = "",
        .about = "Lists the models in the Hugging Face cache on this machine, whether they are embedding\n"
                 "models or cross-encoders, and whether aoe can open them. The reason is printed for models that\n"
                 "cannot be opened.\n",
        .examples = "  aoe models\n"
                    "  aoe models --json\n",
        CLI_GROUPS(groups),
        .min_operands = 0,
        .max_operands = 0,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(j.general.quiet);
        code = list(&j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_models_command = {
    .name = "models",
    .summary = "list the downloaded models",
    .run = run_command,
};
