/* SPDX-License-Identifier: MIT
 * Converts word vectors in a text file to a static model. The embedding of a text is the mean of the vectors of its
 * words; unknown words are skipped. Each line of the file contains a word and the components of its vector (GloVe). A
 * word2vec file has an additional first line with the number of words and the number of components.
 * The tokenizer splits texts at white space. It also separates English clitics and the punctuation around words,
 * because the corpora for training such vectors are tokenized in this way. If a word of the file, such as "u.s." or
 * "mr.", would be split by this tokenizer, the word becomes an added token, which is matched before the text is split.
 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/json.h"
#include "base/options.h"
#include "base/path.h"
#include "base/utf8.h"
#include "create/convert.h"
#include "modeldir/contents.h"
#include "modeldir/model_writer.h"
#include "table/lines.h"
#include "table/stream.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocab.h"

enum { CHUNK_ROWS = 4096 /* vectors per chunk of memory */, MAX_DIMS = 65536 };
/* The WordPiece prefix of tokens that continue a word. It is the character U+0001, written as a JSON escape sequence.
 * No word in the vocabulary begins with this character, so WordPiece never splits a word into subwords. */
#define CONTINUATION_PREFIX "\\u0001"
#define UNKNOWN             "[UNK]"

/* The regular expression of the pre-tokenizer, written with JSON escape sequences. After a text has been split at white
 * space, each match of the expression becomes a separate token. Matches are clitics such as n't and 's, two or more
 * dots, and punctuation that does not have a word character on both sides. */
static const char split_pattern[] =
    "n't(?!\\\\w)|'(?:s|re|ve|ll|m|d)(?!\\\\w)|\\\\.{2,}|(?<!\\\\w)[^\\\\w\\\\s]|[^\\\\w\\\\s](?!\\\\w)";

typedef struct reader {
    aoei_weight_reader source; /* base type; must be the first field, because word_rows casts its address to reader */
    size_t dims;               /* number of components per vector; 0 before the first vector is read */
    size_t n;                  /* number of words in the vocabulary */
    aoei_vocab words;          /* vocabulary; the id of a word is the index of its vector */
    float **chunk;             /* [chunks] pointers to [CHUNK_ROWS, dims] vectors; array and elements owned */
    size_t chunks, capacity;   /* used and allocated elements of `chunk` */
    size_t unknown_added;      /* 1: the file does not contain [UNK], so add_unknown added it */
    size_t announced;          /* number of words in the first line of a word2vec file */
    size_t header_dims;        /* number of components in the first line of a word2vec file; 0: there is no such line */
    size_t lines;              /* number of lines with a word and a vector, skipped ones included */
    size_t skipped;   /* number of skipped lines, whose word is a duplicate or contains an unsupported character */
    const char *name; /* file name for messages, borrowed */
    locale_t locale;  /* C locale, for parsing numbers */
    aoei_buffer copy; /* current line, NUL-terminated */
} reader;

/* ---------------------------------------------------------------- reading */

static float *row_at(const reader *r, size_t i) {
    return r->chunk[i / CHUNK_ROWS] + i % CHUNK_ROWS * r->dims;
}

/* Returns the memory for the vector of the next word, which has the index r->n. Returns NULL if an allocation fails. */
static float *next_row(reader *r) {
    if (r->n / CHUNK_ROWS == r->chunks) {
        if (aoei_grow((void **)&r->chunk, &r->capacity, r->chunks, sizeof *r->chunk) ||
            !(r->chunk[r->chunks] = aoei_malloc_array(CHUNK_ROWS, r->dims * sizeof **r->chunk)))
            return NULL;
        r->chunks++;
    }
    return row_at(r, r->n);
}

/* Counts the fields of s, which are separated by spaces and TABs. */
static size_t count_fields(const char *s) {
    size_t n = 0;
    for (; *s; n++) {
        s += strspn(s, " \t");
        if (!*s)
            break;
        s += strcspn(s, " \t");
    }
    return n;
}

static int is_integer(const char *s, size_t len) {
    return len > 0 && strspn(s, "0123456789") >= len;
}

