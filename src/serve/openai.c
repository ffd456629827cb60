/* SPDX-License-Identifier: MIT
 * Bodies and answers are those of OpenAI, with further fields for prompts and truncation. Embeddings are scaled to unit
 * length. Token ids are rejected unless the server allows them: some clients send ids of OpenAI's tokenizer by default,
 * and their embeddings would be wrong without an error.
 */
#include "serve/openai.h"

#include <string.h>

typedef struct openai_body {
    aoei_inputs input;
    const char *model, *user;
    int encoding;      /* 0: float, 1: base64 */
    size_t dimensions; /* AOE_AUTO: not given */
    const char *prompt_name, *prompt;
    int input_type; /* AOE_AUTO: not given; index in `input_types` */
    int truncate, direction;
} openai_body;

static const char *const input_types[] = {"query", "document", "query", "document"};

const aoei_field aoei_openai_fields[AOEI_OPENAI_FIELDS] = {
    {.name = "input",
     .kind = AOEI_FIELD_INPUTS,
     .offset = offsetof(openai_body, input),
     .required = 1,
     .help = "Text or list of texts. Token ids only if the server allows them."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(openai_body, model),
     .help = "Name of the model (GET /v1/models); without it, the first model of the server."},
    {.name = "user", .kind = AOEI_FIELD_STRING, .offset = offsetof(openai_body, user), .help = "Has no effect."},
    {.name = "encoding_format",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(openai_body, encoding),
     .choices = "float|base64",
     .help = "Numbers, or base64 of float32 values (little endian)."},
    {.name = "dimensions",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(openai_body, dimensions),
     .help = "Number of components, of which the first are kept."},
    {.name = "prompt_name",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(openai_body, prompt_name),
     .help = "Name of a prompt of the model."},
    {.name = "prompt",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(openai_body, prompt),
     .help = "Prompt template, in which {text} stands for the text."},
    {.name = "input_type",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(openai_body, input_type),
     .choices = "query|document|search_query|search_document",
     .help = "Selects the prompt for queries or documents."},
    {.name = "truncate",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(openai_body, truncate),
     .help = "Truncate texts that are longer than the maximum sequence length."},
    {.name = "truncation_direction",
     .kind = AOEI_FIELD_CHOICE,
     .offset = offsetof(openai_body, direction),
     .choices = "Left|Right",
     .help = "Side at which tokens are removed."},
};

const char *aoei_openai_model(const char *name) {
    static const char *const any[] = {"tei", "text-embeddings-inference", "default"};
    for (size_t i = 0; name && i < sizeof any / sizeof *any; i++)
        if (!strcmp(name, any[i]))
            return NULL;
    return name;
}

static void answer(aoei_job *j, aoei_buffer *b) {
    aoei_buffer_printf(b, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < j->n; i++) {
        aoei_buffer_printf(b, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i ? "," : "", i);
        aoei_answer_encoded(b, j->row[i], j->dims, j->format ? AOEI_ENCODE_BASE64 : AOEI_ENCODE_FLOAT);
        aoei_buffer_putc(b, '}');
    }
    aoei_buffer_printf(b, "],\"model\":");
    aoei_answer_cstring(b, j->served->name);
    aoei_buffer_printf(b, ",\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu}}", j->tokens, j->tokens);
}

/* Checks the inputs. Returns 0, or 1 after answering an error. */
static int check_input(aoei_call *c, const openai_body *body) {
    if (aoei_call_check_count(c, body->input.n, 0, "input"))
        return 1;
    if (body->input.ids && !c->server->o.allow_token_ids) {
        aoei_call_fail(
            c, AOEI_VALIDATION,
            "`input` contains token ids, which the server rejects because clients often send those of another "
            "tokenizer; send texts (LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False)). The operator of "
            "the server can allow token ids of this model (the option allow-token-ids)");
        return 1;
    }
    if (!body->dimensions) {
        aoei_call_fail(c, AOEI_VALIDATION, "`dimensions` must be at least 1");
        return 1;
    }
    if (body->input_type != AOE_AUTO && (body->prompt_name || body->prompt)) {
        aoei_call_fail(c, AOEI_VALIDATION,
                       "`input_type` also selects a prompt; omit it, or `prompt` and "
                       "`prompt_name`");
        return 1;
    }
    return 0;
}

void aoei_route_openai(aoei_call *c) {
    openai_body body = {.dimensions = AOE_AUTO, .input_type = AOE_AUTO, .truncate = AOE_AUTO, .direction = 1};
    if (aoei_call_parse(c, &body) || check_input(c, &body))
        return;
    aoei_served *served = aoei_call_model(c, aoei_openai_model(body.model), AOEI_TASK_EMBED);
    if (!served)
        return;
    aoei_job *j = aoei_job_create(c, served, body.input.n, AOEI_TASK_EMBED, answer);
    if (!j)
        return;
    j->format = body.encoding;
    j->value_bytes = body.encoding ? AOEI_FLOAT_BASE64 : AOEI_FLOAT_TEXT;
    j->text = body.input.text;
    j->ids = (const int32_t *const *)body.input.ids;
    j->n_ids = body.input.n_ids;
    j->o.normalize = 1;
    j->o.dims = body.dimensions == AOE_AUTO ? 0 : body.dimensions;
    j->o.prompt = body.prompt;
    j->o.prompt_name = body.input_type == AOE_AUTO ? body.prompt_name : input_types[body.input_type];
    j->o.truncation = body.direction == 0 ? AOE_TRUNCATE_START : AOE_TRUNCATE_END;
    j->refuses_long = !(body.truncate == AOE_AUTO ? c->server->o.truncate : body.truncate);
    j->max_tokens = c->server->o.max_request_tokens;
    aoei_job_start(j);
}

void aoei_route_openai_models(aoei_call *c) {
    aoei_buffer b = {0};
    const aoei_models *models = c->server->models;
    aoei_buffer_printf(&b, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < aoei_models_count(models); i++) {
        aoei_buffer_printf(&b, "%s{\"id\":", i ? "," : "");
        aoei_answer_cstring(&b, aoei_models_name(models, i));
        aoei_buffer_printf(&b, ",\"object\":\"model\",\"created\":0,\"owned_by\":\"aoe\"}");
    }
    aoei_buffer_printf(&b, "]}");
    aoei_call_answer(c, &b);
}
