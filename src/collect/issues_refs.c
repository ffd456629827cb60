/* SPDX-License-Identifier: MIT
 * Finds phrases such as "duplicate of #12" in a text. A phrase consists of a trigger word ("duplicate", "dupe", "dup"),
 * filler words ("of", "the"), and one or several references to issues. The words before the trigger word determine
 * whether the phrase is a statement, a guess or a denial. The search works on a copy of the text in which code and
 * quotations are masked (markdown.h). A phrase never continues after a masked byte.
 */
#include "collect/issues_refs.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "collect/markdown.h"

enum {
    /* maximum number of filler words and punctuation marks between the trigger word and the first reference */
    FILLERS = 10,
    WORDS_BEFORE = 8, /* maximum number of words before the trigger word that are read to classify the phrase */
    AFTER = 120,      /* maximum distance of a question mark from the end of the phrase, in bytes */
    LINK = 400,       /* maximum length in bytes of the text and of the address of a link */
    TARGETS = 10      /* maximum number of references that are read per phrase */
};

static const char *const triggers[] = {"duplicate", "duplicates", "duplicated", "dupe", "dupes", "dup", "dups"};
static const char *const fillers[] = {
    "of",     "to",     "with",     "by",    "from",    "as",      "the",      "this",     "that",     "an",
    "a",      "same",   "open",     "older", "earlier", "issue",   "issues",   "bug",      "bugs",     "ticket",
    "report", "github", "see",      "also",  "at",      "in",      "is",       "existing", "previous", "number",
    "please", "refer",  "original", "favor", "favour",  "already", "reported", "tracked",  "upstream"};
/* Words that may introduce the reference if it is in the next sentence. */
static const char *const introductions[] = {"see", "refer", "tracked", "reported"};
static const char *const conjunctions[] = {"but", "because", "since", "and", "so"}; /* words that begin a new clause */
static const char *const denials[] = {"not",      "never",    "isnt",    "cannot",  "cant",   "arent",
                                      "wasnt",    "dont",     "doesnt",  "without", "hardly", "barely",
                                      "scarcely", "unlikely", "neither", "nor"};
/* Words that refer to the issue that the text belongs to. */
static const char *const self_words[] = {"this", "it", "its", "it's", "closing", "marking", "resolving"};
/* If one of these words precedes "duplicate", it is the verb with the meaning "reproduce". */
static const char *const abilities[] = {"can", "to"};
static const char *const guesses[] = {
    "possible", "possibly", "potential", "potentially", "probable", "probably", "maybe",  "may",       "might", "could",
    "perhaps",  "likely",   "if",        "whether",     "would",    "suspect",  "wonder", "wondering", "unless"};
static const char *const seeming[] = {"seems", "appears", "looks", "seem", "appear"};
#define IS_ONE_OF(list, s, len) is_one_of(list, sizeof list / sizeof *list, s, len)

/* A position in the text. */
typedef struct cursor {
    const char *s;            /* [len] masked text */
    size_t len, at;           /* len: length of the text; at: current position; both in bytes */
    const char *const *hosts; /* web hosts of links to issues, NULL-terminated */
} cursor;

static int is_one_of(const char *const *list, size_t n, const char *s, size_t len) {
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == len && strncasecmp(list[i], s, len) == 0)
            return 1;
    return 0;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int is_word(char c) { /* non-ASCII bytes are part of words; '_' is not, because it marks emphasis */
    return is_letter(c) || is_digit(c) || (unsigned char)c >= 0x80;
}

static size_t word_length(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && is_letter(s[n]))
        n++;
    return n < len && is_word(s[n]) ? 0 : n;
}

static int starts(const cursor *c, const char *text) {
    const size_t n = strlen(text);
    return c->len - c->at >= n && strncasecmp(c->s + c->at, text, n) == 0;
}

size_t aoei_repository_name(const char *s, size_t len) {
    enum { OWNER = 39, NAME = 100 };
    size_t at = 0, name;
    while (at < len && at <= OWNER && (is_letter(s[at]) || is_digit(s[at]) || s[at] == '-' || s[at] == '_'))
        at++;
    if (at == 0 || at > OWNER || at == len || s[at] != '/')
        return 0;
    name = ++at;
    while (at < len && at - name <= NAME &&
           (is_letter(s[at]) || is_digit(s[at]) || s[at] == '-' || s[at] == '_' || s[at] == '.'))
        at++;
    const size_t n = at - name;
    if (n == 0 || n > NAME || (s[name] == '.' && (n == 1 || (n == 2 && s[name + 1] == '.'))))
        return 0;
    return at;
}

