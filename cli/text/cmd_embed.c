/* SPDX-License-Identifier: MIT
 * Implements `aoe embed`: reads texts from lines or tables, computes one embedding per text, and writes the embeddings in the
 * order of the input. Texts are processed in batches, so memory use does not depend on the size of the input.
 */
#include "base/path.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/float_text.h"
#include "cli/common/text_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Texts are read, embedded and written in batches of at most BATCH texts and about BATCH_BYTES bytes. Large batches are faster,
 * because the model processes texts of similar length together, and a large batch contains more texts of each length. */
enum { BATCH = 4096, BATCH_BYTES = 4 << 20 };
enum { NPY_HEADER = 128 }; /* size in bytes of the header of a .npy file; it does not depend on the number of rows */

typedef enum format { FORMAT_JSONL, FORMAT_NPY, FORMAT_TSV, FORMAT_BY_NAME } format;

typedef struct options {
    cli_general general;
    cli_model_options model;
    format format;
    size_t dims;        /* number of components of an embedding that are written; 0: all */
    const char *output; /* path of the output file; NULL: stdout */
    aoe_table_options table;
} options;

typedef struct job {
    cli_session session;
    cli_text_files input;
    cli_progress progress;
    cli_file out;
    /* temporary file for the embeddings, owned; used if the output is a .npy file whose header cannot be rewritten, otherwise
     * NULL */
    FILE *spool;
    FILE *to;            /* stream to which embeddings are written: out.file or spool */
    float *vectors;      /* [BATCH, model dims] embeddings, owned */
    aoe_text_info *info; /* [BATCH] information about each text, such as its number of tokens; owned */
    char *line;          /* [dims * (CLI_FLOAT_MAX + 1)] workspace: an embedding as text, owned */
    size_t model_dims, dims;
    int normalize;
    format format;
    int has_chunks; /* 1: the output contains the number of chunks of each text (--chunk mean) */
    /* texts: number of all texts; empty, truncated: number of empty and of truncated texts; chunked: number of texts that were
     * split into chunks */
    size_t texts, empty, truncated, chunked;
    size_t zero; /* number of texts without tokens */
} job;

static const cli_option table[] = {
    {.name = "format",
     .letter = 'f',
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = offsetof(options, format),
     .choices = CLI_CHOICES("jsonl", "npy", "tsv"),
     .noun = "format",
     .help = "output format: jsonl, npy or tsv. jsonl: one object per text, with the embedding, the "
             "number of tokens, whether the text was truncated and, with --chunk mean, the number of "
             "chunks. npy: float32 array of shape [texts, dims]. tsv: one row per text, one column per"
             " component",
     .fallback = "from the extension of --output, otherwise jsonl"},
    {.name = "dims",
     .kind = CLI_SIZE,
     .value = "N",
     .offset = offsetof(options, dims),
     .min = 1,
     .help = "keep only the first N components; normalized embeddings are normalized again",
     .fallback = "all"},
    CLI_OPTION_OUTPUT_FILE(.offset = offsetof(options, output), ""),
};

static const cli_option column_table[] = {
    CLI_OPTION_COLUMNS(.offset = offsetof(options, table.columns), "text=NAME",
                       "name of the text column of tables; with several names, for example a,b, one embedding "
                       "per column is computed for each row",
                       "text or sentence"),
};

/* Writes the header of a .npy file with an array [texts, dims]. Returns 0, or -1 on failure. */
static int write_npy_header(FILE *f, size_t texts, size_t dims) {
    char header[NPY_HEADER + 1];
    int n = snprintf(header + 10, sizeof header - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", texts,
                     dims);
    memset(header + 10 + n, ' ', (size_t)(NPY_HEADER - 11 - n));
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(NPY_HEADER - 10);
    header[9] = 0;
    header[NPY_HEADER - 1] = '\n';
    return fwrite(header, 1, NPY_HEADER, f) == NPY_HEADER ? 0 : -1;
}

/* Writes floats in little-endian byte order, as the header of the .npy file says. */
static void write_floats(FILE *f, const float *v, size_t n) {
    const uint32_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (first) {
        fwrite(v, sizeof *v, n, f);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        for (int shift = 0; shift < 32; shift += 8)
            putc((int)(bits >> shift & 0xFF), f);
    }
}

/* Writes the components of an embedding as decimal numbers, separated by `separator`. */
static void write_text(job *j, const float *v, char separator) {
    char *to = j->line;
    for (size_t k = 0; k < j->dims; k++) {
        to += cli_format_float(to, v[k]);
        *to++ = separator;
    }
    fwrite(j->line, 1, (size_t)(to - 1 - j->line), j->to);
}