/* Returns 1 if s is the first line of a word2vec file, which contains two integers. Sets *words and *dims to them. */
static int is_header(const char *s, size_t *words, size_t *dims) {
    const size_t first = strcspn(s, " "), second = s[first] ? strcspn(s + first + 1, " \r") : 0;
    if (count_fields(s) != 2 || !is_integer(s, first) || !is_integer(s + first + 1, second))
        return 0;
    *words = strtoull(s, NULL, 10);
    *dims = strtoull(s + first + 1, NULL, 10);
    return 1;
}

/* Returns the start of the last `dims` fields of s[len], which are the components of the vector. Returns NULL if there
 * is no word before these fields. */
static char *find_components(char *s, size_t len, size_t dims) {
    char *p = s + len;
    for (size_t i = 0; i < dims; i++) {
        while (p > s && (p[-1] == ' ' || p[-1] == '\t'))
            p--;
        while (p > s && p[-1] != ' ' && p[-1] != '\t')
            p--;
    }
    return p > s ? p : NULL;
}

/* Parses r->dims numbers in s and writes them to row[r->dims]. line: line number for messages. */
static int read_components(const reader *r, float *row, const char *s, size_t line, aoe_error *err) {
    for (size_t k = 0; k < r->dims; k++) {
        char *end;
        const float v = strtof_l(s, &end, r->locale);
        if (end == s || !isfinite(v) || (*end && *end != ' ' && *end != '\t'))
            return aoei_fail(
                err, AOE_EFORMAT, "%s:%zu: component %zu is not a finite number; %s", r->name, line, k + 1,
                r->n ? "download the file again"
                     : "the file does not contain word vectors in GloVe format (one word and its numbers per line)");
        row[k] = v;
        s = end;
    }
    return 0;
}

/* Returns 1 if the word can be added to the vocabulary. It must be a word that the tokenizer can produce, and must not
 * be in the vocabulary yet. */
static int is_usable(const reader *r, const char *word, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (word[i] == ' ' || word[i] == '\t' || word[i] == '\1')
            return 0;
    return len > 0 && aoei_vocab_id(&r->words, word, len) < 0;
}

/* Adds the word and the vector of a line of the file, unless the line is skipped. */
static int add_line(reader *r, const aoei_line *line, aoe_error *err) {
    aoei_buffer_clear(&r->copy);
    if (aoei_buffer_append(&r->copy, line->data, line->len))
        return aoei_fail_nomem(err, line->len);
    char *s = r->copy.data;
    if (memchr(s, 0, line->len)) {
        r->lines++;
        r->skipped++;
        return 0;
    }
    if (line->number == 1 && is_header(s, &r->announced, &r->header_dims))
        return 0;
    if (!r->dims) {
        const size_t fields = count_fields(s);
        if (fields < 2 || fields > MAX_DIMS)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: expected a word and its vector, found %zu fields; check that this is a file of word vectors",
                r->name, line->number, fields);
        r->dims = fields - 1;
        if (r->header_dims && r->header_dims != r->dims)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: line 1 announces vectors with %zu components, but this line has %zu; download the file "
                "again, or correct line 1",
                r->name, line->number, r->header_dims, r->dims);
    }
    char *components = find_components(s, line->len, r->dims);
    if (!components)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s:%zu: expected a word and %zu numbers, as in the first vector; download the file again",
                         r->name, line->number, r->dims);
    size_t len = (size_t)(components - s);
    while (len && (s[len - 1] == ' ' || s[len - 1] == '\t'))
        len--;
    float *row = next_row(r);
    if (!row)
        return aoei_fail(err, AOE_ENOMEM, "%s: out of memory for the vectors of %zu words", r->name, r->n + 1);
    r->lines++;
    int rc = read_components(r, row, components, line->number, err);
    if (rc || !is_usable(r, s, len)) {
        r->skipped++;
        return rc;
    }
    if ((rc = aoei_vocab_add(&r->words, s, len, (int64_t)r->n, err)))
        aoei_error_prefix(err, "%s:%zu", r->name, line->number);
    r->n++;
    return rc;
}

/* Adds [UNK] as the last word, unless the file contains [UNK]. The added vector is zero and is never used. */
static int add_unknown(reader *r, aoe_error *err) {
    if (aoei_vocab_id(&r->words, UNKNOWN, strlen(UNKNOWN)) >= 0)
        return 0;
    float *row = next_row(r);
    if (!row)
        return aoei_fail_nomem(err, r->dims * sizeof *row);
    memset(row, 0, r->dims * sizeof *row);
    r->unknown_added = 1;
    return aoei_vocab_add(&r->words, UNKNOWN, strlen(UNKNOWN), (int64_t)r->n++, err);
}

