/* SPDX-License-Identifier: MIT
 * Writes embeddings. The header of a .npy file contains the number of rows, which is known only at the end: if the
 * output is a regular file, the header is then rewritten; otherwise the rows are first written to a temporary file.
 */
#include "cli/text/vector_output.h"

#include <stdlib.h>

#include "vectors/npy.h"
#include "cli/common/float_text.h"
#include "cli/common/output.h"

/* Returns 1 if the values of a quantized embedding are int8, and 0 if they are uint8. */
static int is_signed(aoe_precision p) {
    return p == AOE_PRECISION_INT8 || p == AOE_PRECISION_BINARY;
}

/* Writes the header of a .npy file. Returns 0, or -1 on failure. */
static int write_header(const cli_vector_output *o, FILE *f) {
    char header[AOEI_NPY_HEADER];
    const int floats = o->precision == AOE_PRECISION_FLOAT32;
    aoei_npy_header(header,
                    floats                    ? "<f4"
                    : is_signed(o->precision) ? "|i1"
                                              : "|u1",
                    o->rows, floats ? o->dims : o->row_bytes);
    return fwrite(header, 1, sizeof header, f) == sizeof header ? 0 : -1;
}

int cli_vector_output_begin(cli_vector_output *o, cli_file *out) {
    o->out = out;
    o->to = out->file;
    o->row_bytes = aoe_precision_bytes(o->precision, o->dims);
    o->row = cli_realloc(NULL, o->row_bytes);
    o->line = cli_realloc(NULL, o->dims * (CLI_FLOAT_MAX + 1));
    if (o->format != CLI_VECTORS_NPY)
        return 0;
    if (out->writer.temp_path)
        return write_header(o, o->to) ? cli_file_check(out) : 0;
    o->spool = tmpfile();
    if (!o->spool)
        return cli_fail("cannot create a temporary file; free space in /tmp or use -o FILE");
    o->to = o->spool;
    return 0;
}

/* Formats value k of an embedding. v: the embedding; o->row contains it in its precision. */
static size_t format_value(const cli_vector_output *o, char *to, const float *v, size_t k) {
    if (o->precision == AOE_PRECISION_FLOAT32)
        return cli_format_float(to, v[k]);
    const int value = o->row[k];
    return (size_t)snprintf(to, CLI_FLOAT_MAX + 1, "%d", is_signed(o->precision) && value > 127 ? value - 256 : value);
}

/* Writes the values of an embedding as decimal numbers, separated by `separator`. */
static void write_text(cli_vector_output *o, const float *v, char separator) {
    const size_t n = o->precision == AOE_PRECISION_FLOAT32 ? o->dims : o->row_bytes;
    char *to = o->line;
    for (size_t k = 0; k < n; k++) {
        to += format_value(o, to, v, k);
        *to++ = separator;
    }
    fwrite(o->line, 1, (size_t)(to - 1 - o->line), o->to);
}

/* Writes a text as a JSON string. Returns 0, or -1 if out of memory. */
static int write_string(cli_vector_output *o, aoe_text text) {
    json_t *value = cli_json_text(text.data, text.len);
    const int failed = !value || cli_put_json(o->to, value);
    json_decref(value);
    return failed ? -1 : 0;
}

/* Writes the JSON object of a text. v: embedding of the text. */
static int write_jsonl(cli_vector_output *o, const char *file, aoe_text text, const float *v,
                       const aoe_text_info *info) {
    int failed = 0;
    putc('{', o->to);
    if (o->has_files) {
        fputs("\"file\":", o->to);
        failed = write_string(o, aoe_text_of(file));
        putc(',', o->to);
    }
    fputs("\"text\":", o->to);
    if (write_string(o, text) || failed)
        return cli_fail("out of memory while printing JSON");
    fputs(",\"embedding\":[", o->to);
    write_text(o, v, ',');
    fprintf(o->to, "],\"tokens\":%u,\"truncated\":%s", (unsigned)info->tokens, info->truncated ? "true" : "false");
    if (o->has_chunks)
        fprintf(o->to, ",\"chunks\":%u", (unsigned)info->chunks);
    fputs("}\n", o->to);
    return 0;
}

/* Writes the embedding of a text. file: name of the file of the text. */
static int write_vector(cli_vector_output *o, const char *file, aoe_text text, const float *v,
                        const aoe_text_info *info) {
    aoe_error err;
    const int floats = o->precision == AOE_PRECISION_FLOAT32;
    if (!floats && aoe_quantize(o->precision, v, 1, o->dims, o->ranges, o->row, &err))
        return cli_fail("%s", err.message);
    if (o->format == CLI_VECTORS_JSONL)
        return write_jsonl(o, file, text, v, info);
    if (o->format == CLI_VECTORS_TSV) {
        write_text(o, v, '\t');
        putc('\n', o->to);
    } else if (floats) {
        aoei_npy_write(o->to, v, o->dims);
    } else {
        fwrite(o->row, 1, o->row_bytes, o->to);
    }
    return 0;
}

int cli_vector_output_write(cli_vector_output *o, const cli_batch *batch, const float *vectors,
                            const aoe_text_info *info) {
    for (size_t i = 0; i < batch->n; i++)
        if (write_vector(o, batch->name[i], batch->text[i], vectors + i * o->dims, &info[i]))
            return 1;
    o->rows += batch->n;
    if (o->to == o->spool && (fflush(o->spool) || ferror(o->spool)))
        return cli_fail("cannot write a temporary file; free space in /tmp or use -o FILE");
    return o->to == o->spool ? 0 : cli_file_check(o->out);
}

int cli_vector_output_append(cli_vector_output *o, const char *path) {
    const size_t skip = o->format == CLI_VECTORS_NPY ? AOEI_NPY_HEADER : 0;
    const size_t row = o->precision == AOE_PRECISION_FLOAT32 ? o->dims * sizeof(float) : o->row_bytes;
    aoei_map m;
    aoe_error err;
    if (aoei_map_regular(&m, path, &err))
        return cli_fail("%s", err.message);
    const int valid = m.size >= skip && (!skip || (m.size - skip) % row == 0);
    if (valid) {
        if (m.size > skip)
            fwrite(m.data + skip, 1, m.size - skip, o->to);
        o->rows += skip ? (m.size - skip) / row : 0;
    }
    aoei_map_close(&m);
    return valid ? cli_file_check(o->out)
                 : cli_fail("%s: the file does not contain embeddings in the format of its marker; delete both, and "
                            "compute the part again",
                            path);
}

int cli_vector_output_finish(cli_vector_output *o) {
    char block[1 << 16];
    size_t n;
    if (o->format != CLI_VECTORS_NPY)
        return 0;
    if (!o->spool) {
        if (cli_file_check(o->out) || fseek(o->to, 0, SEEK_SET) || write_header(o, o->to))
            return cli_file_check(o->out);
        return 0;
    }
    if (o->rows == 0)
        return 0; /* if the input contains no texts, nothing is written to a pipe */
    write_header(o, o->out->file);
    rewind(o->spool);
    while ((n = fread(block, 1, sizeof block, o->spool)) > 0 && fwrite(block, 1, n, o->out->file) == n)
        continue;
    if (ferror(o->spool))
        return cli_fail("cannot read the temporary file; use -o FILE");
    return cli_file_check(o->out);
}

void cli_vector_output_destroy(cli_vector_output *o) {
    if (o->spool)
        fclose(o->spool);
    free(o->row);
    free(o->line);
    *o = (cli_vector_output){0};
}
