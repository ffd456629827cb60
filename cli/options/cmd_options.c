/* SPDX-License-Identifier: MIT
 * Implements `aoe options`: prints the options of all commands from the option tables.
 */
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/help.h"
#include "cli/common/words.h"
#include "cli/main.h"
#include "options/training.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    const char *command; /* name of the command whose options are printed; "": all commands */
    int json;
    size_t found; /* number of commands that were printed */
    cli_table table;
} job;

static const char *type_name(const aoei_option *o) {
    static const char *const names[] = {
        [AOEI_OPTION_FLAG] = "flag",   [AOEI_OPTION_TEXT] = "text",     [AOEI_OPTION_PROMPT] = "text",
        [AOEI_OPTION_MODEL] = "model", [AOEI_OPTION_MODELS] = "models", [AOEI_OPTION_TEXTS] = "texts",
        [AOEI_OPTION_LIST] = "texts",  [AOEI_OPTION_SIZE] = "integer",  [AOEI_OPTION_SEED] = "integer",
        [AOEI_OPTION_REAL] = "number", [AOEI_OPTION_CHOICE] = "choice", [AOEI_OPTION_SET] = "set",
        [AOEI_OPTION_NAMED] = "text"};
    if (o->kind == AOEI_OPTION_NAMED && aoei_option_choice(o, 0) && !strchr(o->value, '[')) /* one of the names */
        return names[strchr(o->value, ',') ? AOEI_OPTION_SET : AOEI_OPTION_CHOICE];
    return names[o->kind];
}

/* Returns the default of an option, or null if it is chosen when the command runs. */
static json_t *default_value(const aoei_option *o, const void *target) {
    char out[AOEI_NAME_SIZE];
    if (o->kind == AOEI_OPTION_FLAG)
        return json_boolean(*(const int *)target == !o->clears);
    if (o->name_of && o->kind != AOEI_OPTION_REAL) {
        const char *name = o->name_of(out, target);
        return name ? json_string(name) : json_null();
    }
    if (o->kind == AOEI_OPTION_NAMED) {
        const char *name = o->choice ? o->choice(*(const unsigned *)target) : NULL;
        return name ? json_string(name) : json_null();
    }
    aoei_option row = *o;
    row.json_of = NULL; /* records contain the number of a SET */
    return aoei_option_json(&row, target, 1);
}