/* Reads the number of an issue at the cursor and returns 1. Returns 0 if there is no valid number or if a letter
 * follows it. */
static int read_number(cursor *c, uint64_t *number) {
    enum { DIGITS = 10 };
    size_t n = 0;
    uint64_t value = 0;
    while (c->at + n < c->len && is_digit(c->s[c->at + n]) && n <= DIGITS)
        value = value * 10 + (uint64_t)(c->s[c->at + n++] - '0');
    if (n == 0 || n > DIGITS || value == 0 || (c->at + n < c->len && is_word(c->s[c->at + n])))
        return 0;
    c->at += n;
    *number = value;
    return 1;
}

/* Skips the part of a URL after the number, such as "#issuecomment-1" or "?x=y". */
static void skip_address(cursor *c) {
    while (c->at < c->len && c->s[c->at] > ' ' && !strchr(")>]\"'", c->s[c->at]))
        c->at++;
    while (c->len > 0 && c->at > 0 && strchr(".,;:!?*_", c->s[c->at - 1])) /* punctuation at the end belongs to the
                                                                              sentence */
        c->at--;
}

/* Reads the URL of an issue at the cursor. Returns 1 if the URL was read. Returns 0 and does not move the cursor if
 * there is no such URL. Returns -1 and moves the cursor after the URL if it is the URL of a pull request or a
 * discussion. */
static int read_link(cursor *c, aoei_issue_ref *ref) {
    cursor k = *c;
    k.at += starts(&k, "https://") ? 8 : starts(&k, "http://") ? 7 : 0;
    k.at += starts(&k, "www.") ? 4 : 0;
    const char *const *host = k.hosts;
    while (*host && !(starts(&k, *host) && k.at + strlen(*host) < k.len && k.s[k.at + strlen(*host)] == '/'))
        host++;
    if (!*host)
        return 0;
    k.at += strlen(*host) + 1;
    const size_t name = aoei_repository_name(k.s + k.at, k.len - k.at);
    ref->repo = (aoe_text){k.s + k.at, name};
    k.at += name;
    const int issue = starts(&k, "/issues/");
    if (!name || (!issue && !starts(&k, "/pull/") && !starts(&k, "/discussions/")))
        return 0;
    k.at += issue ? 8 : starts(&k, "/pull/") ? 6 : 13;
    if (!read_number(&k, &ref->number))
        return 0;
    skip_address(&k);
    c->at = k.at;
    return issue ? 1 : -1;
}

/* Reads a reference of the form #1, GH-1, owner/name#1, or a URL. The return values are documented at read_link. */
static int read_plain(cursor *c, aoei_issue_ref *ref) {
    cursor k = *c;
    const int link = read_link(c, ref);
    if (link)
        return link;
    ref->repo = (aoe_text){k.s + k.at, 0};
    const size_t name = aoei_repository_name(k.s + k.at, k.len - k.at);
    if (name) {
        ref->repo.len = name;
        k.at += name;
    }
    if (k.at < k.len && k.s[k.at] == '#')
        k.at++;
    else if (!name && starts(&k, "gh-"))
        k.at += 3;
    else
        return 0;
    if (!read_number(&k, &ref->number))
        return 0;
    c->at = k.at;
    return 1;
}

/* Reads a link [text](URL) at the cursor. First reads the URL with read_link. If this returns 0, reads the text of the
 * link with read_plain. Returns the result of the last of these calls, or 0 if there is no link. */
static int read_bracket(cursor *c, aoei_issue_ref *ref) {
    const size_t max_bytes = c->len - c->at < LINK ? c->len - c->at : LINK;
    const char *close = memchr(c->s + c->at, ']', max_bytes);
    if (!close || (size_t)(close - c->s) + 1 >= c->len || close[1] != '(')
        return 0;
    cursor address = *c, text = *c;
    address.at = (size_t)(close - c->s) + 2;
    const char *end = memchr(c->s + address.at, ')', c->len - address.at < LINK ? c->len - address.at : LINK);
    if (!end)
        return 0;
    address.len = (size_t)(end - c->s);
    text.at++;
    text.len = (size_t)(close - c->s);
    int found = read_link(&address, ref);
    if (!found)
        found = read_plain(&text, ref);
    if (found)
        c->at = address.len + 1;
    return found;
}

