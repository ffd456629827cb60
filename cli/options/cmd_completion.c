/* SPDX-License-Identifier: MIT
 * Implements `aoe completion`: prints a script that completes commands, options and their values in bash, zsh or fish.
 * The script contains the option tables.
 */
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/main.h"

#include <string.h>

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
/* Commands whose operands are the name of a command. */
static const char *const of_commands[] = {"help", "options"};
enum { OF_COMMANDS = sizeof of_commands / sizeof *of_commands };

/* Prints the choices of an option, separated by spaces. */
static void print_choices(const aoei_option *o) {
    const char *name;
    for (size_t i = 0; (name = aoei_option_choice(o, i)) != NULL; i++)
        printf("%s%s", i ? " " : "", name);
}

/* Kind of the values of an option for completion: NONE for values without names, such as numbers and texts; LIST for
 * several names, separated by commas. */
typedef enum values { NO_VALUE, NONE, NAMES, LIST, FILES } values;

static values values_of(const aoei_option *o) {
    const char *value = aoei_option_value(o);
    if (o->kind == AOEI_OPTION_FLAG)
        return NO_VALUE;
    if (aoei_option_choice(o, 0))
        return o->kind == AOEI_OPTION_SET || strchr(value, ',') ? LIST : NAMES;
    return strstr(value, "FILE") || strstr(value, "DIR") ? FILES : NONE;
}

/* Prints the first part of the help text of an option, or of the summary of a command, without characters that have a
 * meaning in the shells. */
static void print_summary(const char *text) {
    enum { MOST = 70 };
    const char *end = strpbrk(text, ";");
    size_t n = end ? (size_t)(end - text) : strlen(text);
    if (n > MOST)
        for (n = MOST; n > 0 && text[n] != ' '; n--)
            continue;
    for (size_t i = 0; i < n; i++)
        if (!strchr("'\"\\[]`$", text[i]))
            putchar(text[i]);
    if (text[n] && text[n] != ';')
        printf(" ...");
}

/* Calls print(s, o) for each listed option of a command. */
static void for_options(const cli_syntax *s, void (*print)(const cli_syntax *s, const aoei_option *o)) {
    for (size_t g = 0; g < s->n_groups; g++)
        for (size_t i = 0; i < s->groups[g].n; i++)
            if (s->groups[g].options[i].help)
                print(s, &s->groups[g].options[i]);
}

/* ---- bash */

static void bash_name(const cli_syntax *s, const aoei_option *o) {
    (void)s;
    if (o->letter)
        printf(" -%c", o->letter);
    printf(" --%s", o->name);
}

static void bash_names(void *user, const cli_syntax *s) {
    (void)user;
    printf("        '%s') options='", s->command);
    for_options(s, bash_name);
    printf("' ;;\n");
}

static void bash_value(const cli_syntax *s, const aoei_option *o) {
    const values v = values_of(o);
    if (v == NO_VALUE || v == FILES)
        return;
    printf("        '%s --%s'", s->command, o->name);
    if (o->letter)
        printf(" | '%s -%c'", s->command, o->letter);
    printf(") values='");
    print_choices(o);
    printf("' ;;\n");
}

static void bash_values(void *user, const cli_syntax *s) {
    (void)user;
    for_options(s, bash_value);
}

static void print_names(const cli_command *group) {
    for (size_t i = 0; i < group->n_children; i++)
        printf("%s%s", i ? " " : "", group->children[i]->name);
}

/* Completes the operands that are not files. */
static void bash_operands(void) {
    printf("    case $cur,$COMP_CWORD,$command,${COMP_WORDS[2]} in\n"
           "        -*) ;;\n"
           "        *,2,completion,*) values='bash zsh fish' ;;\n");
    for (size_t k = 0; k < OF_COMMANDS; k++) {
        printf("        *,2,%s,*) values='", of_commands[k]);
        print_names(&cli_program);
        printf("' ;;\n");
        for (size_t i = 0; i < cli_program.n_children; i++) {
            const cli_command *c = cli_program.children[i];
            if (c->run)
                continue;
            printf("        *,3,%s,%s) values='", of_commands[k], c->name);
            print_names(c);
            printf("' ;;\n");
        }
    }
    printf("    esac\n");
}

