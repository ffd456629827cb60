/* SPDX-License-Identifier: MIT
 * Translates regular expressions from Oniguruma's syntax (UTF-8) to PCRE2's syntax. Most of the syntax is identical.
 * The differences are:
 * - Classes such as \s have different members.
 * - Options and a few escapes have different letters.
 * - A quantifier that follows another quantifier has a different meaning.
 * An unknown construct, or a construct that PCRE2 does not support, is rejected with a reason.
 */
#include <stdint.h>
#include <string.h>

#include "tokenizer/pattern_syntax.h"

/* Members of the character classes, in the syntax that is used between brackets. */
#define SPACES                                                                                                         \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define NOT_SPACES                                                                                                     \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
#define WORDS      "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define HEX_DIGITS "0-9A-Fa-f"

enum { MAX_DEPTH = 32 }; /* maximum nesting of groups */

typedef struct translation {
    const char *s;           /* [len] expression to translate, borrowed */
    size_t len, at;          /* length of s and current position in s, in bytes */
    aoei_buffer *out;        /* translated expression */
    size_t group[MAX_DEPTH]; /* [depth] position in out at which each open group begins */
    size_t depth;            /* number of open groups */
    size_t atom;             /* position in out of the expression that a quantifier would repeat; SIZE_MAX: none */
    /* Type of the last quantifier. 0: there is none; 1: it is *, + or ?; 2: it is in braces, such as {2,3}; 3: it is
     * lazy or possessive. */
    int repeated;
    const char *why; /* reason why the expression is rejected */
} translation;

static int reject(translation *t, const char *why) {
    t->why = why;
    return AOE_EUNSUPPORTED;
}

static int put(translation *t, const char *s) {
    return aoei_buffer_append(t->out, s, strlen(s));
}

static int put_bytes(translation *t, size_t from, size_t to) {
    return aoei_buffer_append(t->out, t->s + from, to - from);
}

static int next_is(const translation *t, const char *s) {
    const size_t n = strlen(s);
    return t->len - t->at >= n && memcmp(t->s + t->at, s, n) == 0;
}

/* Returns PCRE2's name of the category or property whose long name is name[len]. Case, spaces, '_' and '-' are ignored.
 * Returns NULL if the table does not contain the name, for example because it is the name of a script. */
