/* SPDX-License-Identifier: MIT
 * Reads texts from standard input, one per line, and prints one vector per line.
 *
 *     echo 'A plane is taking off.' | build/examples/embed      (model: $AOE_MODEL, or the default model)
 */
#include <aoe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    aoe_embedder *embedder = NULL;
    aoe_error err = {0};
    char *line = NULL;
    size_t size = 0;
    int failed = aoe_embedder_open(&embedder, NULL, &err);
    const size_t dims = aoe_embedder_dims(embedder);
    float *vector = failed ? NULL : malloc(dims * sizeof *vector);
    failed = !vector;
    /* One text per call keeps the example short; a call with many texts is faster. */
    while (!failed && getline(&line, &size, stdin) >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        const aoe_text text = aoe_text_of(line);
        failed = aoe_embed(embedder, &text, 1, vector, NULL, &err);
        for (size_t d = 0; d < dims && !failed; d++)
            printf("%.6g%c", (double)vector[d], d + 1 < dims ? ' ' : '\n');
    }
    if (failed)
        fprintf(stderr, "embed: %s\n", err.code ? err.message : "out of memory");
    free(line);
    free(vector);
    aoe_embedder_destroy(embedder);
    return failed;
}
