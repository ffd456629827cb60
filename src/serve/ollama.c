/* SPDX-License-Identifier: MIT
 * Bodies and answers are those of ollama. Of the options of a request, only the maximum length of a text (num_ctx) has
 * a meaning for embeddings; the others are listed in the header x-aoe-ignored. A request without texts loads the model
 * and gets an empty list, as in ollama.
 */
#include "serve/ollama.h"

#include "base/clock.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/path.h"
#include "net/digest.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LATEST ":latest"

/* Settings that both routes of embeddings have. */
typedef struct ollama_options {
    size_t num_ctx; /* AOE_AUTO or 0: not given */
} ollama_options;

static const aoei_field option_fields[] = {
    {.name = "num_ctx",
     .kind = AOEI_FIELD_COUNT,
     .offset = offsetof(ollama_options, num_ctx),
     .help = "Maximum tokens of a text; a larger number than that of the model has no effect."},
};

typedef struct embed_body {
    const char *model;
    aoei_inputs input;
    int truncate;      /* AOE_AUTO: not given */
    size_t dimensions; /* 0: not given */
    json_t *keep_alive;
    ollama_options options;
} embed_body;

typedef struct embeddings_body {
    const char *model;
    aoe_text prompt;
    json_t *keep_alive;
    ollama_options options;
} embeddings_body;

#define MODEL_FIELD(type)                                                                                              \
    {                                                                                                                  \
        .name = "model", .kind = AOEI_FIELD_STRING, .offset = offsetof(type, model),                                   \
        .help = "Name of the model (GET /api/tags); without it, the first model of the server."                        \
    }
#define KEEP_ALIVE_FIELD(type)                                                                                         \
    {                                                                                                                  \
        .name = "keep_alive", .kind = AOEI_FIELD_ANY, .offset = offsetof(type, keep_alive),                            \
        .help = "Has no effect: models stay loaded."                                                                   \
    }
#define OPTIONS_FIELD(type)                                                                                            \
    {                                                                                                                  \
        .name = "options", .kind = AOEI_FIELD_OBJECT, .offset = offsetof(type, options), .help = "Settings.",          \
        .fields = option_fields, .n_fields = sizeof option_fields / sizeof *option_fields                              \
    }

const aoei_field aoei_ollama_embed_fields[AOEI_OLLAMA_EMBED_FIELDS] = {
    MODEL_FIELD(embed_body),
    {.name = "input",
     .kind = AOEI_FIELD_TEXTS,
     .may_be_empty = 1,
     .offset = offsetof(embed_body, input),
     .help = "Text or list of texts; without it, the model is only loaded."},
    {.name = "truncate",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(embed_body, truncate),
     .help = "Truncate texts that are longer than the maximum sequence length."},
    {.name = "dimensions",
     .kind = AOEI_FIELD_COUNT,
     .offset = offsetof(embed_body, dimensions),
     .help = "Number of components, of which the first are kept; 0: all."},
    KEEP_ALIVE_FIELD(embed_body),
    OPTIONS_FIELD(embed_body),
};

const aoei_field aoei_ollama_embeddings_fields[AOEI_OLLAMA_EMBEDDINGS_FIELDS] = {
    MODEL_FIELD(embeddings_body),
    {.name = "prompt",
     .kind = AOEI_FIELD_TEXT,
     .offset = offsetof(embeddings_body, prompt),
     .help = "Text; without it, the model is only loaded."},
    KEEP_ALIVE_FIELD(embeddings_body),
    OPTIONS_FIELD(embeddings_body),
};

/* ------------------------------------------------------------------ models */

