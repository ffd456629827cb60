/* SPDX-License-Identifier: MIT
 * Prints the help of a command: the usage line, the description, the groups of options with their defaults, and
 * examples. Lines have at most 100 columns.
 */
#include "cli/common/help.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLUMN = 30 /* column in which the descriptions of options begin */, WIDTH = 100 };

/* Prints a text and a line end. The first line starts in column `at`. The text is wrapped at column WIDTH, and the
 * following lines start in column NAME_COLUMN. */
static void print_wrapped(const char *text, int at) {
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (at > NAME_COLUMN && at + 1 + len > WIDTH) {
            printf("\n%*s", NAME_COLUMN, "");
            at = NAME_COLUMN;
        }
        if (at > NAME_COLUMN) {
            putchar(' ');
            at++;
        }
        printf("%.*s", len, text);
        at += len;
        text += len;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* Returns 1 if the default of an option with the text o->fallback is nevertheless the value of *target, because a
 * method or command sets it. */
static int is_set(const aoei_option *o, const void *target) {
    char out[AOEI_NAME_SIZE];
    const char *name = o->kind == AOEI_OPTION_TEXT || o->kind == AOEI_OPTION_PROMPT ? *(const char *const *)target
                       : o->name_of                                                 ? o->name_of(out, target)
                                                                                    : NULL;
    const size_t n = o->kind == AOEI_OPTION_SIZE ? *(const size_t *)target : 0;
    return *o->fallback && (name || (n && n != AOE_AUTO));
}

void cli_default_text(char *out, size_t size, const aoei_option *o, const void *target) {
    out[0] = 0;
    if (o->fallback && !is_set(o, target)) {
        snprintf(out, size, "%s", o->fallback);
        return;
    }
    if (o->name_of) {
        char value[AOEI_NAME_SIZE];
        const char *name = o->name_of(value, target);
        snprintf(out, size, "%s", name ? name : "");
        return;
    }
    switch (o->kind) {
    case AOEI_OPTION_SIZE:
        snprintf(out, size, "%zu", *(const size_t *)target);
        break;
    case AOEI_OPTION_SEED:
        snprintf(out, size, "%llu", (unsigned long long)*(const uint64_t *)target);
        break;
    case AOEI_OPTION_REAL:
        if (isfinite(*(const double *)target))
            snprintf(out, size, "%g", *(const double *)target);
        break;
    case AOEI_OPTION_TEXT:
    case AOEI_OPTION_PROMPT:
    case AOEI_OPTION_MODEL:
        if (*(const char *const *)target)
            snprintf(out, size, "%s", *(const char *const *)target);
        break;
    case AOEI_OPTION_CHOICE:
        for (int i = 0; o->choices[i]; i++)
            if (i == *(const int *)target)
                snprintf(out, size, "%s", o->choices[i]);
        break;
    case AOEI_OPTION_FLAG:
        if (*(const int *)target == !o->clears)
            snprintf(out, size, "given");
        break;
    case AOEI_OPTION_SET: {
        char value[AOEI_NAME_SIZE];
        snprintf(out, size, "%s", aoei_set_text(value, o, *(const unsigned *)target));
        break;
    }
    case AOEI_OPTION_NAMED:
    case AOEI_OPTION_MODELS:
    case AOEI_OPTION_TEXTS:
    case AOEI_OPTION_LIST:
        break;
    }
}

void cli_help_entry(const char *name, const char *text) {
    print_wrapped(text, printf("  %-*s", NAME_COLUMN - 2, name));
}

/* Prints the names, the description and the default of an option. base: struct that contains the target of the
 * option. */
static void print_option(const aoei_option *o, const void *base) {
    char name[128], text[1024], fallback[256];
    int n = o->letter ? snprintf(name, sizeof name, "  -%c, --%s", o->letter, o->name)
                      : snprintf(name, sizeof name, "      --%s", o->name);
    if (aoei_option_value(o) && n > 0 && (size_t)n < sizeof name)
        snprintf(name + n, sizeof name - (size_t)n, " %s", aoei_option_value(o));
    int at = printf("%s", name);
    if (at > NAME_COLUMN - 2)
        printf("\n%*s", NAME_COLUMN, "");
    else
        printf("%*s", NAME_COLUMN - at, "");
    cli_default_text(fallback, sizeof fallback, o, (const char *)base + o->offset);
    snprintf(text, sizeof text, fallback[0] ? "%s (default: %s)" : "%s", o->help, fallback);
    print_wrapped(text, NAME_COLUMN);
}

/* Returns 1 if the help lists the option. */
static int is_listed(const cli_syntax *s, const aoei_option *o) {
    return o->help && (!s->method || aoei_option_is_used(o, *s->method));
}

int cli_help(const cli_syntax *s) {
    printf("usage: aoe %s [OPTIONS]%s%s\n\n%s", s->command, s->operands[0] ? " " : "", s->operands, s->about);
    for (size_t g = 0; g < s->n_groups; g++) {
        const cli_group *group = &s->groups[g];
        if (!g || strcmp(group->title, group[-1].title) != 0)
            printf("\n%s:\n", group->title);
        for (size_t i = 0; i < group->n; i++)
            if (is_listed(s, &group->options[i]))
                print_option(&group->options[i], group->base);
    }
    if (s->more)
        s->more(s);
    printf("\n  -h, --help                  print this help\n"
           "  @FILE                       read options from FILE, one per line; # starts a comment, and $NAME is\n"
           "                              replaced by the value of the environment variable NAME\n");
    if (s->examples[0])
        printf("\nexamples:\n%s", s->examples);
    return 0;
}
