/* SPDX-License-Identifier: MIT
 * Replaces option fields in messages by flags, and removes advice that a command cannot follow.
 */
#include "cli/common/hints.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "options.";
static const char source_prefix[] = "source."; /* fields of aoe_index_source */

/* Returns the end of the name of an option field, which may contain dots. */
static const char *field_end(const char *s) {
    while (isalnum((unsigned char)*s) || *s == '_' || (*s == '.' && isalpha((unsigned char)s[1])))
        s++;
    return s;
}

/* Returns 1 if the part of field[len] after its last '.' is the name of the option with each '-' replaced by '_'. For
 * example, "args.max_steps" ends in the name "max-steps". */
static int ends_in_name(const aoei_option *o, const char *field, size_t len) {
    const char *last = field;
    for (size_t i = 0; i < len; i++)
        if (field[i] == '.')
            last = field + i + 1;
    const size_t n = len - (size_t)(last - field);
    if (strlen(o->name) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((o->name[i] == '-' ? '_' : o->name[i]) != last[i])
            return 0;
    return 1;
}

/* Returns 1 if the field belongs to the corpus of a command. Options with the same name apply to other files. */
static int is_of_corpus(const char *field, size_t len) {
    static const char corpus[] = "corpus_table.";
    return len > sizeof corpus - 1 && memcmp(field, corpus, sizeof corpus - 1) == 0;
}

/* Returns the option that sets the library's option field with the name field[len], or NULL if there is none. This is
 * the option whose member `field` is this name (for example "lora.dropout"). If there is no such option, it is the
 * first option with `field` NULL for which ends_in_name returns 1, except for fields of a corpus. */
static const aoei_option *option_of_field(const cli_syntax *s, const char *field, size_t len) {
    const aoei_option *by_name = NULL;
    for (size_t g = 0; g < s->n_groups; g++)
        for (size_t i = 0; i < s->groups[g].n; i++) {
            const aoei_option *o = &s->groups[g].options[i];
            if (o->field && strlen(o->field) == len && memcmp(o->field, field, len) == 0)
                return o;
            if (!o->field && !by_name && !is_of_corpus(field, len) && ends_in_name(o, field, len))
                by_name = o;
        }
    return by_name;
}

/* Returns the length of the name of a struct and its dot at the beginning of a text, or 0. */
static size_t prefix_length(const char *text) {
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        return sizeof prefix - 1;
    return strncmp(text, source_prefix, sizeof source_prefix - 1) == 0 ? sizeof source_prefix - 1 : 0;
}

void cli_name_flags(char *out, size_t size, const char *text, const cli_syntax *s) {
    size_t used = 0;
    while (*text && used + 1 < size) {
        const size_t n_prefix = prefix_length(text);
        const char *end = n_prefix ? field_end(text + n_prefix) : text;
        const aoei_option *o = n_prefix ? option_of_field(s, text + n_prefix, (size_t)(end - text) - n_prefix) : NULL;
        if (!o) {
            out[used++] = *text++;
            continue;
        }
        const int n = snprintf(out + used, size - used, "--%s", o->name);
        used = used + (size_t)n < size ? used + (size_t)n : size - 1;
        text = end;
    }
    out[used] = 0;
}

/* Returns the length of the separator of two pieces of advice that ends before `at`, or 0. text: start of the
 * advice. */
static size_t separator_before(const char *text, const char *at) {
    static const char *const separators[] = {", or ", "; ", " or ", ", "};
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
        const size_t n = strlen(separators[i]);
        if ((size_t)(at - text) >= n && memcmp(at - n, separators[i], n) == 0)
            return n;
    }
    return 0;
}

/* Returns 1 if another piece of advice begins at s, after a separator: " or " also joins the values of an option. */
static int begins_advice(const char *s) {
    static const char *const words[] = {"options.", "--",       "set ",  "use ",  "give ",
                                        "remove ",  "correct ", "omit ", "leave "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return 1;
    return 0;
}

/* Returns the end of the piece of advice that contains s: the next separator, or the end of the text. */
static const char *advice_end(const char *s) {
    for (; *s; s++)
        if (strncmp(s, "; ", 2) == 0 || strncmp(s, ", or ", 5) == 0 ||
            (strncmp(s, " or ", 4) == 0 && begins_advice(s + 4)) || (strncmp(s, ", ", 2) == 0 && begins_advice(s + 2)))
            break;
    return s;
}

void cli_drop_hints(char *text) {
    char *at = text;
    while ((at = strstr(at, prefix)) != NULL) {
        char *advice = strstr(text, "; ");
        if (!advice || advice > at) {
            memmove(at, at + sizeof prefix - 1, strlen(at + sizeof prefix - 1) + 1);
            continue;
        }
        advice += 2;
        char *start = at;
        size_t before = 0;
        while (start > advice && !(before = separator_before(advice, start)))
            start--;
        const char *end = advice_end(at);
        if (start == advice && *end) /* the next piece becomes the first one */
            end += strncmp(end, "; ", 2) == 0 || strncmp(end, ", ", 2) == 0 ? 2 : 1;
        if (start == advice && strncmp(end, "or ", 3) == 0)
            end += 3;
        if (start == advice && !*end)
            before = 2; /* no advice remains */
        start -= before;
        memmove(start, end, strlen(end) + 1);
        at = start;
    }
}