/* Writes the JSON object of text i of the batch. v: embedding of the text. */
static int write_jsonl(job *j, const cli_batch *batch, size_t i, const float *v) {
    json_t *text = cli_json_text(batch->text[i].data, batch->text[i].len);
    fputs("{\"text\":", j->to);
    int failed = !text || cli_put_json(j->to, text);
    json_decref(text);
    if (failed)
        return cli_fail("out of memory while printing JSON");
    fputs(",\"embedding\":[", j->to);
    write_text(j, v, ',');
    fprintf(j->to, "],\"tokens\":%u,\"truncated\":%s", (unsigned)j->info[i].tokens, j->info[i].truncated ? "true" : "false");
    if (j->has_chunks)
        fprintf(j->to, ",\"chunks\":%u", (unsigned)j->info[i].chunks);
    fputs("}\n", j->to);
    return 0;
}

/* Scales v[n] to unit length. A zero vector is not changed. */
static void normalize(float *v, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)v[k] * (double)v[k];
    if (sum <= 0)
        return;
    double scale = 1 / sqrt(sum);
    for (size_t k = 0; k < n; k++)
        v[k] = (float)((double)v[k] * scale);
}

/* Writes the embeddings of the batch. Counts the texts that were truncated, that were split into chunks, and that have no
 * tokens. */
static int write_batch(job *j, const cli_batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        float *v = j->vectors + i * j->model_dims;
        if (j->normalize && j->dims < j->model_dims)
            normalize(v, j->dims);
        if (j->format == FORMAT_JSONL) {
            if (write_jsonl(j, batch, i, v))
                return 1;
        } else if (j->format == FORMAT_NPY) {
            write_floats(j->to, v, j->dims);
        } else {
            write_text(j, v, '\t');
            putc('\n', j->to);
        }
        j->truncated += j->info[i].truncated;
        j->chunked += j->info[i].chunks > 1;
        j->zero += j->info[i].tokens == 0;
    }
    if (j->to == j->spool && (fflush(j->spool) || ferror(j->spool)))
        return cli_fail("cannot write a temporary file; free space in /tmp or use -o FILE");
    return j->to == j->spool ? 0 : cli_file_check(&j->out);
}

/* Receives a batch of texts: embeds the texts and writes the embeddings. */
static int embed_batch(void *user, const cli_batch *batch) {
    job *j = user;
    aoe_error err;
    if (aoe_embed(j->session.embedder, batch->text, batch->n, j->vectors, j->info, &err))
        return cli_text_files_fail(&j->input, aoe_embed_failed_text(j->session.embedder), &err);
    const int code = write_batch(j, batch);
    j->texts += batch->n;
    j->empty += batch->empty;
    cli_progress_update(&j->progress, j->texts, 0, NULL, -1, NULL);
    return code;
}

/* Embeds the texts of all files. */
static int embed_all(job *j, const cli_args *args, const aoe_table_options *t) {
    j->input.use = embed_batch;
    j->input.user = j;
    cli_progress_begin(&j->progress, "embedding", "texts", 0);
    const int code = cli_text_files_read(&j->input, args, t);
    cli_progress_end(&j->progress);
    return code;
}

/* Opens the output. For the .npy format, also opens the temporary file or writes a provisional header. */
static int begin_output(job *j, const char *path) {
    if (cli_file_open(&j->out, path))
        return 1;
    j->to = j->out.file;
    if (j->format != FORMAT_NPY)
        return 0;
    /* The header contains the number of rows, which is known only at the end. If the output is a regular file, the header is
     * then rewritten. Otherwise the rows are first written to a temporary file. */
    if (!j->out.writer.temp_path) {
        j->spool = tmpfile();
        if (!j->spool)
            return cli_fail("cannot create a temporary file; free space in /tmp or use -o FILE");
        j->to = j->spool;
        return 0;
    }
    return write_npy_header(j->to, 0, j->dims) ? cli_file_check(&j->out) : 0;
}

/* Completes a .npy file: writes the header with the final number of texts and, if there is a temporary file, copies the
 * rows. */
static int finish_npy(job *j) {
    char block[1 << 16];
    size_t n;
    if (!j->spool) {
        if (cli_file_check(&j->out) || fseek(j->to, 0, SEEK_SET) || write_npy_header(j->to, j->texts, j->dims))
            return cli_file_check(&j->out);
        return 0;
    }
    if (j->texts == 0)
        return 0; /* if the input contains no texts, nothing is written to a pipe */
    write_npy_header(j->out.file, j->texts, j->dims);
    rewind(j->spool);
    while ((n = fread(block, 1, sizeof block, j->spool)) > 0 && fwrite(block, 1, n, j->out.file) == n)
        continue;
    if (ferror(j->spool))
        return cli_fail("cannot read the temporary file; use -o FILE");
    return cli_file_check(&j->out);
}

