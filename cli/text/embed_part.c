/* SPDX-License-Identifier: MIT
 * Selects the texts of a part of `aoe embed`, identifies the work, and joins the parts.
 */
#include "cli/text/embed_part.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cli/common/common.h"
#include "cli/common/output.h"

static const char *const formats[] = {"jsonl", "npy", "tsv"}; /* in the order of cli_vector_format */

/* Continues the hash with a text and, if the output contains it, the name of its file. */
static uint64_t hash_text(uint64_t hash, int has_names, const char *name, aoe_text text) {
    const uint64_t len = text.len;
    unsigned char bytes[sizeof len];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(len >> (8 * i));
    hash = aoei_hash(hash, bytes, sizeof bytes);
    if (has_names)
        hash = aoei_hash(hash, name, strlen(name) + 1);
    return aoei_hash(hash, text.data, text.len);
}

/* Counts a text; no text is passed on. */
static int count_text(void *user, const char *name, aoe_text text) {
    cli_embed_part *p = user;
    p->total += text.len + 1;
    p->texts++;
    p->hash = hash_text(p->hash, p->has_names, name, text);
    return 0;
}

/* Receives batches, of which there are none while texts are counted. */
static int use_none(void *user, const cli_batch *batch) {
    (void)user;
    (void)batch;
    return 0;
}

int cli_embed_part_scan(cli_embed_part *p, const cli_args *args, const aoe_table_options *t) {
    cli_text_files all = {.use = use_none, .accept = count_text, .user = p};
    struct stat st;
    if (!args->n)
        return cli_fail("--part reads the texts twice, which stdin does not permit; write the texts to a file first");
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->operand[i], "-") == 0 || (stat(args->operand[i], &st) == 0 && S_ISFIFO(st.st_mode)))
            return cli_fail("%s: --part reads the texts twice, which a pipe does not permit; write the texts to a file "
                            "first",
                            args->operand[i]);
    p->hash = p->found = AOEI_HASH_START;
    p->has_names = t->whole_files;
    cli_batch_create(&all.batch, 1, 1);
    const int code = cli_text_files_read(&all, args, t);
    cli_batch_destroy(&all.batch);
    if (!code && p->total > INT64_MAX / AOEI_MAX_PARTS)
        return cli_fail("the texts have more than %lld bytes; embed the files one after the other",
                        (long long)(INT64_MAX / AOEI_MAX_PARTS));
    return code;
}

int cli_embed_part_accept(cli_embed_part *p, const char *name, aoe_text text) {
    const uint64_t weight = text.len + 1;
    const size_t i = p->total ? aoei_part_of(p->part.n, p->before, weight, p->total) : 0;
    p->before += weight;
    p->found = hash_text(p->found, p->has_names, name, text);
    return i == p->part.i;
}

int cli_embed_part_identify(cli_embed_part *p, const aoe_model *m, json_t *options, const float *ranges,
                            const cli_vector_output *o, const char *output) {
    json_t *model = NULL;
    p->path = aoei_part_path(output, p->part);
    if (ranges)
        json_object_set_new(options, "ranges",
                            cli_part_hash_json(aoei_hash(AOEI_HASH_START, ranges, 2 * o->dims * sizeof *ranges)));
    if (!p->path || cli_part_model_json(&model, m)) {
        json_decref(options);
        return p->path ? 1 : cli_fail("out of memory");
    }
    p->identity = /* the fingerprint of the model depends on options, so a difference of these is found first */
        json_pack("{s:o, s:o, s:{s:I, s:I, s:o}, s:{s:s, s:s, s:i, s:I}, s:o}", "program",
                  cli_part_program_json(aoe_model_context(m)), "options", options, "input", "texts",
                  (json_int_t)p->texts, "bytes", (json_int_t)(p->total - p->texts), "hash", cli_part_hash_json(p->hash),
                  "output", "command", "embed", "format", formats[o->format], "precision", (int)o->precision, "dims",
                  (json_int_t)o->dims, "model", model);
    return p->identity ? 0 : cli_fail("out of memory");
}

int cli_embed_part_complete(const cli_embed_part *p, const char *output) {
    if (p->found != p->hash)
        return cli_fail("the texts changed while they were read; compute all parts again");
    return cli_part_complete(output, p->part, p->identity);
}

void cli_embed_part_destroy(cli_embed_part *p) {
    aoei_free(p->path);
    json_decref(p->identity);
    *p = (cli_embed_part){0};
}

/* Reads the format of the output from the identity of its parts. Returns 0, or -1 if it is not valid. */
static int read_format(cli_vector_output *o, const json_t *identity) {
    const json_t *output = json_object_get(identity, "output");
    const char *format = json_string_value(json_object_get(output, "format")),
               *command = json_string_value(json_object_get(output, "command"));
    const json_int_t precision = json_integer_value(json_object_get(output, "precision")),
                     dims = json_integer_value(json_object_get(output, "dims"));
    size_t i = 0;
    while (i < sizeof formats / sizeof *formats && (!format || strcmp(format, formats[i]) != 0))
        i++;
    if (!command || strcmp(command, "embed") != 0 || i == sizeof formats / sizeof *formats ||
        precision < AOE_PRECISION_FLOAT32 || precision > AOE_PRECISION_UBINARY || dims < 1 || dims > 1 << 24)
        return -1;
    o->format = (cli_vector_format)i;
    o->precision = (aoe_precision)precision;
    o->dims = (size_t)dims;
    return 0;
}

int cli_embed_join(const char *output) {
    cli_vector_output o = {0};
    cli_file file = {0};
    json_t *identity = NULL;
    size_t n = 0;
    aoe_error err;
    if (aoei_parts_check(&n, &identity, output, &err))
        return cli_fail("%s", err.message);
    int code = read_format(&o, identity)
                   ? cli_fail("%s: the markers of the parts are not those of aoe embed; delete the parts", output)
                   : cli_file_open(&file, output) || cli_vector_output_begin(&o, &file);
    json_decref(identity);
    for (size_t i = 0; i < n && !code; i++) {
        char *path = aoei_part_path(output, (aoei_part){i, n});
        code = path ? cli_vector_output_append(&o, path) : cli_fail("out of memory");
        aoei_free(path);
    }
    code = code || cli_vector_output_finish(&o) || cli_files_commit(&file, 1);
    cli_file_abort(&file);
    cli_vector_output_destroy(&o);
    if (!code)
        cli_note("joined %zu part%s to %s; the parts can be deleted", n, cli_plural(n), output);
    return code;
}
