/* SPDX-License-Identifier: MIT
 * covers: annotate/completion
 * Fuzzes the parsers of responses of chat models. They parse response bodies, stored responses, and the lists of
 * sentences and the scores in the text of a response. A parsed sentence must be one line of valid UTF-8 and must not be
 * longer than the text. The number of sentences must not exceed the requested number. A score must be in its range. A
 * stored response must not change when it is read.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "annotate/parse_sentences.h"
#include "annotate/completion.h"
#include "annotate/parse_score.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void read_list(aoe_text reply, size_t most, int truncated) {
    aoei_sentences l = {.n = 0};
    aoei_parse_outcome outcome;
    require(aoei_parse_sentences(&l, &outcome, reply, most, truncated) == 0);
    require(l.n <= most && (outcome == AOEI_CHAT_LIST) == (l.n > 0));
    for (size_t i = 0; i < l.n; i++) {
        const aoe_text s = aoei_sentences_item(&l, i);
        require(s.len > 0 && s.len <= reply.len);
        require(aoei_utf8_valid(s.data, s.len) == s.len);
        require(!memchr(s.data, '\n', s.len) && !memchr(s.data, '\t', s.len));
    }
    aoei_sentences_free(&l);
}

static void read_score(aoe_text reply) {
    aoei_score_outcome outcome;
    double score = -1;
    require(aoei_parse_score(&outcome, &score, reply, 5) == 0);
    require((outcome == AOEI_SCORE_FOUND) == (score >= 0 && score <= 5));
}

/* Parses a response body. If the text of the response is valid UTF-8, stores the response and reads it again. */
static void read_body(aoe_text body) {
    aoei_chat_reply r = {.truncated = 0}, again = {.truncated = 0};
    aoei_buffer kept = {0};
    aoe_error err = {0};
    const int rc = aoei_chat_reply_read(&r, body, &err);
    require(rc == err.code && (rc == 0 || err.message[0]));
    if (rc == 0 && aoei_utf8_valid(r.content.data ? r.content.data : "", r.content.len) == r.content.len) {
        require(aoei_chat_reply_store(&r, &kept) == 0);
        require(aoei_chat_reply_load(&again, (aoe_text){kept.data, kept.len}, &err) == 0);
        require(again.content.len == r.content.len &&
                (!r.content.len || !memcmp(again.content.data, r.content.data, r.content.len)));
        require(again.refused == r.refused && again.truncated == r.truncated && again.prompt_tokens == r.prompt_tokens);
        read_list((aoe_text){r.content.data ? r.content.data : "", r.content.len}, 5, r.truncated);
    }
    aoei_chat_error e;
    aoei_chat_error_read(&e, body, "sk-key");
    aoei_buffer_free(&kept);
    aoei_chat_reply_free(&r);
    aoei_chat_reply_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    if (size == 0)
        return 0;
    const aoe_text text = {(const char *)data + 1, size - 1};
    if (aoei_utf8_valid(text.data, text.len) == text.len) { /* the callers pass only valid UTF-8 to these parsers */
        read_list(text, 1 + data[0] % 8, data[0] & 8);
        read_score(text);
    }
    read_body(text);
    require(aoei_alloc_live() == live);
    return 0;
}
