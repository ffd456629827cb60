/* SPDX-License-Identifier: MIT
 * Fuzzes the functions that process GitHub issues. The first byte of the input selects which of these functions is
 * called:
 * - The parser of references to issues. A reference must be inside the text. The parser masks some parts of the text,
 *   such as code and quotations, and must preserve their line ends.
 * - The function that removes comments, images and template lines from an issue's body. It must not add text.
 * - The parser of API responses. Numbers and names of repositories must be valid.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/json_decode.h"
#include "collect/github_json.h"
#include "collect/issues_clean.h"
#include "collect/issues_refs.h"
#include "collect/markdown.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void read_refs(aoe_text text) {
    static const char *const hosts[] = {"github.com", NULL};
    aoei_issue_refs r = {0};
    require(aoei_issue_refs_find(&r, text, hosts, NULL) == AOE_OK);
    for (size_t i = 0; i < r.n; i++) {
        const aoe_text repo = r.ref[i].repo;
        require(r.ref[i].number > 0 && r.ref[i].number <= UINT64_C(9999999999));
        require(!repo.len || aoei_repository_name(repo.data, repo.len) == repo.len);
        require(!repo.len || (repo.data >= r.text.data && repo.data + repo.len <= r.text.data + r.text.len));
    }
    for (size_t i = 0; i < text.len; i++)
        require((r.text.data[i] == '\n') == (text.data[i] == '\n') &&
                (r.text.data[i] == text.data[i] || r.text.data[i] == AOEI_MASKED));
    aoei_issue_refs_free(&r);
    (void)aoei_label_is_duplicate(text);
}

static void clean(aoe_text text, unsigned parts) {
    aoei_line_counts counts = {0};
    aoei_buffer out = {0};
    for (int i = 0; i < 6; i++)
        require(aoei_line_counts_add(&counts, text, NULL) == AOE_OK);
    require(aoei_issue_text(&out, (aoe_text){"T", 1}, text, parts % 8, &counts, NULL) == AOE_OK);
    require(out.len >= 1 && out.len <= text.len + 2 && memcmp(out.data, "T", 1) == 0);
    aoei_buffer_free(&out);
    aoei_line_counts_free(&counts);
}

static void read_json(aoe_text text) {
    json_error_t error;
    int no_memory;
    json_t *root = aoei_json_decode(text.data, text.len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error, &no_memory);
    const json_t *item;
    for (size_t i = 0; (item = aoei_issue_json_at(root, i)) != NULL; i++) {
        aoei_issue_json issue;
        aoei_event_json event;
        aoei_event_json_read(&event, item);
        require(event.number == 0 || event.kind <= AOEI_EVENT_UNMARKED);
        if (aoei_issue_json_read(&issue, item))
            continue;
        require(issue.number > 0 && issue.n_labels <= AOEI_ISSUE_LABELS && issue.title.data && issue.body.data);
        require(!issue.repo.len || aoei_repository_name(issue.repo.data, issue.repo.len) == issue.repo.len);
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const aoe_text text = {(const char *)data + 1, size - 1};
    switch (data[0] % 3) {
    case 0:
        read_refs(text);
        break;
    case 1:
        clean(text, data[0] / 3u);
        break;
    default:
        read_json(text);
        break;
    }
    return 0;
}
