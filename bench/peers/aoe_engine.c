/* SPDX-License-Identifier: MIT
 * Embeds texts with the library of aoe. run.py runs this program and engine.py, which does the same with other
 * libraries, and alternates between them. The model is opened once. Each line on stdin is a command.
 *
 *     aoe_engine TYPE MODEL THREADS      TYPE: f32, bf16 or int8
 *     embed FILE [OUTPUT]    embeds the lines of FILE; prints the time in milliseconds; writes the vectors to OUTPUT as
 *                            float32
 *     single FILE COUNT      embeds the first line of FILE COUNT times, alone; prints COUNT times in milliseconds
 *
 * The answer to a command is one line; it is "- REASON" if the command fails. The first line of the output is
 * "ready aoe VERSION (TIER)", where TIER is the CPU tier, or "- REASON".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe.h"
#include "base/clock.h"

/* names of the values of aoe_dtype after AOE_DTYPE_AUTO, in the order of the values */
static const char *const types[] = {"f32", "bf16", "int8"};
enum { N_TYPES = sizeof types / sizeof *types, PATH_SIZE = 1024 };

/* The lines of a file. */
typedef struct lines {
    char path[PATH_SIZE];
    char *bytes;    /* contents of the file, owned */
    aoe_text *text; /* [n] texts in `bytes`, owned */
    size_t n;
} lines;

typedef struct state {
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
    lines file;     /* the file of the last command, which is read only once */
    float *vectors; /* [file.n, D] embeddings, owned */
} state;

static void lines_free(lines *l) {
    free(l->bytes);
    free(l->text);
    *l = (lines){0};
}

/* Returns the contents of a file, and their size in *size. Returns NULL if the file cannot be read. */
static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    const long end = fseek(f, 0, SEEK_END) ? -1 : ftell(f);
    char *bytes = end > 0 ? malloc((size_t)end) : NULL;
    *size = bytes && !fseek(f, 0, SEEK_SET) ? fread(bytes, 1, (size_t)end, f) : 0;
    fclose(f);
    return bytes;
}

/* Reads the lines of a file. Returns 0, or 1 if the file cannot be read, is empty, or memory is exhausted. */
static int lines_read(lines *l, const char *path) {
    size_t size = 0, n = 0;
    lines_free(l);
    snprintf(l->path, sizeof l->path, "%s", path);
    l->bytes = read_file(path, &size);
    for (size_t i = 0; i < size; i++)
        n += l->bytes[i] == '\n';
    l->text = n ? malloc(n * sizeof *l->text) : NULL;
    for (size_t begin = 0, i = 0; l->text && i < size; i++)
        if (l->bytes[i] == '\n') {
            l->text[l->n++] = (aoe_text){l->bytes + begin, i - begin};
            begin = i + 1;
        }
    return !l->text;
}

/* Reads the file and allocates its vectors, unless the previous command used the same file. */
static int use_file(state *s, const char *path) {
    if (strcmp(s->file.path, path) == 0)
        return 0;
    free(s->vectors);
    s->vectors = NULL;
    if (lines_read(&s->file, path)) {
        printf("- %s: cannot be read\n", path);
        lines_free(&s->file);
        return 1;
    }
    s->vectors = calloc(s->file.n, aoe_embedder_dims(s->embedder) * sizeof *s->vectors);
    if (s->vectors)
        return 0;
    printf("- out of memory\n");
    lines_free(&s->file);
    return 1;
}

/* Writes the vectors to a file. Returns 0, or 1 if the file cannot be written. */
static int write_vectors(const state *s, const char *path) {
    const size_t n = s->file.n * aoe_embedder_dims(s->embedder);
    FILE *f = fopen(path, "wb");
    const int failed = !f || fwrite(s->vectors, sizeof *s->vectors, n, f) != n;
    return (f && fclose(f)) || failed;
}

static void embed(state *s, const char *path, const char *output) {
    aoe_error err;
    if (use_file(s, path))
        return;
    const double start = aoei_now();
    const int code = aoe_embed(s->embedder, s->file.text, s->file.n, s->vectors, NULL, &err);
    const double ms = 1e3 * (aoei_now() - start);
    if (code)
        printf("- %s\n", err.message);
    else if (output && write_vectors(s, output))
        printf("- %s: cannot be written: %s\n", output, strerror(errno));
    else
        printf("%.4f\n", ms);
}

static void single(state *s, const char *path, unsigned long count) {
    aoe_error err;
    int code = 0;
    if (use_file(s, path))
        return;
    for (unsigned long i = 0; i < count && !code; i++) {
        const double start = aoei_now();
        code = aoe_embed(s->embedder, s->file.text, 1, s->vectors, NULL, &err);
        if (!code)
            printf("%s%.4f", i ? " " : "", 1e3 * (aoei_now() - start));
    }
    if (code)
        printf("- %s", err.message);
    printf("\n");
}

/* Executes the command of a line. The words of a command contain no spaces. */
static void answer(state *s, char *line) {
    const char *word[3] = {NULL};
    for (int i = 0; i < 3; i++)
        word[i] = strtok(i ? NULL : line, " \n");
    if (word[0] && word[1] && strcmp(word[0], "embed") == 0)
        embed(s, word[1], word[2]);
    else if (word[0] && word[1] && word[2] && strcmp(word[0], "single") == 0)
        single(s, word[1], strtoul(word[2], NULL, 10));
    else
        printf("- unknown command\n");
}

static int open_model(state *s, const char *type, const char *dir, size_t threads, aoe_error *err) {
    aoe_context_options c;
    aoe_model_options m;
    aoe_context_options_defaults(&c);
    aoe_model_options_defaults(&m);
    c.threads = threads;
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(type, types[i]) == 0)
            m.dtype = (aoe_dtype)(AOE_DTYPE_AUTO + 1 + i);
    int code = aoe_context_create(&s->ctx, &c, err);
    if (!code)
        code = aoe_model_open(&s->model, s->ctx, dir, &m, err);
    return code ? code : aoe_embedder_create(&s->embedder, s->model, NULL, err);
}

int main(int argc, char **argv) {
    state s = {0};
    aoe_error err;
    char line[3 * PATH_SIZE];
    if (argc != 4) {
        fprintf(stderr, "usage: aoe_engine TYPE MODEL THREADS\n");
        return 2;
    }
    const int failed = open_model(&s, argv[1], argv[2], strtoul(argv[3], NULL, 10), &err) != 0;
    if (failed)
        printf("- %s\n", err.message);
    else
        printf("ready aoe %s (%s)\n", aoe_version(), aoe_context_tier(s.ctx));
    fflush(stdout);
    while (!failed && fgets(line, sizeof line, stdin)) {
        answer(&s, line);
        fflush(stdout);
    }
    lines_free(&s.file);
    free(s.vectors);
    aoe_embedder_destroy(s.embedder);
    aoe_model_close(s.model);
    aoe_context_destroy(s.ctx);
    return failed;
}