static int read_reference(cursor *c, aoei_issue_ref *ref) {
    const int bracket = c->at < c->len && c->s[c->at] == '[' ? read_bracket(c, ref) : 0;
    return bracket ? bracket : read_plain(c, ref);
}

/* Skips white space. Returns 0 if the white space contains more than two line ends, otherwise 1. */
static int skip_space(cursor *c) {
    int lines = 0;
    for (; c->at < c->len && strchr(" \t\r\n", c->s[c->at]) && c->s[c->at]; c->at++)
        lines += c->s[c->at] == '\n';
    return lines <= 2;
}

/* Skips the filler words and punctuation marks after the trigger word, and reads the reference after them. Sets *found
 * to the result of read_reference. Returns 0 if no reference follows, otherwise 1. */
static int reach_reference(cursor *c, aoei_issue_ref *ref, int *found) {
    int ended = 0; /* 1: a sentence has ended after the trigger word, and no word such as "see" has followed */
    for (int i = 0; i < FILLERS && skip_space(c) && c->at < c->len; i++) {
        const cursor before = *c;
        *found = read_reference(c, ref);
        if (*found && ended) {
            *c = before;
            return 0;
        }
        if (*found)
            return 1;
        const char mark = c->s[c->at];
        const size_t n = word_length(c->s + c->at, c->len - c->at);
        if (n && IS_ONE_OF(fillers, c->s + c->at, n)) {
            ended = ended && !IS_ONE_OF(introductions, c->s + c->at, n);
            c->at += n;
        } else if (mark && strchr(":-([*_<,\"'.;!", mark)) {
            ended |= mark == '.' || mark == ';' || mark == '!';
            c->at++;
        } else {
            return 0;
        }
    }
    return 0;
}

/* Skips the separator between two references: a comma, "and", "or", "&", or the start of a list item. Returns 1 if
 * there was a separator, or 0 if the list of references ends. Sets *choice to 1 if the separator is "or", otherwise to
 * 0. */
static int skip_separator(cursor *c, int *choice) {
    int joined = 0;
    *choice = 0;
    for (;;) {
        const size_t start = c->at;
        const int lines = c->at < c->len && c->s[c->at] == '\n';
        if (!skip_space(c) || c->at == c->len)
            return 0;
        const char mark = c->s[c->at];
        const size_t n = word_length(c->s + c->at, c->len - c->at);
        if (mark && strchr(")]>*_\"'", mark) && !joined && !(lines && mark == '*')) {
            c->at++;
        } else if (mark && (strchr(",&+", mark) || ((mark == '-' || mark == '*') && lines))) {
            joined = 1;
            c->at++;
        } else if (n == 3 && (strncasecmp(c->s + c->at, "and", 3) == 0 || strncasecmp(c->s + c->at, "nor", 3) == 0)) {
            joined = 1;
            c->at += 3;
        } else if (n == 2 && strncasecmp(c->s + c->at, "or", 2) == 0) {
            joined = *choice = 1;
            c->at += 2;
        } else {
            return joined;
        }
        if (c->at == start)
            return 0;
    }
}

/* Returns 1 if the sentence at the cursor ends with a question mark. */
static int is_question(const cursor *c) {
    for (size_t i = c->at; i < c->len && i < c->at + AFTER; i++) {
        const char ch = c->s[i];
        if (ch == '?')
            return 1;
        if (ch == '\n' || ch == AOEI_MASKED ||
            ((ch == '.' || ch == '!') && (i + 1 == c->len || (unsigned char)c->s[i + 1] <= ' ')))
            return 0;
    }
    return 0;
}

/* Finds the last word before s[*at] in the current clause and sets *at to the start of the word. Returns the length of
 * the word, or 0 if the clause begins at s[*at]. */
static size_t word_before(const char *s, size_t *at) {
    size_t end = *at;
    while (end > 0 && strchr(" \t*_\"(/:", s[end - 1]) && s[end - 1])
        end--;
    size_t start = end;
    while (start > 0 && (is_word(s[start - 1]) || s[start - 1] == '\'' || s[start - 1] == '-'))
        start--;
    *at = start;
    return end - start;
}

