/* SPDX-License-Identifier: MIT
 * Changes the contents of tokenizer files: removes the tokens that are not in a subset, and replaces the ids of the
 * other tokens. The files are then read again, and the ids of all tokens are compared with those of the subset.
 */
#include "tokenizer/subset_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/tokenizer_parts.h"

/* The subset, and the file that is read. */
typedef struct editor {
    aoei_token_subset *s; /* changed only while tokens are added */
    const char *dir;      /* directory of the tokenizer, borrowed */
    char *path;           /* path of the file for messages, owned */
    aoe_error *err;
} editor;

/* Handles the token id in array[index]. */
typedef int (*id_fn)(editor *e, json_t *array, size_t index);

/* Parses the file with the index `which`, which exists, and sets e->path. */
static int load(json_t **root, editor *e, int which) {
    const aoei_kept_file *f = &e->s->t->file[which];
    aoei_free(e->path);
    *root = NULL;
    if (!(e->path = aoei_path_join(e->dir, aoei_tokenizer_file_name(which))))
        return aoei_fail_nomem(e->err, strlen(e->dir));
    return aoei_json_parse(root, f->data, f->size, e->path, e->err);
}

static int fail_nomem(const editor *e) {
    return aoei_fail_nomem(e->err, e->s->n);
}

/* Returns the new id of a token, or -1 if there is no such token or it is not in the subset. */
static int32_t new_id(const editor *e, const char *token, size_t len) {
    const int32_t id = aoei_tokenizer_id(e->s->t, token, len);
    return id >= 0 && (size_t)id < e->s->n ? e->s->new_id[id] : -1;
}

/* Sets *id to the value v. */
static int read_id(int32_t *id, const editor *e, const json_t *v) {
    if (!json_is_integer(v) || json_integer_value(v) < 0 || (size_t)json_integer_value(v) >= e->s->n)
        return aoei_fail(e->err, AOE_EFORMAT,
                         "%s: a token id is not an integer below %zu, the number of tokens; correct it", e->path,
                         e->s->n);
    *id = (int32_t)json_integer_value(v);
    return 0;
}

static int add_id(editor *e, json_t *array, size_t index) {
    int32_t id = 0;
    const int rc = read_id(&id, e, json_array_get(array, index));
    if (rc)
        return rc;
    const int added = aoei_token_subset_add(e->s, id, SIZE_MAX, e->err);
    return added < 0 ? added : 0;
}

static int replace_id(editor *e, json_t *array, size_t index) {
    int32_t id = 0;
    const int rc = read_id(&id, e, json_array_get(array, index));
    if (rc)
        return rc;
    return json_array_set_new(array, index, json_integer(e->s->new_id[id])) ? fail_nomem(e) : 0;
}

/* Calls fn for every token id in the post-processor `section`, whose syntax the tokenizer has checked. */
static int each_post_id(editor *e, json_t *section, id_fn fn) {
    static const char *const pairs[] = {"cls", "sep"};
    json_t *list = json_object_get(section, "processors"), *table = json_object_get(section, "special_tokens"),
           *special;
    const char *name;
    int rc = 0;
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = each_post_id(e, json_array_get(list, i), fn);
    for (size_t i = 0; i < 2 && !rc; i++)
        if (json_array_size(json_object_get(section, pairs[i])) > 1)
            rc = fn(e, json_object_get(section, pairs[i]), 1);
    json_object_foreach(table, name, special) {
        json_t *ids = json_object_get(special, "ids");
        for (size_t i = 0; i < json_array_size(ids) && !rc; i++)
            rc = fn(e, ids, i);
    }
    return rc;
}

/* Calls fn for the token id under `key` of the object, if it is an integer. */
static int each_key_id(editor *e, json_t *object, const char *key, id_fn fn) {
    json_t *array = json_is_integer(json_object_get(object, key)) ? json_array() : NULL;
    if (!array)
        return json_is_integer(json_object_get(object, key)) ? fail_nomem(e) : 0;
    int rc = json_array_append(array, json_object_get(object, key)) ? fail_nomem(e) : fn(e, array, 0);
    if (!rc && json_object_set(object, key, json_array_get(array, 0)))
        rc = fail_nomem(e);
    json_decref(array);
    return rc;
}

/* Calls fn for the token ids in tokenizer.json, except those of the vocabulary and of the added tokens. */
static int each_json_id(editor *e, json_t *root, id_fn fn) {
    int rc = each_post_id(e, json_object_get(root, "post_processor"), fn);
    if (!rc)
        rc = each_key_id(e, json_object_get(root, "padding"), "pad_id", fn);
    return rc ? rc : each_key_id(e, json_object_get(root, "model"), "unk_id", fn);
}

