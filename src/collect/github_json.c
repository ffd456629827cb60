/* SPDX-License-Identifier: MIT
 * Reads issues from the JSON of API responses. The code accepts any JSON: every field may be missing or may have an
 * unexpected type.
 */
#include "collect/github_json.h"

#include <string.h>
#include <strings.h>

#include "collect/issues_refs.h"

aoe_text aoei_json_text_of(const json_t *value) {
    return json_is_string(value) ? (aoe_text){json_string_value(value), json_string_length(value)} : (aoe_text){"", 0};
}

static const json_t *either(const json_t *o, const char *rest, const char *graphql) {
    const json_t *value = json_object_get(o, rest);
    return value ? value : json_object_get(o, graphql);
}

static int is_text(const json_t *value, const char *word) { /* ignores case, because GraphQL writes states in
                                                               capitals */
    const aoe_text t = aoei_json_text_of(value);
    return t.len == strlen(word) && strncasecmp(t.data, word, t.len) == 0;
}

static void read_labels(aoei_issue_json *out, const json_t *labels) {
    const json_t *nodes = json_is_object(labels) ? json_object_get(labels, "nodes") : labels, *label;
    size_t i;
    json_array_foreach(nodes, i, label) {
        const aoe_text name = aoei_json_text_of(json_is_string(label) ? label : json_object_get(label, "name"));
        if (name.len && out->n_labels < AOEI_ISSUE_LABELS)
            out->label[out->n_labels++] = name;
    }
}

/* Returns the repository "owner/name" of an issue, taken from its "repository_url", such as
 * "https://api.github.com/repos/owner/name". Returns an empty text if the URL has another form. */
static aoe_text repository_of(const json_t *issue) {
    const aoe_text url = aoei_json_text_of(json_object_get(issue, "repository_url"));
    static const char part[] = "/repos/";
    const char *at = url.len ? memmem(url.data, url.len, part, sizeof part - 1) : NULL;
    if (!at)
        return (aoe_text){"", 0};
    at += sizeof part - 1;
    const size_t left = url.len - (size_t)(at - url.data), len = aoei_repository_name(at, left);
    return len == left ? (aoe_text){at, len} : (aoe_text){"", 0};
}

int aoei_issue_json_read(aoei_issue_json *out, const json_t *issue) {
    const json_t *number = json_object_get(issue, "number"), *comments = json_object_get(issue, "comments");
    *out = (aoei_issue_json){.comments = SIZE_MAX};
    if (!json_is_integer(number) || json_integer_value(number) <= 0)
        return -1;
    out->number = (uint64_t)json_integer_value(number);
    out->title = aoei_json_text_of(json_object_get(issue, "title"));
    out->body = aoei_json_text_of(json_object_get(issue, "body"));
    out->closed = is_text(json_object_get(issue, "state"), "closed");
    out->duplicate = is_text(either(issue, "state_reason", "stateReason"), "duplicate");
    out->pull_request = json_object_get(issue, "pull_request") != NULL;
    if (json_is_integer(comments) && json_integer_value(comments) >= 0)
        out->comments = (size_t)json_integer_value(comments);
    out->repo = repository_of(issue);
    out->timeline = json_object_get(issue, "timelineItems");
    read_labels(out, json_object_get(issue, "labels"));
    return 0;
}

const json_t *aoei_issue_json_at(const json_t *root, size_t at) {
    if (json_is_array(root))
        return json_array_get(root, at);
    if (json_object_get(root, "number"))
        return at == 0 ? root : NULL;
    const json_t *data = json_object_get(root, "data");
    const json_t *repository = json_object_get(data ? data : root, "repository");
    return json_array_get(json_object_get(json_object_get(repository, "issues"), "nodes"), at);
}

void aoei_event_json_read(aoei_event_json *out, const json_t *event) {
    const json_t *kind = either(event, "event", "__typename"), *canonical = json_object_get(event, "canonical");
    const json_t *number = json_object_get(canonical, "number");
    *out = (aoei_event_json){.body = {"", 0}, .repo = {"", 0}};
    if (is_text(kind, "commented") || is_text(kind, "IssueComment"))
        out->kind = AOEI_EVENT_COMMENT;
    else if (is_text(kind, "marked_as_duplicate") || is_text(kind, "MarkedAsDuplicateEvent"))
        out->kind = AOEI_EVENT_MARKED;
    else if (is_text(kind, "unmarked_as_duplicate") || is_text(kind, "UnmarkedAsDuplicateEvent"))
        out->kind = AOEI_EVENT_UNMARKED;
    out->body = aoei_json_text_of(json_object_get(event, "body"));
    if (json_is_integer(number) && json_integer_value(number) > 0) {
        out->number = (uint64_t)json_integer_value(number);
        out->repo = aoei_json_text_of(json_object_get(json_object_get(canonical, "repository"), "nameWithOwner"));
    }
}
