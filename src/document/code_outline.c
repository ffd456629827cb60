/* SPDX-License-Identifier: MIT
 * Finds definitions in source code by indentation, words and braces. It has no parser, so it reads every language in
 * the same way, and code with unusual indentation only yields worse breaks and fewer section titles. A stack of the
 * open lines with smaller indentation is kept, so the time is linear in the number of lines.
 */
#include "document/code_outline.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
    DEPTH = 32, /* open lines on the stack; deeper lines are not added */
    TOP = 95,   /* weight of a break before a definition without indentation */
    STRING = 30 /* weight of a break after a blank line in a string */
};

typedef enum line_type {
    LINE_CODE,
    LINE_COMMENT,   /* a comment, or a decorator, attribute or template line, which belongs to the next line of code */
    LINE_CLOSE,     /* begins with a closing brace or a word such as "end" */
    LINE_OPEN,      /* an opening brace alone */
    LINE_CONTROL,   /* if, for, else ... */
    LINE_LABEL,     /* a label, an access specifier or a conditional of the preprocessor; has no indentation level */
    LINE_STATEMENT, /* import, return and other lines that never are a definition */
} line_type;

typedef struct open_line { /* a line whose indented lines are being read */
    unsigned indent;
    uint32_t section;
} open_line;

typedef struct code {
    aoei_outline *o;
    open_line stack[DEPTH];
    size_t depth;
    int in_comment;          /* 1: inside a block comment */
    char in_string;          /* quote of the open string that three quotes begin; 0: none */
    uint32_t string_section; /* section of the line that opens the string */
    size_t first_comment;    /* first line of the comment that ends at the previous line; SIZE_MAX: none */
} code;

static const char *content(const aoei_outline *o, const aoei_outline_line *line, size_t *len) {
    const char *s = o->text.data + line->start, *end = s + line->len;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    *len = (size_t)(end - s);
    return s;
}

static int is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns 1 if s[len] begins with a word of the list, whose words are separated by spaces. */
static int begins_with_word(const char *s, size_t len, const char *list) {
    size_t n = 0;
    while (n < len && is_word_char(s[n]))
        n++;
    for (const char *word = list; n && *word;) {
        const size_t size = strcspn(word, " ");
        if (size == n && memcmp(word, s, n) == 0)
            return 1;
        word += size + (word[size] == ' ');
    }
    return 0;
}

/* Returns 1 if s[len] begins with the prefix. */
static int begins_with(const char *s, size_t len, const char *prefix) {
    const size_t n = strlen(prefix);
    return len >= n && memcmp(s, prefix, n) == 0;
}

/* Type of a line that begins with '#': a comment of many languages, or a directive of the C preprocessor. */
static line_type type_of_hash(const char *s, size_t len) {
    size_t i = 1;
    while (i < len && s[i] == ' ')
        i++;
    if (begins_with_word(s + i, len - i, "define"))
        return LINE_CODE;
    if (begins_with_word(s + i, len - i, "include import pragma error warning undef line using"))
        return LINE_STATEMENT;
    if (begins_with_word(s + i, len - i, "if ifdef ifndef elif else endif region endregion"))
        return i == 1 ? LINE_LABEL : LINE_COMMENT;
    return LINE_COMMENT; /* also #[attribute] */
}

/* Returns 1 for "label:", "public:", "case 1:" and "default:". */
static int is_label(const char *s, size_t len, unsigned indent) {
    if (s[len - 1] != ':')
        return 0;
    if (begins_with_word(s, len, "public protected private case default signals slots"))
        return 1;
    for (size_t i = 0; i + 1 < len; i++)
        if (!is_word_char(s[i]))
            return 0;
    return indent <= 1 && begins_with_word(s, len - 1, "fail done out end error cleanup exit finish retry again ret");
}

