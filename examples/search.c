/* SPDX-License-Identifier: MIT
 * A search in a few lines: embeds the lines of a file and prints those closest to a question.
 *
 *     build/examples/search MODEL FILE 'a question'
 *
 * Built by `make build/examples/search`; elsewhere: cc search.c $(pkg-config --cflags --libs aoe)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aoe.h>

enum { MAX_TEXTS = 1000, BEST = 3 };

int main(int argc, char **argv) {
    static char line[MAX_TEXTS][512];
    static aoe_text texts[MAX_TEXTS + 1]; /* the lines, then the question */
    aoe_context *ctx = NULL;
    aoe_model *model = NULL;
    aoe_embedder *embedder = NULL;
    aoe_error err = {0};
    float *vectors = NULL;
    size_t n = 0;
    FILE *file = argc == 4 ? fopen(argv[2], "r") : NULL;
    if (!file)
        return fprintf(stderr, "usage: search MODEL FILE QUESTION\n"), 2;
    while (n < MAX_TEXTS && fgets(line[n], sizeof line[n], file)) {
        line[n][strcspn(line[n], "\r\n")] = 0;
        texts[n] = aoe_text_of(line[n]);
        n++;
    }
    fclose(file);
    texts[n] = aoe_text_of(argv[3]);

    int failed = aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&model, ctx, argv[1], NULL, &err) ||
                 aoe_embedder_create(&embedder, model, NULL, &err);
    size_t dims = failed ? 0 : aoe_model_dims(model);
    failed =
        failed || !(vectors = calloc(n + 1, dims * sizeof *vectors)) || aoe_embed(embedder, texts, n + 1, vectors, NULL, &err);
    for (int rank = 0; !failed && rank < BEST; rank++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) /* texts already printed have no length left */
            if (texts[i].len && (best == n || aoe_cosine(vectors + i * dims, vectors + n * dims, dims) >
                                                  aoe_cosine(vectors + best * dims, vectors + n * dims, dims)))
                best = i;
        if (best == n)
            break;
        printf("%.3f  %s\n", aoe_cosine(vectors + best * dims, vectors + n * dims, dims), line[best]);
        texts[best].len = 0;
    }
    if (failed)
        fprintf(stderr, "search: %s\n", err.code ? err.message : "out of memory");
    free(vectors);
    aoe_embedder_destroy(embedder); /* in the reverse order of creation; NULL is fine */
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    return failed;
}