/* Answers that no model has the name. */
static void fail_name(aoei_call *c, const char *name) {
    const aoei_models *models = c->server->models;
    char names[400] = "";
    size_t at = 0;
    for (size_t i = 0; i < aoei_models_count(models) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.100s", i ? ", " : "", aoei_models_name(models, i));
    aoei_call_fail(c, AOEI_NOT_FOUND, "model '%.100s' not found; the server has: %s", name, names);
}

/* Like aoei_call_model for a name as clients of ollama write it. */
static aoei_served *get_model(aoei_call *c, const char *name, aoei_task_kind kind) {
    if (!aoei_models_has(c->server->models, name)) {
        fail_name(c, name);
        return NULL;
    }
    return aoei_call_model(c, name, kind);
}

/* ------------------------------------------------------------------- embed */

/* What the answer to /api/embed needs besides the job. */
typedef struct embed_answer {
    const char *model; /* name in the request, borrowed from it; NULL: none */
    uint64_t load;     /* ns for opening the model */
} embed_answer;

/* Appends the keys after the embeddings. */
static void put_durations(aoei_buffer *b, const aoei_exchange *x, uint64_t load, size_t tokens) {
    aoei_buffer_printf(b, ",\"total_duration\":%llu,\"load_duration\":%llu,\"prompt_eval_count\":%zu}",
                       (unsigned long long)(aoei_now_ns() - aoei_exchange_start(x)), (unsigned long long)load, tokens);
}

static void answer_embed(aoei_job *j, aoei_buffer *b) {
    const embed_answer *a = j->user;
    aoei_buffer_printf(b, "{\"model\":");
    aoei_answer_cstring(b, a->model ? a->model : j->served->name);
    aoei_buffer_printf(b, ",\"embeddings\":[");
    for (size_t i = 0; i < j->n; i++) {
        if (i)
            aoei_buffer_putc(b, ',');
        aoei_answer_vector(b, j->row[i], j->dims);
    }
    aoei_buffer_putc(b, ']');
    put_durations(b, j->x, a->load, j->tokens);
}

/* Sets the settings of a job that both routes have. */
static void apply(aoei_job *j, const ollama_options *o, int truncate) {
    j->o.max_length = o->num_ctx < j->served->info.max_length ? o->num_ctx : 0;
    j->length_key = "options.num_ctx";
    j->refuses_long = !(truncate == AOE_AUTO ? j->server->o.truncate : truncate);
    j->max_tokens = j->server->o.max_request_tokens;
}

/* Answers a request for /api/embed without texts, and releases the model. */
static void answer_nothing(aoei_call *c, aoei_served *served, const char *name, uint64_t load) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "{\"model\":");
    aoei_answer_cstring(&b, name ? name : served->name);
    aoei_buffer_printf(&b, ",\"embeddings\":[]");
    put_durations(&b, c->x, load, 0);
    aoei_models_release(c->server->models, served);
    aoei_call_answer(c, &b);
}

void aoei_route_ollama_embed(aoei_call *c) {
    embed_body body = {.truncate = AOE_AUTO};
    if (aoei_call_parse(c, &body))
        return;
    const aoei_inputs *in = &body.input;
    const int is_empty = !in->n || (in->is_single && !in->text[0].len);
    if (!is_empty && aoei_call_check_count(c, in->n, 0, "input"))
        return;
    const uint64_t start = aoei_now_ns();
    aoei_served *served = get_model(c, body.model, AOEI_TASK_EMBED);
    if (!served)
        return;
    const embed_answer settings = {body.model, aoei_now_ns() - start};
    if (is_empty) {
        answer_nothing(c, served, body.model, settings.load);
        return;
    }
    aoei_job *j = aoei_job_create(c, served, in->n, AOEI_TASK_EMBED, answer_embed);
    if (!j)
        return;
    embed_answer *a = j->user = aoei_malloc(sizeof *a);
    if (!a) {
        aoei_job_fail(j, AOEI_INTERNAL, "out of memory for the request");
        return;
    }
    *a = settings;
    j->text = in->text;
    j->o.normalize = 1;
    j->o.dims = body.dimensions;
    apply(j, &body.options, body.truncate);
    aoei_job_start(j);
}

/* -------------------------------------------------------------- embeddings */

static void answer_embedding(aoei_job *j, aoei_buffer *b) {
    aoei_buffer_printf(b, "{\"embedding\":");
    aoei_answer_vector(b, j->row[0], j->dims);
    aoei_buffer_putc(b, '}');
}

void aoei_route_ollama_embeddings(aoei_call *c) {
    embeddings_body body = {0};
    if (aoei_call_parse(c, &body))
        return;
    aoei_served *served = get_model(c, body.model, AOEI_TASK_EMBED);
    if (!served)
        return;
    if (!body.prompt.len) {
        aoei_buffer b = {0};
        aoei_models_release(c->server->models, served);
        aoei_buffer_printf(&b, "{\"embedding\":[]}");
        aoei_call_answer(c, &b);
        return;
    }
    aoei_job *j = aoei_job_create(c, served, 1, AOEI_TASK_EMBED, answer_embedding);
    if (!j)
        return;
    aoe_text *text = j->user = aoei_malloc(sizeof *text);
    if (!text) {
        aoei_job_fail(j, AOEI_INTERNAL, "out of memory for the request");
        return;
    }
    *text = body.prompt;
    j->text = text;
    j->o.normalize = 0;
    apply(j, &body.options, AOE_AUTO);
    aoei_job_start(j);
}