static line_type type_of(code *c, const char *s, size_t len, unsigned indent) {
    const char *end = s + len;
    if (c->in_comment) {
        for (; s + 1 < end && c->in_comment; s++)
            c->in_comment = !(s[0] == '*' && s[1] == '/');
        return LINE_COMMENT;
    }
    if (begins_with(s, len, "/*")) {
        c->in_comment = 1;
        for (const char *p = s + 2; p + 1 < end && c->in_comment; p++)
            c->in_comment = !(p[0] == '*' && p[1] == '/');
        const int code_follows = !c->in_comment && !(end[-1] == '/' && end[-2] == '*');
        return code_follows ? LINE_CODE : LINE_COMMENT;
    }
    if (begins_with(s, len, "//") || begins_with(s, len, "--") || begins_with(s, len, ";;") || *s == '@' || *s == '%')
        return LINE_COMMENT;
    if (*s == '#')
        return type_of_hash(s, len);
    if (begins_with_word(s, len, "template") && s[len - 1] == '>')
        return LINE_COMMENT;
    if (strchr("})]", *s) || begins_with_word(s, len, "end fi done esac endif endfunction endmacro"))
        return LINE_CLOSE;
    if (len == 1 && *s == '{')
        return LINE_OPEN;
    if (is_label(s, len, indent))
        return LINE_LABEL;
    if (begins_with_word(s, len,
                         "if else elif elsif elseif for foreach while do switch case when try catch except finally "
                         "unless until loop match with select using synchronized then rescue ensure begin"))
        return LINE_CONTROL;
    if (begins_with_word(s, len,
                         "import from include require return raise throw yield await assert goto break continue "
                         "print printf echo use"))
        return LINE_STATEMENT;
    return LINE_CODE;
}

/* Returns 1 if the line s[len] with indentation is probably a definition. The following lines are more indented. */
static int is_definition(const char *s, size_t len, size_t depth) {
    const char *paren = memchr(s, '(', len);
    if (s[len - 1] == ';')
        return 0;
    if (depth == 0)
        return 1;
    if (begins_with_word(s, len,
                         "class struct enum union interface trait impl def fn func function fun module namespace mod "
                         "package type export public private protected internal static async sub proc procedure object "
                         "protocol extension record template const final abstract virtual override inline extern "
                         "unsafe pub constructor get set describe test it suite context macro data sealed open"))
        return 1;
    /* "Type name(...) {" and "name(...) {" of methods, but not "name(", a call over several lines */
    return paren && paren > s && is_word_char(paren[-1]) && s[len - 1] == '{' && !memchr(s, '=', (size_t)(paren - s));
}

/* Begins a section for the definition line s[len]. Its title has no punctuation at the end, such as a brace. */
static int begin_section(code *c, uint32_t parent, const char *s, size_t len, uint32_t *section, aoe_error *err) {
    while (len && strchr("{( \t,\\:=", s[len - 1]))
        len--;
    const uint32_t level = c->o->section[parent].level + 1;
    return aoei_outline_section(c->o, parent, level, s, len, section, err);
}

/* Weight of a break before the line at `depth` in the nesting of definitions. */
static int weigh(const aoei_outline_line *line, line_type type, line_type previous, size_t depth) {
    const int steps = (int)(depth < 6 ? depth : 6);
    if (type == LINE_CLOSE || type == LINE_OPEN || (previous == LINE_COMMENT && !(line->flags & AOEI_LINE_BLANK)))
        return type == LINE_COMMENT ? AOEI_BREAK_LINE : AOEI_BREAK_BAD;
    if (line->flags & AOEI_LINE_BLANK)
        return depth ? 60 - 7 * steps : TOP;
    if (depth == 0 && type != LINE_STATEMENT && previous == LINE_CLOSE)
        return 70; /* two definitions without a blank line between them */
    return depth == 0 ? 14 : 10 - steps;
}

