/* SPDX-License-Identifier: MIT
 * Tests that no message of the program names an option that the command does not have. Every text of the library that
 * names an option field is read from the sources and adapted to every command. The result must not name an option
 * field, and each flag in it must be an option of the command.
 */
#define main program_main
int program_main(int argc, char **argv);
#include "cli/main.c"
#undef main

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "cli/common/hints.h"

enum { MAX_TEXTS = 1000, MAX_TEXT = 1024 };

static char texts[MAX_TEXTS][MAX_TEXT]; /* the texts of the library that name option fields */
static size_t n_texts, commands, kept;

/* ------------------------------------------------------ texts of the library */

/* Appends the characters of a string literal that begins after `s`. Returns the position after the closing quote. */
static const char *read_literal(const char *s, char *text, size_t *len) {
    for (; *s != '"'; s++) {
        const char c = *s == '\\' ? *++s : *s;
        if (*len + 1 < MAX_TEXT)
            text[(*len)++] = c;
    }
    text[*len] = 0;
    return s + 1;
}

/* Stores the texts in a source file that contain "options.". Adjacent string literals are one text. */
static void read_source(const char *path) {
    static const char remedy[] = "AOEI_ROW_REMEDY";
    size_t size;
    char *source = test_read(path, &size), text[MAX_TEXT];
    for (const char *s = source; *s;) {
        size_t len = 0;
        if (strncmp(s, "/*", 2) == 0) {
            const char *end = strstr(s, "*/");
            assert_non_null(end);
            s = end + 2;
            continue;
        }
        if (*s == '\'') {
            s += s[1] == '\\' ? 4 : 3;
            continue;
        }
        if (*s != '"') {
            s++;
            continue;
        }
        while (*s == '"' || strncmp(s, remedy, strlen(remedy)) == 0) {
            if (*s == '"') {
                s = read_literal(s + 1, text, &len);
            } else {
                const char row[] = "correct the row or set options.skip_bad_rows\"";
                read_literal(row, text, &len);
                s += strlen(remedy);
            }
            s += strspn(s, " \n\\");
        }
        if (strstr(text, "options.") && !strstr(text, "options.h")) {
            assert_true(n_texts < MAX_TEXTS);
            memcpy(texts[n_texts++], text, len + 1);
        }
    }
    free(source);
}

static void read_sources(void) {
    DIR *src = opendir("src");
    struct dirent *folder, *file;
    assert_non_null(src);
    while ((folder = readdir(src)) != NULL) {
        char path[600];
        snprintf(path, sizeof path, "src/%s", folder->d_name);
        DIR *dir = folder->d_name[0] == '.' ? NULL : opendir(path);
        while (dir && (file = readdir(dir)) != NULL) {
            const size_t n = strlen(file->d_name);
            snprintf(path, sizeof path, "src/%s/%s", folder->d_name, file->d_name);
            if (n > 2 && strcmp(file->d_name + n - 2, ".c") == 0)
                read_source(path);
        }
        if (dir)
            closedir(dir);
    }
    closedir(src);
}

/* ---------------------------------------------------------------- commands */

static int has_option(const cli_syntax *s, const char *name, size_t len) {
    for (size_t g = 0; g < s->n_groups; g++)
        for (size_t i = 0; i < s->groups[g].n; i++)
            if (strlen(s->groups[g].options[i].name) == len && !memcmp(s->groups[g].options[i].name, name, len))
                return 1;
    return 0;
}

/* Asserts that a message for a command is complete and names only options of the command. */
static void check_message(const cli_syntax *s, const char *text, const char *message) {
    static const char *const wrong[] = {"options.", "; ;", ";;", " or ;", "; or ", "; , ", "; and ", ",,", ", ;"};
    const size_t len = strlen(message);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (strstr(message, wrong[i]) && !strstr(text, wrong[i]))
            fail_msg("%s: '%s' becomes '%s'", s->command, text, message);
    if (len && strchr(";,", message[len - 1]) && !strchr(";,", text[strlen(text) - 1]))
        fail_msg("%s: '%s' becomes '%s'", s->command, text, message);
    for (const char *flag = message; (flag = strstr(flag, "--")) != NULL;) {
        const size_t n = strspn(flag + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (n && !strstr(text, "--") && !has_option(s, flag + 2, n))
            fail_msg("%s has no option %.*s, which '%s' names", s->command, (int)n + 2, flag, message);
        kept += n > 0;
        flag += n + 2;
    }
}

static void check_command(void *user, const cli_syntax *s) {
    (void)user;
    char half[2 * MAX_TEXT];
    for (size_t i = 0; i < n_texts; i++) {
        cli_name_flags(half, sizeof half, texts[i], s);
        cli_drop_hints(half);
        check_message(s, texts[i], half);
        if (getenv("HINTS_PRINT"))
            printf("%s: %s\n", s->command, half);
    }
    commands++;
}

static void test_every_text(void **state) {
    (void)state;
    read_sources();
    assert_true(n_texts > 200);
    cli_read_commands(&cli_program, check_command, NULL);
    assert_true(commands > 35);
    assert_true(kept > 1000); /* fields with a flag are still named */
}

/* ------------------------------------------------------------ single messages */

static void expect_message(const char *text, const char *want) {
    static const aoei_option table[] = {{.name = "input-format", .kind = AOEI_OPTION_TEXT},
                                        {.name = "label-map", .kind = AOEI_OPTION_TEXT}};
    static const cli_group groups[] = {CLI_GROUP("", table, NULL)};
    const cli_syntax s = {.command = "test", CLI_GROUPS(groups)};
    char message[MAX_TEXT];
    cli_name_flags(message, sizeof message, text, &s);
    cli_drop_hints(message);
    assert_string_equal(message, want);
}

static void test_messages(void **state) {
    (void)state;
    expect_message("t:3: the row has 2 fields; correct the row or set options.skip_bad_rows",
                   "t:3: the row has 2 fields; correct the row");
    expect_message("t: bad; set options.skip_bad_rows", "t: bad");
    expect_message("t: bad; set options.whole_files for one text per file, or set options.input_format to txt",
                   "t: bad; set --input-format to txt");
    expect_message("t: bad; set options.input_format to tsv, csv or jsonl",
                   "t: bad; set --input-format to tsv, csv or jsonl");
    expect_message("t: bad; set options.other to tsv, csv or jsonl", "t: bad");
    expect_message("t: bad; set source.label_map to x", "t: bad; set --label-map to x");
    expect_message("t: bad; correct source.n_rows", "t: bad; correct source.n_rows");
    expect_message("t: bad; correct it, give it a value in options.label_map, or set options.skip_bad_rows",
                   "t: bad; correct it, give it a value in --label-map");
    expect_message("t: bad; correct it, set options.columns, or set options.skip_bad_rows", "t: bad; correct it");
    expect_message("options.max_length is 3, but must be at most 2", "max_length is 3, but must be at most 2");
    expect_message("t: bad; set options.columns; check it", "t: bad; check it");
    expect_message("t: bad; set options.corpus_table.input_format to txt, or rename it", "t: bad; rename it");
    expect_message("t: no fields", "t: no fields");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_text), cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
