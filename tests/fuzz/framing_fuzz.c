/* SPDX-License-Identifier: MIT
 * Fuzzes the checks of the framing of HTTP requests. The first line of the input is the target, each following line is
 * a header "NAME:VALUE". A request without a violation must have a body with one end, and a valid host.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "serve/framing.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_host(aoe_text text) {
    const aoei_host h = aoei_host_parse(text);
    if (h.kind == AOEI_HOST_INVALID)
        return;
    require(h.name.len > 0 && h.name.data >= text.data && h.name.data + h.name.len <= text.data + text.len);
    require(h.port.len <= 5 && (!h.port.len || h.port.data + h.port.len == text.data + text.len));
    require(aoei_host_equal(&h, &h));
    const aoei_host local = aoei_host_parse(aoe_text_of("localhost"));
    require(!aoei_host_equal(&h, &local) || aoei_host_is_loopback(&h));
    require(!memchr(h.name.data, '@', h.name.len) && !memchr(h.name.data, '/', h.name.len));
    char origin[300] = "https://";
    if (text.len < sizeof origin - 8) {
        memcpy(origin + 8, text.data, text.len);
        require(aoei_origin_is_host((aoe_text){.data = origin, .len = text.len + 8}, text));
        require(!aoei_origin_is_host((aoe_text){.data = origin, .len = text.len + 7}, text));
    }
}

/* Checks a request without a violation. */
static void check_valid(const aoei_framing *f, const char *path) {
    require(path[0] == '/' || path[0] == '*' || path[0] == '\0');
    require(f->n_length <= 1 && f->n_transfer <= 1 && f->n_host == 1 && f->n_origin <= 1);
    require(!f->n_length || !f->n_transfer);
    require(f->is_chunked == (f->n_transfer == 1));
    require(f->n_length || f->length == 0);
    require(f->host.data && aoei_host_parse(f->host).kind != AOEI_HOST_INVALID);
    check_host(f->host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoei_framing f = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\n';
    const char *line = memchr(text, '\n', size + 1), *end = text + size;
    text[line - text] = '\0';
    const char *path = aoei_framing_target(&f, text);
    for (line++; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end + 1 - line));
        const char *colon = memchr(line, ':', (size_t)(stop - line)), *name_end = colon ? colon : stop;
        const char *value = colon ? colon + 1 : stop;
        aoei_framing_header(&f, (aoe_text){.data = line, .len = (size_t)(name_end - line)},
                            (aoe_text){.data = value, .len = (size_t)(stop - value)});
        check_host((aoe_text){.data = value, .len = (size_t)(stop - value)});
        line = stop + 1;
    }
    if (aoei_framing_end(&f, "HTTP/1.1") == 0)
        check_valid(&f, path);
    else
        require(f.problem != NULL);
    free(text);
    return 0;
}
