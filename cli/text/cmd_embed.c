/* SPDX-License-Identifier: MIT
 * Implements `aoe embed`: reads texts from lines or tables, computes one embedding per text, and writes the embeddings
 * in the order of the input. Texts are processed in batches, so memory use does not depend on the size of the input.
 *
 * The precisions int8 and uint8 need the range of each component before the first embedding is written. The ranges are
 * read from a file, computed from the texts or embeddings of a file (calibration), or computed from all texts of the
 * command, whose embeddings are then stored in a temporary file until the last text was read.
 */
#include "base/path.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/part.h"
#include "cli/common/text_files.h"
#include "cli/text/embed_part.h"
#include "cli/text/embedding_store.h"
#include "cli/text/ranges.h"
#include "cli/text/vector_output.h"

#include <stdlib.h>
#include <string.h>

/* Texts are read, embedded and written in batches of at most BATCH texts and about BATCH_BYTES bytes. Large batches are
 * faster, because the model processes texts of similar length together, and a large batch contains more texts of each
 * length. */
enum { BATCH = 4096, BATCH_BYTES = 4 << 20 };
enum {
    ENOUGH = 100
}; /* number of embeddings from which ranges are computed without a warning, as in sentence-transformers */

typedef struct options {
    cli_general general;
    cli_model_options model;
    cli_vector_format format;
    const char *output; /* path of the output file; NULL: stdout */
    aoei_part part;     /* part of the texts; part.n 0: all texts */
    int join;           /* 1: the parts of the output are joined */
    int flush;          /* 1: each embedding is written as soon as its text is read */
    aoe_precision precision;
    const char *ranges;      /* file from which the ranges are read; NULL: none */
    const char *calibrate;   /* file of texts or embeddings from which the ranges are computed; NULL: none */
    const char *save_ranges; /* file to which the ranges are written; NULL: none */
    aoe_table_options table;
} options;

/* Destination of the embeddings of a batch. */
typedef enum destination {
    TO_OUTPUT, /* the output */
    TO_STORE,  /* the ranges and the temporary file */
    TO_RANGES  /* the ranges */
} destination;

typedef struct job {
    const char *precision; /* name of the precision, for messages; static string */
    cli_session session;
    cli_text_files input;
    cli_progress progress;
    cli_file file[2]; /* the output, and the file to which the ranges are written */
    cli_vector_output output;
    cli_embedding_store store;
    destination destination;
    float *vectors;      /* [BATCH, dims] embeddings, owned */
    aoe_text_info *info; /* [BATCH] information about each text, such as its number of tokens; owned */
    float *ranges;       /* [2, dims] ranges of the components, owned */
    size_t calibrated;   /* number of embeddings in the ranges */
    size_t dims;         /* embedding size */
    /* texts: number of all texts; empty, truncated: number of empty and of truncated texts; chunked: number of texts
     * that were split into chunks */
    size_t texts, empty, truncated, chunked;
    size_t zero; /* number of texts without tokens */
    cli_embed_part part;
} job;

static const char *const precisions[] = {"float32", "int8", "uint8", "binary", "ubinary", NULL};

static const aoei_option table[] = {
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, format),
     .choices = AOEI_CHOICES("jsonl", "npy", "tsv"),
     .noun = "format",
     .help =
         "output format: jsonl, npy or tsv. jsonl: one object per text, with the embedding, the number of tokens, "
         "whether the text was truncated and, with --chunk mean, the number of chunks; with --whole-files, the name of "
         "the file. npy: array of shape [texts, dims]. tsv: one row per text, one column per component",
     .fallback = "from the extension of --output, otherwise jsonl"},
    CLI_OPTION_OUTPUT_FILE(.offset = offsetof(options, output), ""),
    CLI_OPTION_PART(.offset = offsetof(options, part)),
    CLI_OPTION_JOIN(.offset = offsetof(options, join)),
    {.name = "flush",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, flush),
     .excludes = "output",
     .help = "write each embedding to stdout as soon as its text is read, so that another program can write texts to "
             "stdin and "
             "read the embeddings one by one; without this option, texts are embedded in groups, which is faster"},
};