/* A binary format of word vectors. */
typedef struct binary_format {
    const char *start;     /* first bytes of its files */
    const char *extension; /* extension of its files, or NULL: any extension */
    const char *message;   /* what it is and how to convert it; each %s is the path */
} binary_format;

static const binary_format binary_formats[] = {
    {"\xba\x16\x4f\x2f", NULL,
     "%s: a binary model of fastText is not supported; give its vectors as text (the .vec file of the same release)"},
    {"PK\x03\x04", ".npz",
     "%s: a NumPy archive is not supported; write its words and vectors as text, one word and its numbers per line; "
     "its arrays are listed by python3 -c \"import numpy; print(numpy.load('%s').files)\""},
    {"\x93NUMPY", NULL,
     "%s: a NumPy array without words is not supported; if gensim wrote it next to NAME.kv, convert that file in "
     "Python: KeyedVectors.load('NAME.kv').save_word2vec_format('vectors.txt')"},
    {"\x80", ".model",
     "%s: a model of gensim (a Python pickle) is not supported; convert its vectors to text in Python with gensim: "
     "Word2Vec.load('%s').wv.save_word2vec_format('vectors.txt')"},
    {"\x80", NULL,
     "%s: vectors of gensim (a Python pickle) are not supported; convert them to text in Python with gensim: "
     "KeyedVectors.load('%s').save_word2vec_format('vectors.txt')"},
};

/* Fails if bytes[n], the start of the file, is that of a binary format of word vectors. */
static int reject_format(const char *path, const char *bytes, size_t n, aoe_error *err) {
    const char *extension = strrchr(path, '.');
    for (size_t i = 0; i < sizeof binary_formats / sizeof *binary_formats; i++) {
        const binary_format *b = &binary_formats[i];
        const size_t len = strlen(b->start);
        if (n >= len && !memcmp(bytes, b->start, len) &&
            (!b->extension || (extension && !strcasecmp(extension, b->extension))))
            return aoei_fail(err, AOE_EUNSUPPORTED, b->message, path, path);
    }
    return 0;
}

/* Fails if the file consists of binary vectors: a file of fastText, NumPy or gensim, or a word2vec file whose header is
 * followed by bytes that are no text. */
static int reject_binary(const char *path, aoe_error *err) {
    char bytes[512], *end;
    size_t n = 0, got = 1, words, dims;
    aoei_stream *s = NULL;
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) /* a pipe can be read only once */
        return 0;
    int rc = aoei_stream_open(&s, path, err);
    while (!rc && got && n < sizeof bytes - 1 &&
           !(rc = aoei_stream_read(s, bytes + n, sizeof bytes - 1 - n, &got, err)))
        n += got;
    aoei_stream_close(s);
    if (rc)
        return rc;
    if ((rc = reject_format(path, bytes, n, err)))
        return rc;
    bytes[n] = 0;
    end = memchr(bytes, '\n', n);
    if (!end)
        return 0;
    *end = 0;
    if (!is_header(bytes, &words, &dims))
        return 0;
    const char *rest = end + 1;
    size_t len = n - (size_t)(rest - bytes), bad = aoei_utf8_valid(rest, len);
    for (size_t i = 0; i < bad; i++)
        if ((unsigned char)rest[i] < '\t')
            bad = i;
    if (bad + 4 > len) /* the last character may be incomplete */
        return 0;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: binary word2vec vectors are not supported; convert them to text, for example in Python with gensim: "
        "KeyedVectors.load_word2vec_format('%s', binary=True).save_word2vec_format('vectors.txt')",
        path, path);
}

/* Fails if the file has another number of words than its first line announces. */
static int check_announced(const reader *r, aoe_error *err) {
    if (!r->header_dims || r->lines == r->announced)
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: line 1 announces %zu words, but %zu follow%s; download the file again, or correct line 1 if the file "
        "is complete",
        r->name, r->announced, r->lines, r->lines < r->announced ? " (the file is truncated)" : "");
}

