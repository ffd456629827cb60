/* SPDX-License-Identifier: MIT
 * Bodies and answers are those of text-embeddings-inference, field by field, with the further fields `prompt` and
 * `model`. The answer to /embed is always a list of vectors, also for one text.
 */
#include "serve/tei_embed.h"

#include "base/alloc.h"
#include "serve/pca.h"

#include <string.h>

const aoei_tei_settings aoei_tei_defaults = {.truncate = AOE_AUTO, .direction = 1};

void aoei_tei_apply(aoei_job *job, const aoei_tei_settings *s) {
    const int truncate = s->truncate == AOE_AUTO ? job->server->o.truncate : s->truncate;
    job->refuses_long = !truncate;
    job->o.truncation = s->direction == 0 ? AOE_TRUNCATE_START : AOE_TRUNCATE_END;
    job->o.prompt_name = s->prompt_name;
}

/* ------------------------------------------------------------------- embed */

typedef struct embed_body {
    aoei_inputs inputs;
    aoei_tei_settings settings;
    int normalize;
    size_t dimensions; /* AOE_AUTO: not given */
    const char *prompt, *model;
} embed_body;

const aoei_field aoei_embed_fields[AOEI_EMBED_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_INPUTS,
     .offset = offsetof(embed_body, inputs),
     .required = 1,
     .help = "Text, list of texts, or token ids."},
    AOEI_TEI_SETTINGS_FIELDS(embed_body, settings),
    {.name = "normalize",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(embed_body, normalize),
     .help = "Scale vectors to unit length (default true)."},
    {.name = "dimensions",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(embed_body, dimensions),
     .help = "Number of components, of which the first are kept."},
    {.name = "prompt",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(embed_body, prompt),
     .help = "Prompt template, in which {text} stands for the text."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(embed_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

static void answer_vectors(aoei_job *j, aoei_buffer *b) {
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < j->n; i++) {
        if (i)
            aoei_buffer_putc(b, ',');
        aoei_answer_vector(b, j->row[i], j->dims);
    }
    aoei_buffer_putc(b, ']');
}

/* Sets the inputs of a job. */
static void set_inputs(aoei_job *j, const aoei_inputs *inputs) {
    j->text = inputs->text;
    j->ids = (const int32_t *const *)inputs->ids;
    j->n_ids = inputs->n_ids;
}

void aoei_route_embed(aoei_call *c) {
    embed_body body = {.settings = aoei_tei_defaults, .normalize = 1, .dimensions = AOE_AUTO};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.n, 1, "inputs"))
        return;
    if (!body.dimensions) {
        aoei_call_fail(c, AOEI_VALIDATION, "`dimensions` should be positive");
        return;
    }
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_EMBED);
    aoei_job *j = served ? aoei_job_create(c, served, body.inputs.n, AOEI_TASK_EMBED, answer_vectors) : NULL;
    if (!j)
        return;
    set_inputs(j, &body.inputs);
    aoei_tei_apply(j, &body.settings);
    j->o.normalize = body.normalize;
    j->o.dims = body.dimensions == AOE_AUTO ? 0 : body.dimensions;
    j->o.prompt = body.prompt;
    aoei_job_start(j);
}

void aoei_route_embed_sparse(aoei_call *c) {
    aoei_call_fail(c, AOEI_BACKEND, "the model computes dense embeddings; sparse embeddings are not supported");
}

/* -------------------------------------------------------------- embed_all */

typedef struct embed_all_body {
    aoei_inputs inputs;
    aoei_tei_settings settings;
    const char *model;
} embed_all_body;

const aoei_field aoei_embed_all_fields[AOEI_EMBED_ALL_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_INPUTS,
     .offset = offsetof(embed_all_body, inputs),
     .required = 1,
     .help = "Text, list of texts, or token ids."},
    AOEI_TEI_SETTINGS_FIELDS(embed_all_body, settings),
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(embed_all_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

static void answer_states(aoei_job *j, aoei_buffer *b) {
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < j->n; i++) {
        aoei_buffer_append(b, i ? ",[" : "[", i ? 2 : 1);
        for (size_t t = 0; t < j->task[i].tokens; t++) {
            if (t)
                aoei_buffer_putc(b, ',');
            aoei_answer_vector(b, j->row[i] + t * j->dims, j->dims);
        }
        aoei_buffer_putc(b, ']');
    }
    aoei_buffer_putc(b, ']');
}

void aoei_route_embed_all(aoei_call *c) {
    embed_all_body body = {.settings = aoei_tei_defaults};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.n, 1, "inputs"))
        return;
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_EMBED);
    aoei_job *j = served ? aoei_job_create(c, served, body.inputs.n, AOEI_TASK_STATES, answer_states) : NULL;
    if (!j)
        return;
    set_inputs(j, &body.inputs);
    aoei_tei_apply(j, &body.settings);
    aoei_job_start(j);
}

