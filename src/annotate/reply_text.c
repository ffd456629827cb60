/* SPDX-License-Identifier: MIT
 * Text functions for parsing the responses of chat models.
 */
#include "annotate/reply_text.h"

#include <string.h>
#include <strings.h>

#include <utf8proc.h>

#include "base/utf8.h"

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

aoe_text aoei_text_skip(aoe_text s, size_t bytes) {
    return (aoe_text){s.data + bytes, s.len - bytes};
}

aoe_text aoei_text_trim(aoe_text s) {
    while (s.len && is_space(s.data[0]))
        s = aoei_text_skip(s, 1);
    while (s.len && is_space(s.data[s.len - 1]))
        s.len--;
    return s;
}

int aoei_text_starts_with(aoe_text s, const char *prefix) {
    const size_t n = strlen(prefix);
    return s.len >= n && strncasecmp(s.data, prefix, n) == 0;
}

int aoei_text_ends_with(aoe_text s, const char *suffix) {
    const size_t n = strlen(suffix);
    return s.len >= n && strncasecmp(s.data + s.len - n, suffix, n) == 0;
}

int aoei_text_contains(aoe_text s, const char *part) {
    for (; s.len; s = aoei_text_skip(s, 1))
        if (aoei_text_starts_with(s, part))
            return 1;
    return 0;
}

int aoei_text_starts_with_any(aoe_text s, const char *const *list) {
    for (; *list; list++)
        if (aoei_text_starts_with(s, *list))
            return 1;
    return 0;
}

int aoei_text_contains_any(aoe_text s, const char *const *list) {
    for (; *list; list++)
        if (aoei_text_contains(s, *list))
            return 1;
    return 0;
}

int aoei_text_next_line(aoe_text *rest, aoe_text *line) {
    if (!rest->len)
        return 0;
    const char *end = memchr(rest->data, '\n', rest->len);
    *line = (aoe_text){rest->data, end ? (size_t)(end - rest->data) : rest->len};
    *rest = aoei_text_skip(*rest, line->len + (end != NULL));
    return 1;
}

int aoei_text_has_word(aoe_text s) {
    while (s.len) {
        uint32_t cp;
        const size_t bytes = aoei_utf8_decode(s.data, s.len, &cp);
        if (!bytes)
            return 0;
        const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
        if ((c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) ||
            (c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO))
            return 1;
        s = aoei_text_skip(s, bytes);
    }
    return 0;
}

int aoei_text_ends_sentence(aoe_text s) {
    static const char *const closing[] = {"\"",
                                          "'",
                                          ")",
                                          "]",
                                          "*",
                                          "_",
                                          "\xE2\x80\x9D",
                                          "\xE2\x80\x99",
                                          "\xC2\xBB",
                                          "\xE3\x80\x8D",
                                          "\xE3\x80\x8F",
                                          "\xEF\xBC\x89",
                                          NULL};
    static const char *const stop[] = {".",
                                       "!",
                                       "?",
                                       "\xE2\x80\xA6",
                                       "\xE3\x80\x82",
                                       "\xEF\xBC\x81",
                                       "\xEF\xBC\x9F",
                                       "\xEF\xBC\x8E",
                                       "\xE0\xA5\xA4",
                                       "\xDB\x94",
                                       "\xD8\x9F",
                                       NULL};
    s = aoei_text_trim(s);
    for (size_t i = 0; closing[i];)
        if (aoei_text_ends_with(s, closing[i])) {
            s.len -= strlen(closing[i]);
            i = 0;
        } else {
            i++;
        }
    for (size_t i = 0; stop[i]; i++)
        if (aoei_text_ends_with(s, stop[i]))
            return 1;
    return 0;
}

/* ---- plain text */

static const char *find(aoe_text s, const char *what) {
    return s.len ? memmem(s.data, s.len, what, strlen(what)) : NULL;
}

/* Returns the text that replaces a character in plain text, or NULL if the character is kept. */
static const char *plain_of(uint32_t cp) {
    if (cp == 0x2028 || cp == 0x2029 || cp == 0x85)
        return "\n";
    if (cp == '\t')
        return "    ";
    if (cp == 0xA0 || cp == 0x3000 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x202F)
        return " ";
    if (cp == 0x2019 || cp == 0x2BC)
        return NULL;
    if ((cp < 0x20 && cp != '\n') || (cp >= 0x7F && cp < 0xA0) || cp == 0xFEFF || cp == 0x200B || cp == 0x2060 ||
        cp == 0xAD)
        return "";
    return NULL;
}

/* Returns the length of the HTML tag at the start of s if the tag ends a line or begins a list item, and sets *with to
 * the text that replaces the tag. Returns 0 if s does not start with such a tag. */
