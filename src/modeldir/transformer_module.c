/* SPDX-License-Identifier: MIT
 * Checks sentence_bert_config.json. In versions before 5.4 the arguments have the names model_args, config_args and
 * tokenizer_args; since version 5.4, they have the names model_kwargs, config_kwargs and processor_kwargs.
 */
#include "modeldir/transformer_module.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

const char *const aoei_transformer_files[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                              "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                              "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                              "sentence_xlnet_config.json",      NULL};

/* Arguments that do not change the embeddings. The lists end with NULL. */
static const char *const model_keys[] = {"torch_dtype",
                                         "dtype",
                                         "trust_remote_code",
                                         "attn_implementation",
                                         "add_pooling_layer",
                                         "output_hidden_states",
                                         "revision",
                                         "device_map",
                                         "low_cpu_mem_usage",
                                         "use_safetensors",
                                         "token",
                                         "cache_dir",
                                         "local_files_only",
                                         NULL};
static const char *const config_keys[] = {
    "torch_dtype", "dtype", "trust_remote_code", "attn_implementation", "use_cache",  "output_hidden_states",
    "revision",    "token", "cache_dir",         "local_files_only",    "num_labels", NULL};
static const char *const processor_keys[] = {"trust_remote_code", "use_fast",         "padding_side",
                                             "model_max_length",  "revision",         "token",
                                             "cache_dir",         "local_files_only", NULL};
static const char *const text_keys[] = {"padding", "return_tensors", "pad_to_multiple_of", NULL};

static int is_listed(const char *const *list, const char *key) {
    for (; *list; list++)
        if (!strcmp(*list, key))
            return 1;
    return 0;
}

/* Returns 1 if all keys of the object are in `list`. */
static int only_listed(json_t *object, const char *const *list) {
    const char *name;
    json_t *v;
    json_object_foreach(object, name, v) {
        if (!is_listed(list, name))
            return 0;
    }
    return json_is_object(object);
}

/* Checks that all keys of the object `key` of the configuration are in `allowed`. parent: key of the object that
 * contains `key`, or NULL for the configuration itself. remedy: remedy in the error message. */
static int check_arguments(json_t *config, const char *parent, const char *key, const char *const *allowed,
                           const char *remedy, const char *path, aoe_error *err) {
    json_t *arguments = json_object_get(parent ? json_object_get(config, parent) : config, key), *v;
    const char *name;
    if (!arguments || json_is_null(arguments))
        return 0;
    if (!json_is_object(arguments))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not an object; correct the value", path, key);
    json_object_foreach(arguments, name, v) {
        const int is_empty = json_is_null(v) || (json_is_object(v) && !json_object_size(v));
        if (!is_empty && !is_listed(allowed, name))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: \"%s\" in \"%s%s%s\" is not supported, because it can change the embeddings; %s",
                             path, name, parent ? parent : "", parent ? "." : "", key, remedy);
    }
    return 0;
}

/* Checks that the value of `key` is missing, null or one of the strings in `allowed`. */
static int check_choice(json_t *config, const char *key, const char *const *allowed, const char *path, aoe_error *err) {
    const char *value = NULL;
    const int rc = aoei_json_string(config, key, &value, NULL, path, err);
    if (rc || !value || is_listed(allowed, value))
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s '%s' is not supported (supported: %s)", path, key, value,
                     allowed[0]);
}

/* Checks "modality_config", which contains for each modality the method of the model that is called and the name of its
 * output. */
static int check_modality(json_t *config, const char *path, aoe_error *err) {
    static const char *const methods[] = {"forward", NULL}, *const outputs[] = {"last_hidden_state", "logits", NULL};
    json_t *modality = json_object_get(config, "modality_config"), *text = json_object_get(modality, "text");
    if (!json_object_size(modality))
        return 0;
    json_t *message = json_object_get(modality, "message");
    if (!text)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: modality_config has no modality 'text'; aoe supports models of texts only", path);
    if (!json_is_object(text) || (message && !json_is_object(message)))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" in modality_config is not an object; correct the value", path,
                         json_is_object(text) ? "message" : "text");
    int rc = check_choice(text, "method", methods, path, err);
    if (!rc)
        rc = check_choice(text, "method_output_name", outputs, path, err);
    if (!rc)
        rc = check_choice(message, "method", methods, path, err);
    return rc ? rc : check_choice(message, "method_output_name", outputs, path, err);
}

/* Returns the modality "message", or NULL if texts are not rendered with a chat template. */
static json_t *find_message(json_t *config) {
    return json_object_get(json_object_get(config, "modality_config"), "message");
}

/* Arguments of apply_chat_template that are not variables of the template. */
static const char *const rejected_chat_keys[] = {"truncation",
                                                 "max_length",
                                                 "chat_template",
                                                 "conversation",
                                                 "messages",
                                                 "tools",
                                                 "documents",
                                                 "continue_final_message",
                                                 "sanitize_control_tokens",
                                                 "return_assistant_tokens_mask",
                                                 "return_dict",
                                                 "tokenize",
                                                 "tokenizer_kwargs",
                                                 "processor_kwargs",
                                                 "text_kwargs",
                                                 "common_kwargs",
                                                 NULL};