/* Reads all words and vectors of the file. */
static int read_file(reader *r, const char *path, aoe_error *err) {
    aoei_lines *lines = NULL;
    aoei_line line;
    int rc = reject_binary(path, err);
    if (!rc)
        rc = aoei_lines_open(&lines, path, err);
    r->name = path;
    r->locale = rc ? (locale_t)0 : newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!rc && !r->locale)
        rc = aoei_fail_nomem(err, 1);
    while (!rc && (rc = aoei_lines_next(lines, &line, err)) == 1)
        rc = line.len ? add_line(r, &line, err) : 0;
    if (!rc && !r->n)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: the file contains no word vectors; expected one word and its vector per line", path);
    if (!rc)
        rc = check_announced(r, err);
    if (!rc)
        rc = add_unknown(r, err);
    if (r->locale)
        freelocale(r->locale);
    aoei_lines_close(lines);
    return rc;
}

static void reader_free(reader *r) {
    for (size_t i = 0; i < r->chunks; i++)
        aoei_free(r->chunk[i]);
    aoei_free(r->chunk);
    aoei_vocab_free(&r->words);
    aoei_buffer_free(&r->copy);
}

/* ------------------------------------------------------------------ model */

/* Appends s to the buffer as a JSON string. */
static void put_string(aoei_buffer *b, aoe_text s) {
    aoei_buffer_putc(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        if (c < 0x20)
            aoei_buffer_printf(b, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            aoei_buffer_printf(b, "\\%c", c);
        else
            aoei_buffer_putc(b, s.data[i]);
    }
    aoei_buffer_putc(b, '"');
}

/* Appends an added token in JSON for each word i with is_added[i] = 1. Added tokens are matched only as whole words
 * ("single_word"). */
static void put_added_tokens(aoei_buffer *b, const reader *r, const unsigned char *is_added) {
    for (size_t i = 0, n = 0; i < r->n; i++) {
        if (!is_added[i])
            continue;
        aoei_buffer_printf(b, "%s{\"id\":%zu,\"content\":", n++ ? "," : "", i);
        put_string(b, aoei_vocab_token(&r->words, (int32_t)i));
        aoei_buffer_printf(
            b, ",\"single_word\":true,\"lstrip\":false,\"rstrip\":false,\"normalized\":true,\"special\":false}");
    }
}

/* Creates the tokenizer. is_added: [r->n] 1 for each word that becomes an added token. */
static int parse_tokenizer(aoe_tokenizer **t, const reader *r, int lowercase, const unsigned char *is_added,
                           aoe_error *err) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    put_added_tokens(&b, r, is_added);
    aoei_buffer_printf(
        &b,
        "],\"normalizer\":%s,"
        "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},"
        "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"Isolated\",\"invert\":false}]},"
        "\"post_processor\":null,\"decoder\":null,\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"" UNKNOWN
        "\",\"continuing_subword_prefix\":\"" CONTINUATION_PREFIX "\",\"max_input_chars_per_word\":100,\"vocab\":{",
        lowercase ? "{\"type\":\"Lowercase\"}" : "null", split_pattern);
    for (size_t i = 0; i < r->n; i++) {
        if (i)
            aoei_buffer_putc(&b, ',');
        put_string(&b, aoei_vocab_token(&r->words, (int32_t)i));
        aoei_buffer_printf(&b, ":%zu", i);
    }
    aoei_buffer_append(&b, "}}}", 3);
    const int rc = b.failed ? aoei_fail_nomem(err, b.len)
                            : aoei_tokenizer_parse_json(t, b.data, b.len, (aoe_text){NULL, 0}, "tokenizer.json", err);
    aoei_buffer_free(&b);
    return rc;
}

/* Returns 1 if lowercasing does not change the word. */
static int is_lowercase(aoe_text s) {
    uint32_t lower[AOEI_LOWER_MAX];
    for (size_t at = 0; at < s.len;) {
        uint32_t cp;
        at += aoei_utf8_decode(s.data + at, s.len - at, &cp);
        if (aoei_unicode_lower(cp, lower) != 1 || lower[0] != cp)
            return 0;
    }
    return 1;
}

/* Sets is_added[i] to 1 if the tokenizer t splits word i into several tokens. If texts are lowercased, a word with
 * uppercase letters never occurs in a text and does not become an added token. */