int aoei_subset_add_settings(aoei_token_subset *s, const char *dir, aoe_error *err) {
    const aoe_tokenizer *t = s->t;
    editor e = {.s = s, .dir = dir, .err = err};
    json_t *root = NULL;
    int rc = t->file[AOEI_FILE_TOKENIZER_JSON].data ? load(&root, &e, AOEI_FILE_TOKENIZER_JSON) : 0;
    if (!rc)
        rc = each_json_id(&e, root, add_id);
    json_decref(root);
    root = NULL;
    if (!rc && t->file[AOEI_FILE_CONFIG].data && !(rc = load(&root, &e, AOEI_FILE_CONFIG)))
        rc = each_key_id(&e, root, "unk_id", add_id);
    for (size_t i = 0; i < t->added.n && rc >= 0; i++)
        rc = aoei_token_subset_add(s, t->added.token[i].id, SIZE_MAX, err);
    for (size_t i = 0; i < t->post.n_before + t->post.n_after && rc >= 0; i++)
        rc = aoei_token_subset_add(s, t->post.id[i], SIZE_MAX, err);
    for (size_t i = 0; i < t->post.n_pair && rc >= 0; i++)
        if (t->post.pair[i].part == AOEI_PAIR_SPECIAL)
            rc = aoei_token_subset_add(s, t->post.pair[i].id, SIZE_MAX, err);
    if (rc >= 0)
        rc = aoei_token_subset_add(s, aoei_subword_unknown(&t->model), SIZE_MAX, err);
    if (rc >= 0)
        rc = aoei_token_subset_add(s, aoei_tokenizer_mask_id(t), SIZE_MAX, err);
    json_decref(root);
    aoei_free(e.path);
    return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------- vocabularies */

/* Sets *out to an object {token: id} with the new ids of the tokens of `object` in the subset. */
static int subset_object(json_t **out, const editor *e, json_t *object) {
    const char *token;
    json_t *value;
    if (!(*out = json_object()))
        return fail_nomem(e);
    json_object_foreach(object, token, value) {
        const int32_t id = new_id(e, token, strlen(token));
        if (id >= 0 && json_object_set_new_nocheck(*out, token, json_integer(id)))
            return fail_nomem(e);
    }
    return 0;
}

/* Sets *out to the elements [token, score] of a Unigram vocabulary in the subset. */
static int subset_scores(json_t **out, const editor *e, json_t *array) {
    if (!(*out = json_array()))
        return fail_nomem(e);
    for (size_t i = 0; i < json_array_size(array); i++)
        if (i < e->s->n && e->s->keep[i] && json_array_append(*out, json_array_get(array, i)))
            return fail_nomem(e);
    return 0;
}

/* Returns 1 if the tokens `left` and `right` and the token to which they are merged are in the subset. */
static int keeps_merge(const editor *e, aoe_text left, aoe_text right) {
    const aoei_bpe *b = &e->s->t->model.bpe;
    const int32_t l = aoei_vocab_id(&b->vocab, left.data, left.len),
                  r = aoei_vocab_id(&b->vocab, right.data, right.len);
    const aoei_merge *m = l < 0 || r < 0 ? NULL : aoei_merge_find(&b->merges, l, r);
    return m && e->s->keep[l] && e->s->keep[r] && e->s->keep[m->id];
}

/* Returns 1 if the line "left right" is a merge of tokens in the subset. */
static int keeps_line(const editor *e, aoe_text line) {
    const char *space = line.len ? memchr(line.data, ' ', line.len) : NULL;
    const size_t n = space ? (size_t)(space - line.data) : 0;
    return space && keeps_merge(e, (aoe_text){line.data, n}, (aoe_text){space + 1, line.len - n - 1});
}

/* Sets *out to the merges, strings "left right" or pairs, of tokens in the subset. */
static int subset_merges(json_t **out, const editor *e, json_t *array) {
    if (!(*out = json_array()))
        return fail_nomem(e);
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *m = json_array_get(array, i);
        const json_t *l = json_array_get(m, 0), *r = json_array_get(m, 1);
        const int keep = json_is_string(m) ? keeps_line(e, (aoe_text){json_string_value(m), json_string_length(m)})
                                           : keeps_merge(e, (aoe_text){json_string_value(l), json_string_length(l)},
                                                         (aoe_text){json_string_value(r), json_string_length(r)});
        if (keep && json_array_append(*out, m))
            return fail_nomem(e);
    }
    return 0;
}

/* Returns 1 if a line of vocab.txt or merges.txt is in the subset. number: line number, counted from 0. */
typedef int (*line_fn)(const editor *e, aoe_text line, size_t number);