/* If a reference ends at offset *at (blanks and punctuation marks may follow it), reads it, sets *at to its start and
 * returns
 * 1. Otherwise returns 0. */
static int reference_before(const cursor *c, size_t *at, aoei_issue_ref *ref) {
    const size_t low = *at > LINK ? *at - LINK : 0;
    size_t end = *at;
    while (end > low && strchr(" \t*_\"(:>", c->s[end - 1]) && c->s[end - 1])
        end--;
    size_t start = end;
    if (end > low && c->s[end - 1] == ')') /* the reference is a link [text](URL) */
        while (start > low && c->s[start] != '[' && c->s[start] != '\n')
            start--;
    else
        while (start > low && (unsigned char)c->s[start - 1] > ' ' && !strchr("([<\"*,;", c->s[start - 1]))
            start--;
    while (start < end && c->s[start] == '_')
        start++;
    cursor k = {.s = c->s, .len = end, .at = start, .hosts = c->hosts};
    if (start == end || !read_reference(&k, ref) || k.at != end)
        return 0;
    *at = start;
    return 1;
}

static int is_same(const aoei_issue_ref *a, const aoei_issue_ref *b, aoe_text home) {
    const aoe_text x = a->repo.len ? a->repo : home, y = b->repo.len ? b->repo : home;
    return a->number == b->number && x.len == y.len && (!x.len || strncasecmp(x.data, y.data, x.len) == 0);
}

/* Classifies a phrase by the words before its trigger word. at: offset of the trigger word; own: the issue that the
 * text belongs to. References to this issue are skipped. */
static aoei_ref_kind classify(const cursor *c, size_t at, const aoei_issue_ref *own) {
    int longer = 0; /* 1: the word after the current word is "longer"; the words are read from right to left */
    for (int i = 0; i < WORDS_BEFORE; i++) {
        aoei_issue_ref ref;
        size_t before = at;
        if (reference_before(c, &before, &ref) && is_same(&ref, own, own->repo))
            at = before;
        const size_t n = word_before(c->s, &at);
        const char *word = c->s + at;
        if (n == 0 || (i > 0 && IS_ONE_OF(conjunctions, word, n)))
            break;
        if (IS_ONE_OF(denials, word, n) || (n > 3 && strncasecmp(word + n - 3, "n't", 3) == 0) ||
            (n == 2 && (i == 0 || longer) && strncasecmp(word, "no", 2) == 0) ||
            (n == 4 && i == 0 && strncasecmp(word, "non-", 4) == 0))
            return AOEI_REF_DENIED;
        if (IS_ONE_OF(guesses, word, n))
            return AOEI_REF_GUESS;
        longer = n == 6 && strncasecmp(word, "longer", n) == 0;
    }
    return AOEI_REF_STATED;
}

/* Returns 1 if the phrase is a statement about another issue, as in "#12 was closed as a duplicate of #13". at: offset
 * of the trigger word; own: the issue that the text belongs to; target: first reference of the phrase. */
static int is_about_another(const cursor *c, size_t at, const aoei_issue_ref *own, const aoei_issue_ref *target) {
    for (int i = 0; i < WORDS_BEFORE; i++) {
        aoei_issue_ref ref;
        if (reference_before(c, &at, &ref))
            return !is_same(&ref, own, own->repo) && !is_same(&ref, target, own->repo);
        const size_t n = word_before(c->s, &at);
        const char *word = c->s + at;
        if (n == 0 || IS_ONE_OF(conjunctions, word, n) || IS_ONE_OF(self_words, word, n) || *word == '-')
            return 0;
        if (n == 5 && strncasecmp(word, "which", n) == 0) /* the reference may precede the comma, as in "#12, which is a
                                                             duplicate" */
            while (at > 0 && strchr(" \t,", c->s[at - 1]) && c->s[at - 1])
                at--;
    }
    return 0;
}

/* Returns 1 if the trigger word is the verb "duplicate" in the sense of "reproduce", as in "steps to duplicate" and
 * "can duplicate". Returns 0 for "seems to duplicate". at: offset of the trigger word in s. n: its length in bytes. */
static int is_instruction(const char *s, size_t at, size_t n) {
    if (n != strlen("duplicate"))
        return 0;
    const size_t before = word_before(s, &at);
    if (!IS_ONE_OF(abilities, s + at, before))
        return 0;
    const size_t verb = word_before(s, &at);
    return !IS_ONE_OF(seeming, s + at, verb);
}