/* ------------------------------------------------------------ tags and show */

/* What the files of a model directory tell about a model. Subfolders are not read. */
typedef struct model_files {
    uint64_t bytes;
    time_t modified;              /* of the newest file; 0: unknown */
    char digest[AOEI_DIGEST_HEX]; /* SHA-256 of the names, sizes and times of the files; "": unknown */
} model_files;

/* Adds a regular file to *files, and to the digest unless d is NULL. */
static void add_file(model_files *files, aoei_digest *d, const char *dir, const char *name) {
    struct stat st;
    char text[64];
    char *path = aoei_path_join(dir, name);
    if (path && !stat(path, &st) && S_ISREG(st.st_mode)) {
        files->bytes += (uint64_t)st.st_size;
        files->modified = st.st_mtime > files->modified ? st.st_mtime : files->modified;
        const int n = snprintf(text, sizeof text, "/%lld/%lld/", (long long)st.st_size, (long long)st.st_mtime);
        if (d) {
            (void)aoei_digest_add(d, name, strlen(name));
            (void)aoei_digest_add(d, text, (size_t)n);
        }
    }
    aoei_free(path);
}

/* Describes the files of model i. What cannot be read stays unknown. */
static void describe_files(const aoei_models *models, size_t i, model_files *files) {
    const char *name = aoei_models_dir(models, i);
    char dir[4096], **names = NULL;
    size_t n = 0;
    aoei_digest *d = NULL;
    *files = (model_files){0};
    /* the default model of the library has no directory in the list */
    if (name == aoei_models_name(models, i) ? aoe_default_model(dir, sizeof dir, NULL)
                                            : aoe_model_find(dir, sizeof dir, name, NULL))
        return;
    if (aoei_list_dir(&names, &n, dir, NULL))
        return;
    if (aoei_digest_create(&d, "SHA256", NULL))
        d = NULL;
    for (size_t k = 0; k < n; k++)
        add_file(files, d, dir, names[k]);
    if (d && aoei_digest_end(d, files->digest))
        *files->digest = 0;
    aoei_digest_free(d);
    aoei_list_free(names, n);
}