static const aoei_option precision_table[] = {
    {.name = "precision",
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, precision),
     .choices = precisions,
     .noun = "precision",
     .help = "type of the values in the output: float32; int8 or uint8 (8 bits per component, in 255 steps from the "
             "minimum to the maximum of the component); binary or ubinary (1 bit per component, 1 if it is positive, 8 "
             "bits per signed or unsigned value). The values are those of quantize_embeddings of sentence-transformers "
             "(docs/quantization.md)"},
    {.name = "calibrate",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, calibrate),
     .excludes = "ranges",
     .help =
         "int8, uint8: compute the ranges of the components from the embeddings of the texts in FILE, which is read "
         "with the same options as the other texts, or from a .npy file with embeddings",
     .fallback = "all texts of the command; their embeddings are kept in a temporary file until the last text is read"},
    {.name = "ranges",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, ranges),
     .excludes = "save-ranges",
     .help =
         "int8, uint8: read the ranges from FILE: .json with the arrays of minima and maxima, or .npy with the shape "
         "[2, dims]. Queries and documents need the same ranges",
     .fallback = "computed as described at --calibrate"},
    {.name = "save-ranges",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, save_ranges),
     .help = "int8, uint8: write the ranges to FILE (.json or .npy), for --ranges of later commands"},
};

/* Options that are not part of the identity of a part: the format is recorded by its name, and the ranges by their
 * hash. */
static const char *const not_identity[] = {"format", "precision", "ranges", "calibrate", "save-ranges", "flush", NULL};

static const aoei_option column_table[] = {
    AOEI_ROW_COLUMNS(AOEI_AT(aoe_table_options, columns), "text=NAME",
                     "name of the text column of tables; with several names, for example a,b, one embedding "
                     "per column is computed for each row",
                     "text or sentence"),
};

/* Counts the texts of a batch that are empty, that were truncated, that were split into chunks, and that have no
 * tokens. */
static void count_texts(job *j, const cli_batch *batch) {
    for (size_t i = 0; i < batch->n; i++) {
        j->truncated += j->info[i].truncated;
        j->chunked += j->info[i].chunks > 1;
        j->zero += j->info[i].tokens == 0;
    }
    j->texts += batch->n;
    j->empty += batch->empty;
}

/* Extends the ranges with the embeddings of n texts. */
static int add_ranges(job *j, size_t n) {
    aoe_error err;
    j->calibrated += n;
    return aoe_ranges_add(j->ranges, j->vectors, n, j->dims, &err) ? cli_fail("%s", err.message) : 0;
}

/* Receives a batch of texts: embeds the texts, and writes or stores the embeddings. */
static int embed_batch(void *user, const cli_batch *batch) {
    job *j = user;
    aoe_error err;
    int code;
    if (aoe_embed(j->session.embedder, batch->text, batch->n, j->vectors, j->info, &err))
        return cli_text_files_fail(&j->input, aoe_embed_failed_text(j->session.embedder), &err);
    if (j->destination == TO_RANGES)
        code = add_ranges(j, batch->n);
    else if (j->destination == TO_STORE)
        code = add_ranges(j, batch->n) || cli_embedding_store_add(&j->store, batch, j->vectors, j->info);
    else
        code = cli_vector_output_write(&j->output, batch, j->vectors, j->info);
    if (j->destination != TO_RANGES)
        count_texts(j, batch);
    cli_progress_update(&j->progress, j->destination == TO_RANGES ? j->calibrated : j->texts, 0, NULL, -1, NULL);
    return code;
}

/* Returns 1 if a text belongs to the part of the command. */
static int accept_text(void *user, const char *name, aoe_text text) {
    return cli_embed_part_accept(&((job *)user)->part, name, text);
}

/* Embeds the texts of all files, or of the part of the command. */
static int embed_all(job *j, const cli_args *args, const aoe_table_options *t, destination to) {
    j->input.use = embed_batch;
    j->input.accept = j->part.part.n && to == TO_OUTPUT ? accept_text : NULL;
    j->input.user = j;
    j->destination = to;
    cli_progress_begin(&j->progress, to == TO_RANGES ? "calibrating" : "embedding", "texts", 0);
    const int code = cli_text_files_read(&j->input, args, t);
    cli_progress_end(&j->progress);
    return code;
}

/* Rejects ranges from fewer than two embeddings, and warns if there are few. from: file of the embeddings; NULL: the
 * input. */
static int check_calibrated(const job *j, const char *from) {
    if (j->calibrated < 2)
        return cli_fail(
            "%s contains %s; the ranges for %s need at least 2, and should be computed from at least %d; use %s",
            from ? from : "the input", j->calibrated ? "only one text" : "no texts", j->precision, ENOUGH,
            from ? "another file" : "--calibrate or --ranges");
    if (j->calibrated < ENOUGH)
        cli_warn("the ranges for %s are computed from only %zu texts; use at least %d%s", j->precision, j->calibrated,
                 ENOUGH, from ? "" : ", for example with --calibrate");
    return 0;
}