/* Returns the length of the trigger word at s[at], or 0 if no trigger word starts there. */
static size_t trigger_at(const char *s, size_t len, size_t at) {
    if ((s[at] | 0x20) != 'd')
        return 0;
    if (at > 0 && (is_word(s[at - 1]) || strchr("-#@.\\", s[at - 1])))
        return 0;
    if (at > 1 && s[at - 1] == '/' && (unsigned char)s[at - 2] > ' ') /* the word is part of a path; "/duplicate" after
                                                                         a space is a command for a bot and is
                                                                         accepted */
        return 0;
    const size_t n = word_length(s + at, len - at);
    if (at + n < len && s[at + n] == '-' && at + n + 1 < len && is_word(s[at + n + 1]))
        return 0;
    return IS_ONE_OF(triggers, s + at, n) ? n : 0;
}

static int add(aoei_issue_refs *r, const aoei_issue_ref *ref, aoe_error *err) {
    if (aoei_grow((void **)&r->ref, &r->capacity, r->n, sizeof *r->ref))
        return aoei_fail_nomem(err, sizeof *r->ref);
    r->ref[r->n++] = *ref;
    return AOE_OK;
}

/* Reads a phrase, adds its references to r->ref, and moves the cursor after the phrase. trigger: offset of the trigger
 * word; its end is c->at. */
static int read_phrase(aoei_issue_refs *r, cursor *c, size_t trigger, aoe_error *err) {
    aoei_issue_ref ref;
    int found, choice = 0, code = AOE_OK;
    const size_t first = r->n, start = c->at;
    if (!reach_reference(c, &ref, &found)) {
        c->at = start;
        return AOE_OK;
    }
    for (;;) {
        if (found > 0)
            code = add(r, &ref, err);
        const size_t end = c->at;
        int is_or;
        if (code || r->n - first == TARGETS || !skip_separator(c, &is_or) || !(found = read_reference(c, &ref))) {
            c->at = end;
            break;
        }
        choice |= is_or;
    }
    if (r->n > first && is_about_another(c, trigger, &r->own, &r->ref[first]))
        r->n = first;
    aoei_ref_kind kind = is_question(c) ? AOEI_REF_GUESS : classify(c, trigger, &r->own);
    if (choice && kind == AOEI_REF_STATED) /* if the references are joined by "or", it is unknown which of them is the
                                              original */
        kind = AOEI_REF_GUESS;
    for (size_t i = first; i < r->n; i++)
        r->ref[i].kind = kind;
    return code;
}

int aoei_issue_refs_find(aoei_issue_refs *r, aoe_text text, const char *const *hosts, aoe_error *err) {
    int code = AOE_OK;
    r->n = 0;
    aoei_buffer_clear(&r->text);
    if (aoei_buffer_append(&r->text, text.data, text.len))
        return aoei_fail_nomem(err, text.len);
    if (!text.len)
        return AOE_OK;
    aoei_markdown_mask(r->text.data, text.len);
    cursor c = {.s = r->text.data, .len = text.len, .hosts = hosts};
    while (c.at < c.len && !code) {
        const size_t n = trigger_at(c.s, c.len, c.at), start = c.at;
        c.at += n ? n : 1;
        if (n && !is_instruction(c.s, start, n))
            code = read_phrase(r, &c, start, err);
    }
    return code;
}

void aoei_issue_refs_free(aoei_issue_refs *r) {
    aoei_free(r->ref);
    aoei_buffer_free(&r->text);
    *r = (aoei_issue_refs){0};
}

int aoei_label_is_duplicate(aoe_text label) {
    static const char *const words[] = {"duplicate", "duplicates", "dupe", "dup"};
    const cursor c = {.s = label.data, .len = label.len};
    for (size_t at = 0; at < label.len; at++) {
        if (at > 0 && is_word(label.data[at - 1]))
            continue;
        const size_t n = word_length(label.data + at, label.len - at);
        if (!IS_ONE_OF(words, label.data + at, n))
            continue;
        const cursor rest = {.s = c.s, .len = c.len, .at = at + n};
        const int of_code = rest.at + 1 < c.len && c.s[rest.at] == '-' && !starts(&rest, "-issue");
        const int denied = at >= 4 && strncasecmp(label.data + at - 4, "not", 3) == 0;
        return !of_code && !denied;
    }
    return 0;
}