static void print_bash(void) {
    printf(
        "# bash completion of aoe, printed by: aoe completion bash\n"
        "_aoe() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options= "
        "values=.\n"
        "    local at=1 word response=\n"
        "    COMPREPLY=()\n"
        "    if [[ $cur == '@' || $prev == '@' ]]; then # a response file, a word of its own for bash\n"
        "        cur=${cur#@} response=@\n"
        "    elif [[ $cur == '=' ]]; then\n"
        "        cur=\n"
        "    elif [[ $prev == '=' && COMP_CWORD -gt 2 ]]; then\n"
        "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    fi\n"
        "    case $command in\n");
    for (size_t i = 0; i < cli_program.n_children; i++) {
        const cli_command *c = cli_program.children[i];
        if (c->run)
            continue;
        printf("    %s)\n        if ((COMP_CWORD == 2)); then\n            mapfile -t COMPREPLY < <(compgen -W '",
               c->name);
        print_names(c);
        printf("' -- \"$cur\")\n            return\n        fi\n        command=\"$command ${COMP_WORDS[2]}\" at=2\n"
               "        ;;\n");
    }
    printf("    esac\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    print_names(&cli_program);
    printf(" help version' -- \"$cur\")\n"
           "        return\n"
           "    fi\n"
           "    for word in \"${COMP_WORDS[@]:at+1:COMP_CWORD-at-1}\"; do # options of aoe train\n"
           "        [[ $word == -- && ( $command == grid || $command == compare ) ]] && command=train\n"
           "    done\n");
    bash_operands();
    printf("    case \"$command $prev\" in\n");
    cli_read_commands(&cli_program, bash_values, NULL);
    printf("    esac\n"
           "    if [[ $values != . ]]; then\n"
           "        [[ $cur == *,* ]] && word=${cur%%,*}, || word= # the names before the last one of a list\n"
           "        mapfile -t COMPREPLY < <(compgen -P \"$word\" -W \"$values\" -- \"${cur##*,}\")\n"
           "    elif [[ $cur == -* ]]; then\n"
           "        case $command in\n");
    cli_read_commands(&cli_program, bash_names, NULL);
    printf("        esac\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$options --help\" -- \"$cur\")\n"
           "    else\n"
           "        [[ $response ]] || compopt -o filenames\n"
           "        mapfile -t COMPREPLY < <(compgen -P \"$response\" -f -- \"$cur\")\n"
           "    fi\n"
           "}\n"
           "complete -F _aoe aoe\n");
}

/* ---- zsh */

static void zsh_option(const cli_syntax *s, const aoei_option *o) {
    const values v = values_of(o);
    const int repeats = o->kind == AOEI_OPTION_TEXTS || o->kind == AOEI_OPTION_LIST || o->kind == AOEI_OPTION_MODELS;
    (void)s;
    for (int letter = 0; letter <= (o->letter != 0); letter++) {
        printf(" \\\n            '%s", repeats ? "*" : "");
        if (letter)
            printf("-%c", o->letter);
        else
            printf("--%s%s", o->name, v == NO_VALUE ? "" : "=");
        printf("[");
        print_summary(o->help);
        printf("]");
        if (v != NO_VALUE)
            printf(":value:%s", v == FILES ? "_files" : v == NAMES ? "(" : v == LIST ? " _sequence compadd - " : " ");
        if (v == NAMES || v == LIST)
            print_choices(o);
        if (v == NAMES)
            printf(")");
        printf("'");
    }
}

static void zsh_command(void *user, const cli_syntax *s) {
    (void)user;
    printf("    '%s')\n        _arguments -S", s->command);
    for_options(s, zsh_option);
    printf(" \\\n            '--help[print the help]' '*:file:{ compset -P @; _files }'\n        ;;\n");
}

/* Completes the operands that are not files. */
static void zsh_operands(void) {
    printf("    if [[ $words[CURRENT] != -* ]]; then\n        case $CURRENT,$command,$words[3] in\n"
           "            3,completion,*) compadd -- bash zsh fish; return ;;\n");
    for (size_t k = 0; k < OF_COMMANDS; k++) {
        printf("            3,%s,*) compadd -- ", of_commands[k]);
        print_names(&cli_program);
        printf("; return ;;\n");
        for (size_t i = 0; i < cli_program.n_children; i++) {
            const cli_command *c = cli_program.children[i];
            if (c->run)
                continue;
            printf("            4,%s,%s) compadd -- ", of_commands[k], c->name);
            print_names(c);
            printf("; return ;;\n");
        }
    }
    printf("        esac\n    fi\n");
}

static void print_zsh(void) {
    printf("#compdef aoe\n"
           "# zsh completion of aoe, printed by: aoe completion zsh\n"
           "_aoe() {\n"
           "    local command=$words[2]\n"
           "    if ((CURRENT == 2)); then\n"
           "        compadd -- ");
    print_names(&cli_program);
    printf(" help version\n        return\n    fi\n");
    zsh_operands();
    printf("    shift words\n    ((CURRENT--))\n    case $command in\n");
    for (size_t i = 0; i < cli_program.n_children; i++) {
        const cli_command *c = cli_program.children[i];
        if (c->run)
            continue;
        printf("    %s)\n        if ((CURRENT == 2)); then\n            compadd -- ", c->name);
        print_names(c);
        printf("\n            return\n        fi\n        command=\"$command $words[2]\"\n        shift words\n"
               "        ((CURRENT--))\n"
               "        ;;\n");
    }
    printf("    grid | compare)\n"
           "        if ((${words[(I)--]} && ${words[(I)--]} < CURRENT)); then # options of aoe train\n"
           "            ((CURRENT -= ${words[(I)--]} - 1))\n"
           "            words=(train \"${(@)words[${words[(I)--]} + 1,-1]}\")\n"
           "            command=train\n"
           "        fi\n"
           "        ;;\n"
           "    esac\n"
           "    case $command in\n");
    cli_read_commands(&cli_program, zsh_command, NULL);
    printf("    esac\n"
           "}\n"
           "if [[ $funcstack[1] == _aoe ]]; then\n    _aoe \"$@\"\nelse\n    compdef _aoe aoe\nfi\n");
}

/* ---- fish */

static void fish_option(const cli_syntax *s, const aoei_option *o) {
    const values v = values_of(o);
    printf("complete -c aoe -n '__aoe_at %s' -l %s", s->command, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (v != NO_VALUE)
        printf(v == FILES ? " -r -F" : " -x");
    if (v == NAMES || v == LIST) {
        printf(" -a '%s", v == LIST ? "(__aoe_list " : "");
        print_choices(o);
        printf("%s'", v == LIST ? ")" : "");
    }
    printf(" -d '");
    print_summary(o->help);
    printf("'\n");
}

/* fish does not complete options after --, so they and their values are arguments there. */
static void fish_run_option(const cli_syntax *s, const aoei_option *o) {
    (void)s;
    printf("complete -c aoe -f -n __aoe_runs -a '--%s' -d '", o->name);
    print_summary(o->help);
    printf("'\n");
    if (!aoei_option_choice(o, 0))
        return;
    printf("complete -c aoe -f -n '__aoe_runs --%s' -a '", o->name);
    print_choices(o);
    printf("'\n");
}

static void fish_command(void *user, const cli_syntax *s) {
    (void)user;
    for_options(s, fish_option);
    if (strcmp(s->command, "train") == 0)
        for_options(s, fish_run_option);
}

/* Prints the commands of a group, which complete the word after `before` and `name`; "": no word. condition: function
 * that tests the words before. */
static void fish_commands(const cli_command *group, const char *condition, const char *before, const char *name) {
    for (size_t i = 0; i < group->n_children; i++) {
        printf("complete -c aoe -f -n '%s %s %s' -a %s -d '", condition, before, name, group->children[i]->name);
        print_summary(group->children[i]->summary);
        printf("'\n");
    }
}

static void print_fish(void) {
    printf("# fish completion of aoe, printed by: aoe completion fish\n"
           "function __aoe_at # the words of the command line begin with aoe and the arguments of this function\n"
           "    set -l words (commandline -opc)\n"
           "    set -l last (math (count $argv) + 1)\n"
           "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
           "end\n"
           "function __aoe_runs # options of aoe train, or values of the option that is the last word\n"
           "    set -l words (commandline -opc)\n"
           "    contains -- -- $words; and contains -- \"$words[2]\" grid compare; or return 1\n"
           "    if set -q argv[1]\n"
           "        test \"$words[-1]\" = \"$argv\"\n"
           "    else\n"
           "        string match -q -- '-*' (commandline -ct)\n"
           "    end\n"
           "end\n"
           "function __aoe_responses # @FILE\n"
           "    set -l files (commandline -ct | string sub -s 2)*\n"
           "    printf '@%%s\\n' $files\n"
           "end\n"
           "complete -c aoe -f -n 'string match -q -- \"@*\" (commandline -ct)' -a '(__aoe_responses)'\n"
           "function __aoe_list # the names, after those that are already in the word\n"
           "    set -l before (string match -r '.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))\n"
           "    printf '%%s\\n' $before$argv\n"
           "end\n"
           "function __aoe_after # the words before this one\n"
           "    set -l words (commandline -opc)\n"
           "    test \"$words[2..]\" = \"$argv\"\n"
           "end\n"
           "complete -c aoe -f -n '__aoe_after completion' -a 'bash zsh fish'\n");
    fish_commands(&cli_program, "__fish_use_subcommand", "", "");
    for (size_t k = 0; k < OF_COMMANDS; k++)
        fish_commands(&cli_program, "__aoe_after", of_commands[k], "");
    for (size_t i = 0; i < cli_program.n_children; i++) {
        const cli_command *c = cli_program.children[i];
        fish_commands(c, "__aoe_after", "", c->name);
        for (size_t k = 0; k < OF_COMMANDS; k++)
            fish_commands(c, "__aoe_after", of_commands[k], c->name);
    }
    cli_read_commands(&cli_program, fish_command, NULL);
}

static int run_command(int argc, char **argv) {
    void (*const print[])(void) = {print_bash, print_zsh, print_fish};
    const cli_syntax syntax = {
        .command = "completion",
        .operands = "SHELL",
        .about = "Prints a script that completes the commands, the options and their values. SHELL is bash, zsh or\n"
                 "fish. make install installs the scripts of all shells.\n",
        .examples = "  source <(aoe completion bash)\n"
                    "  source <(aoe completion zsh)\n"
                    "  aoe completion fish | source\n",
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    aoe_error err;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        const size_t shell = aoei_choose(shells, args.operand[0], "shell", &err);
        code = shells[shell] ? 0 : cli_usage("completion", "%s", err.message);
        if (!code)
            print[shell]();
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_completion_command = {
    .name = "completion",
    .summary = "print a script that completes options in bash, zsh or fish",
    .run = run_command,
};