static int find_split_words(const aoe_tokenizer *t, const reader *r, int lowercase, unsigned char *is_added,
                            aoe_error *err) {
    const aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .no_special_tokens = 1};
    aoe_ids ids = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n; i++) {
        const aoe_text word = aoei_vocab_token(&r->words, (int32_t)i);
        rc = aoe_tokenizer_encode(t, word, &o, &ids, err);
        is_added[i] = !rc && ids.n > 1 && (!lowercase || is_lowercase(word));
    }
    aoe_ids_free(&ids);
    return rc;
}

/* Creates a tokenizer without added tokens, and uses it to find the words that are split. Then creates the final
 * tokenizer, which has these words as added tokens.
 */
static int make_tokenizer(aoe_tokenizer **out, const reader *r, int lowercase, aoe_error *err) {
    unsigned char *is_added = aoei_calloc(r->n, 1);
    aoe_tokenizer *plain = NULL;
    int rc = is_added ? parse_tokenizer(&plain, r, lowercase, is_added, err) : aoei_fail_nomem(err, r->n);
    if (!rc)
        rc = find_split_words(plain, r, lowercase, is_added, err);
    aoe_tokenizer_close(plain);
    if (!rc)
        rc = parse_tokenizer(out, r, lowercase, is_added, err);
    aoei_free(is_added);
    return rc;
}

/* The callback `rows` of aoei_weight_reader, which copies word vectors. */
static void word_rows(aoei_weight_reader *source, float *to, size_t slot, size_t first, size_t n) {
    const reader *r = (const reader *)source;
    (void)slot; /* the model has only one weight, the token embeddings */
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * r->dims, row_at(r, first + i), r->dims * sizeof *to);
}

/* Writes the static model with the words and vectors of r to the directory `to`. */
static int write_model(aoe_context *ctx, reader *r, const char *to, const aoe_word_vectors_options *o, aoe_error *err) {
    aoei_encoder_config config;
    aoei_settings settings = {.pooling_from = "default", .max_length_from = "default", .prompt = aoei_strdup("")};
    aoei_model_contents contents = {.config = &config,
                                    .settings = &settings,
                                    .rows = &r->source,
                                    .storage = o->storage,
                                    .embedding_storage = o->embedding_storage};
    aoe_tokenizer *tokenizer = NULL;
    json_t *json = json_pack("{s:s, s:I, s:I, s:b}", "model_type", "model2vec", "hidden_size", (json_int_t)r->dims,
                             "vocab_size", (json_int_t)r->n, "normalize", 0);
    int rc = json && settings.prompt ? aoei_config_read(&config, json, r->name, err) : aoei_fail_nomem(err, 1);
    if (!rc)
        rc = make_tokenizer(&tokenizer, r, o->lowercase, err);
    if (!rc) {
        settings.pooling = config.arch->default_pooling;
        settings.max_length = config.arch->default_length;
        contents.config_json = json;
        contents.tokenizer = tokenizer;
        r->source.rows = word_rows;
        rc = aoei_contents_save(&contents, to, &ctx->log, err);
    }
    aoei_settings_free(&settings);
    aoe_tokenizer_close(tokenizer);
    json_decref(json);
    return rc;
}

AOEI_DEFAULTS(aoe_word_vectors_options) {
    *o = (aoe_word_vectors_options){.struct_size = sizeof *o, .storage = AOE_STORAGE_F32};
}

int aoe_word_vectors(aoe_context *ctx, const char *path, const char *to, const aoe_word_vectors_options *o,
                     aoe_word_vectors_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, path, to);
    AOEI_RESULT(aoe_word_vectors_result, result, err);
    AOEI_OPTIONS(aoe_word_vectors_options, o, err);
    const aoe_convert_options output = {.struct_size = sizeof(aoe_convert_options),
                                        .storage = o->storage,
                                        .embedding_storage = o->embedding_storage,
                                        .force = o->force};
    reader r = {.dims = 0};
    const int existed = aoei_exists(to);
    int rc = aoei_convert_check(path, to, &output, err);
    if (!rc)
        rc = read_file(&r, path, err);
    if (!rc)
        rc = write_model(ctx, &r, to, o, err);
    if (!rc)
        *result = (aoe_word_vectors_result){.words = r.n - r.unknown_added, .dims = r.dims, .skipped = r.skipped};
    reader_free(&r);
    if (rc && !existed)
        rmdir(to);
    return rc;
}