static size_t line_tag(aoe_text s, const char **with) {
    static const struct {
        const char *tag, *with;
    } tags[] = {{"<li>", "\n- "}, {"</li>", "\n"}, {"<br>", "\n"},  {"<br/>", "\n"}, {"<br />", "\n"}, {"<p>", "\n"},
                {"</p>", "\n"},   {"<ul>", "\n"},  {"</ul>", "\n"}, {"<ol>", "\n"},  {"</ol>", "\n"}};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (aoei_text_starts_with(s, tags[i].tag)) {
            *with = tags[i].with;
            return strlen(tags[i].tag);
        }
    return 0;
}

/* Returns the length of the reasoning of a model ("<think> ... </think>") at the start of s, or 0 if s starts
 * differently. */
static size_t reasoning_length(aoe_text s) {
    static const char *const names[][2] = {
        {"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (aoei_text_starts_with(s, names[i][0])) {
            const char *end = find(s, names[i][1]);
            return end ? (size_t)(end - s.data) + strlen(names[i][1]) : s.len;
        }
    return 0;
}

/* Returns the length of the chat template token at the start of s, such as "</s>" or "<|im_end|>", or 0 if s starts
 * differently. Sets *ends to 1 if the token ends the model's turn, otherwise to 0. */
static size_t template_token(aoe_text s, int *ends) {
    static const struct {
        const char *token;
        int ends;
    } tokens[] = {{"</s>", 1},    {"<s>", 0},     {"<end_of_turn>", 1}, {"<start_of_turn>", 1},
                  {"<eos>", 1},   {"<bos>", 0},   {"<\xEF\xBD\x9C", 1}, {"[INST]", 1},
                  {"[/INST]", 1}, {"<<SYS>>", 1}, {"<eod>", 1}};
    enum { MOST = 40 };
    *ends = 1;
    if (aoei_text_starts_with(s, "<|")) {
        const char *end = memmem(s.data, s.len < MOST ? s.len : MOST, "|>", 2);
        return end ? (size_t)(end - s.data) + 2 : 0;
    }
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        if (aoei_text_starts_with(s, tokens[i].token)) {
            *ends = tokens[i].ends;
            return strlen(tokens[i].token);
        }
    return 0;
}

int aoei_reply_plain(aoei_buffer *out, aoe_text s) {
    int begun = 0, ends;                    /* begun: 1 after visible text has been written to `out` */
    const char *late = find(s, "</think>"); /* some servers omit the opening tag */
    const char *early = find(s, "<think>");
    if (late && (!early || early > late))
        s = aoei_text_skip(s, (size_t)(late - s.data) + strlen("</think>"));
    while (s.len) {
        uint32_t cp = 0;
        const char *with = NULL;
        size_t bytes = s.data[0] == '<' ? reasoning_length(s) : 0;
        if (bytes) {
            with = "";
        } else if (s.data[0] == '\r') {
            bytes = s.len > 1 && s.data[1] == '\n' ? 2 : 1;
            with = "\n";
        } else if (s.data[0] == '<' && (bytes = line_tag(s, &with)) != 0) {
            /* line_tag has already set `with` and `bytes` */
        } else if ((s.data[0] == '<' || s.data[0] == '[') && (bytes = template_token(s, &ends)) != 0) {
            if (ends && begun)
                break;
            with = "";
        } else {
            bytes = aoei_utf8_decode(s.data, s.len, &cp);
            with = bytes ? plain_of(cp) : "";
            bytes = bytes ? bytes : 1;
            begun |= cp > ' ';
        }
        if (with)
            (void)aoei_buffer_append(out, with, strlen(with));
        else
            (void)aoei_buffer_append(out, s.data, bytes);
        s = aoei_text_skip(s, bytes);
    }
    return out->failed ? AOE_ENOMEM : 0;
}

static int is_fence(aoe_text line) {
    line = aoei_text_trim(line);
    return aoei_text_starts_with(line, "```") || aoei_text_starts_with(line, "~~~");
}

aoe_text aoei_reply_unfence(aoe_text plain, int *open) {
    aoe_text rest = plain, line, inside = {plain.data, 0};
    int within = 0;
    if (open)
        *open = 0;
    while (aoei_text_next_line(&rest, &line)) {
        if (!is_fence(line)) {
            if (within)
                inside.len = (size_t)(line.data + line.len - inside.data);
            continue;
        }
        if (within && aoei_text_has_word(inside))
            return inside;
        within = !within;
        inside = (aoe_text){rest.data, 0};
    }
    if (!within || !aoei_text_has_word(inside))
        return plain;
    if (open)
        *open = 1;
    return inside;
}
