/* SPDX-License-Identifier: MIT
 * Writes the model card, a Markdown file with the metadata header that model hubs read. The card describes the model,
 * its settings, its training and its use. It also lists the features of the model that other programs do not support.
 * The card contains no date, so equal models have equal cards.
 */
#include "modeldir/readme.h"

#include <stdint.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/slots.h"
#include "base/atomic_write.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "modeldir/layout.h"
#include "modeldir/peft.h"

static void put(aoei_buffer *b, const char *text) {
    aoei_buffer_append(b, text, strlen(text));
}

/* Sets *name to the model on the Hugging Face Hub from which this model was derived: the start model in the training
 * record or, if there is no record, the source. (The source of a trained model may be a checkpoint.) name->id is "" if
 * the model was derived from another model. Returns 0 or AOE_ENOMEM. */
static int find_hub_base(aoei_hub_name *name, const aoei_model_contents *m) {
    const char *initial = json_string_value(json_object_get(m->record, "base_model"));
    const char *source = !m->source ? NULL : m->source->base_dir ? m->source->base_dir : m->source->dir;
    if (initial && strchr(initial, '@') && aoei_hub_name_parse(name, initial) &&
        aoei_is_hex(name->revision, AOEI_HUB_COMMIT))
        return 0;
    *name = (aoei_hub_name){.id = ""};
    return m->record || !source ? 0 : aoei_hub_name_of(name, source);
}

/* Appends the metadata header and the title. library: name of the library that loads the model. base: see
 * find_hub_base. cross_encoder: 1 for a cross-encoder. */
static void put_title(aoei_buffer *b, const char *library, const aoei_hub_name *base, const char *title,
                      int cross_encoder) {
    const int has_tag = strcmp(library, "aoe") != 0; /* the tag "aoe" is always written */
    aoei_buffer_printf(
        b,
        "---\n"
        "library_name: %s\n"
        "pipeline_tag: %s\n"
        "%s%s%s"
        "tags:\n- aoe\n%s%s%s%s"
        "---\n\n"
        "# %s\n\n",
        library, cross_encoder ? "text-ranking" : "sentence-similarity", *base->id ? "base_model: " : "", base->id,
        *base->id ? "\n" : "", has_tag ? "- " : "", has_tag ? library : "", has_tag ? "\n" : "",
        cross_encoder ? "- cross-encoder\n- reranker\n" : "- sentence-similarity\n- feature-extraction\n", title);
}

/* Returns why other programs cannot open the embedding model in `dir` or compute different embeddings, as a clause in
 * static memory or in buf[size]. Returns NULL if there is no reason. */
static const char *limitation_of(const aoei_model_contents *m, const char *dir, char *buf, size_t size) {
    const aoei_encoder_config *c = m->config;
    const char *limitation =
        c->arch->library == AOEI_LIBRARY_NONE ? "other programs do not support its architecture"
        : c->bigrams
            ? "other programs, such as sentence-transformers, cannot open it, because they have no bigram embeddings"
            : aoei_settings_limits(m->settings, buf, size);
    const int model2vec = c->arch->library == AOEI_LIBRARY_MODEL2VEC && !aoei_settings_module_count(m->settings);
    if (!limitation)
        limitation = aoei_tokenizer_limit(c, m->tokenizer);
    if (!limitation && c->arch->allows_no_tokens && !model2vec && !aoei_entry_exists(dir, "tokenizer.json"))
        limitation = "other programs require a tokenizer.json to open a static model with modules";
    return limitation;
}

/* Returns 1 if sentence-transformers does not support the prompt. */
static int has_suffix(const char *prompt) {
    size_t len;
    return *prompt && !aoei_prompt_is_prefix(prompt, &len);
}

/* Returns the name that model hubs use for the library that loads the model: "aoe" if other libraries cannot load it or
 * compute different outputs. */
static const char *library_of(const aoei_model_contents *m, const char *dir) {
    char limits[512];
    const aoei_encoder_config *c = m->config;
    static const char *const names[] = {[AOEI_LIBRARY_SENTENCE_TRANSFORMERS] = "sentence-transformers",
                                        [AOEI_LIBRARY_MODEL2VEC] = "model2vec",
                                        [AOEI_LIBRARY_STATIC_EMBEDDING] = "sentence-transformers",
                                        [AOEI_LIBRARY_NONE] = "aoe"};
    const int limited =
        c->modules.classes ? has_suffix(m->settings->prompt) : limitation_of(m, dir, limits, sizeof limits) != NULL;
    return names[limited || m->storage == AOE_STORAGE_INT8 ? AOEI_LIBRARY_NONE : c->arch->library];
}