/* Without tokenizer.json, the line number is the id of the token, and only the last line of a token has an effect. */
static int keeps_token_line(const editor *e, aoe_text line, size_t number) {
    const int32_t id = aoei_vocab_id(aoei_subword_vocab(&e->s->t->model), line.data, line.len);
    return id >= 0 && e->s->keep[id] && (e->s->t->file[AOEI_FILE_TOKENIZER_JSON].data || (size_t)id == number);
}

static int keeps_merge_line(const editor *e, aoe_text line, size_t number) {
    static const char version[] = "#version";
    return (!number && line.len >= sizeof version - 1 && !memcmp(line.data, version, sizeof version - 1)) ||
           keeps_line(e, line);
}

/* Sets *out to the lines of the text in the subset. */
static int subset_lines(aoei_kept_file *out, const editor *e, const aoei_kept_file *from, line_fn keeps) {
    aoei_buffer b = {0};
    size_t number = 0;
    aoei_buffer_reserve(&b, from->size);
    for (size_t start = 0; start < from->size; number++) {
        const char *newline = memchr(from->data + start, '\n', from->size - start);
        const size_t end = newline ? (size_t)(newline - from->data) : from->size;
        aoe_text line = {from->data + start, end - start};
        line.len -= newline && line.len && line.data[line.len - 1] == '\r';
        if (keeps(e, line, number)) {
            aoei_buffer_append(&b, line.data, line.len);
            aoei_buffer_putc(&b, '\n');
        }
        start = end + 1;
    }
    if (b.failed) {
        aoei_buffer_free(&b);
        return fail_nomem(e);
    }
    *out = (aoei_kept_file){b.data, b.len};
    return 0;
}

/* ------------------------------------------------------------------- files */

/* Replaces the value of `key` by the result of `fn`, if it exists. */
static int replace_value(editor *e, json_t *object, const char *key,
                         int (*fn)(json_t **out, const editor *e, json_t *value)) {
    json_t *value = json_object_get(object, key), *changed = NULL;
    int rc = value ? fn(&changed, e, value) : 0;
    if (!rc && changed && json_object_set(object, key, changed))
        rc = fail_nomem(e);
    json_decref(changed);
    return rc;
}

static int edit_tokenizer_json(editor *e, json_t *root) {
    json_t *model = json_object_get(root, "model"), *added = json_object_get(root, "added_tokens");
    int rc =
        replace_value(e, model, "vocab", e->s->t->model.type == AOEI_SUBWORD_UNIGRAM ? subset_scores : subset_object);
    if (!rc && e->s->t->model.type == AOEI_SUBWORD_BPE)
        rc = replace_value(e, model, "merges", subset_merges);
    for (size_t i = 0; i < json_array_size(added) && !rc; i++) {
        json_t *token = json_array_get(added, i), *content = json_object_get(token, "content");
        const int32_t id = new_id(e, json_string_value(content), json_string_length(content));
        if (id >= 0 && json_object_set_new(token, "id", json_integer(id)))
            rc = fail_nomem(e);
    }
    return rc ? rc : each_json_id(e, root, replace_id);
}

/* Sets *out to "added_tokens_decoder" with the new ids of the tokens. */
static int decoder_object(json_t **out, const editor *e, json_t *object) {
    const char *key;
    json_t *token;
    if (!(*out = json_object()))
        return fail_nomem(e);
    json_object_foreach(object, key, token) {
        const json_t *content = json_object_get(token, "content");
        char id[16];
        snprintf(id, sizeof id, "%d", (int)new_id(e, json_string_value(content), json_string_length(content)));
        if (json_object_set(*out, *id == '-' ? key : id, token))
            return fail_nomem(e);
    }
    return 0;
}

static int edit_config(editor *e, json_t *root) {
    const int rc = each_key_id(e, root, "unk_id", replace_id);
    return rc ? rc : replace_value(e, root, "added_tokens_decoder", decoder_object);
}

/* Replaces all values of an object {token: id}. */
static int edit_object(editor *e, json_t *root) {
    json_t *changed = NULL;
    if (!json_is_object(root))
        return aoei_fail(e->err, AOE_EFORMAT, "%s: not a JSON object; download the file again", e->path);
    int rc = subset_object(&changed, e, root);
    json_object_clear(root);
    if (!rc && json_object_update(root, changed))
        rc = fail_nomem(e);
    json_decref(changed);
    return rc;
}

static int copy_file(aoei_kept_file *out, const editor *e, int which) {
    const aoei_kept_file *from = &e->s->t->file[which];
    *out = (aoei_kept_file){aoei_strndup(from->data, from->size), from->size};
    return out->data ? 0 : fail_nomem(e);
}

