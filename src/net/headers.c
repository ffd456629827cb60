/* SPDX-License-Identifier: MIT
 * Stores HTTP headers as a list of names and values, and parses Link, Retry-After, RateLimit and x-ratelimit-*. libcurl
 * parses dates and resolves relative URLs.
 */
#include "net/headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aoe.h"
#include "base/alloc.h"
#include "net/libraries.h"

#define MAX_WAIT ((int64_t)31 * 24 * 3600) /* maximum wait in seconds; a longer wait is reduced to this value */

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **s, size_t *len) {
    while (*len && is_space(**s)) {
        (*s)++;
        (*len)--;
    }
    while (*len && is_space((*s)[*len - 1]))
        (*len)--;
}

static char lower(char c) {
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

int aoei_headers_add(aoei_headers *h, const char *line, size_t len) {
    const char *colon = memchr(line, ':', len), *name = line, *value = colon ? colon + 1 : NULL;
    if (!colon)
        return 0;
    size_t name_len = (size_t)(colon - line), value_len = len - name_len - 1;
    trim(&name, &name_len);
    trim(&value, &value_len);
    if (name_len == 0 || memchr(name, 0, name_len) || memchr(value, 0, value_len))
        return 0;
    if (len > AOEI_HEADERS_MAX || h->text.len > AOEI_HEADERS_MAX - len)
        return AOE_EFORMAT;
    aoei_buffer *b = &h->text;
    for (size_t i = 0; i < name_len; i++)
        (void)aoei_buffer_putc(b, lower(name[i]));
    (void)aoei_buffer_putc(b, 0);
    (void)aoei_buffer_append(b, value, value_len);
    (void)aoei_buffer_putc(b, 0);
    return b->failed ? AOE_ENOMEM : 0;
}

const char *aoei_headers_get(const aoei_headers *h, const char *name, size_t nth) {
    if (!h->text.data)
        return NULL; /* there are no headers; arithmetic on the NULL pointer below would be undefined */
    const char *end = h->text.data + h->text.len;
    for (const char *s = h->text.data; s < end;) {
        const char *value = s + strlen(s) + 1;
        if (strcmp(s, name) == 0 && nth-- == 0)
            return value;
        s = value + strlen(value) + 1;
    }
    return NULL;
}

void aoei_headers_clear(aoei_headers *h) {
    aoei_buffer_clear(&h->text);
}

void aoei_headers_free(aoei_headers *h) {
    aoei_buffer_free(&h->text);
}

/* -------------------------------------------------------------------- Link */

/* Reads the parameters of a link at *s, which end at a comma or at the end of the header. Returns 1 if they contain the
 * relation `rel`. *s is moved to the end of the parameters. */
static int read_parameters(const char **s, const char *rel) {
    const size_t rel_len = strlen(rel);
    const char *p = *s;
    int found = 0;
    while (*p && *p != ',') {
        p += *p == ';';
        p += strspn(p, " \t");
        const char *name = p;
        const size_t name_len = strcspn(p, "=;, \t");
        p += name_len;
        p += strspn(p, " \t");
        if (*p != '=')
            continue;
        p++;
        p += strspn(p, " \t");
        const int quoted = *p == '"';
        p += quoted;
        const char *value = p;
        p += strcspn(p, quoted ? "\"" : ";, \t");
        /* the value may list several relations, separated by spaces */
        if (name_len == 3 && strncasecmp(name, "rel", 3) == 0)
            for (const char *word = value; word < p && !found;) {
                const char *end = word;
                while (end < p && *end != ' ')
                    end++;
                found = (size_t)(end - word) == rel_len && strncasecmp(word, rel, rel_len) == 0;
                word = end + 1;
            }
        p += quoted && *p == '"';
        p += strspn(p, " \t");
    }
    *s = p;
    return found;
}

/* Returns the URL of the first link with the relation `rel` in s, the value of a Link header, and sets *len to the
 * length of the URL. Returns NULL if there is no such link. */
static const char *find_link(const char *s, const char *rel, size_t *len) {
    while (*s) {
        s += strspn(s, " \t,");
        if (*s != '<')
            return NULL;
        const char *target = ++s;
        s += strcspn(s, ">");
        if (*s != '>')
            return NULL;
        *len = (size_t)(s++ - target);
        s += strspn(s, " \t");
        if (read_parameters(&s, rel))
            return target;
    }
    return NULL;
}

int aoei_headers_link(const aoei_headers *h, const char *rel, const char *base, char **url) {
    *url = NULL;
    const char *value, *target = NULL;
    size_t len = 0;
    for (size_t i = 0; !target && (value = aoei_headers_get(h, "link", i)); i++)
        target = find_link(value, rel, &len);
    if (!target)
        return 0;
    int rc = aoei_start_curl(NULL);
    if (rc)
        return rc;
    rc = AOE_ENOMEM;
    char *whole = NULL, *text = aoei_strndup(target, len);
    CURLU *u = aoei_curl.url();
    CURLUcode code = CURLUE_OUT_OF_MEMORY;
    if (text && u) {
        code = aoei_curl.url_set(u, CURLUPART_URL, base, 0);
        if (!code)
            code = aoei_curl.url_set(u, CURLUPART_URL, text, 0);
        if (!code)
            code = aoei_curl.url_get(u, CURLUPART_URL, &whole, 0);
    }
    if (code != CURLUE_OUT_OF_MEMORY)
        rc = 0; /* an invalid URL is treated as a missing link */
    if (!code && !(*url = aoei_strdup(whole)))
        rc = AOE_ENOMEM;
    aoei_curl.free(whole);
    aoei_curl.url_cleanup(u);
    aoei_free(text);
    return rc;
}

/* ------------------------------------------------------------------ limits */

/* Parses a non-negative integer of at most 15 digits. Returns -1 if s is NULL or is not such an integer. */
static int64_t whole_number(const char *s) {
    const size_t digits = s ? strspn(s, "0123456789") : 0;
    if (digits == 0 || digits > 15 || s[digits])
        return -1;
    return strtoll(s, NULL, 10);
}

/* Returns the time of the Date header in seconds since 1970; `now` if there is no valid Date header. */
static int64_t server_time(const aoei_headers *h, int64_t now) {
    const char *date = aoei_headers_get(h, "date", 0);
    const time_t t = date ? aoei_curl_date(date) : -1;
    return t >= 0 ? (int64_t)t : now;
}

/* Limits a wait to the range from 0 to MAX_WAIT. */
static int64_t clamp_wait(int64_t seconds) {
    return seconds < 0 ? 0 : seconds > MAX_WAIT ? MAX_WAIT : seconds;
}

/* Returns the value of the parameter `name` of a list item, such as 55 for "t" in ["api";r=0;t=55]. The item ends at
 * `end`. Returns -1 if there is no such parameter or if it is not an integer of at most 9 digits. */
static int64_t item_parameter(const char *item, const char *end, char name) {
    for (const char *p = memchr(item, ';', (size_t)(end - item)); p; p = memchr(p, ';', (size_t)(end - p))) {
        p++;
        p += strspn(p, " \t");
        const size_t digits = p[0] == name && p[1] == '=' ? strspn(p + 2, "0123456789") : 0;
        if (digits > 0 && digits <= 9 && (p + 2 + digits == end || strchr("; \t", p[2 + digits])))
            return strtoll(p + 2, NULL, 10);
    }
    return -1;
}

/* Returns the longest time of the quotas in the RateLimit header that are used up, or -1 if there is none. */
static int64_t rate_limit_wait(const aoei_headers *h) {
    const char *item = aoei_headers_get(h, "ratelimit", 0);
    int64_t wait = -1;
    while (item) {
        const char *end = item + strcspn(item, ",");
        const int64_t seconds = item_parameter(item, end, 'r') == 0 ? item_parameter(item, end, 't') : -1;
        wait = seconds > wait ? seconds : wait;
        item = *end ? end + 1 : NULL;
    }
    return wait < 0 ? -1 : clamp_wait(wait);
}

int64_t aoei_headers_retry_after(const aoei_headers *h, int64_t now) {
    const char *value = aoei_headers_get(h, "retry-after", 0);
    if (!value)
        return rate_limit_wait(h);
    const int64_t seconds = whole_number(value);
    if (seconds >= 0)
        return clamp_wait(seconds);
    /* a value that begins with a digit, sign or point is a malformed number, not a date */
    const time_t t = strchr("0123456789+-.", *value) ? -1 : aoei_curl_date(value);
    return t < 0 ? -1 : clamp_wait((int64_t)t - server_time(h, now));
}

aoei_rate aoei_headers_rate(const aoei_headers *h, int64_t now) {
    const int64_t reset = whole_number(aoei_headers_get(h, "x-ratelimit-reset", 0));
    return (aoei_rate){
        .limit = whole_number(aoei_headers_get(h, "x-ratelimit-limit", 0)),
        .remaining = whole_number(aoei_headers_get(h, "x-ratelimit-remaining", 0)),
        .reset_after = reset < 0 ? -1 : clamp_wait(reset - server_time(h, now)),
    };
}