/* Appends the description of the model and the table of its properties. */
static void put_model(aoei_buffer *b, const aoei_model_contents *m) {
    const aoei_encoder_config *c = m->config;
    const aoei_settings *s = m->settings;
    if (c->modules.classes)
        aoei_buffer_printf(
            b,
            "This model reads a text pair, such as a query and a document, and computes %zu score%s for the "
            "pair. The model was written by aoe (angle-optimized embeddings) %s.\n\n",
            c->modules.classes, c->modules.classes == 1 ? "" : "s", aoe_version());
    else
        aoei_buffer_printf(
            b,
            "This model computes text embeddings of %zu dimensions. The cosine similarity of two embeddings "
            "measures the "
            "semantic similarity of their texts. The model was written by aoe (angle-optimized embeddings) %s.\n\n",
            aoei_settings_dims(s, aoei_vector_dims(c)), aoe_version());
    put(b, "| property | value |\n| --- | --- |\n");
    char sizes[256];
    c->arch->print_sizes(c, sizes, sizeof sizes);
    aoei_buffer_printf(b, "| architecture | %s: %s |\n", c->arch->model_type, sizes);
    aoei_buffer_printf(b, "| parameters | %zu |\n| vocabulary | %zu tokens |\n", aoei_base_count(c), c->vocab);
    if (c->modules.classes)
        aoei_buffer_printf(b, "| scores | %zu |\n| activation | %s |\n| maximum sequence length | %zu tokens |\n",
                           c->modules.classes, aoe_score_activation_name(s->activation), s->max_length);
    else
        aoei_buffer_printf(
            b, "| pooling | %s |\n| maximum sequence length | %zu tokens |\n| normalized embeddings | %s |\n",
            aoe_pooling_name(s->pooling), s->max_length, s->normalize ? "yes" : "no");
}

/* Appends the prompt as a JSON string, which is always a single line. Returns 0 or AOE_ENOMEM. */
static int put_prompt(aoei_buffer *b, const char *prompt) {
    if (!*prompt)
        return aoei_buffer_printf(b, "| prompt | none |\n");
    json_t *v = json_string(prompt);
    put(b, "| prompt | `");
    const int rc = aoei_json_append(b, v, JSON_ENCODE_ANY);
    json_decref(v);
    put(b, "` |\n");
    return rc;
}

const char *aoei_tokenizer_limit(const aoei_encoder_config *c, const aoe_tokenizer *t) {
    const char *kind = t ? aoe_tokenizer_kind(t) : NULL;
    return !strcmp(c->arch->model_type, "qwen2") && kind && !strcmp(kind, "WordPiece")
               ? "transformers 5 reads the vocabulary of every qwen2 model as byte-level BPE, so programs that use it "
                 "compute different tokens for this WordPiece vocabulary"
               : NULL;
}

/* Returns the part of a sentence about int8 weights that describes int5 token embeddings, or "". */
static const char *int5_embeddings(const aoei_model_contents *m) {
    return m->embedding_storage == AOE_EMBEDDING_STORAGE_INT5 ? " and the token embeddings as int5, both" : "";
}

/* Appends the sections about the use of the model in aoe and in other programs, and about features that other programs
 * do not support. */
static void put_use(aoei_buffer *b, const aoei_model_contents *m, const char *dir) {
    const aoe_storage storage = m->storage;
    const aoei_settings *s = m->settings;
    const aoei_library library = m->config->arch->library;
    char limits[512];
    const int model2vec = library == AOEI_LIBRARY_MODEL2VEC && !aoei_settings_module_count(s);
    const char *limitation = limitation_of(m, dir, limits, sizeof limits);
    put(b, "\n## Use\n\nWith aoe:\n\n"
           "```sh\naoe embed -m DIR < texts.txt\naoe similarity -m DIR \"A plane is taking off.\" \"An aircraft "
           "departs.\"\n```\n");
    if (model2vec && storage != AOE_STORAGE_INT8)
        put(b, "\nWith model2vec, if the directory contains `tokenizer.json`:\n\n"
               "```python\nfrom model2vec import StaticModel\n\n"
               "model = StaticModel.from_pretrained(\"DIR\")\n"
               "vectors = model.encode([\"A plane is taking off.\", \"An aircraft departs.\"])\n```\n\n"
               "sentence-transformers also opens such a directory, but includes unknown tokens in the mean, so its "
               "embeddings of\n"
               "texts with unknown tokens differ.\n");
    else if (library != AOEI_LIBRARY_NONE && !limitation && storage != AOE_STORAGE_INT8)
        put(b, "\nWith sentence-transformers:\n\n"
               "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
               "model = SentenceTransformer(\"DIR\")\n"
               "vectors = model.encode([\"A plane is taking off.\", \"An aircraft departs.\"])\n```\n");
    if (limitation || storage == AOE_STORAGE_INT8)
        put(b, "\n## Limits\n");
    if (limitation)
        aoei_buffer_printf(b, "\nUse aoe for this model: %s.\n", limitation);
    if (limitation == limits && !aoei_settings_unsupported(s))
        put(b, "sentence-transformers opens the directory without an error, but its embeddings differ.\n");
    if (storage == AOE_STORAGE_INT8)
        aoei_buffer_printf(
            b,
            "\nThe weights are stored as int8%s with one scale per row, which other programs (transformers,\n"
            "sentence-transformers, text-embeddings-inference) cannot read. For them, write a copy of the model\n"
            "with float32 weights (`aoe convert`).\n",
            int5_embeddings(m));
}

