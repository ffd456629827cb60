/* SPDX-License-Identifier: MIT
 * Inserts texts into prompt templates. The formatted string is tokenized as a whole, so a user who writes the prompt
 * into the text gets the same tokens. The span of a token shows whether the token belongs to the text or to the
 * template.
 */
#include "tokenizer/prompt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

static const char marker[] = "{text}";

int aoei_template_check(const char *what, const char *prompt, aoe_error *err) {
    const char *at = strstr(prompt, marker);
    if (at && !strstr(at + 1, marker))
        return 0;
    return aoei_fail(err, AOE_EARG, "%s \"%.80s\" %s; write {text} exactly once, at the position of the text", what,
                     prompt, at ? "contains {text} more than once" : "does not contain {text}");
}

int aoei_prompt_format(aoei_prompted *p, const char *prompt, aoe_text text, aoe_error *err) {
    const size_t marker_len = sizeof marker - 1, len = strlen(prompt);
    *p = (aoei_prompted){0};
    const char *at = strstr(prompt, marker);
    const int rc = aoei_template_check("the prompt", prompt, err);
    if (rc)
        return rc;
    size_t bad = aoei_utf8_valid(prompt, len), total;
    if (bad < len)
        return aoei_fail(err, AOE_EFORMAT, "the prompt is not valid UTF-8 at byte %zu; write it as UTF-8", bad);
    if (aoei_add_size(len, text.len, &total) || !(p->data = aoei_malloc(total)))
        return aoei_fail_nomem(err, text.len);
    p->text_start = (size_t)(at - prompt);
    p->text_end = p->text_start + text.len;
    memcpy(p->data, prompt, p->text_start);
    if (text.len)
        memcpy(p->data + p->text_start, text.data, text.len);
    size_t rest = len - p->text_start - marker_len;
    memcpy(p->data + p->text_end, at + marker_len, rest);
    p->len = p->text_end + rest;
    return 0;
}

void aoei_prompt_free(aoei_prompted *p) {
    aoei_free(p->data);
    memset(p, 0, sizeof *p);
}

static int belongs_to_text(const aoei_prompted *p, aoei_span span) {
    return span.start >= p->text_start && span.end <= p->text_end;
}

void aoei_prompt_ends(const aoei_prompted *p, const aoe_ids *ids, const aoei_span *span, size_t first, size_t *before,
                      size_t *after) {
    size_t begin = first, end = ids->n;
    while (begin < end && !belongs_to_text(p, span[begin]))
        begin++;
    while (end > begin && !belongs_to_text(p, span[end - 1]))
        end--;
    *before = begin - first;
    *after = ids->n - end;
}

int aoei_prompt_truncate(const aoei_prompted *p, aoe_ids *ids, aoei_span *span, size_t first, size_t budget, int left,
                         size_t max_length, aoe_error *err) {
    size_t of_text = 0, tokens = ids->n - first;
    if (tokens <= budget)
        return 0;
    for (size_t i = first; i < ids->n; i++)
        of_text += (size_t)belongs_to_text(p, span[i]);
    size_t of_template = tokens - of_text;
    if (of_template >= budget)
        return aoei_fail(
            err, AOE_EARG,
            "options.max_length is %zu, which is too small: the prompt has %zu tokens, but only %zu are available "
            "for prompt and text; increase it or shorten the prompt",
            max_length, of_template, budget);
    size_t keep = budget - of_template, skip = left ? of_text - keep : 0, to = first;
    for (size_t i = first; i < ids->n; i++) {
        if (belongs_to_text(p, span[i])) {
            if (skip || keep == 0) {
                skip -= skip > 0;
                continue;
            }
            keep--;
        }
        span[to] = span[i];
        ids->id[to++] = ids->id[i];
    }
    ids->n = to;
    ids->truncated = 1;
    return 0;
}