/* Reads the ranges, or computes them from a calibration file. Sets *known to 0 if there is no such file. */
static int find_ranges(job *j, const options *o, int *known) {
    const cli_args file = {.operand = (const char *[]){o->calibrate}, .n = 1};
    *known = 1;
    if (o->ranges)
        return cli_ranges_read(j->ranges, j->dims, o->ranges);
    aoe_ranges_init(j->ranges, j->dims);
    *known = o->calibrate || (o->precision != AOE_PRECISION_INT8 && o->precision != AOE_PRECISION_UINT8);
    if (!o->calibrate)
        return 0;
    const int code = aoei_name_ends_with(o->calibrate, ".npy")
                         ? cli_ranges_add_npy(j->ranges, &j->calibrated, j->dims, o->calibrate)
                         : embed_all(j, &file, &o->table, TO_RANGES);
    return code || check_calibrated(j, o->calibrate);
}

/* Embeds all texts and stores the embeddings, then writes them with the ranges of all texts. */
static int embed_stored(job *j, const options *o, const cli_args *args) {
    int more;
    if (cli_embedding_store_open(&j->store, j->dims, j->output.format == CLI_VECTORS_JSONL) ||
        embed_all(j, args, &o->table, TO_STORE))
        return 1;
    if ((j->texts || o->save_ranges) && check_calibrated(j, NULL))
        return 1;
    if (cli_embedding_store_rewind(&j->store))
        return 1;
    while ((more = cli_embedding_store_read(&j->store, &j->input.batch, j->vectors, j->info)) > 0)
        if (cli_vector_output_write(&j->output, &j->input.batch, j->vectors, j->info))
            return 1;
    return more < 0;
}

/* Prints warnings about missing, empty, truncated and split texts, and a note with the number of embeddings. output:
 * path of the output; NULL: stdout. */
static void report_counts(const job *j, const char *output) {
    if (j->texts == 0 && j->part.part.n)
        cli_note("part %zu of %zu contains no texts", j->part.part.i, j->part.part.n);
    else if (j->texts == 0)
        cli_warn("the input contains no texts; the output contains no embeddings");
    if (j->zero) /* only a static model can embed texts without tokens; empty texts are among them */
        cli_warn("%zu of %zu text%s %s no known tokens; the embedding is zero", j->zero, j->texts, cli_plural(j->texts),
                 j->zero == 1 ? "has" : "have");
    else if (j->empty)
        cli_warn("%zu of %zu text%s %s empty; only special tokens are embedded", j->empty, j->texts,
                 cli_plural(j->texts), j->empty == 1 ? "is" : "are");
    cli_warn_truncated(j->session.model, "text", j->truncated, j->texts, 1);
    if (j->chunked)
        cli_note(
            "%zu of %zu text%s %s longer than the maximum sequence length; the embedding is the mean over all chunks",
            j->chunked, j->texts, cli_plural(j->texts), j->chunked == 1 ? "is" : "are");
    if (j->texts)
        cli_note("wrote %zu embedding%s with %zu component%s to %s", j->texts, cli_plural(j->texts), j->dims,
                 cli_plural(j->dims), cli_is_stdout(output) ? "stdout" : output);
}

/* Returns the output format. Without --format, the file extension of the output determines it. */
static cli_vector_format format_of(const options *o) {
    if (o->format != CLI_VECTORS_BY_NAME)
        return o->format;
    if (o->output && !o->general.json && aoei_name_ends_with(o->output, ".npy"))
        return CLI_VECTORS_NPY;
    return o->output && !o->general.json && aoei_name_ends_with(o->output, ".tsv") ? CLI_VECTORS_TSV
                                                                                   : CLI_VECTORS_JSONL;
}

/* Returns 1 if the file extension of the output must determine the format but is unknown. */
static int has_unknown_extension(const options *o) {
    if (!o->output || o->format != CLI_VECTORS_BY_NAME || o->general.json)
        return 0;
    const char *name = aoei_path_name(o->output), *dot = strrchr(name, '.');
    return dot && dot > name && strcmp(dot, ".jsonl") != 0 && strcmp(dot, ".npy") != 0 && strcmp(dot, ".tsv") != 0;
}

/* Rejects outputs that would overwrite an input or each other. */
static int check_paths(const options *o, const cli_args *args) {
    const char *more[] = {o->calibrate ? o->calibrate : "-", o->ranges ? o->ranges : "-"};
    if (cli_reject_input(o->output, args->operand, args->n) || cli_reject_input(o->output, more, 2))
        return 1;
    if (!o->save_ranges)
        return 0;
    if (!cli_is_stdout(o->output) && cli_is_same_file(o->output, o->save_ranges))
        return cli_fail("%s is given for both -o and --save-ranges; choose two files", o->output);
    for (size_t i = 0; i <= args->n; i++) {
        const char *input = i < args->n ? args->operand[i] : more[0];
        if (strcmp(input, "-") != 0 && cli_is_same_file(o->save_ranges, input))
            return cli_fail("%s is also an input and would be overwritten; choose another file for --save-ranges",
                            o->save_ranges);
    }
    return 0;
}