/* ------------------------------------------------------------- similarity */

typedef struct similarity_body {
    struct {
        aoe_text source;
        aoei_inputs sentences;
    } inputs;
    aoei_tei_settings parameters;
    const char *model;
} similarity_body;

static const aoei_field similarity_inputs[] = {
    {.name = "source_sentence",
     .kind = AOEI_FIELD_TEXT,
     .offset = offsetof(similarity_body, inputs.source) - offsetof(similarity_body, inputs),
     .required = 1,
     .help = "Text that is compared with all others."},
    {.name = "sentences",
     .kind = AOEI_FIELD_TEXTS,
     .offset = offsetof(similarity_body, inputs.sentences) - offsetof(similarity_body, inputs),
     .required = 1,
     .help = "Texts that are compared with the source."},
};

typedef struct settings_only {
    aoei_tei_settings settings;
} settings_only;

static const aoei_field similarity_parameters[] = {AOEI_TEI_SETTINGS_FIELDS(settings_only, settings)};

const aoei_field aoei_similarity_fields[AOEI_SIMILARITY_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_OBJECT,
     .offset = offsetof(similarity_body, inputs),
     .required = 1,
     .help = "Texts.",
     .fields = similarity_inputs,
     .n_fields = sizeof similarity_inputs / sizeof *similarity_inputs},
    {.name = "parameters",
     .kind = AOEI_FIELD_OBJECT,
     .offset = offsetof(similarity_body, parameters),
     .help = "Settings.",
     .fields = similarity_parameters,
     .n_fields = sizeof similarity_parameters / sizeof *similarity_parameters},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(similarity_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

/* The first text of the job is the source. */
static void answer_cosines(aoei_job *j, aoei_buffer *b) {
    aoei_buffer_putc(b, '[');
    for (size_t i = 1; i < j->n; i++) {
        if (i > 1)
            aoei_buffer_putc(b, ',');
        aoei_answer_float(b, (float)aoe_cosine(j->row[0], j->row[i], j->dims));
    }
    aoei_buffer_putc(b, ']');
}

void aoei_route_similarity(aoei_call *c) {
    similarity_body body = {.parameters = aoei_tei_defaults};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.sentences.n, 1, "inputs.sentences"))
        return;
    const size_t n = body.inputs.sentences.n + 1;
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_EMBED);
    aoei_job *j = served ? aoei_job_create(c, served, n, AOEI_TASK_EMBED, answer_cosines) : NULL;
    if (!j)
        return;
    aoe_text *texts = aoei_malloc_array(n, sizeof *texts);
    if (!texts) {
        aoei_job_fail(j, AOEI_INTERNAL, "out of memory for the texts");
        return;
    }
    texts[0] = body.inputs.source;
    memcpy(texts + 1, body.inputs.sentences.text, (n - 1) * sizeof *texts);
    j->text = j->user = texts;
    j->value_bytes = 0; /* the answer has only one number for each text */
    aoei_tei_apply(j, &body.parameters);
    aoei_job_start(j);
}

/* -------------------------------------------------------------------- map */

typedef struct map_body {
    aoei_inputs inputs;
    const char *model;
} map_body;

const aoei_field aoei_map_fields[AOEI_MAP_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_TEXTS,
     .offset = offsetof(map_body, inputs),
     .required = 1,
     .help = "Texts of the map."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(map_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

static void answer_map(aoei_job *j, aoei_buffer *b) {
    aoe_error err = {0};
    float *points = aoei_malloc_array(j->n, 2 * sizeof *points);
    if (!points || aoei_pca(j->values, j->n, j->dims, points, NULL, NULL, &err))
        b->failed = 1;
    aoei_buffer_printf(b, "{\"points\":[");
    for (size_t i = 0; i < j->n && !b->failed; i++) {
        if (i)
            aoei_buffer_putc(b, ',');
        aoei_answer_vector(b, points + 2 * i, 2);
    }
    aoei_buffer_printf(b, "]}");
    aoei_free(points);
}

void aoei_route_map(aoei_call *c) {
    map_body body = {0};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.n, 0, "inputs"))
        return;
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_EMBED);
    aoei_job *j = served ? aoei_job_create(c, served, body.inputs.n, AOEI_TASK_EMBED, answer_map) : NULL;
    if (!j)
        return;
    j->text = body.inputs.text;
    j->value_bytes = 0; /* the answer has only two numbers for each text */
    j->max_tokens = c->server->o.max_request_tokens;
    j->refuses_long = !c->server->o.truncate;
    aoei_job_start(j);
}