static const char *category(const char *name, size_t len) {
    static const char *const names[][2] = {{"letter", "L"},
                                           {"uppercaseletter", "Lu"},
                                           {"lowercaseletter", "Ll"},
                                           {"titlecaseletter", "Lt"},
                                           {"modifierletter", "Lm"},
                                           {"otherletter", "Lo"},
                                           {"mark", "M"},
                                           {"nonspacingmark", "Mn"},
                                           {"spacingmark", "Mc"},
                                           {"enclosingmark", "Me"},
                                           {"number", "N"},
                                           {"decimalnumber", "Nd"},
                                           {"letternumber", "Nl"},
                                           {"othernumber", "No"},
                                           {"punctuation", "P"},
                                           {"connectorpunctuation", "Pc"},
                                           {"dashpunctuation", "Pd"},
                                           {"openpunctuation", "Ps"},
                                           {"closepunctuation", "Pe"},
                                           {"initialpunctuation", "Pi"},
                                           {"finalpunctuation", "Pf"},
                                           {"otherpunctuation", "Po"},
                                           {"symbol", "S"},
                                           {"mathsymbol", "Sm"},
                                           {"currencysymbol", "Sc"},
                                           {"modifiersymbol", "Sk"},
                                           {"othersymbol", "So"},
                                           {"separator", "Z"},
                                           {"spaceseparator", "Zs"},
                                           {"lineseparator", "Zl"},
                                           {"paragraphseparator", "Zp"},
                                           {"other", "C"},
                                           {"control", "Cc"},
                                           {"format", "Cf"},
                                           {"alpha", "Alphabetic"},
                                           {"alphabetic", "Alphabetic"},
                                           {"uppercase", "Uppercase"},
                                           {"lowercase", "Lowercase"},
                                           {"upper", "Uppercase"},
                                           {"lower", "Lowercase"},
                                           {"digit", "Nd"},
                                           {"any", "Any"},
                                           {"assigned", NULL}};
    char plain[32];
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        const char c = name[i];
        if (c == '_' || c == ' ' || c == '-')
            continue;
        if (n + 1 == sizeof plain)
            return NULL;
        plain[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    plain[n] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(plain, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

/* Translates \p{...} or \P{...}. t->at is the position after the letter p or P. */
static int property(translation *t, char letter) {
    const char *close = t->at < t->len && t->s[t->at] == '{' ? memchr(t->s + t->at, '}', t->len - t->at) : NULL;
    if (!close)
        return reject(t, "\\p without braces; write \\p{...}");
    const size_t end = (size_t)(close - t->s);
    size_t name = t->at + 1;
    int negative = letter == 'P';
    if (name < end && t->s[name] == '^') {
        negative = !negative;
        name++;
    }
    t->at = end + 1;
    const size_t len = end - name;
    const char *known = category(t->s + name, len);
    for (size_t i = name; i < end; i++)
        if (!((t->s[i] | 32) >= 'a' && (t->s[i] | 32) <= 'z') && t->s[i] != '_')
            return reject(t, "a property name with characters other than letters");
    if (put(t, negative ? "\\P{" : "\\p{"))
        return AOE_ENOMEM;
    if (known)
        return put(t, known) || put(t, "}") ? AOE_ENOMEM : 0;
    /* names of one or two letters are categories; longer names are scripts, and sc: excludes script extensions */
    return (len > 2 && put(t, "sc:")) || put_bytes(t, name, end) || put(t, "}") ? AOE_ENOMEM : 0;
}

/* Translates the hexadecimal digits at t->at to \x{...}. `most` is the maximum number of digits. If `most` is 0, the
 * digits are in braces, and t->at is the position after the opening brace. */
static int code_point(translation *t, size_t most) {
    const size_t start = t->at;
    while (t->at < t->len && (most == 0 || t->at - start < most) && strchr("0123456789abcdefABCDEF", t->s[t->at]) &&
           t->s[t->at])
        t->at++;
    const size_t end = t->at;
    if (end == start || (most == 4 && end - start != 4) || end - start > 8)
        return reject(t, "an invalid code point");
    if (most == 2 && end - start == 2 && t->s[start] >= '8')
        return reject(t, "bytes above \\x7f; write \\x{...}");
    if (most == 0 && (t->at == t->len || t->s[t->at++] != '}'))
        return reject(t, "\\x{...} with more than one code point");
    return put(t, "\\x{") || put_bytes(t, start, end) || put(t, "}") ? AOE_ENOMEM : 0;
}

/* Translates an escape sequence. t->at is the position after the backslash. in_class: 1 if the escape sequence is
 * between the brackets of a character class. */
static int escape(translation *t, int in_class) {
    if (t->at == t->len)
        return reject(t, "a backslash at the end");
    const char c = t->s[t->at++];
    switch (c) {
    case 's':
        return put(t, in_class ? SPACES : "[" SPACES "]");
    case 'S':
        return put(t, in_class ? NOT_SPACES : "[^" SPACES "]");
    case 'w':
        return put(t, in_class ? WORDS : "[" WORDS "]");
    case 'W':
        return in_class ? reject(t, "\\W between brackets") : put(t, "[^" WORDS "]");
    case 'h':
        return put(t, in_class ? HEX_DIGITS : "[" HEX_DIGITS "]");
    case 'd':
        return put(t, "\\p{Nd}");
    case 'D':
        return put(t, "\\P{Nd}");
    case 'p':
    case 'P':
        return property(t, c);
    case 'x':
        if (t->at < t->len && t->s[t->at] == '{') {
            t->at++;
            return code_point(t, 0);
        }
        return code_point(t, 2);
    case 'u':
        return code_point(t, 4);
    case 'b':
        if (in_class)
            return put(t, "\\x{8}");
        return put(t, "(?:(?<=[" WORDS "])(?![" WORDS "])|(?<![" WORDS "])(?=[" WORDS "]))");
    case 'B':
        return in_class ? reject(t, "\\B between brackets")
                        : put(t, "(?:(?<=[" WORDS "])(?=[" WORDS "])|(?<![" WORDS "])(?![" WORDS "]))");
    case 't':
    case 'n':
    case 'r':
    case 'f':
    case 'a':
    case 'e':
    case 'v':
        return c == 'v' ? put(t, "\\x{b}") : put_bytes(t, t->at - 2, t->at);
    case 'A':
    case 'z':
    case 'Z':
    case 'G':
        return in_class ? reject(t, "an anchor between brackets") : put_bytes(t, t->at - 2, t->at);
    default:
        break;
    }
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return reject(t, "an escape of a letter or digit other than "
                         "\\a\\A\\b\\B\\d\\D\\e\\f\\G\\h\\n\\p\\P\\r\\s\\S\\t\\u\\v\\w\\W\\x\\z\\Z");
    if ((unsigned char)c >= 0x80) { /* drop the backslash; the character is translated next */
        t->at--;
        return 0;
    }
    return put_bytes(t, t->at - 2, t->at);
}

/* Translates [:name:] inside a character class. t->at is the position after "[:". */
static int posix_class(translation *t) {
    static const char *const classes[][2] = {{"alpha:]", "\\p{Alphabetic}"},
                                             {"digit:]", "\\p{Nd}"},
                                             {"alnum:]", "\\p{Alphabetic}\\p{Nd}"},
                                             {"space:]", SPACES},
                                             {"upper:]", "\\p{Uppercase}"},
                                             {"lower:]", "\\p{Lowercase}"},
                                             {"xdigit:]", HEX_DIGITS},
                                             {"word:]", WORDS}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (next_is(t, classes[i][0])) {
            t->at += strlen(classes[i][0]);
            return put(t, classes[i][1]);
        }
    }
    return reject(t, "a [:class:] other than alpha, digit, alnum, space, upper, lower, xdigit and word");
}

/* Translates an escape sequence between brackets. */
static int class_escape(translation *t) {
    const int set = t->at + 1 < t->len && t->s[t->at + 1] && strchr("sSwhdDpP", t->s[t->at + 1]);
    t->at++;
    int rc = escape(t, 1);
    if (!rc && set && next_is(t, "-")) { /* after a set such as \d, a hyphen does not form a range */
        t->at++;
        rc = put(t, "\\-");
    }
    return rc;
}

/* Translates a character class such as [a-z]. t->at is the position after the opening bracket. PCRE2 has no nested
 * classes, so the members of a nested class are added to the outer class. */
static int class(translation *t) {
    size_t inside = 0;
    int rc = put(t, "[");
    if (!rc && next_is(t, "^")) {
        t->at++;
        rc = put(t, "^");
    }
    if (!rc && next_is(t, "]"))
        return reject(t, "a closing bracket at the start of a class; write \\]");
    while (!rc && t->at < t->len && (t->s[t->at] != ']' || inside > 0)) {
        if (next_is(t, "&&"))
            return reject(t, "&& between brackets");
        if (next_is(t, "[^") || next_is(t, "[]") || next_is(t, "-[") || (next_is(t, "]-") && inside))
            return reject(t, "nested brackets of this form; write \\[");
        if (next_is(t, "[:")) {
            t->at += 2;
            rc = posix_class(t);
        } else if (next_is(t, "\\")) {
            rc = class_escape(t);
        } else if (next_is(t, "[")) {
            inside++;
            t->at++;
        } else if (next_is(t, "]")) {
            inside--;
            t->at++;
        } else {
            t->at++;
            rc = put_bytes(t, t->at - 1, t->at);
        }
    }
    if (rc)
        return rc;
    if (t->at++ == t->len)
        return reject(t, "a class without its closing bracket");
    return put(t, "]");
}

/* Translates the part of a group that follows "(?" and precedes the content, such as ":" or "i:". t->at is the position
 * after the question mark. */
static int group_kind(translation *t) {
    static const char *const copied[] = {":", "=", "!", ">", "<=", "<!"};
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        if (next_is(t, copied[i])) {
            t->at += strlen(copied[i]);
            return put(t, "?") || put(t, copied[i]) ? AOE_ENOMEM : 0;
        }
    }
    if (put(t, "?"))
        return AOE_ENOMEM;
    for (; t->at < t->len; t->at++) {
        const char c = t->s[t->at];
        if (c == ':') {
            t->at++;
            return put(t, ":");
        }
        /* Options at the start of the expression, such as (?i), apply to the whole expression. The closing parenthesis
         * is translated next. */
        if (c == ')' && t->group[t->depth - 1] == 0)
            return 0;
        if (c == ')') /* elsewhere, the two syntaxes differ in the range to which options apply */
            return reject(t, "options that are not at the start; write (?i:...)");
        if (c != 'i' && c != 'm' && c != '-')
            break;
        if (put(t, c == 'm' ? "s" : c == 'i' ? "i" : "-")) /* with Oniguruma's option m, the dot matches line ends */
            return AOE_ENOMEM;
    }
    return reject(
        t, "a group other than (...), (?:...), (?=...), (?!...), (?>...), (?<=...), (?<!...) and the options i and m");
}

static int open_group(translation *t) {
    if (t->depth == MAX_DEPTH)
        return reject(t, "groups nested more than 32 deep");
    if (next_is(t, "*"))
        return reject(t, "(*...)");
    t->group[t->depth++] = t->out->len;
    t->atom = SIZE_MAX;
    if (put(t, "("))
        return AOE_ENOMEM;
    if (!next_is(t, "?"))
        return 0;
    t->at++;
    return group_kind(t);
}

/* Translates a quantifier {n}, {n,}, {,m} or {n,m}. t->at is the position after the opening brace. If the braces are
 * not a quantifier, sets *is_repetition to 0 and translates nothing. */
static int counts(translation *t, int *is_repetition) {
    size_t i = t->at, first = t->at;
    while (i < t->len && t->s[i] >= '0' && t->s[i] <= '9')
        i++;
    const size_t low = i - first;
    const int comma = i < t->len && t->s[i] == ',';
    size_t second = i += comma != 0;
    while (comma && i < t->len && t->s[i] >= '0' && t->s[i] <= '9')
        i++;
    const size_t high = i - second;
    *is_repetition = i < t->len && t->s[i] == '}' && (low || high);
    if (!*is_repetition)
        return 0;
    t->at = i + 1;
    if (!comma && next_is(t, "?"))
        return reject(t, "{n}?");
    return put(t, "{") || put(t, low ? "" : "0") || put_bytes(t, first, i + 1) ? AOE_ENOMEM : 0;
}

/* Encloses the last atom and its quantifier in a group, so that another quantifier can follow. Without the group, PCRE2
 * would not interpret a + after a quantifier in braces, or a third *, + or ?, as a quantifier of its own. */
static int group_last(translation *t) {
    if (put(t, "    ")) /* space for the parentheses */
        return AOE_ENOMEM;
    memmove(t->out->data + t->atom + 3, t->out->data + t->atom, t->out->len - 4 - t->atom);
    memcpy(t->out->data + t->atom, "(?:", 3);
    t->out->data[t->out->len - 1] = ')';
    return 0;
}

/* Translates *, + or ?. A ? or + after a quantifier can also make this quantifier lazy or possessive. */
static int repeat(translation *t, char sign) {
    const int modifies = (t->repeated == 1 && (sign == '?' || sign == '+')) || (t->repeated == 2 && sign == '?');
    int rc = 0;
    if (t->atom == SIZE_MAX)
        return reject(t, "a quantifier without an expression to repeat");
    if (t->repeated && !modifies && (rc = group_last(t)))
        return rc;
    const char text[2] = {sign, 0};
    t->repeated = modifies ? 3 : 1;
    return put(t, text);
}

/* Translates an atom, which is a single expression that a quantifier can follow. The function `read` does the
 * translation. */
static int atom(translation *t, int (*read)(translation *t)) {
    const size_t start = t->out->len;
    const int rc = read(t);
    t->atom = start;
    t->repeated = 0;
    return rc;
}

static int read_escape(translation *t) {
    return escape(t, 0);
}

static int read_character(translation *t) {
    const size_t start = t->at++;
    while (t->at < t->len && ((unsigned char)t->s[t->at] & 0xC0) == 0x80)
        t->at++;
    return put_bytes(t, start, t->at);
}

static int close_group(translation *t) {
    if (t->depth == 0)
        return reject(t, "a closing parenthesis without its opening one");
    t->atom = t->group[--t->depth];
    t->repeated = 0;
    return put(t, ")");
}

/* Translates '{', which either begins a quantifier such as {2,3} or is a literal character. */
static int brace(translation *t) {
    int is_repetition = 0, rc;
    if (t->repeated && t->atom != SIZE_MAX) { /* the counts follow another quantifier */
        if ((rc = group_last(t)))
            return rc;
        t->repeated = 0;
    }
    rc = counts(t, &is_repetition);
    if (rc)
        return rc;
    if (is_repetition && t->atom == SIZE_MAX)
        return reject(t, "a quantifier without an expression to repeat");
    if (is_repetition) {
        t->repeated = 2;
        return 0;
    }
    t->atom = t->out->len;
    t->repeated = 0;
    return put(t, "\\{");
}

/* Translates the next part of the expression: a character, a class, a parenthesis, a quantifier or '|'. */
static int translate_one(translation *t) {
    const char c = t->s[t->at];
    switch (c) {
    case '\\':
        t->at++;
        return atom(t, read_escape);
    case '[':
        t->at++;
        return atom(t, class);
    case '(':
        t->at++;
        if (next_is(t, "?#"))
            return reject(t, "comments");
        return open_group(t);
    case ')':
        t->at++;
        return close_group(t);
    case '{':
        t->at++;
        return brace(t);
    case '*':
    case '+':
    case '?':
        t->at++;
        return repeat(t, c);
    case '|':
        t->at++;
        t->atom = SIZE_MAX;
        t->repeated = 0;
        return put(t, "|");
    case '}':
        t->at++;
        t->atom = t->out->len;
        t->repeated = 0;
        return put(t, "\\}");
    default:
        return atom(t, read_character);
    }
}

int aoei_pattern_translate(aoei_buffer *out, const char *expression, size_t len, const char **why) {
    translation t = {.s = expression, .len = len, .out = out, .atom = SIZE_MAX};
    int rc = 0;
    while (t.at < len && !rc)
        rc = translate_one(&t);
    if (!rc && t.depth)
        rc = reject(&t, "a parenthesis that is not closed");
    *why = t.why;
    return rc;
}
