/* SPDX-License-Identifier: MIT
 * Stores issues in dynamic arrays. Three hash tables find an issue by repository and GitHub number, a repository by
 * name, and a label by name. Titles are stored in large chunks of memory that never move.
 */
#include "collect/issues.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/issues_refs.h"

enum { CHUNK = 1 << 20, FIRST_SIZE = 64 };

struct aoei_issue_key {
    uint64_t number; /* GitHub number of the issue */
    uint32_t repo;   /* index of the repository in aoei_issues.repo */
    uint32_t index;  /* index of the issue in aoei_issues.issue */
};

/* Compares an element with a key. A hash table stores indices of the elements of an array in *s; `at` is such an index.
 * Returns 1 if this element equals the key. */
typedef int (*equal_fn)(const aoei_issues *s, uint32_t at, const void *key);

/* Returns the slot of the element that equals the key. If there is no such element, returns the free slot for it. */
static uint32_t *find_slot(const aoei_slots *t, uint64_t hash, equal_fn equal, const aoei_issues *s, const void *key) {
    for (size_t i = (size_t)hash;; i++) {
        uint32_t *slot = &t->slot[i & (t->size - 1)];
        if (!*slot || equal(s, *slot - 1, key))
            return slot;
    }
}

/* Mixes the high bits of an FNV hash into its low bits. Without mixing, the low bits depend only on the low bits of the
 * hashed bytes. */
static uint64_t mix(uint64_t h) {
    return h ^ (h >> 29);
}

static uint64_t hash_name(const char *name, size_t len) {
    uint64_t h = AOEI_HASH_START;
    for (size_t i = 0; i < len; i++) {
        const char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
        h = aoei_hash(h, &c, 1);
    }
    return mix(h);
}

static uint64_t hash_key(uint32_t repo, uint64_t number) {
    return mix(aoei_hash(aoei_hash(AOEI_HASH_START, &repo, sizeof repo), &number, sizeof number));
}

static int equal_repo(const aoei_issues *s, uint32_t at, const void *key) {
    const aoe_text *name = key;
    return strncasecmp(s->repo[at], name->data, name->len) == 0 && s->repo[at][name->len] == 0;
}

static int equal_label(const aoei_issues *s, uint32_t at, const void *key) {
    const aoe_text *name = key;
    return strncasecmp(s->label_name[at], name->data, name->len) == 0 && s->label_name[at][name->len] == 0;
}

static int equal_key(const aoei_issues *s, uint32_t at, const void *key) {
    const struct aoei_issue_key *k = key;
    return s->key[at].number == k->number && s->key[at].repo == k->repo;
}

/* Enlarges the hash table if it has no slot for one more element. hash_of: computes the hash of the element with index
 * `at`. */
static int reserve_slot(aoei_slots *t, const aoei_issues *s, uint64_t (*hash_of)(const aoei_issues *s, uint32_t at),
                        aoe_error *err) {
    if (2 * t->n < t->size)
        return AOE_OK;
    if (t->n >= UINT32_MAX / 4)
        return aoei_fail(err, AOE_EARG,
                         "the collection exceeds %u issues or names; collect fewer repositories at a time",
                         UINT32_MAX / 4);
    aoei_slots larger = {.size = t->size ? 2 * t->size : FIRST_SIZE, .n = t->n};
    larger.slot = aoei_calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot)
        return aoei_fail_nomem(err, larger.size * sizeof *larger.slot);
    for (size_t i = 0; i < t->size; i++) {
        if (!t->slot[i])
            continue;
        size_t at = (size_t)hash_of(s, t->slot[i] - 1);
        while (larger.slot[at & (larger.size - 1)])
            at++;
        larger.slot[at & (larger.size - 1)] = t->slot[i];
    }
    aoei_free(t->slot);
    *t = larger;
    return AOE_OK;
}

static uint64_t hash_of_repo(const aoei_issues *s, uint32_t at) {
    return hash_name(s->repo[at], strlen(s->repo[at]));
}

static uint64_t hash_of_label(const aoei_issues *s, uint32_t at) {
    return hash_name(s->label_name[at], strlen(s->label_name[at]));
}

static uint64_t hash_of_key(const aoei_issues *s, uint32_t at) {
    return hash_key(s->key[at].repo, s->key[at].number);
}

static int add_name(char ***names, size_t *n, size_t *capacity, aoe_text name, aoe_error *err) {
    char *copy = NULL;
    if (aoei_grow((void **)names, capacity, *n, sizeof **names) || !(copy = aoei_strndup(name.data, name.len)))
        return aoei_fail_nomem(err, name.len);
    (*names)[(*n)++] = copy;
    return AOE_OK;
}

int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err) {
    name.len = strnlen(name.data, name.len); /* a name ends at the first NUL, because names are compared as C strings */
    int code = reserve_slot(&s->by_repo, s, hash_of_repo, err);
    if (code)
        return code;
    uint32_t *slot = find_slot(&s->by_repo, hash_name(name.data, name.len), equal_repo, s, &name);
    if (!*slot) {
        code = add_name(&s->repo, &s->n_repos, &s->repo_capacity, name, err);
        if (code)
            return code;
        *slot = (uint32_t)s->n_repos;
        s->by_repo.n++;
    }
    *repo = *slot - 1;
    return AOE_OK;
}