/* Prints warnings about missing, empty, truncated and split texts. */
static void report_counts(const job *j) {
    if (j->texts == 0)
        cli_warn("the input contains no texts; the output contains no embeddings");
    if (j->zero) /* only a static model can embed texts without tokens; empty texts are among them */
        cli_warn("%zu of %zu text%s %s no known tokens; the embedding is zero", j->zero, j->texts, cli_plural(j->texts),
                 j->zero == 1 ? "has" : "have");
    else if (j->empty)
        cli_warn("%zu of %zu text%s %s empty; only special tokens are embedded", j->empty, j->texts, cli_plural(j->texts),
                 j->empty == 1 ? "is" : "are");
    cli_warn_truncated(j->truncated, j->texts, 1);
    if (j->chunked)
        cli_note("%zu of %zu text%s %s longer than the maximum sequence length; the embedding is the mean over all chunks",
                 j->chunked, j->texts, cli_plural(j->texts), j->chunked == 1 ? "is" : "are");
}

/* Returns the output format. Without --format, the file extension of the output determines it. */
static format format_of(const options *o) {
    if (o->format != FORMAT_BY_NAME)
        return o->format;
    if (o->output && !o->general.json && aoei_name_ends_with(o->output, ".npy"))
        return FORMAT_NPY;
    return o->output && !o->general.json && aoei_name_ends_with(o->output, ".tsv") ? FORMAT_TSV : FORMAT_JSONL;
}

/* Returns 1 if the file extension of the output must determine the format but is unknown. */
static int has_unknown_extension(const options *o) {
    if (!o->output || o->format != FORMAT_BY_NAME || o->general.json)
        return 0;
    const char *name = aoei_path_name(o->output), *dot = strrchr(name, '.');
    return dot && dot > name && strcmp(dot, ".jsonl") != 0 && strcmp(dot, ".npy") != 0 && strcmp(dot, ".tsv") != 0;
}

static int run_job(job *j, const options *o, const cli_args *args) {
    aoe_model_info info;
    if (cli_reject_input(o->output, args->operand, args->n) || cli_session_open(&j->session, &o->general, &o->model))
        return 1;
    cli_session_describe(&j->session);
    aoe_model_get_info(j->session.model, &info);
    j->model_dims = info.dims;
    j->dims = o->dims ? o->dims : info.dims;
    j->normalize = info.normalize;
    j->has_chunks = o->model.chunk == AOE_CHUNK_MEAN;
    j->format = format_of(o);
    if (j->dims > info.dims)
        return cli_fail("--dims must be at most %zu, the embedding size of %s, not %zu", info.dims, j->session.dir, o->dims);
    if (begin_output(j, o->output))
        return 1;
    cli_batch_create(&j->input.batch, BATCH, BATCH_BYTES);
    j->vectors = cli_realloc(NULL, BATCH * j->model_dims * sizeof *j->vectors);
    j->info = cli_realloc(NULL, BATCH * sizeof *j->info);
    j->line = cli_realloc(NULL, j->dims * (CLI_FLOAT_MAX + 1));
    if (embed_all(j, args, &o->table) || (j->format == FORMAT_NPY && finish_npy(j)) || cli_file_commit(&j->out))
        return 1;
    report_counts(j);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.format = FORMAT_BY_NAME};
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("output", table, &o),
        CLI_GROUP("input", column_table, &o),
        CLI_GROUP("input files", cli_input_table, &o.table),
        CLI_GROUP("model", cli_model_table, &o.model),
        CLI_GROUP("long texts", cli_chunk_table, &o.model),
        {"general", cli_general_table, CLI_GENERAL_COUNT, &o.general},
    };
    const cli_syntax syntax = {
        .command = "embed",
        .operands = "[FILE...]",
        .about = "Computes one embedding per text and writes the embeddings in the order of the texts. A FILE is a\n"
                 "table (.tsv, .csv or .jsonl) or contains one text per line, and may be compressed (.gz or .zst).\n"
                 "Without FILE, or if FILE is -, texts are read from stdin.\n",
        .examples = "  echo 'A plane is taking off.' | aoe embed -m model\n"
                    "  aoe embed -m model --format npy -o vectors.npy sentences.txt\n"
                    "  aoe embed -m model pairs.csv --columns text=question -o vectors.npy\n"
                    "  curl -s URL | aoe embed --input-format jsonl -o vectors.npy\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && o.general.json && format_of(&o) != FORMAT_JSONL)
        code = cli_usage("embed", "--json selects --format jsonl and excludes other formats; give only one of the options");
    if (code == CLI_GO && has_unknown_extension(&o))
        code = cli_usage("embed", "%s: unknown extension; use .jsonl, .npy or .tsv, or give --format", o.output);
    if (code == CLI_GO) {
        job j = {0};
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, &o, &args);
        cli_file_abort(&j.out);
        cli_batch_destroy(&j.input.batch);
        cli_session_close(&j.session);
        if (j.spool)
            fclose(j.spool);
        free(j.vectors);
        free(j.info);
        free(j.line);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_embed_command = {
    .name = "embed",
    .summary = "compute embeddings of texts",
    .run = run_command,
};
