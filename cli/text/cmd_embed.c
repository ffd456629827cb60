/* SPDX-License-Identifier: MIT
 * Implements `aoe embed`: reads texts from lines or tables, computes one embedding per text, and writes the embeddings in the
 * order of the input. Texts are processed in batches, so memory use does not depend on the size of the input.
 */
#include "aoe_data.h"
#include "base/path.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/float_text.h"
#include "cli/common/text_input.h"

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
    cli_lines lines;
    cli_batch batch;
    cli_progress progress;
    const char *table_path; /* path of the table that is being read, borrowed; NULL: lines are read */
    size_t row;             /* number of texts that were read from the current table */
    int reported;           /* 1: embedding or writing failed while a table was read, and the error was reported */
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
static int write_jsonl(job *j, size_t i, const float *v) {
    json_t *text = cli_json_text(j->batch.text[i].data, j->batch.text[i].len);
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
static int write_batch(job *j) {
    for (size_t i = 0; i < j->batch.n; i++) {
        float *v = j->vectors + i * j->model_dims;
        if (j->normalize && j->dims < j->model_dims)
            normalize(v, j->dims);
        if (j->format == FORMAT_JSONL) {
            if (write_jsonl(j, i, v))
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

/* Reports an error of aoe_embed. If a text caused the error, the message contains the file and the line of the text. */
static int report_failure(const job *j, const aoe_error *err) {
    size_t i = aoe_embed_failed_text(j->session.embedder);
    if (i >= j->batch.n)
        return cli_fail("%s", err->message);
    if (j->table_path)
        return cli_fail("%s: text %zu: %s", j->batch.name[i], j->batch.number[i], err->message);
    return cli_fail("%s:%zu: %s", j->batch.name[i], j->batch.number[i], err->message);
}

/* Embeds the texts of the current batch and writes the embeddings. */
static int embed_batch(job *j) {
    aoe_error err;
    if (aoe_embed(j->session.embedder, j->batch.text, j->batch.n, j->vectors, j->info, &err))
        return report_failure(j, &err);
    const int code = write_batch(j);
    j->texts += j->batch.n;
    j->empty += j->batch.empty;
    cli_progress_update(&j->progress, j->texts, 0, NULL, -1, NULL);
    return code;
}

/* Embeds the lines of n files. */
static int embed_lines(job *j, const char *const *path, size_t n) {
    int more = 0, code = cli_lines_open(&j->lines, path, n);
    while (!code && (more = cli_batch_read(&j->batch, &j->lines)) > 0)
        code = embed_batch(j);
    cli_lines_close(&j->lines);
    return code || more < 0;
}

/* Callback of aoe_texts_read. Adds a text of a table to the batch, and embeds the batch if it is full. */
static int take_text(void *user, aoe_text text, aoe_error *err) {
    job *j = user;
    cli_batch_add(&j->batch, text, j->table_path, ++j->row);
    if (!cli_batch_is_full(&j->batch))
        return 0;
    cli_batch_finish(&j->batch);
    j->reported = embed_batch(j);
    cli_batch_clear(&j->batch);
    if (j->reported)
        *err = (aoe_error){.code = AOE_ECANCELLED};
    return j->reported ? AOE_ECANCELLED : 0;
}

/* Embeds the texts of a table. */
static int embed_table(job *j, const char *path, const aoe_table_options *t) {
    aoe_error err;
    j->table_path = path;
    j->row = 0;
    cli_batch_clear(&j->batch);
    const int code = aoe_texts_read(path, t, take_text, j, &err);
    if (code)
        return j->reported ? 1 : cli_fail("%s", err.message);
    cli_batch_finish(&j->batch);
    j->reported = j->batch.n ? embed_batch(j) : 0;
    j->table_path = NULL;
    return j->reported;
}

/* Returns 1 if aoe_texts_read must read the file: the options or the file extension say that it is a table or is compressed.
 * Also returns 1 if --columns was given, because aoe_texts_read reports an error if the file has no columns. */
static int is_table(const char *path, const aoe_table_options *t) {
    static const char *const extensions[] = {".tsv", ".csv", ".jsonl", ".gz", ".zst"};
    if (t->input_format != AOE_TABLE_AUTO)
        return t->input_format != AOE_TABLE_TXT || t->delimiter || t->columns;
    if (t->delimiter || t->columns)
        return 1;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (aoei_name_ends_with(path, extensions[i]))
            return 1;
    return 0;
}

/* Embeds the texts of all files. If no file is a table, the files are read as one sequence of lines. */
static int embed_all(job *j, const cli_args *args, const aoe_table_options *t) {
    static const char *const standard_input[] = {"-"};
    const char *const *path = args->n ? args->operand : standard_input;
    const size_t n = args->n ? args->n : 1;
    size_t tables = 0;
    aoe_table_options one = *t; /* if `columns` were NULL, aoe_texts_read would read all text columns and mix their texts */
    one.columns = t->columns ? t->columns : "";
    int code = 0;
    for (size_t i = 0; i < n; i++)
        tables += (size_t)is_table(path[i], t);
    cli_progress_begin(&j->progress, "embedding", "texts", 0);
    if (!tables)
        code = embed_lines(j, path, n);
    for (size_t i = 0; tables && i < n && !code; i++)
        code = is_table(path[i], t) ? embed_table(j, path[i], &one) : embed_lines(j, &path[i], 1);
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
    cli_batch_create(&j->batch, BATCH, BATCH_BYTES);
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
        CLI_GROUP("general", cli_general_table, &o.general),
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
        cli_batch_destroy(&j.batch);
        cli_lines_close(&j.lines);
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