/* Appends the key "modified_at"; null if the time is unknown. */
static void put_modified(aoei_buffer *b, time_t modified) {
    char text[32] = "";
    struct tm tm;
    if (modified && gmtime_r(&modified, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    aoei_buffer_printf(b, "\"modified_at\":");
    aoei_answer_cstring(b, *text ? text : NULL);
}

/* Appends the key "details". m: NULL if the model is not open; only its format is known then. */
static void put_details(aoei_buffer *b, const aoei_served *m) {
    aoei_buffer_printf(b, "\"details\":{\"parent_model\":\"\",\"format\":\"safetensors\",\"family\":");
    aoei_answer_cstring(b, m ? m->info.architecture : "");
    aoei_buffer_printf(b, ",\"families\":");
    if (m) {
        aoei_buffer_putc(b, '[');
        aoei_answer_cstring(b, m->info.architecture);
        aoei_buffer_putc(b, ']');
    } else {
        aoei_buffer_printf(b, "null");
    }
    aoei_buffer_printf(b, ",\"parameter_size\":\"");
    if (m && m->info.parameters >= 1000000000)
        aoei_buffer_printf(b, "%.1fB", (double)m->info.parameters / 1e9);
    else if (m)
        aoei_buffer_printf(b, "%.1fM", (double)m->info.parameters / 1e6);
    aoei_buffer_printf(b, "\",\"quantization_level\":");
    aoei_answer_cstring(b, m ? m->info.storage : "");
    aoei_buffer_putc(b, '}');
}

/* Appends a name as ollama writes it, with a tag. */
static void put_tagged(aoei_buffer *b, const char *key, const char *name) {
    char text[512];
    snprintf(text, sizeof text, "%.*s%s", 480, name, strchr(name, ':') ? "" : LATEST);
    aoei_buffer_printf(b, "\"%s\":", key);
    aoei_answer_cstring(b, text);
    aoei_buffer_putc(b, ',');
}

/* Answers with the list of the models, or only of those that are open. */
static void answer_models(aoei_call *c, int only_open) {
    aoei_models *models = c->server->models;
    aoei_buffer b = {0};
    int written = 0;
    aoei_buffer_printf(&b, "{\"models\":[");
    for (size_t i = 0; i < aoei_models_count(models); i++) {
        const char *name = aoei_models_name(models, i);
        int is_closed = 0; /* a model that is not open is not opened to be listed */
        model_files files;
        aoei_served *m = aoei_models_acquire(models, name, 0, &is_closed, NULL);
        if (!m && only_open)
            continue;
        describe_files(models, i, &files);
        aoei_buffer_printf(&b, "%s{", written++ ? "," : "");
        put_tagged(&b, "name", name);
        put_tagged(&b, "model", name);
        put_modified(&b, files.modified);
        aoei_buffer_printf(&b, ",\"size\":%llu,\"digest\":\"%s\",", (unsigned long long)files.bytes, files.digest);
        if (only_open)
            aoei_buffer_printf(&b, "\"size_vram\":0,\"context_length\":%zu,", m->info.max_length);
        put_details(&b, m);
        aoei_buffer_putc(&b, '}');
        aoei_models_release(models, m);
    }
    aoei_buffer_printf(&b, "]}");
    aoei_call_answer(c, &b);
}

void aoei_route_ollama_tags(aoei_call *c) {
    answer_models(c, 0);
}

void aoei_route_ollama_ps(aoei_call *c) {
    answer_models(c, 1);
}

typedef struct show_body {
    const char *model, *name;
} show_body;

const aoei_field aoei_ollama_show_fields[AOEI_OLLAMA_SHOW_FIELDS] = {
    MODEL_FIELD(show_body),
    {.name = "name",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(show_body, name),
     .help = "The same as `model`, which takes precedence."},
};

/* Appends the key "model_info", with the names of keys that ollama reads from model files. */
static void put_model_info(aoei_buffer *b, const aoei_served *m) {
    const char *family = m->info.architecture;
    aoei_buffer_printf(b, "\"model_info\":{\"general.architecture\":\"%s\",\"general.parameter_count\":%zu", family,
                       m->info.parameters);
    aoei_buffer_printf(b, ",\"%s.context_length\":%zu,\"%s.embedding_length\":%zu", family, m->info.max_length, family,
                       m->info.dims);
    if (m->info.layers)
        aoei_buffer_printf(b, ",\"%s.block_count\":%zu,\"%s.attention.head_count\":%zu", family, m->info.layers, family,
                           m->info.heads);
    aoei_buffer_printf(b, ",\"%s.pooling\":\"%s\"}", family, aoe_pooling_name(m->info.pooling));
}

void aoei_route_ollama_show(aoei_call *c) {
    aoei_models *models = c->server->models;
    show_body body = {0};
    model_files files = {0};
    aoei_buffer b = {0};
    if (aoei_call_parse(c, &body))
        return;
    aoei_served *m = get_model(c, body.model && *body.model ? body.model : body.name, AOEI_TASK_STATES);
    if (!m)
        return;
    for (size_t i = 0; i < aoei_models_count(models); i++)
        if (aoei_models_name(models, i) == m->name)
            describe_files(models, i, &files);
    aoei_buffer_printf(&b, "{\"modelfile\":\"\",\"parameters\":\"\",\"template\":\"\",\"license\":\"\",");
    put_details(&b, m);
    aoei_buffer_putc(&b, ',');
    put_model_info(&b, m);
    aoei_buffer_printf(&b, ",\"capabilities\":[%s],", m->is_cross_encoder ? "" : "\"embedding\"");
    put_modified(&b, files.modified);
    aoei_buffer_putc(&b, '}');
    aoei_models_release(models, m);
    aoei_call_answer(c, &b);
}

void aoei_route_ollama_version(aoei_call *c) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "{\"version\":\"%s\",\"aoe\":\"%s\"}", AOEI_OLLAMA_VERSION, aoe_version());
    aoei_call_answer(c, &b);
}
