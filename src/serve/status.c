/* SPDX-License-Identifier: MIT
 * The routes that describe the server: its state, models, limits, metrics, routes, and the web page.
 */
#include "serve/status.h"

#include "serve/openapi.h"
#include "serve/page.h"
#include "serve/scores.h"

static void answer_state(aoei_call *c, int is_ok, const char *text) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "{\"status\":\"%s\"}", text);
    aoei_exchange_answer(c->x, is_ok ? 200 : 503, "application/json", &b);
}

void aoei_route_live(aoei_call *c) {
    answer_state(c, 1, "ok");
}

void aoei_route_ready(aoei_call *c) {
    const int state = atomic_load(&c->server->state);
    answer_state(c, state == AOEI_READY, state == AOEI_READY ? "ok" : state == AOEI_LOADING ? "loading" : "stopping");
}

void aoei_route_health(aoei_call *c) {
    aoei_route_ready(c);
}

/* Appends the key model_type of text-embeddings-inference. */
static void add_model_type(aoei_buffer *b, const aoei_served *m) {
    if (!m->is_cross_encoder) {
        aoei_buffer_printf(b, "{\"embedding\":{\"pooling\":\"%s\"}}", aoe_pooling_name(m->info.pooling));
        return;
    }
    aoei_buffer_printf(b, "{\"%s\":{\"id2label\":{", m->dims == 1 ? "reranker" : "classifier");
    for (size_t i = 0; i < m->dims; i++) {
        aoei_buffer_printf(b, "%s\"%zu\":", i ? "," : "", i);
        aoei_scores_label(b, m, i);
    }
    aoei_buffer_printf(b, "},\"label2id\":{");
    for (size_t i = 0; i < m->dims; i++) {
        aoei_buffer_printf(b, "%s", i ? "," : "");
        aoei_scores_label(b, m, i);
        aoei_buffer_printf(b, ":%zu", i);
    }
    aoei_buffer_printf(b, "}}}");
}

void aoei_route_info(aoei_call *c) {
    const aoe_serve_options *o = &c->server->o;
    const char *name;
    aoei_buffer b = {0};
    aoei_served *m = aoei_call_model(c, aoei_exchange_query(c->x, "model"), AOEI_TASK_STATES);
    if (!m)
        return;
    aoei_buffer_printf(&b, "{\"model_id\":");
    aoei_answer_cstring(&b, m->name);
    aoei_buffer_printf(&b, ",\"model_sha\":null,\"model_dtype\":");
    aoei_answer_cstring(&b, m->info.computed);
    aoei_buffer_printf(&b, ",\"served_model_name\":");
    aoei_answer_cstring(&b, m->name);
    aoei_buffer_printf(&b, ",\"model_type\":");
    add_model_type(&b, m);
    aoei_buffer_printf(&b,
                       ",\"max_concurrent_requests\":%zu,\"max_input_length\":%zu,\"max_batch_tokens\":%zu,"
                       "\"max_batch_requests\":null,\"max_client_batch_size\":%zu,\"auto_truncate\":%s,"
                       "\"tokenization_workers\":%zu,\"version\":\"%s\",\"sha\":null,\"docker_label\":null",
                       o->max_requests, m->info.max_length, o->max_batch_tokens, o->max_texts,
                       o->truncate ? "true" : "false", (size_t)3, aoe_version());
    aoei_buffer_printf(&b, ",\"dimensions\":%zu,\"architecture\":\"%s\",\"parameters\":%zu,\"prompts\":[", m->dims,
                       m->info.architecture, m->info.parameters);
    for (size_t i = 0; (name = aoe_model_prompt_name(m->model, i)); i++) {
        aoei_buffer_printf(&b, "%s", i ? "," : "");
        aoei_answer_cstring(&b, name);
    }
    aoei_buffer_printf(&b,
                       "],\"max_list\":%zu,\"max_request_tokens\":%zu,\"max_body\":%zu,\"writable\":%s,"
                       "\"libmicrohttpd\":\"%s\"}",
                       o->max_list, o->max_request_tokens, o->max_body, o->writable ? "true" : "false",
                       aoei_http_version());
    aoei_models_release(c->server->models, m);
    aoei_call_answer(c, &b);
}

void aoei_route_metrics(aoei_call *c) {
    aoei_buffer b = {0};
    aoei_metrics_text(c->server->metrics, &b);
    aoei_exchange_answer(c->x, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}

void aoei_route_openapi(aoei_call *c) {
    aoei_buffer b = {0};
    aoei_openapi(&b, c->server->routes, c->server->n_routes);
    aoei_exchange_answer(c->x, 200, "application/json", &b);
}

/* Appends text to HTML. */
static void add_html(aoei_buffer *b, const char *text) {
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            aoei_buffer_printf(b, "&#%d;", *text);
        else
            aoei_buffer_putc(b, *text);
}

void aoei_route_docs(aoei_call *c) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b,
                       "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
                       "<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" "
                       "content=\"light dark\"><title>Routes of aoe</title></head>"
                       "<body><main><h1>Routes</h1><p>The document <a href=\"openapi.json\">openapi.json</a> describes "
                       "them for programs.</p><dl>");
    for (size_t i = 0; i < c->server->n_routes; i++) {
        const aoei_route *r = &c->server->routes[i];
        aoei_buffer_printf(&b, "<dt><code>%s ", r->method);
        add_html(&b, r->path);
        aoei_buffer_printf(&b, "</code></dt><dd>");
        add_html(&b, r->summary);
        for (size_t k = 0; k < r->n_fields; k++) {
            aoei_buffer_printf(&b, "%s<code>", k ? ", " : "<br>Fields: ");
            add_html(&b, r->fields[k].name);
            aoei_buffer_printf(&b, "</code>%s", r->fields[k].required ? " (required)" : "");
        }
        aoei_buffer_printf(&b, "</dd>");
    }
    aoei_buffer_printf(&b, "</dl></main></body></html>");
    aoei_exchange_add_header(c->x, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    aoei_exchange_add_header(c->x, "X-Content-Type-Options", "nosniff");
    aoei_exchange_answer(c->x, 200, "text/html; charset=utf-8", &b);
}

void aoei_route_page(aoei_call *c) {
    aoei_buffer b = {0};
    const aoe_text page = aoei_page();
    aoei_buffer_append(&b, page.data, page.len);
    aoei_exchange_add_header(c->x, "Content-Security-Policy", "%s", aoei_page_policy());
    aoei_exchange_add_header(c->x, "X-Content-Type-Options", "nosniff");
    aoei_exchange_add_header(c->x, "Referrer-Policy", "no-referrer");
    aoei_exchange_answer(c->x, 200, "text/html; charset=utf-8", &b);
}
