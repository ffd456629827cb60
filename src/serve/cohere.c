/* SPDX-License-Identifier: MIT
 * Bodies and answers are those of version 2 of Cohere's API. The input type selects the prompt: the prompt of the model
 * with the same name, which some models have, otherwise "query" or "document" for searches, otherwise none. Embeddings
 * are scaled to unit length. Images are rejected.
 */
#include "serve/cohere.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Values of `truncate`. */
enum { NONE, START, END };

typedef struct cohere_body {
    aoei_inputs texts;
    const char *model;
    int input_type;           /* AOE_AUTO: not given; index in `input_types` */
    unsigned embedding_types; /* bit i: encodings[i] */
    size_t output_dimension;  /* AOE_AUTO: not given */
    size_t max_tokens;        /* AOE_AUTO: not given */
    int truncate;             /* AOE_AUTO: not given */
    json_t *images, *inputs;
} cohere_body;

/* Prompts for the input types. */
static const struct {
    const char *name;  /* of the input type */
    const char *other; /* name of a prompt that every model accepts; NULL: none */
} input_types[] = {
    {"search_document", "document"}, {"search_query", "query"}, {"classification", NULL}, {"clustering", NULL}};

static const struct {
    const char *name; /* key of the answer */
    aoei_encoding encoding;
    size_t bytes; /* of a component in the answer, about */
} encodings[] = {{"float", AOEI_ENCODE_FLOAT, AOEI_FLOAT_TEXT},
                 {"int8", AOEI_ENCODE_INT8, 4},
                 {"uint8", AOEI_ENCODE_UINT8, 4},
                 {"binary", AOEI_ENCODE_BINARY, 1},
                 {"ubinary", AOEI_ENCODE_UBINARY, 1},
                 {"base64", AOEI_ENCODE_BASE64, AOEI_FLOAT_BASE64}};

const aoei_field aoei_cohere_fields[AOEI_COHERE_FIELDS] = {
    {.name = "texts",
     .kind = AOEI_FIELD_TEXTS,
     .offset = offsetof(cohere_body, texts),
     .required = 1,
     .help = "List of texts."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(cohere_body, model),
     .help = "Name of the model (GET /v1/models); without it, the first model of the server."},
    {.name = "input_type",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(cohere_body, input_type),
     .choices = "search_document|search_query|classification|clustering",
     .help = "Selects the prompt; without it, the default prompt of the model."},
    {.name = "embedding_types",
     .kind = AOEI_FIELD_CHOICES,
     .offset = offsetof(cohere_body, embedding_types),
     .choices = "float|int8|uint8|binary|ubinary|base64",
     .help = "Encodings of the embeddings in the answer (default float)."},
    {.name = "output_dimension",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(cohere_body, output_dimension),
     .help = "Number of components, of which the first are kept."},
    {.name = "max_tokens",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(cohere_body, max_tokens),
     .help = "Maximum tokens of a text; a larger number than that of the model has no effect."},
    {.name = "truncate",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(cohere_body, truncate),
     .choices = "NONE|START|END",
     .help = "Side at which tokens of long texts are removed; NONE: long texts are errors."},
    {.name = "images",
     .kind = AOEI_FIELD_ANY,
     .offset = offsetof(cohere_body, images),
     .help = "Not supported: the models read only text."},
    {.name = "inputs",
     .kind = AOEI_FIELD_ANY,
     .offset = offsetof(cohere_body, inputs),
     .help = "Not supported; send the texts in `texts`."},
};

/* Appends a random UUID as a JSON string. */
static void put_uuid(aoei_buffer *b, const aoei_exchange *x) {
    uint64_t word[2];
    if (getrandom(word, sizeof word, GRND_NONBLOCK) != (ssize_t)sizeof word) {
        word[0] = aoei_exchange_start(x);
        word[1] = aoei_hash(AOEI_HASH_START, word, sizeof *word) ^ aoei_exchange_connection(x);
    }
    aoei_buffer_printf(b, "\"%08x-%04x-4%03x-%04x-%012llx\"", (unsigned)(word[0] >> 32),
                       (unsigned)(word[0] >> 16 & 0xFFFF), (unsigned)(word[0] & 0xFFF),
                       (unsigned)(0x8000 | (word[1] >> 48 & 0x3FFF)),
                       (unsigned long long)(word[1] & UINT64_C(0xFFFFFFFFFFFF)));
}

