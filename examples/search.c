/* SPDX-License-Identifier: MIT
 * Answers a question from a folder of documents, a table, or a .txt file with one text per line. The first run creates
 * an index; later runs read only what changed.
 *
 *     build/examples/search INDEX PATH 'a question'      (model: $AOE_MODEL, or the default model)
 *
 * Build: make build/examples/search; elsewhere: cc search.c $(pkg-config --cflags --libs aoe)
 */
#include <aoe.h>
#include <aoe_index.h>
#include <stdio.h>

enum { K = 3 };

/* Prints the passages with their places and scores. */
static void print_hits(const aoe_index_hits *hits) {
    for (size_t i = 0; i < hits->n; i++) {
        const aoe_index_hit *h = &hits->hit[i];
        printf("%s:%zu  %s  (%.4f)\n", h->name, h->line, h->heading, h->score);
        printf("%.*s\n\n", (int)h->text.len, h->text.data);
    }
}

/* Brings the index up to date with the source, and searches it. */
static int search(aoe_index *index, const char *path, const char *question, aoe_error *err) {
    const aoe_index_source source = {.struct_size = sizeof source, .path = path};
    aoe_index_update_result result = {.struct_size = sizeof result};
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_index_search_options options;
    aoe_index_search_options_defaults(&options);
    options.k = K;
    int code = aoe_index_update(index, &source, 1, NULL, &result, err);
    if (!code)
        code = aoe_index_search(index, aoe_text_of(question), &options, &hits, err);
    if (!code) {
        fprintf(stderr, "%zu passages were embedded\n", result.passages - result.reused);
        print_hits(&hits);
    }
    aoe_index_hits_free(&hits);
    return code;
}

int main(int argc, char **argv) {
    aoe_embedder *embedder = NULL;
    aoe_index *index = NULL;
    aoe_error err = {0};
    if (argc != 4)
        return fprintf(stderr, "usage: search INDEX PATH QUESTION\n"), 2;
    const int failed = aoe_embedder_open(&embedder, NULL, &err) ||
                       aoe_index_open(&index, argv[1], AOE_INDEX_WRITE, embedder, NULL, &err) ||
                       search(index, argv[2], argv[3], &err);
    if (failed)
        fprintf(stderr, "search: %s\n", err.message);
    aoe_index_close(index);
    aoe_embedder_destroy(embedder);
    return failed;
}
