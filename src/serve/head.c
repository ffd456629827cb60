/* SPDX-License-Identifier: MIT
 * The memory of libmicrohttpd 0.9.75 contains the head of a request as it was received, except that NUL has replaced
 * each CR and LF at the end of a line, and the colon: NAME NUL SPACES VALUE NUL NUL NAME ... VALUE NUL NUL NUL NUL.
 * If a header continues on the next line, its name is a copy at another place, to which the next line is appended.
 * Other versions are not compared, because their memory may look different.
 */
#include "serve/head.h"

#include <stdint.h>
#include <string.h>

#define LONGEST ((uintptr_t)1 << 20) /* more bytes than the memory of a connection */

typedef struct head {
    aoei_framing *framing;
    int is_compared;  /* 1: the lines are compared with the memory */
    int is_different; /* 1: a line is not as described above */
    const char *end;  /* end of the last value; NULL: no header yet */
} head;

/* Returns 1 if the memory contains the header as one line that ends in CR LF, and a line end of CR LF before it. */
static int is_one_line(const char *name, size_t name_len, const char *value, size_t value_len) {
    const uintptr_t first = (uintptr_t)name + name_len + 1, at = (uintptr_t)value;
    if (at < first || at - first > LONGEST)
        return 0;
    for (size_t i = (size_t)(at - first); i; i--)
        if (name[name_len + i] != ' ' && name[name_len + i] != '\t')
            return 0;
    return !name[-1] && !name[-2] && !value[value_len] && !value[value_len + 1];
}

static enum MHD_Result on_header(void *user, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len) {
    head *h = user;
    (void)kind;
    aoei_framing_header(h->framing, (aoe_text){.data = name, .len = name_len},
                        (aoe_text){.data = value ? value : "", .len = value ? value_len : 0});
    if (!h->is_compared)
        return MHD_YES;
    h->is_different |= !value || !is_one_line(name, name_len, value, value_len);
    h->end = value ? value + value_len : NULL;
    return MHD_YES;
}

int aoei_head_check(aoei_framing *f, struct MHD_Connection *mhd, const char *target, const char *method,
                    const char *version) {
    head h = {.framing = f, .is_compared = strcmp(aoei_mhd.get_version(), "0.9.75") == 0};
    (void)aoei_framing_target(f, target);
    aoei_framing_method(f, method);
    (void)aoei_mhd.get_connection_values_n(mhd, MHD_HEADER_KIND, on_header, &h);
    if (h.is_different || (h.end && (h.end[2] || h.end[3])))
        aoei_framing_line(f);
    return aoei_framing_end(f, version);
}