int aoei_chat_options_read(json_t **options, json_t *given, const char *path, aoe_error *err) {
    const char *name;
    json_t *v;
    if (given && !json_is_object(given) && !json_is_null(given))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the arguments of the chat template are not an object; correct the value", path);
    if (!(*options = json_object()))
        return aoei_fail_nomem(err, 0);
    json_object_foreach(given, name, v) {
        if (is_listed(text_keys, name))
            continue;
        if (is_listed(rejected_chat_keys, name) || (!strcmp(name, "restore_suffix") && !json_is_boolean(v)))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: this value of \"%s\", an argument of the chat template, is not supported, because it can change "
                "the embeddings; remove it",
                path, name);
        if (json_object_set(*options, name, v))
            return aoei_fail_nomem(err, strlen(name));
    }
    return 0;
}

int aoei_transformer_module_chat(json_t **chat, json_t *config, const char *path, aoe_error *err) {
    json_t *message = find_message(config), *options = NULL;
    *chat = NULL;
    if (!message)
        return 0;
    const int rc = aoei_chat_options_read(
        &options, json_object_get(json_object_get(config, "processing_kwargs"), "chat_template"), path, err);
    json_t *format = json_object_get(message, "format"), *object = rc ? NULL : json_pack("{s:O}", "options", options);
    json_decref(options);
    if (rc || (object && (!format || !json_object_set(object, "format", format)))) {
        *chat = object;
        return rc;
    }
    json_decref(object);
    return aoei_fail_nomem(err, 0);
}

int aoei_transformer_module_check(json_t **tokenizer_arguments, json_t *config, const char *path, aoe_error *err) {
    static const char *const tasks[] = {"feature-extraction", "sequence-classification", "text-generation", NULL};
    static const char *const outputs[] = {"token_embeddings", "scores", "causal_logits", NULL};
    static const char *const rejected[] = {"query_length", "document_length", "query_expansion"};
    static const char in_config[] = "set it in config.json and remove it here", remove[] = "remove it",
                      in_tokenizer[] = "set it in tokenizer_config.json and remove it here";
    static const char *const head_keys[] = {"num_labels", "pad_token_id", NULL}; /* written by aoe for adapters */
    const char *task = json_string_value(json_object_get(config, "transformer_task"));
    const int has_head = task && !strcmp(task, "sequence-classification") && !json_object_get(config, "config_args") &&
                         only_listed(json_object_get(config, "config_kwargs"), head_keys);
    int rc;
    *tokenizer_arguments = json_object_get(config, "processor_kwargs");
    if (!json_object_get(*tokenizer_arguments, "model_max_length"))
        *tokenizer_arguments = json_object_get(config, "tokenizer_args");
    if ((rc = check_arguments(config, NULL, "model_args", model_keys, remove, path, err)) ||
        (rc = check_arguments(config, NULL, "model_kwargs", model_keys, remove, path, err)) ||
        (rc = check_arguments(config, NULL, "config_args", config_keys, in_config, path, err)) ||
        (!has_head && (rc = check_arguments(config, NULL, "config_kwargs", config_keys, in_config, path, err))) ||
        (rc = check_arguments(config, NULL, "tokenizer_args", processor_keys, in_tokenizer, path, err)) ||
        (rc = check_arguments(config, NULL, "processor_kwargs", processor_keys, in_tokenizer, path, err)) ||
        (rc = check_arguments(config, "processing_kwargs", "text", text_keys, remove, path, err)) ||
        (rc = check_arguments(config, "processing_kwargs", "common", text_keys, remove, path, err)) ||
        (!find_message(config) &&
         (rc = check_arguments(config, "processing_kwargs", "chat_template", text_keys, remove, path, err))) ||
        (rc = check_choice(config, "transformer_task", tasks, path, err)) ||
        (rc = check_choice(config, "module_output_name", outputs, path, err)))
        return rc;
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        const json_t *v = json_object_get(config, rejected[i]);
        if (v && !json_is_null(v))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: \"%s\" is not supported, because it can change the embeddings; remove it", path,
                             rejected[i]);
    }
    return check_modality(config, path, err);
}

int aoei_transformer_module_describe(json_t *config, const json_t *chat, const char *task, const char *method_output,
                                     const char *module_output) {
    json_t *text = json_pack("{s:s, s:s}", "method", "forward", "method_output_name", method_output),
           *message = chat ? json_copy(text) : NULL, *modality = json_pack("{s:o}", "text", text),
           *format = json_object_get(chat, "format"), *options = json_object_get(chat, "options");
    int bad = !modality || (chat && !message) || (format && json_object_set(message, "format", format)) ||
              (chat && json_object_set(modality, "message", message)) ||
              json_object_set_new(config, "transformer_task", json_string(task)) ||
              json_object_set(config, "modality_config", modality) ||
              json_object_set_new(config, "module_output_name", json_string(module_output));
    if (!bad && json_object_size(options))
        bad = json_object_set_new(config, "processing_kwargs", json_pack("{s:O}", "chat_template", options));
    json_decref(message);
    json_decref(modality);
    return bad ? -1 : 0;
}
