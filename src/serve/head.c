/* SPDX-License-Identifier: MIT
 * The memory of libmicrohttpd 0.9.75 contains the head of a request as it was received, except that NUL has replaced
 * each CR and LF at the end of a line, the spaces of the first line, and the colons: METHOD NUL TARGET NUL VERSION NUL
 * NUL NAME NUL SPACES VALUE NUL NUL NAME ... VALUE NUL NUL NUL NUL. A header that continues on the next line has a copy
 * of its name at another place, to which the next line is appended. Other versions are not compared, because their
 * memory may look different.
 */
#include "serve/head.h"

#include <stdint.h>
#include <string.h>

typedef struct head {
    aoei_framing *framing;
    int is_compared;  /* 1: the lines are compared with the memory */
    int is_different; /* 1: the memory is not as described above */
    const char *end;  /* end of the last line so far */
} head;

/* Returns 1 if `to` is n bytes after `from`. The pointers may belong to different objects. */
static int is_after(const char *to, const char *from, size_t n) {
    return (uintptr_t)to == (uintptr_t)from + n;
}

static int is_line_end(const char *end) {
    return !end[0] && !end[1];
}

/* Returns 1 if the memory contains a header as one line that directly follows the line that ends at `end`. */
static int is_next_line(const char *end, const char *name, size_t name_len, const char *value, size_t value_len) {
    if (!is_after(name, end, 2))
        return 0;
    size_t at = name_len + 1;
    while (name[at] == ' ' || name[at] == '\t')
        at++;
    return is_after(value, name, at) && is_line_end(value + value_len);
}

/* Compares the first line with the memory. url: the decoded target. Returns its end; NULL if it is different. */
static const char *first_line(const char *target, const char *method, const char *url, const char *version) {
    const char *end = version + strlen(version);
    return is_after(url, method, strlen(method) + 1) && is_after(version, url, strlen(target) + 1) && is_line_end(end)
               ? end
               : NULL;
}

static enum MHD_Result on_header(void *user, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len) {
    head *h = user;
    (void)kind;
    aoei_framing_header(h->framing, (aoe_text){.data = name, .len = name_len},
                        (aoe_text){.data = value ? value : "", .len = value ? value_len : 0});
    if (!h->is_compared || h->is_different)
        return MHD_YES;
    h->is_different = !value || !is_next_line(h->end, name, name_len, value, value_len);
    h->end = value ? value + value_len : h->end;
    return MHD_YES;
}

int aoei_head_check(aoei_framing *f, struct MHD_Connection *mhd, const aoei_head_line *line) {
    head h = {.framing = f, .is_compared = strcmp(aoei_mhd.get_version(), "0.9.75") == 0};
    if (h.is_compared)
        h.end = first_line(line->target, line->method, line->url, line->version);
    h.is_different = h.is_compared && !h.end;
    (void)aoei_framing_target(f, line->target);
    aoei_framing_method(f, line->method);
    (void)aoei_mhd.get_connection_values_n(mhd, MHD_HEADER_KIND, on_header, &h);
    if (h.is_different || (h.is_compared && !is_line_end(h.end + 2)))
        aoei_framing_line(f);
    return aoei_framing_end(f, line->version);
}
