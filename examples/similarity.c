/* SPDX-License-Identifier: MIT
 * Prints the cosine of the embeddings of two texts.
 *
 *     build/examples/similarity 'A plane is taking off.' 'An aircraft departs.'
 *
 * The model is $AOE_MODEL, or the default model.
 */
#include <aoe.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    aoe_context *ctx = NULL;
    aoe_model *model = NULL;
    aoe_embedder *embedder = NULL;
    aoe_error err = {0};
    float *v = NULL;
    if (argc != 3)
        return fprintf(stderr, "usage: similarity TEXT1 TEXT2\n"), 2;
    const aoe_text texts[2] = {aoe_text_of(argv[1]), aoe_text_of(argv[2])};
    int failed = aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&model, ctx, NULL, NULL, &err) ||
                 aoe_embedder_create(&embedder, model, NULL, &err);
    const size_t dims = aoe_model_dims(model);
    failed = failed || !(v = malloc(2 * dims * sizeof *v)) || aoe_embed(embedder, texts, 2, v, NULL, &err);
    if (failed)
        fprintf(stderr, "similarity: %s\n", err.code ? err.message : "out of memory");
    else
        printf("%.4f\n", aoe_cosine(v, v + dims, dims));
    free(v);
    /* objects are destroyed in the reverse order of their creation; each function accepts NULL */
    aoe_embedder_destroy(embedder);
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    return failed;
}
