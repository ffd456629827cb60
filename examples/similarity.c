/* SPDX-License-Identifier: MIT
 * Prints the cosine of the embeddings of two texts.
 *
 *     build/examples/similarity 'A plane is taking off.' 'An aircraft departs.'
 *
 * The model is $AOE_MODEL, or the default model.
 */
#include <aoe.h>
#include <stdio.h>

int main(int argc, char **argv) {
    aoe_embedder *embedder;
    aoe_error err;
    double cosine;
    if (argc != 3)
        return fprintf(stderr, "usage: similarity TEXT1 TEXT2\n"), 2;
    const int code = aoe_embedder_open(&embedder, NULL, &err) ||
                     aoe_similarity(embedder, aoe_text_of(argv[1]), aoe_text_of(argv[2]), &cosine, &err);
    if (code)
        fprintf(stderr, "similarity: %s\n", err.message);
    else
        printf("%.4f\n", cosine);
    aoe_embedder_destroy(embedder);
    return code;
}
