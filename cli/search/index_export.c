/* SPDX-License-Identifier: MIT
 * Exports an index. The numbers of passages and components, which the headers contain, are known before the first
 * passage; if the number of passages is different at the end, the export fails.
 */
#include "cli/search/index_export.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/outfile.h"
#include "cli/common/output.h"
#include "cli/common/words.h"
#include "cli/search/hit_output.h"
#include "base/alloc.h"
#include "base/json.h"
#include "vectors/npy.h"

typedef struct job {
    cli_export_format format;
    size_t passages, dims; /* passages: number of passages that were written */
    cli_file file[2];      /* the vectors; npy, faiss: the passages */
} job;

/* Writes n bytes of integers in little-endian order. */
static void put_number(FILE *f, uint64_t x, size_t n) {
    for (size_t i = 0; i < n; i++)
        putc((int)(x >> (8 * i) & 0xff), f);
}

/* Writes the header of a Faiss IndexFlatIP: the name of its class "IxFI", the number of components, the number of
 * vectors, two unused numbers, a flag (1: the index is trained), the metric (0: inner product), and the number of
 * floats, which follow. */
static void write_faiss_header(FILE *f, size_t n, size_t dims) {
    fwrite("IxFI", 1, 4, f);
    put_number(f, dims, 4);
    put_number(f, n, 8);
    put_number(f, 1 << 20, 8);
    put_number(f, 1 << 20, 8);
    put_number(f, 1, 1);
    put_number(f, 0, 4);
    put_number(f, (uint64_t)n * dims, 8);
}

/* Callback of aoe_index_each. */
static int write_passage(void *user, const aoe_index_hit *hit, const float *vector, aoe_error *err) {
    job *j = user;
    json_t *passage = cli_hit_json(hit, NAN, 0);
    j->passages++;
    if (j->format == CLI_EXPORT_JSONL) {
        json_t *list = json_array();
        for (size_t k = 0; k < j->dims; k++)
            json_array_append_new(list, cli_json_real((double)vector[k]));
        json_object_set_new(passage, "vector", list);
    } else {
        aoei_npy_write(j->file[0].file, vector, j->dims);
    }
    if (cli_write_hit_json(j->file[j->format != CLI_EXPORT_JSONL].file, passage)) {
        *err = (aoe_error){.code = AOE_ENOMEM, .message = "out of memory while writing JSON"};
        return AOE_ENOMEM;
    }
    return ferror(j->file[0].file) || (j->file[1].file && ferror(j->file[1].file)) ? AOE_ECANCELLED : 0;
}

static int open_files(job *j, const char *path, const char *names, size_t passages) {
    char header[AOEI_NPY_HEADER];
    if (cli_file_open(&j->file[0], path) || (names && cli_file_open(&j->file[1], names)))
        return 1;
    if (j->format == CLI_EXPORT_FAISS)
        write_faiss_header(j->file[0].file, passages, j->dims);
    if (j->format == CLI_EXPORT_NPY) {
        aoei_npy_header(header, "<f4", passages, j->dims);
        fwrite(header, 1, sizeof header, j->file[0].file);
    }
    return 0;
}

int cli_export_index(aoe_index *index, cli_export_format format, const char *path) {
    aoe_error err;
    aoe_index_stats stats = {.struct_size = sizeof stats};
    job j = {.format = format};
    if (aoe_index_get_stats(index, &stats, &err))
        return cli_fail("%s", err.message);
    j.dims = stats.dims;
    char *names = format == CLI_EXPORT_JSONL ? NULL : cli_format("%s.jsonl", path);
    int code = open_files(&j, path, names, stats.passages);
    if (!code && aoe_index_each(index, write_passage, &j, &err) != 0)
        code = cli_file_check(&j.file[0]) || cli_file_check(&j.file[1]) || cli_fail("%s", err.message);
    if (!code && j.passages != stats.passages)
        code = cli_fail("the index has %zu passages, but %zu were read; another process has changed it, run the "
                        "command again",
                        stats.passages, j.passages);
    if (!code)
        code = cli_files_commit(j.file, 2);
    if (!code && names)
        cli_note("%s: %zu vectors; %s: their passages", path, j.passages, names);
    cli_file_abort(&j.file[0]);
    cli_file_abort(&j.file[1]);
    free(names);
    return code;
}