static json_t *choices(const aoei_option *o) {
    json_t *list = json_array();
    const char *name;
    for (size_t i = 0; (name = aoei_option_choice(o, i)) != NULL; i++)
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *methods(const aoei_option *o) {
    json_t *list = json_array();
    for (int m = 0; m < AOE_METHOD_COUNT; m++)
        if (aoei_option_is_used(o, m))
            json_array_append_new(list, json_string(aoe_method_name((aoe_method)m)));
    return list;
}

/* Returns an end of the range of an option, or null if there is no limit. */
static json_t *range_end(const aoei_option *o, double x) {
    if (x <= -AOEI_NO_LIMIT || x >= AOEI_NO_LIMIT)
        return json_null();
    return o->kind == AOEI_OPTION_SIZE ? json_integer((json_int_t)x) : cli_json_real(x);
}

/* Returns 1 if a command has an option with this name. name: NULL: no option. */
static int has_option(const cli_syntax *s, const char *name) {
    for (size_t g = 0; name && g < s->n_groups; g++)
        for (size_t i = 0; i < s->groups[g].n; i++)
            if (strcmp(s->groups[g].options[i].name, name) == 0)
                return 1;
    return 0;
}

static void print_json(const cli_syntax *s, const cli_group *g, const aoei_option *o) {
    const void *target = (const char *)g->base + o->offset;
    const char *value = aoei_option_value(o), letter[] = {o->letter, '\0'};
    char text[256];
    json_t *j = json_pack("{s:s,s:s,s:s?,s:s,s:s?,s:s?,s:s,s:s?}", "command", s->command, "option", o->name, "letter",
                          o->letter ? letter : NULL, "group", g->title, "struct", g->type, "field",
                          g->type ? o->member : NULL, "type", type_name(o), "value", value);
    if (o->kind == AOEI_OPTION_SIZE || o->kind == AOEI_OPTION_REAL) {
        double min, max;
        aoei_option_limits(o, 1, &min, &max);
        json_object_set_new(j, "min", range_end(o, min));
        json_object_set_new(j, "max", range_end(o, max));
    }
    if (o->kind == AOEI_OPTION_SEED) { /* all integers of 64 bits */
        json_object_set_new(j, "min", json_integer(0));
        json_object_set_new(j, "max", json_null());
    }
    if (aoei_option_choice(o, 0))
        json_object_set_new(j, "choices", choices(o));
    if (o->kind == AOEI_OPTION_FLAG)
        json_object_set_new(j, "sets", json_integer(!o->clears));
    json_object_set_new(j, "default", default_value(o, target));
    cli_default_text(text, sizeof text, o, target);
    json_object_set_new(j, "default_text", *text ? json_string(text) : json_null());
    json_object_set_new(j, "excludes", o->excludes ? json_string(o->excludes) : json_null());
    json_object_set_new(j, "requires", has_option(s, o->requires) ? json_string(o->requires) : json_null());
    if (strcmp(s->command, "train") == 0)
        json_object_set_new(j, "methods", o->methods ? methods(o) : json_null());
    json_object_set_new(j, "help", json_string(o->help));
    cli_print_json(j);
}

static void print_command(void *user, const cli_syntax *s) {
    job *j = user;
    if (*j->command && strcmp(j->command, s->command) != 0)
        return;
    j->found++;
    for (size_t g = 0; g < s->n_groups; g++) {
        for (size_t i = 0; i < s->groups[g].n; i++) {
            const aoei_option *o = &s->groups[g].options[i];
            const char *value = aoei_option_value(o);
            char text[256];
            if (!o->help)
                continue;
            if (j->json) {
                print_json(s, &s->groups[g], o);
                continue;
            }
            cli_default_text(text, sizeof text, o, (const char *)s->groups[g].base + o->offset);
            cli_table_cell(&j->table, "%s", s->command);
            cli_table_cell(&j->table, "--%s%s%s", o->name, value ? " " : "", value ? value : "");
            cli_table_cell(&j->table, "%s", type_name(o));
            cli_table_cell(&j->table, "%s", text);
        }
    }
}

static int run_command(int argc, char **argv) {
    cli_general general;
    cli_args args;
    cli_general_defaults(&general);
    const cli_group groups[] = {CLI_ROWS("general", cli_general_table + 2, 1, &general)}; /* --json */
    const cli_syntax syntax = {
        .command = "options",
        .operands = "[COMMAND [SUBCOMMAND]]",
        .about = "Prints the options of a command, or of all commands, with their types and default values. With\n"
                 "--json, the object of an option also contains the range, the choices, the training methods that\n"
                 "use the option, the option that it excludes and the one that it requires, the struct and the\n"
                 "field of the C library, and the help text.\n",
        .examples = "  aoe options train\n"
                    "  aoe options data mine --json\n",
        CLI_GROUPS(groups),
        .max_operands = 2,
    };
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        char *command = cli_format("%s%s%s", args.n ? args.operand[0] : "", args.n > 1 ? " " : "",
                                   args.n > 1 ? args.operand[1] : "");
        job j = {.command = command, .json = general.json};
        cli_table_begin(&j.table, "llll");
        cli_table_cells(&j.table, (const char *const[]){"command", "option", "type", "default"}, 4);
        cli_read_commands(&cli_program, print_command, &j);
        if (!j.json && j.found)
            cli_table_print(&j.table);
        code = j.found ? 0 : cli_usage("options", "unknown command '%s'; aoe help lists the commands", command);
        cli_table_free(&j.table);
        free(command);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_options_command = {
    .name = "options",
    .summary = "print the options of commands, also as JSON",
    .run = run_command,
};