static void answer(aoei_job *j, aoei_buffer *b) {
    int n = 0;
    aoei_buffer_printf(b, "{\"id\":");
    put_uuid(b, j->x);
    aoei_buffer_printf(b, ",\"embeddings\":{");
    for (size_t k = 0; k < sizeof encodings / sizeof *encodings; k++) {
        if (!((unsigned)j->format >> k & 1))
            continue;
        aoei_buffer_printf(b, "%s\"%s\":[", n++ ? "," : "", encodings[k].name);
        for (size_t i = 0; i < j->n; i++) {
            if (i)
                aoei_buffer_putc(b, ',');
            aoei_answer_encoded(b, j->row[i], j->dims, encodings[k].encoding);
        }
        aoei_buffer_putc(b, ']');
    }
    aoei_buffer_printf(b, "},\"texts\":[");
    for (size_t i = 0; i < j->n; i++) {
        if (i)
            aoei_buffer_putc(b, ',');
        aoei_answer_string(b, j->text[i]);
    }
    aoei_buffer_printf(b,
                       "],\"meta\":{\"api_version\":{\"version\":\"2\"},\"billed_units\":{\"input_tokens\":%zu}},"
                       "\"response_type\":\"embeddings_by_type\"}",
                       j->tokens);
}

/* Returns 1 if a key of the body has a value other than null or an empty list. */
static int is_given(const aoei_call *c, const char *key) {
    const json_t *v = json_object_get(c->request.root, key);
    return v && !json_is_null(v) && !(json_is_array(v) && !json_array_size(v));
}

/* Checks, before the other fields are read, that the body has no other inputs than texts. Returns 0, or 1 after
 * answering an error. */
static int check_kind(aoei_call *c) {
    const char *key = is_given(c, "images") ? "images" : is_given(c, "inputs") ? "inputs" : NULL;
    if (key)
        aoei_call_fail(c, AOEI_VALIDATION,
                       "`%s` is not supported, because the models read only text; send the texts as a list in `texts`",
                       key);
    return key != NULL;
}

/* Checks the body. Returns 0, or 1 after answering an error. */
static int check_body(aoei_call *c, const cohere_body *body) {
    if (!body->output_dimension || !body->max_tokens) {
        aoei_call_fail(c, AOEI_VALIDATION, "`%s` must be at least 1",
                       body->max_tokens ? "output_dimension" : "max_tokens");
        return 1;
    }
    return aoei_call_check_count(c, body->texts.n, 0, "texts");
}

/* Sets the prompt of a job. */
static void set_prompt(aoei_job *j, int input_type) {
    if (input_type == AOE_AUTO)
        return;
    j->o.prompt_name = aoe_model_prompt(j->served->model, input_types[input_type].name) ? input_types[input_type].name
                                                                                        : input_types[input_type].other;
    if (!j->o.prompt_name)
        j->o.prompt = "";
}

void aoei_route_cohere(aoei_call *c) {
    cohere_body body = {
        .input_type = AOE_AUTO, .output_dimension = AOE_AUTO, .max_tokens = AOE_AUTO, .truncate = AOE_AUTO};
    if (aoei_call_load(c) || check_kind(c) || aoei_call_parse(c, &body) || check_body(c, &body))
        return;
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_EMBED);
    aoei_job *j = served ? aoei_job_create(c, served, body.texts.n, AOEI_TASK_EMBED, answer) : NULL;
    if (!j)
        return;
    if (body.output_dimension != AOE_AUTO && body.output_dimension > served->dims) {
        char message[120];
        snprintf(message, sizeof message, "`output_dimension` is %zu, but the embeddings have %zu components",
                 body.output_dimension, served->dims);
        aoei_job_fail(j, AOEI_VALIDATION, message);
        return;
    }
    j->format = (int)(body.embedding_types ? body.embedding_types : 1);
    j->value_bytes = 0;
    for (size_t k = 0; k < sizeof encodings / sizeof *encodings; k++)
        j->value_bytes += (unsigned)j->format >> k & 1 ? encodings[k].bytes : 0;
    j->text = body.texts.text;
    j->o.normalize = 1;
    j->o.dims = body.output_dimension == AOE_AUTO ? 0 : body.output_dimension;
    j->o.max_length = body.max_tokens < served->info.max_length ? body.max_tokens : 0;
    j->length_key = "max_tokens";
    j->o.truncation = body.truncate == START ? AOE_TRUNCATE_START : AOE_TRUNCATE_END;
    j->refuses_long = body.truncate == AOE_AUTO ? !c->server->o.truncate : body.truncate == NONE;
    j->max_tokens = c->server->o.max_request_tokens;
    set_prompt(j, body.input_type);
    aoei_job_start(j);
}