static int label_index(aoei_issues *s, aoe_text name, uint32_t *label, aoe_error *err) {
    name.len = strnlen(name.data, name.len);
    int code = reserve_slot(&s->by_label, s, hash_of_label, err);
    if (code)
        return code;
    uint32_t *slot = find_slot(&s->by_label, hash_name(name.data, name.len), equal_label, s, &name);
    if (!*slot) {
        code = add_name(&s->label_name, &s->n_names, &s->name_capacity, name, err);
        if (code)
            return code;
        *slot = (uint32_t)s->n_names;
        s->by_label.n++;
    }
    *label = *slot - 1;
    return AOE_OK;
}

uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number) {
    const struct aoei_issue_key key = {.number = number, .repo = repo};
    if (!s->by_key.size)
        return AOEI_NO_ISSUE;
    const uint32_t at = *find_slot(&s->by_key, hash_key(repo, number), equal_key, s, &key);
    return at ? s->key[at - 1].index : AOEI_NO_ISSUE;
}

int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err) {
    const struct aoei_issue_key key = {.number = number, .repo = repo, .index = index};
    const int code = reserve_slot(&s->by_key, s, hash_of_key, err);
    if (code)
        return code;
    if (aoei_grow((void **)&s->key, &s->key_capacity, s->n_keys, sizeof *s->key))
        return aoei_fail_nomem(err, sizeof *s->key);
    uint32_t *slot = find_slot(&s->by_key, hash_key(repo, number), equal_key, s, &key);
    if (*slot) {
        s->key[*slot - 1].index = index;
        return AOE_OK;
    }
    s->key[s->n_keys++] = key;
    *slot = (uint32_t)s->n_keys;
    s->by_key.n++;
    return AOE_OK;
}

static int copy_title(aoei_issues *s, aoe_text *title, aoe_error *err) {
    if (title->len > s->chunk_left) {
        const size_t bytes = title->len > CHUNK ? title->len : CHUNK;
        char *chunk = NULL;
        if (aoei_grow((void **)&s->chunk, &s->chunk_capacity, s->n_chunks, sizeof *s->chunk) ||
            !(chunk = aoei_malloc(bytes)))
            return aoei_fail_nomem(err, bytes);
        s->chunk[s->n_chunks++] = chunk;
        s->chunk_end = chunk;
        s->chunk_left = bytes;
    }
    if (title->len)
        memcpy(s->chunk_end, title->data, title->len);
    title->data = s->chunk_end;
    s->chunk_end += title->len;
    s->chunk_left -= title->len;
    return AOE_OK;
}

static int add_labels(aoei_issues *s, const aoei_issue_source *source, aoei_issue *issue, aoe_error *err) {
    issue->first_label = s->n_labels;
    issue->n_labels = 0;
    for (size_t i = 0; i < source->n_labels; i++) {
        uint32_t label;
        if (aoei_label_is_duplicate(source->labels[i])) {
            issue->marked = 1;
            continue;
        }
        const int code = label_index(s, source->labels[i], &label, err);
        if (code)
            return code;
        if (aoei_grow((void **)&s->label, &s->label_capacity, s->n_labels, sizeof *s->label))
            return aoei_fail_nomem(err, sizeof *s->label);
        s->label[s->n_labels++] = label;
        issue->n_labels++;
    }
    return AOE_OK;
}

int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err) {
    aoei_issue issue = source->issue;
    *index = aoei_issues_find(s, issue.repo, issue.number);
    if (*index != AOEI_NO_ISSUE)
        return AOE_OK;
    if (aoei_grow((void **)&s->issue, &s->capacity, s->n, sizeof *s->issue))
        return aoei_fail_nomem(err, sizeof *s->issue);
    int code = copy_title(s, &issue.title, err);
    if (!code)
        code = add_labels(s, source, &issue, err);
    if (!code)
        code = aoei_issues_alias(s, issue.repo, issue.number, (uint32_t)s->n, err);
    if (code)
        return code;
    *index = (uint32_t)s->n;
    s->issue[s->n++] = issue;
    return AOE_OK;
}

int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err) {
    if (aoei_grow((void **)&s->link, &s->link_capacity, s->n_links, sizeof *s->link))
        return aoei_fail_nomem(err, sizeof *s->link);
    s->link[s->n_links++] = (aoei_issue_link){.from = from, .to = to, .weak = (unsigned char)weak};
    return AOE_OK;
}

void aoei_issues_free(aoei_issues *s) {
    aoei_free(s->issue);
    aoei_free(s->link);
    aoei_free(s->label);
    aoei_list_free(s->repo, s->n_repos);
    aoei_list_free(s->label_name, s->n_names);
    aoei_list_free(s->chunk, s->n_chunks);
    aoei_free(s->key);
    aoei_free(s->by_key.slot);
    aoei_free(s->by_repo.slot);
    aoei_free(s->by_label.slot);
    *s = (aoei_issues){0};
}
