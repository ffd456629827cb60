/* SPDX-License-Identifier: MIT
 * Stores texts with embeddings in a temporary file. The record of a text contains its info, the pointer to the name of
 * its file, its length, its bytes and its embedding.
 */
#include "cli/text/embedding_store.h"

#include <stdlib.h>

#include "cli/common/output.h"

int cli_embedding_store_open(cli_embedding_store *s, size_t dims, int has_texts) {
    *s = (cli_embedding_store){.file = tmpfile(), .dims = dims, .has_texts = has_texts};
    return s->file ? 0 : cli_fail("cannot create a temporary file; free space in /tmp, or use --calibrate or --ranges");
}

/* Reports that the temporary file cannot be written. */
static int fail_to_write(void) {
    return cli_fail("cannot write a temporary file; free space in /tmp, or use --calibrate or --ranges");
}

int cli_embedding_store_add(cli_embedding_store *s, const cli_batch *batch, const float *vectors,
                            const aoe_text_info *info) {
    for (size_t i = 0; i < batch->n; i++) {
        const size_t len = s->has_texts ? batch->text[i].len : 0;
        fwrite(&info[i], sizeof info[i], 1, s->file);
        fwrite(&batch->name[i], sizeof batch->name[i], 1, s->file);
        fwrite(&len, sizeof len, 1, s->file);
        fwrite(batch->text[i].data, 1, len, s->file);
        fwrite(vectors + i * s->dims, sizeof *vectors, s->dims, s->file);
    }
    s->n += batch->n;
    return fflush(s->file) || ferror(s->file) ? fail_to_write() : 0;
}

int cli_embedding_store_rewind(cli_embedding_store *s) {
    return fflush(s->file) || fseek(s->file, 0, SEEK_SET) ? fail_to_write() : 0;
}

/* Reads the next record into *info, *name, vector[dims] and s->text. Returns 0, or -1 if reading fails. */
static int read_record(cli_embedding_store *s, aoe_text *text, const char **name, float *vector, aoe_text_info *info) {
    if (fread(info, sizeof *info, 1, s->file) != 1 || fread(name, sizeof *name, 1, s->file) != 1 ||
        fread(&text->len, sizeof text->len, 1, s->file) != 1)
        return -1;
    if (text->len > s->capacity || !s->text) {
        s->capacity = text->len + 4096;
        s->text = cli_realloc(s->text, s->capacity);
    }
    text->data = s->text;
    return fread(s->text, 1, text->len, s->file) == text->len &&
                   fread(vector, sizeof *vector, s->dims, s->file) == s->dims
               ? 0
               : -1;
}

int cli_embedding_store_read(cli_embedding_store *s, cli_batch *batch, float *vectors, aoe_text_info *info) {
    aoe_text text;
    const char *name = NULL;
    cli_batch_clear(batch);
    for (; s->n && !cli_batch_is_full(batch); s->n--) {
        if (read_record(s, &text, &name, vectors + batch->n * s->dims, &info[batch->n])) {
            cli_fail("cannot read the temporary file; use --calibrate or --ranges");
            return -1;
        }
        cli_batch_add(batch, text, name, 0, 0);
    }
    cli_batch_finish(batch);
    return batch->n > 0;
}

void cli_embedding_store_close(cli_embedding_store *s) {
    if (s->file)
        fclose(s->file);
    free(s->text);
    *s = (cli_embedding_store){0};
}