/* Opens the output and the file to which the ranges are written. */
static int begin_output(job *j, const options *o) {
    j->output.format = format_of(o);
    j->output.precision = o->precision;
    j->output.dims = j->dims;
    j->output.ranges = j->ranges;
    j->output.has_chunks = o->model.embedder.chunk == AOE_CHUNK_MEAN;
    j->output.has_files = o->table.whole_files;
    return cli_file_open(&j->file[0], o->output) || cli_vector_output_begin(&j->output, &j->file[0]) ||
           (o->save_ranges && cli_file_open(&j->file[1], o->save_ranges));
}

/* Embeds the texts and writes all outputs. */
static int run_outputs(job *j, const options *o, const cli_args *args) {
    int known;
    if (begin_output(j, o) || find_ranges(j, o, &known))
        return 1;
    if (known ? embed_all(j, args, &o->table, TO_OUTPUT) : embed_stored(j, o, args))
        return 1;
    return cli_vector_output_finish(&j->output) ||
           (o->save_ranges && cli_ranges_write(&j->file[1], j->ranges, j->dims)) || cli_files_commit(j->file, 2);
}

/* Embeds the texts of a part, unless it is complete. all_options: the options of the command, owned by the caller. */
static int run_part(job *j, const options *o, const cli_args *args, json_t *all_options) {
    options part = *o;
    int known = 0, complete = 0;
    part.format = j->output.format = format_of(o);
    j->output.precision = o->precision;
    j->output.dims = j->dims;
    j->part.part = o->part;
    if (find_ranges(j, o, &known) || cli_embed_part_scan(&j->part, args, &o->table) ||
        cli_embed_part_identify(&j->part, j->session.model, json_incref(all_options),
                                o->ranges || o->calibrate ? j->ranges : NULL, &j->output, o->output) ||
        cli_part_find(&complete, o->output, o->part, j->part.identity))
        return 1;
    if (complete)
        return 0;
    part.output = j->part.path;
    if (begin_output(j, &part) || embed_all(j, args, &o->table, TO_OUTPUT) || cli_vector_output_finish(&j->output) ||
        cli_files_commit(j->file, 1) || cli_embed_part_complete(&j->part, o->output))
        return 1;
    report_counts(j, j->part.path);
    return 0;
}

static int run_job(job *j, const options *o, const cli_args *args, json_t *all_options) {
    if (o->join)
        return cli_embed_join(o->output);
    if (check_paths(o, args) || cli_session_open(&j->session, &o->general, &o->model))
        return 1;
    cli_session_describe(&j->session, 0);
    j->precision = precisions[o->precision];
    j->dims = aoe_model_dims(j->session.model);
    cli_batch_create(&j->input.batch, o->flush ? 1 : BATCH, BATCH_BYTES);
    j->vectors = cli_realloc(NULL, BATCH * j->dims * sizeof *j->vectors);
    j->info = cli_calloc(BATCH, sizeof *j->info);
    j->ranges = cli_realloc(NULL, 2 * j->dims * sizeof *j->ranges);
    if (o->part.n)
        return run_part(j, o, args, all_options);
    if (run_outputs(j, o, args))
        return 1;
    report_counts(j, o->output);
    return 0;
}

/* Reports options of the precision that have no effect or are invalid. Returns CLI_GO if there are none. */
static int check_precision(const options *o, const cli_args *args) {
    static const char *const names[] = {"calibrate", "ranges", "save-ranges"};
    const char *const written[] = {o->ranges, o->save_ranges};
    const char *given = cli_first_given(args, names, sizeof names / sizeof *names);
    if (given && o->precision != AOE_PRECISION_INT8 && o->precision != AOE_PRECISION_UINT8)
        return cli_usage("embed", "--%s has no effect on the precision %s; give --precision int8 or uint8", given,
                         precisions[o->precision]);
    for (size_t i = 0; i < 2; i++)
        if (written[i] && !cli_ranges_is_file(written[i]))
            return cli_usage("embed", "%s: unknown extension; ranges are stored in .json or .npy files", written[i]);
    if (o->calibrate && aoei_name_ends_with(o->calibrate, ".json"))
        return cli_usage(
            "embed", "--calibrate: %s is a .json file, but texts or embeddings are expected; read ranges with --ranges",
            o->calibrate);
    int reads_stdin = args->n == 0;
    for (size_t i = 0; i < args->n; i++)
        reads_stdin |= strcmp(args->operand[i], "-") == 0;
    if (o->calibrate && strcmp(o->calibrate, "-") == 0 && reads_stdin)
        return cli_usage("embed",
                         "--calibrate - reads stdin, which also contains the texts; give a FILE with the texts");
    return CLI_GO;
}

