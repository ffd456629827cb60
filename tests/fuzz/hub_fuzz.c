/* SPDX-License-Identifier: MIT
 * Fuzzes the replies of the Hugging Face Hub. The input consists of the headers of a reply about a file, an empty line,
 * and the list of the files of a model in JSON. A checksum that is accepted must be a file name of hexadecimal digits,
 * and each path of an accepted list must be safe.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "hub/hub_files.h"
#include "hub/hub_reply.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_headers(const aoei_headers *h) {
    static const int statuses[] = {200, 302};
    char etag[AOEI_DIGEST_HEX];
    uint64_t size;
    for (size_t i = 0; i < 2; i++) {
        if (!aoei_hub_reply_file(etag, &size, h, statuses[i]))
            continue;
        require(aoei_is_hex(etag, 40) || aoei_is_hex(etag, 64));
        require(aoei_hub_safe_path(etag) && size <= INT64_MAX);
    }
    const int first = aoei_hub_reply_continues(h, 0, 1000), later = aoei_hub_reply_continues(h, 500, 1000);
    require(!first || !later);
    uint64_t total;
    if (aoei_hub_reply_length(&total, h))
        require(total <= INT64_MAX);
}

static void check_list(const char *text, size_t len) {
    json_t *root = NULL;
    aoei_hub_files f = {0};
    aoe_error err = {0};
    if (aoei_json_parse(&root, text, len, "the reply", &err) == 0) {
        const int rc = aoei_hub_files_read(&f, root, "acme/tiny", &err);
        require(rc == 0 || (rc == AOE_EFORMAT && *err.message && !strchr(err.message, '\n')));
        require(rc != 0 || aoei_is_hex(f.commit, AOEI_HUB_COMMIT));
        for (size_t i = 0; i < f.n; i++)
            require(aoei_hub_safe_path(f.file[i].path) && !f.file[i].wanted && !f.file[i].present);
        aoei_hub_want_configuration(&f, "");
        aoei_hub_want_configuration(&f, "1_Pooling");
        for (size_t i = 0; i < f.n; i++)
            require(f.file[i].wanted == 0 || f.file[i].wanted == 1);
        for (size_t i = 0; aoei_hub_optional_file(i); i++)
            (void)aoei_hub_files_find(&f, "", aoei_hub_optional_file(i));
        aoei_hub_files_free(&f);
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    aoei_headers h = {0};
    const char *s = (const char *)data, *end = size ? s + size : s;
    while (s < end && *s != '\n') {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        const size_t len = (size_t)((stop ? stop + 1 : end) - s);
        (void)aoei_headers_add(&h, s, len);
        s += len;
    }
    check_headers(&h);
    if (s < end)
        check_list(s + 1, (size_t)(end - s) - 1);
    aoei_headers_free(&h);
    require(aoei_alloc_live() == live);
    return 0;
}
