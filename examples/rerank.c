/* SPDX-License-Identifier: MIT
 * Prints the lines of stdin (at most 1000) with their scores for a query, the highest score first. MODEL is a
 * cross-encoder; if it has several outputs, the last one is the score.
 *
 *     build/examples/rerank MODEL 'capital of Peru' < passages.txt
 */
#include <aoe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 1000, LENGTH = 4096 };

static char line[LINES][LENGTH];

int main(int argc, char **argv) {
    aoe_embedder *embedder = NULL;
    aoe_error err = {0};
    aoe_text query[LINES], text[LINES];
    float *scores = NULL;
    size_t n = 0;
    if (argc != 3)
        return fprintf(stderr, "usage: rerank MODEL QUERY\n"), 2;
    for (; n < LINES && fgets(line[n], LENGTH, stdin); n++) {
        line[n][strcspn(line[n], "\n")] = 0;
        query[n] = aoe_text_of(argv[2]);
        text[n] = aoe_text_of(line[n]);
    }
    int failed = aoe_embedder_open(&embedder, argv[1], &err);
    const size_t classes = aoe_model_classes(aoe_embedder_model(embedder)); /* 0: an embedding model, which is rejected
                                                                             */
    failed = failed || !(scores = calloc(LINES * (classes + 1), sizeof *scores)) ||
             aoe_score_pairs(embedder, query, text, n, scores, NULL, &err);
    if (failed)
        fprintf(stderr, "rerank: %s\n", err.code ? err.message : "out of memory");
    for (size_t rank = 0; rank < n && !failed; rank++) {
        size_t best = LINES; /* the line with the highest score that was not printed */
        for (size_t i = 0; i < n; i++)
            if (text[i].data && (best == LINES || scores[(i + 1) * classes - 1] > scores[(best + 1) * classes - 1]))
                best = i;
        printf("%.4f  %s\n", (double)scores[(best + 1) * classes - 1], line[best]);
        text[best].data = NULL;
    }
    free(scores);
    aoe_embedder_destroy(embedder);
    return failed;
}