/* Finds strings between three quotes, as in Python, that begin or end in the line s[len]. */
static void read_strings(code *c, const char *s, size_t len) {
    for (size_t i = 0; i + 2 < len; i++) {
        if ((s[i] != '"' && s[i] != '\'') || s[i + 1] != s[i] || s[i + 2] != s[i])
            continue;
        const char previous = i ? s[i - 1] : ' ';
        if (c->in_string == s[i])
            c->in_string = 0;
        else if (!c->in_string && (strchr(" (=,[{:+", previous) || is_word_char(previous)))
            c->in_string = s[i];
        i += 2;
    }
}

/* Handles line i if it continues a string that three quotes begin. Returns 1 if it does. */
static int read_string_line(code *c, aoei_outline_line *line, const char *s, size_t len) {
    if (!c->in_string)
        return 0;
    line->flags &= (uint8_t)~AOEI_LINE_PROSE;
    line->section = c->string_section;
    line->weight = line->flags & AOEI_LINE_BLANK ? STRING : AOEI_BREAK_LINE;
    read_strings(c, s, len);
    return 1;
}

/* Handles line i. `next` is the result of next_indent. */
static int read_line(code *c, size_t i, unsigned next, line_type *previous, aoe_error *err) {
    aoei_outline_line *line = &c->o->line[i];
    size_t len;
    const char *s = content(c->o, line, &len);
    if (read_string_line(c, line, s, len)) {
        *previous = LINE_STATEMENT;
        return 0;
    }
    const line_type type = type_of(c, s, len, line->indent);
    const int attached = *previous == LINE_COMMENT && !(line->flags & AOEI_LINE_BLANK);
    if (!attached || type != LINE_COMMENT)
        c->first_comment = attached ? c->first_comment : SIZE_MAX;
    if (type == LINE_COMMENT && c->first_comment == SIZE_MAX)
        c->first_comment = i;
    size_t depth = c->depth;
    while (depth && c->stack[depth - 1].indent >= line->indent)
        depth--;
    line->section = depth ? c->stack[depth - 1].section : 0;
    line->flags &= (uint8_t)~AOEI_LINE_PROSE;
    line->weight = (uint8_t)(i ? weigh(line, type, *previous, depth) : TOP);
    if (line->weight >= 70)
        line->flags |= AOEI_LINE_FRESH;
    *previous = type;
    if (type != LINE_COMMENT)
        read_strings(c, s, len);
    c->string_section = line->section;
    if (type == LINE_COMMENT || type == LINE_LABEL || type == LINE_OPEN)
        return 0;
    if (type == LINE_CLOSE && c->depth > depth && line->indent == c->stack[depth].indent)
        line->section = c->stack[depth].section;
    c->depth = depth;
    if (next <= line->indent || depth == DEPTH)
        return 0;
    open_line open = {line->indent, line->section};
    int rc = 0;
    if (type == LINE_CODE && is_definition(s, len, depth)) {
        rc = begin_section(c, line->section, s, len, &open.section, err);
        line->section = open.section;
        for (size_t k = c->first_comment; k < i; k++)
            c->o->line[k].section = open.section;
    }
    c->stack[c->depth++] = open;
    return rc;
}

/* Indentation of the first line after line i that is neither an opening brace alone nor a label such as "public:". */
static unsigned next_indent(const aoei_outline *o, size_t i) {
    enum { SKIPPED = 2 /* most lines that are skipped */ };
    for (size_t k = i + 1; k < o->n_lines; k++) {
        size_t len;
        const char *s = content(o, &o->line[k], &len);
        const int skip = (*s == '{' && len == 1) || is_label(s, len, o->line[k].indent);
        if (!skip || k > i + SKIPPED)
            return o->line[k].indent;
    }
    return 0;
}

int aoei_code_outline(aoei_outline *o, aoe_error *err) {
    code c = {.o = o, .first_comment = SIZE_MAX};
    line_type previous = LINE_STATEMENT;
    int rc = aoei_outline_lines(o, err);
    for (size_t i = 0; i < o->n_lines && !rc; i++)
        rc = read_line(&c, i, next_indent(o, i), &previous, err);
    return rc;
}
