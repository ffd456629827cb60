/* SPDX-License-Identifier: MIT
 * A cross-encoder reads a pair, or a single text as classifiers of sentences do. The answer has all outputs of the
 * model with their names, in descending order of the scores.
 */
#include "serve/predict.h"

#include "base/alloc.h"
#include "serve/job.h"
#include "serve/scores.h"
#include "serve/tei_embed.h"

typedef struct predict_body {
    aoei_pairs inputs;
    aoei_tei_settings settings;
    int raw_scores;
    const char *model;
} predict_body;

const aoei_field aoei_predict_fields[AOEI_PREDICT_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_PAIRS,
     .offset = offsetof(predict_body, inputs),
     .required = 1,
     .help = "Text, text pair, or list of lists of one or two texts."},
    AOEI_TEI_TRUNCATION_FIELDS(predict_body, settings),
    {.name = "raw_scores",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(predict_body, raw_scores),
     .help = "Return the outputs of the model without an activation function (default false)."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(predict_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

enum { ONE, LIST }; /* formats of a job: the prediction of one input, or a list of predictions */

static void answer_predictions(aoei_job *j, aoei_buffer *b) {
    aoei_ranked *order = j->user;
    aoei_buffer_append(b, "[", j->format == LIST);
    for (size_t i = 0; i < j->n; i++) {
        for (size_t k = 0; k < j->dims; k++)
            order[k] = (aoei_ranked){j->row[i][k], (uint32_t)k};
        aoei_scores_sort(order, j->dims);
        aoei_buffer_printf(b, "%s", i ? ",[" : "[");
        for (size_t k = 0; k < j->dims; k++) {
            aoei_buffer_printf(b, "%s{\"score\":", k ? "," : "");
            aoei_answer_float(b, order[k].score);
            aoei_buffer_printf(b, ",\"label\":");
            aoei_scores_label(b, j->served, order[k].index);
            aoei_buffer_putc(b, '}');
        }
        aoei_buffer_putc(b, ']');
    }
    aoei_buffer_append(b, "]", j->format == LIST);
}

void aoei_route_predict(aoei_call *c) {
    predict_body body = {.settings = aoei_tei_defaults};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.n, 1, "inputs"))
        return;
    aoei_served *served = aoei_call_model(c, body.model, AOEI_TASK_SCORE);
    aoei_job *j = served ? aoei_job_create(c, served, body.inputs.n, AOEI_TASK_SCORE, answer_predictions) : NULL;
    if (!j)
        return;
    j->user = aoei_malloc_array(served->dims, sizeof(aoei_ranked));
    if (!j->user) {
        aoei_job_fail(j, AOEI_INTERNAL, "out of memory for the scores");
        return;
    }
    j->first = body.inputs.first;
    j->second = body.inputs.second;
    j->format = body.inputs.is_single ? ONE : LIST;
    j->list.activation = aoei_scores_activation(served, body.raw_scores);
    aoei_tei_apply(j, &body.settings);
    aoei_job_start(j);
}

void aoei_route_root(aoei_call *c) {
    if (aoei_call_load(c))
        return;
    const char *model = json_string_value(json_object_get(c->request.root, "model"));
    aoei_served *served = aoei_call_model(c, model, AOEI_TASK_STATES);
    if (!served)
        return;
    const int is_cross_encoder = served->is_cross_encoder;
    aoei_models_release(c->server->models, served);
    /* the routes of this path in the table: embed, similarity, predict, rerank */
    int next = is_cross_encoder ? 2 : json_is_object(json_object_get(c->request.root, "inputs"));
    next += is_cross_encoder && json_object_get(c->request.root, "query");
    for (; next; next--)
        c->route = aoei_call_next_route(c);
    if (c->route->fn == aoei_route_root)
        aoei_route_embed(c);
    else
        c->route->fn(c);
}
