/* SPDX-License-Identifier: MIT
 * Prints the lines of a file that are most similar to a question.
 *
 *     build/examples/search FILE 'a question'      (model: $AOE_MODEL, or the default model)
 *
 * Build: make build/examples/search; elsewhere: cc search.c $(pkg-config --cflags --libs aoe)
 */
#include <aoe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 3 };

/* Reads the lines of a file. The caller frees the returned array and the `data` of each of its *n elements. */
static aoe_text *read_lines(FILE *file, size_t *n) {
    aoe_text *text = NULL;
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&line, &size, file)) >= 0; line = NULL, size = 0) {
        aoe_text *more = realloc(text, (*n + 1) * sizeof *text);
        if (!more)
            return free(text), NULL;
        line[strcspn(line, "\r\n")] = 0;
        text = more;
        text[(*n)++] = (aoe_text){line, strlen(line)};
    }
    return free(line), text;
}

int main(int argc, char **argv) {
    aoe_embedder *embedder = NULL;
    aoe_error err = {0};
    aoe_neighbor best[K];
    size_t n = 0;
    FILE *file = argc == 3 ? fopen(argv[1], "r") : NULL;
    aoe_text *text = file ? read_lines(file, &n) : NULL;
    if (!text)
        return fprintf(stderr, "usage: search FILE QUESTION\n"), 2;
    const aoe_text question = aoe_text_of(argv[2]);
    float *vectors = NULL;
    const int failed = aoe_embedder_open(&embedder, NULL, &err) ||
                       !(vectors = malloc(n * aoe_embedder_dims(embedder) * sizeof *vectors)) ||
                       aoe_embed_documents(embedder, text, n, vectors, NULL, &err) ||
                       aoe_search(embedder, &question, 1, vectors, n, K, best, &err);
    for (size_t i = 0; i < K && i < n && !failed; i++)
        printf("%.3f  %s\n", best[i].score, text[best[i].index].data);
    if (failed)
        fprintf(stderr, "search: %s\n", err.code ? err.message : "out of memory");
    for (size_t i = 0; i < n; i++)
        free((char *)text[i].data);
    free(text), free(vectors), fclose(file);
    aoe_embedder_destroy(embedder);
    return failed;
}