/* Returns the last component of a path as a single line, or NULL if out of memory. The caller frees the string with
 * aoei_free. */
static char *last_component(const char *path) {
    char *full = aoei_full_path(path), *slash = full ? strrchr(full, '/') : NULL;
    char *name = full ? aoei_strdup(slash && slash[1] ? slash + 1 : full) : NULL;
    if (name)
        aoei_one_line(name, strlen(name));
    aoei_free(full);
    return name;
}

/* If dir contains a LICENSE file, appends a sentence that names the model from which this file was copied. For a
 * trained model, this is the start model in the training record, because m->source may be a checkpoint. base: see
 * find_hub_base. Returns 0 or AOE_ENOMEM. */
static int put_license(aoei_buffer *b, const aoei_model_contents *m, const aoei_hub_name *base, const char *dir) {
    const char *license_dir = m->license_dir[0];
    const char *initial = json_string_value(json_object_get(m->record, "base_model"));
    if (!aoei_entry_exists(dir, AOEI_LICENSE))
        return 0;
    const char *from = license_dir ? license_dir : initial ? initial : m->source->dir;
    char *name = !license_dir && *base->id ? aoei_strdup(base->id) : last_component(from);
    put(b, "\n## License\n\n");
    const int rc =
        name ? aoei_buffer_printf(b, "This model is derived from `%s`, whose license is in [LICENSE](LICENSE).\n", name)
             : AOE_ENOMEM;
    if (aoei_entry_exists(dir, AOEI_NOTICE))
        put(b, "The notices and attributions of that model are in [NOTICE](NOTICE).\n");
    aoei_free(name);
    return rc;
}

/* Returns 1 if the values of the key `key` in a training record are paths. */
static int has_paths(const char *key) {
    static const char *const keys[] = {"base_model", "data", "dev", "teacher", "texts", "mean_of"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i], key))
            return 1;
    return 0;
}

/* Returns a copy of `v` in which absolute paths are replaced by their last component, because local paths do not help
 * readers of a published model card. If is_path is 1, strings in `v` are paths. Returns NULL if out of memory. */
static json_t *shorten_paths(const json_t *v, int is_path) {
    const char *text = json_string_value(v), *key;
    json_t *copy = json_is_object(v) ? json_object() : json_is_array(v) ? json_array() : NULL, *part;
    int failed = 0;
    size_t i;
    if (text && is_path && *text == '/') {
        char *name = last_component(text);
        copy = name ? aoei_name_json(name) : NULL;
        aoei_free(name);
        return copy;
    }
    if (!copy)
        return json_is_object(v) || json_is_array(v) ? NULL : json_deep_copy(v);
    json_object_foreach((json_t *)(uintptr_t)v, key, part) {
        failed = failed || json_object_set_new(copy, key, shorten_paths(part, has_paths(key)));
    }
    json_array_foreach(v, i, part) {
        failed = failed || json_array_append_new(copy, shorten_paths(part, is_path));
    }
    if (!failed)
        return copy;
    json_decref(copy);
    return NULL;
}

/* Appends the section with the training record. Returns 0 or AOE_ENOMEM. */
static int put_record(aoei_buffer *b, const json_t *record) {
    const json_t *models = json_object_get(record, "mean_of");
    if (!record)
        return 0;
    put(b, "\n## Training\n\n");
    if (models)
        put(b, "The weights are the mean of the weights of the models in `mean_of`; `trained` contains the training "
               "records of these models.\n\n");
    json_t *shown = shorten_paths(record, 0);
    char *text = shown ? aoei_json_text(shown, JSON_INDENT(2)) : NULL;
    json_decref(shown);
    const int rc = text ? aoei_buffer_printf(b, "```json\n%s\n```\n", text) : AOE_ENOMEM;
    aoei_free(text);
    return rc;
}