/* Sets *out to the JSON text of `root` and a line end. */
static int set_text(aoei_kept_file *out, const editor *e, const json_t *root) {
    aoei_buffer b = {0};
    char *text = aoei_json_text(root, JSON_INDENT(2));
    const int failed = !text || aoei_buffer_append(&b, text, strlen(text)) || aoei_buffer_putc(&b, '\n');
    aoei_free(text);
    if (failed) {
        aoei_buffer_free(&b);
        return fail_nomem(e);
    }
    *out = (aoei_kept_file){b.data, b.len};
    return 0;
}

/* Sets *out to the contents of the JSON file with the index `which` after `edit`. */
static int edit_json(aoei_kept_file *out, editor *e, int which, int (*edit)(editor *e, json_t *root)) {
    json_t *root = NULL;
    int rc = load(&root, e, which);
    const int changes =
        which != AOEI_FILE_CONFIG || json_object_get(root, "unk_id") || json_object_get(root, "added_tokens_decoder");
    if (!rc && changes && !(rc = edit(e, root)))
        rc = set_text(out, e, root);
    json_decref(root);
    return rc || changes ? rc : copy_file(out, e, which);
}

static int edit_file(aoei_kept_file *out, editor *e, int which) {
    const aoei_kept_file *from = &e->s->t->file[which];
    switch (which) {
    case AOEI_FILE_TOKENIZER_JSON:
        return edit_json(out, e, which, edit_tokenizer_json);
    case AOEI_FILE_CONFIG:
        return edit_json(out, e, which, edit_config);
    case AOEI_FILE_ADDED_TOKENS:
    case AOEI_FILE_VOCAB_JSON:
        return edit_json(out, e, which, edit_object);
    case AOEI_FILE_VOCAB_TXT:
        return subset_lines(out, e, from, keeps_token_line);
    case AOEI_FILE_MERGES:
        return subset_lines(out, e, from, keeps_merge_line);
    default:
        return copy_file(out, e, which);
    }
}

/* Returns 1 if id, an id of the smaller tokenizer, is the new id of the token `old`. */
static int is_new_id(const aoei_token_subset *s, int32_t id, int32_t old) {
    return old < 0 ? id < 0 : (size_t)old < s->n && id == s->new_id[old];
}

/* Checks that all tokens of the smaller tokenizer t have the new ids of the subset. */
static int check_ids(const aoe_tokenizer *t, const aoei_token_subset *s, const char *dir, aoe_error *err) {
    const aoei_postprocessor *p = &t->post, *from = &s->t->post;
    int same = aoe_tokenizer_vocab_size(t) == s->n_kept && p->n_before == from->n_before &&
               p->n_after == from->n_after && p->n_pair == from->n_pair && t->added.n == s->t->added.n &&
               is_new_id(s, aoei_subword_unknown(&t->model), aoei_subword_unknown(&s->t->model));
    for (size_t i = 0; same && i < p->n_before + p->n_after; i++)
        same = is_new_id(s, p->id[i], from->id[i]);
    for (size_t i = 0; same && i < p->n_pair; i++)
        same = p->pair[i].part != AOEI_PAIR_SPECIAL || is_new_id(s, p->pair[i].id, from->pair[i].id);
    for (size_t i = 0; same && i < s->n_kept; i++) {
        const aoe_text a = aoe_tokenizer_token(t, (int32_t)i), b = aoe_tokenizer_token(s->t, s->old_id[i]);
        same = a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
    }
    return same ? 0
                : aoei_fail(
                      err, AOE_EUNSUPPORTED,
                      "%s: the vocabulary cannot be reduced, because the files of the tokenizer give some tokens other "
                      "ids than their order; save the tokenizer with transformers first",
                      dir);
}

int aoei_subset_tokenizer(aoe_tokenizer **out, const aoei_token_subset *s, const char *dir, aoe_error *err) {
    aoei_token_subset copy = *s;
    editor e = {.s = &copy, .dir = dir, .err = err};
    aoei_kept_file file[AOEI_FILE_COUNT] = {{0}};
    int rc = 0;
    *out = NULL;
    for (int i = 0; i < AOEI_FILE_COUNT && !rc; i++)
        if (s->t->file[i].data)
            rc = edit_file(&file[i], &e, i);
    aoei_free(e.path);
    if (rc) {
        for (int i = 0; i < AOEI_FILE_COUNT; i++)
            aoei_free(file[i].data);
        return rc;
    }
    if (!(rc = aoei_tokenizer_from_files(out, file, dir, err)) && (rc = check_ids(*out, s, dir, err))) {
        aoe_tokenizer_close(*out);
        *out = NULL;
    }
    return rc;
}
