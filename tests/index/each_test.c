/* SPDX-License-Identifier: MIT
 * Tests the iteration over all passages of an index: their order, texts, metadata and vectors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_index.h"

/* What the callback has received. */
typedef struct seen {
    char text[1000]; /* NAME:FIELDS:TEXT, one per line */
    size_t n, stop_at;
    float vector[2][64]; /* the first two vectors */
} seen;

static int receive(void *user, const aoe_index_hit *hit, const float *vector, aoe_error *err) {
    seen *s = user;
    const size_t used = strlen(s->text);
    (void)err;
    assert_true(isnan(hit->score) && isnan(hit->cosine) && isnan(hit->bm25));
    assert_int_equal(strlen(hit->id), 12);
    snprintf(s->text + used, sizeof s->text - used, "%s:%s:%.*s\n", hit->name,
             hit->n_fields ? hit->field[0].value.data : "-", (int)hit->text.len, hit->text.data);
    if (s->n < 2)
        memcpy(s->vector[s->n], vector, aoe_embedder_dims(tiny_index_embedder) * sizeof *vector);
    return ++s->n == s->stop_at ? 77 : 0;
}

static void visits_passages_in_order(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    const aoe_index_field field = {"year", {"2020", 4}};
    const aoe_index_document with_field = {
        .struct_size = sizeof with_field, .name = "b", .text = aoe_text_of("x y"), .field = &field, .n_fields = 1};
    seen all = {.n = 0}, some = {.stop_at = 2};
    assert_int_equal(tiny_index_add(index, "c", "the last", NULL), 0);
    assert_int_equal(tiny_index_add(index, "removed", "nothing", NULL), 0);
    assert_int_equal(aoe_index_add(index, &with_field, 1, NULL), 0);
    assert_int_equal(tiny_index_add(index, "B", "capital", NULL), 0);
    assert_int_equal(aoe_index_remove(index, (const char *[]){"removed"}, 1, NULL, NULL), 0);
    assert_int_equal(aoe_index_commit(index, NULL), 0);
    assert_int_equal(tiny_index_add(index, "a", "not committed", NULL), 0);
    assert_int_equal(aoe_index_each(index, receive, &all, NULL), 0);
    assert_string_equal(all.text, "B:-:capital\nb:2020:x y\nc:-:the last\n");
    float want[64];
    const aoe_text text = aoe_text_of("x y");
    assert_int_equal(aoe_embed_documents(tiny_index_embedder, &text, 1, want, NULL, NULL), 0);
    assert_true(aoe_cosine(all.vector[1], want, aoe_embedder_dims(tiny_index_embedder)) > 0.999);
    assert_int_equal(aoe_index_each(index, receive, &some, NULL), 77);
    assert_int_equal(some.n, 2);
    aoe_index_close(index);
    free(path);
}

static void empty_index(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    seen none = {.n = 0};
    assert_int_equal(aoe_index_each(index, receive, &none, NULL), 0);
    assert_int_equal(none.n, 0);
    aoe_index_close(index);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_passages_in_order),
        cmocka_unit_test(empty_index),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