/* Writes b to DIR/README.md and frees b. `code` is AOE_ENOMEM if an allocation failed while b was filled, and 0
 * otherwise. If `code` is not 0, nothing is written and AOE_ENOMEM is returned. */
static int write_readme(aoei_buffer *b, int code, const char *dir, aoe_error *err) {
    char *path = aoei_path_join(dir, "README.md");
    const int rc =
        code || b->failed || !path ? aoei_fail_nomem(err, b->len) : aoei_write_file(path, b->data, b->len, err);
    aoei_free(path);
    aoei_buffer_free(b);
    return rc;
}

/* Appends the section about the use of a cross-encoder. */
static void put_cross_encoder_use(aoei_buffer *b, const aoei_model_contents *m) {
    put(b, "\n## Use\n\nWith aoe:\n\n```sh\naoe rerank -m DIR --query \"Who took off?\" texts.txt\n```\n");
    if (m->storage != AOE_STORAGE_INT8)
        put(b, "\nWith sentence-transformers:\n\n"
               "```python\nfrom sentence_transformers import CrossEncoder\n\n"
               "model = CrossEncoder(\"DIR\")\n"
               "scores = model.predict([(\"Who took off?\", \"A plane is taking off.\")])\n```\n");
    if (m->storage != AOE_STORAGE_INT8 && has_suffix(m->settings->prompt))
        put(b, "\nsentence-transformers computes other scores, because it does not support prompts with text after "
               "`{text}`.\n");
    if (m->storage == AOE_STORAGE_INT8)
        aoei_buffer_printf(
            b,
            "\n## Limits\n\nThe weights are stored as int8%s with one scale per row, which other programs cannot read. "
            "For them, "
            "write a copy of\nthe model with float32 weights (`aoe convert`).\n",
            int5_embeddings(m));
}

int aoei_model_readme(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    aoei_buffer b = {0};
    aoei_hub_name base;
    const int cross_encoder = m->config->modules.classes > 0;
    int rc = find_hub_base(&base, m);
    put_title(&b, library_of(m, dir), &base, cross_encoder ? "Cross-encoder" : "Text-embedding model", cross_encoder);
    put_model(&b, m);
    rc = rc ? rc : put_prompt(&b, m->settings->prompt);
    if (cross_encoder)
        put_cross_encoder_use(&b, m);
    else
        put_use(&b, m, dir);
    if (!rc && !(rc = put_license(&b, m, &base, dir)))
        rc = put_record(&b, m->record);
    return write_readme(&b, rc, dir, err);
}

int aoei_adapters_readme(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    const aoei_lora *l = &m->config->lora;
    aoei_buffer b = {0};
    aoei_hub_name base;
    int rc = find_hub_base(&base, m);
    const int cross_encoder = m->config->modules.classes > 0;
    put_title(&b, "peft", &base, cross_encoder ? "Adapters of a cross-encoder" : "Adapters of a text-embedding model",
              cross_encoder);
    put(&b, "These are LoRA adapters in the format of Hugging Face PEFT. They do not contain the weights of the base "
            "model,\n"
            "whose path or name is in `adapter_config.json`. The base model with the adapters:\n\n");
    put_model(&b, m);
    rc = rc ? rc : put_prompt(&b, m->settings->prompt);
    aoei_buffer_printf(&b, "| adapters | rank %zu, alpha %g, targets ", l->r, l->alpha);
    rc = rc ? rc : aoei_peft_append_targets(&b, l, m->config);
    aoei_buffer_printf(&b, " |\n| parameters of the adapters | %zu |\n",
                       aoei_parameter_count(m->config) - aoei_base_count(m->config));
    aoei_buffer_printf(
        &b,
        "\n## Use\n\nWith aoe, which finds the base model by its path or name in `adapter_config.json` unless another "
        "one is given:\n\n"
        "```sh\n%s\naoe train -m DIR -d more.tsv%s -o NEW\n```\n\n"
        "With sentence-transformers and other programs, after merging the adapters into a copy of the base model:\n\n"
        "```sh\naoe merge DIR -o MERGED\n```\n",
        cross_encoder ? "aoe rerank -m DIR --query \"Who took off?\" texts.txt" : "aoe embed -m DIR < texts.txt",
        cross_encoder ? " --method cross-encoder" : "");
    if (!rc && !(rc = put_license(&b, m, &base, dir)))
        rc = put_record(&b, m->record);
    return write_readme(&b, rc, dir, err);
}