/* Reports a reason for which --flush cannot write each embedding at once. Returns CLI_GO if there is none. */
static int check_flush(const options *o) {
    if (!o->flush)
        return CLI_GO;
    if (format_of(o) == CLI_VECTORS_NPY)
        return cli_usage("embed",
                         "--flush requires --format jsonl or tsv: a .npy file begins with the number of embeddings");
    if ((o->precision == AOE_PRECISION_INT8 || o->precision == AOE_PRECISION_UINT8) && !o->ranges && !o->calibrate)
        return cli_usage(
            "embed", "--flush requires --ranges or --calibrate: without them, the ranges are computed from all texts");
    return CLI_GO;
}

/* Reports options that a part of the texts does not permit. Returns CLI_GO if there are none. */
static int check_part(const options *o, const cli_args *args) {
    if (o->part.n && o->save_ranges)
        return cli_usage("embed",
                         "--part excludes --save-ranges: write the ranges with one command first, and give them "
                         "to all parts with --ranges");
    if (o->part.n && (o->precision == AOE_PRECISION_INT8 || o->precision == AOE_PRECISION_UINT8) && !o->ranges &&
        !o->calibrate)
        return cli_usage("embed",
                         "--part with --precision %s requires --ranges or --calibrate: a part does not know "
                         "the ranges of all texts",
                         precisions[o->precision]);
    return cli_part_usage("embed", args, o->part, o->join, o->output, NULL);
}

static int run_command(int argc, char **argv) {
    options o = {.format = CLI_VECTORS_BY_NAME};
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("output", table, &o),
        CLI_LIBRARY_GROUP(&aoei_embedding_size_rows, &o.model.o),
        CLI_GROUP("precision", precision_table, &o),
        CLI_FIELDS("input", column_table, aoe_table_options, &o.table),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_CHUNK_GROUP(&o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "embed",
        .operands = "[FILE...]",
        .about =
            "Computes one embedding per text and writes the embeddings in the order of the texts.\n" CLI_FILES_HELP,
        .examples = "  echo 'A plane is taking off.' | aoe embed -m model\n"
                    "  aoe embed -m model --format npy -o vectors.npy sentences.txt\n"
                    "  aoe embed -m model pairs.csv --columns text=question -o vectors.npy\n"
                    "  aoe embed -m model --whole-files notes/*.md -o notes.jsonl\n"
                    "  aoe embed -m model --precision int8 --save-ranges ranges.json documents.txt -o documents.npy\n"
                    "  aoe embed -m model --precision int8 --ranges ranges.json queries.txt -o queries.npy\n"
                    "  aoe embed -m model texts.txt -o vectors.npy --part 0/2\n"
                    "  aoe embed -m model texts.txt -o vectors.npy --part 1/2\n"
                    "  aoe embed --join -o vectors.npy\n"
                    "  curl -s URL | aoe embed --input-format jsonl -o vectors.npy\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && o.general.json && format_of(&o) != CLI_VECTORS_JSONL)
        code = cli_usage("embed",
                         "--json selects --format jsonl and excludes other formats; give only one of the options");
    if (code == CLI_GO && has_unknown_extension(&o))
        code = cli_usage("embed", "%s: unknown extension; use .jsonl, .npy or .tsv, or give --format", o.output);
    if (code == CLI_GO)
        code = check_precision(&o, &args);
    if (code == CLI_GO)
        code = check_flush(&o);
    if (code == CLI_GO)
        code = check_part(&o, &args);
    if (code == CLI_GO) {
        job j = {0};
        cli_set_quiet(o.general.quiet);
        json_t *all_options = cli_part_options_json(&syntax, not_identity);
        code = run_job(&j, &o, &args, all_options);
        json_decref(all_options);
        cli_embed_part_destroy(&j.part);
        cli_file_abort(&j.file[0]);
        cli_file_abort(&j.file[1]);
        cli_vector_output_destroy(&j.output);
        cli_embedding_store_close(&j.store);
        cli_batch_destroy(&j.input.batch);
        cli_session_close(&j.session);
        free(j.vectors);
        free(j.info);
        free(j.ranges);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_embed_command = {
    .name = "embed",
    .summary = "compute embeddings of texts",
    .run = run_command,
};
