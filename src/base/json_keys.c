/* SPDX-License-Identifier: MIT
 * The lists of keys. The keys of config.json are those of the configuration classes of the library transformers and of
 * the published configurations; other keys are those that sentence-transformers, PEFT and transformers write.
 */
#include "base/json_keys.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* Keys of config.json that many architectures have. Lists are strings of names that are separated by spaces. */
#define SIZES                                                                                                          \
    "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size max_position_embeddings "          \
    "type_vocab_size "
#define BERT                                                                                                           \
    SIZES                                                                                                              \
    "hidden_act hidden_dropout_prob attention_probs_dropout_prob layer_norm_eps position_embedding_type "              \
    "feed_forward_type "                                                                                               \
    "is_decoder add_cross_attention embedding_size "
#define ROPE "rope_theta rope_scaling rope_parameters partial_rotary_factor original_max_position_embeddings "
#define CAUSAL                                                                                                         \
    SIZES ROPE                                                                                                         \
        "hidden_act num_key_value_heads head_dim rms_norm_eps attention_bias attention_dropout mlp_bias "              \
        "use_bidirectional_attention sliding_window use_sliding_window max_window_layers layer_types pretraining_tp "

/* The keys of config.json that an architecture uses, or that have no effect on its embeddings. */
static const struct {
    const char *model_type, *keys;
} architectures[] = {
    {"bert", BERT},
    {"roberta", BERT},
    {"xlm-roberta", BERT},
    {"camembert", BERT},
    {"mpnet", BERT "relative_attention_num_buckets "},
    {"electra", BERT "summary_type summary_use_proj summary_activation summary_last_dropout generator_size "},
    {"albert",
     BERT "num_hidden_groups inner_group_num down_scale_factor gap_size net_structure_type num_memory_blocks "},
    {"deberta-v2",
     BERT "relative_attention max_relative_positions position_biased_input position_buckets pos_att_type "
          "norm_rel_ebd share_att_key attention_head_size conv_kernel_size legacy cls_dropout cls_drop_out "},
    {"jina_bert", BERT "alibi_starting_size emb_pooler attn_implementation "},
    {"nomic_bert", BERT ROPE
     "head_dim activation_function attn_pdrop causal dense_seq_output embd_pdrop fused_bias_fc fused_dropout_add_ln "
     "layer_norm_epsilon max_trained_positions mlp_fc1_bias mlp_fc2_bias n_embd n_head n_inner n_layer n_positions "
     "pad_vocab_size_multiple parallel_block parallel_block_tied_norm prenorm qkv_proj_bias reorder_and_upcast_attn "
     "resid_pdrop rotary_emb_base rotary_emb_fraction rotary_emb_interleaved rotary_emb_scale_base "
     "rotary_scaling_factor scale_attn_by_inverse_layer_idx scale_attn_weights summary_activation "
     "summary_first_dropout summary_proj_to_labels summary_type summary_use_proj use_flash_attn use_rms_norm "
     "use_xentropy num_experts moe_every_n_layers moe_top_k num_heads_kv expert_choice_router ffn_div "},
    {"new", BERT ROPE "layer_norm_type logn_attention_clip1 logn_attention_scale pack_qkv unpad_inputs "
                      "use_memory_efficient_attention num_key_value_heads head_dim "},
    {"gte", BERT ROPE "layer_norm_type logn_attention_clip1 logn_attention_scale pack_qkv unpad_inputs "
                      "use_memory_efficient_attention num_key_value_heads head_dim "},
    {"distilbert",
     "dim n_layers n_heads hidden_dim dropout attention_dropout activation vocab_size max_position_embeddings "
     "sinusoidal_pos_embds qa_dropout seq_classif_dropout "},
    {"modernbert", SIZES ROPE
     "hidden_activation norm_eps norm_bias attention_bias attention_dropout mlp_bias mlp_dropout embedding_dropout "
     "layer_types local_attention global_attn_every_n_layers global_rope_theta local_rope_theta classifier_bias "
     "classifier_activation classifier_pooling decoder_bias initializer_cutoff_factor deterministic_flash_attn "
     "sparse_prediction sparse_pred_ignore_index reference_compile repad_logits_with_grad layer_norm_eps "
     "position_embedding_type "},
    {"llama", CAUSAL},
    {"mistral", CAUSAL},
    {"ministral", CAUSAL},
    {"qwen2", CAUSAL "use_mrope "},
    {"qwen3", CAUSAL},
    {"gemma3_text", CAUSAL "hidden_activation query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping "
                           "rope_local_base_freq sliding_window_pattern _sliding_window_pattern cache_implementation "},
    {"static",
     "hidden_size vocab_size normalize tokenizer_name apply_pca apply_zipf hidden_dim seq_length sif_coefficient "
     "embedding_dtype max_length cache_dir pooling vocabulary_quantization pca_dims head_config "},
    {"word_embeddings", "hidden_size vocab_size update_embeddings bigrams "},
    {"ran",
     SIZES "head_size window_size min_window_size layer_norm_eps dropout norm_variant cell_pooling memory_review "},
};

/* Keys of config.json that have no effect on the embeddings of any architecture: special tokens, classifiers, options
 * of generation, and records about the file. */
static const char config_keys[] =
    "model_type architectures is_causal _name_or_path name_or_path auto_map _commit_hash transformers_version dtype "
    "torch_dtype embedding_dtype bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id "
    "unk_token_id padding_idx decoder_start_token_id chunk_size_feed_forward id2label label2id num_labels _num_labels "
    "problem_type finetuning_task task_specific_params initializer_range initializer_factor return_dict "
    "output_attentions output_hidden_states output_past use_cache gradient_checkpointing torchscript tf_legacy_loss "
    "use_bfloat16 xla_device tie_word_embeddings tie_encoder_decoder tokenizer_class prefix attn_implementation "
    "_attn_implementation _attn_implementation_autoset classifier_dropout classifier_dropout_prob "
    "classifier_activation classifier_bias directionality pooler_dropout pooler_fc_size pooler_hidden_act "
    "pooler_hidden_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type "
    "summary_hidden_size sentence_transformers sbert_ce_default_activation_function do_sample early_stopping "
    "max_length min_length num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p "
    "repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids "
    "num_return_sequences output_scores return_dict_in_generate forced_bos_token_id forced_eos_token_id "
    "remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens base_model_tp_plan "
    "base_model_pp_plan ";

#define NAMES "module_input_name module_output_name "

/* The keys of modules of sentence-transformers, by class name. */
static const struct {
    const char *class_name, *keys;
} modules[] = {
    {"Pooling",
     "word_embedding_dimension embedding_dimension pooling_mode pooling_mode_cls_token pooling_mode_max_tokens "
     "pooling_mode_mean_tokens pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens "
     "pooling_mode_lasttoken include_prompt "},
    {"Dense", NAMES "in_features out_features bias activation_function use_residual "},
    {"LayerNorm", NAMES "dimension eps "},
    {"Dropout", NAMES "dropout "},
    {"Normalize", NAMES},
    {"StaticEmbedding", ""},
    {"WordEmbeddings", "tokenizer_class update_embeddings max_seq_length "},
    {"CNN", "in_word_embedding_dimension in_embedding_dimension out_channels kernel_sizes stride_sizes "},
    {"LSTM", "word_embedding_dimension embedding_dimension hidden_dim num_layers dropout bidirectional "},
    {"WeightedLayerPooling", "word_embedding_dimension embedding_dimension layer_start num_hidden_layers "},
    {"LogitScore", NAMES "true_token_id false_token_id "},
};

/* The keys of the other kinds of files, indexed by aoei_key_file. */
static const char *const other_keys[] = {
    [AOEI_KEYS_ADAPTERS] =
        "r lora_alpha lora_dropout target_modules base_model_name_or_path bias use_rslora use_dora modules_to_save "
        "layers_to_transform layers_pattern rank_pattern alpha_pattern exclude_modules init_lora_weights peft_type "
        "fan_in_fan_out lora_bias use_qalora use_bdlora layer_replication target_parameters loftq_config "
        "trainable_token_indices alora_invocation_tokens arrow_config kasa_config monteclora_config velora_config "
        "megatron_config task_type auto_mapping peft_version revision inference_mode megatron_core qalora_group_size "
        "eva_config corda_config lora_ga_config runtime_config ensure_weight_tying ",
    [AOEI_KEYS_MODULE_LIST] = "idx name path type kwargs ",
    [AOEI_KEYS_TRANSFORMER] = "max_seq_length do_lower_case transformer_task modality_config module_output_name "
                              "processing_kwargs processor_kwargs tokenizer_args model_args model_kwargs config_args "
                              "config_kwargs query_length document_length query_expansion unpad_inputs backend ",
    [AOEI_KEYS_SENTENCE_TRANSFORMERS] =
        "__version__ model_type prompts default_prompt_name similarity_fn_name truncate_dim "
        "requirements activation_fn score_name num_labels max_length ",
    [AOEI_KEYS_TOKENIZER] =
        "tokenizer_class do_lower_case split_by_punct strip_accents keep_accents tokenize_chinese_chars "
        "add_prefix_space added_tokens_decoder truncation_side model_max_length max_len add_bos_token add_eos_token "
        "bos_token eos_token unk_token sep_token pad_token cls_token mask_token additional_special_tokens "
        "extra_special_tokens model_specific_special_tokens image_token boi_token eoi_token audio_token boa_token "
        "eoa_token video_token name_or_path special_tokens_map_file tokenizer_file full_tokenizer_file "
        "do_basic_tokenize do_word_piece never_split padding_side pad_to_multiple_of pad_token_type_id padding "
        "max_length stride truncation_strategy truncation clean_up_tokenization_spaces chat_template trim_offsets "
        "errors legacy use_default_system_prompt spaces_between_special_tokens sp_model_kwargs vocab_type unk_type "
        "from_slow use_fast backend is_local local_files_only processor_class auto_map language model_input_names "
        "init_inputs max_model_input_sizes remove_space fix_mistral_regex wordpieces_prefix response_schema "
        "response_template trust_remote_code bos_token_id eos_token_id pad_token_id unk_token_id vocab_size "
        "files_loaded monolingual_vocab_file use_regex tokenizer_type device_map _commit_hash verbose ",
    [AOEI_KEYS_SPECIAL_TOKENS] =
        "bos_token eos_token unk_token sep_token pad_token cls_token mask_token additional_special_tokens "
        "extra_special_tokens image_token boi_token eoi_token audio_token boa_token eoa_token video_token ",
    [AOEI_KEYS_ROPE] =
        "rope_type type rope_theta partial_rotary_factor factor original_max_position_embeddings "
        "attention_factor beta_fast beta_slow mscale mscale_all_dim truncate low_freq_factor high_freq_factor "
        "short_factor long_factor mixed_b finetuned ",
    [AOEI_KEYS_AOE] = "format_version pooling prompts max_length normalize dense modules lowercase include_prompt "
                      "subtract_empty_prompt truncate_dim chat_template "
                      "layer_pooling cnn lstm similarity bidirectional_from training ",
    [AOEI_KEYS_TOKENIZER_JSON] =
        "version truncation padding added_tokens normalizer pre_tokenizer post_processor decoder model ",
    [AOEI_KEYS_ADDED_TOKEN] = "id content single_word lstrip rstrip normalized special ",
};

/* The keys of components of tokenizers in addition to "type", by type. Components of several sections may have one
 * type. */
static const struct {
    const char *type, *keys;
} components[] = {
    {"BertNormalizer", "clean_text handle_chinese_chars strip_accents lowercase "},
    {"Strip", "strip_left strip_right "},
    {"Replace", "pattern content "},
    {"Prepend", "prepend "},
    {"Precompiled", "precompiled_charsmap "},
    {"Sequence", "normalizers pretokenizers processors "},
    {"ByteLevel", "add_prefix_space trim_offsets use_regex "},
    {"Digits", "individual_digits "},
    {"Metaspace", "replacement prepend_scheme split add_prefix_space str_rep "},
    {"Punctuation", "behavior "},
    {"Split", "pattern behavior invert "},
    {"TemplateProcessing", "single pair special_tokens "},
    {"BertProcessing", "sep cls "},
    {"RobertaProcessing", "sep cls trim_offsets add_prefix_space "},
    {"WordPiece", "unk_token continuing_subword_prefix max_input_chars_per_word vocab "},
    {"BPE", "dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk byte_fallback ignore_merges "
            "vocab merges "},
    {"Unigram", "unk_id vocab byte_fallback "},
    {"WordLevel", "unk_token vocab "},
};

/* Keys that have no effect only if they are unset (null, false, or an empty string, list or object), or if they have
 * one of these values. */
static const struct {
    aoei_key_file kind;
    const char *key;
    const char *values; /* a list of other strings that have no effect, also as elements of a list; NULL: none */
} limited[] = {
    {AOEI_KEYS_CONFIG, "quantization_config", NULL},
    {AOEI_KEYS_CONFIG, "compression_config", NULL},
    {AOEI_KEYS_CONFIG, "pruned_heads", NULL},
    {AOEI_KEYS_CONFIG, "is_encoder_decoder", NULL},
    {AOEI_KEYS_CONFIG, "cross_attention_hidden_size", NULL},
    {AOEI_KEYS_CONFIG, "adapters", NULL},
    {AOEI_KEYS_TRANSFORMER, "tokenizer_name_or_path", NULL},
    {AOEI_KEYS_SENTENCE_TRANSFORMERS, "model_type", "SentenceTransformer CrossEncoder "},
    {AOEI_KEYS_TOKENIZER, "split_special_tokens", NULL},
    /* transformers selects one of these files by its own version */
    {AOEI_KEYS_TOKENIZER, "fast_tokenizer_files", "tokenizer.json "},
};

/* Returns 1 if `name` is on the list `list`, in which a space follows each name. list: NULL: an empty list. */
static int is_on(const char *list, const char *name) {
    const size_t len = strlen(name);
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, " ");
        if (n == len && !memcmp(at, name, n))
            return 1;
        at += at[n] ? n + 1 : n;
    }
    return 0;
}

/* Returns the list of the keys of the architecture or module `subject`; NULL if there is none. */
static const char *keys_of(aoei_key_file kind, const char *subject) {
    if (kind == AOEI_KEYS_CONFIG)
        for (size_t i = 0; subject && i < sizeof architectures / sizeof *architectures; i++)
            if (!strcmp(architectures[i].model_type, subject))
                return architectures[i].keys;
    if (kind == AOEI_KEYS_MODULE)
        for (size_t i = 0; subject && i < sizeof modules / sizeof *modules; i++)
            if (!strcmp(modules[i].class_name, subject))
                return modules[i].keys;
    if (kind == AOEI_KEYS_COMPONENT)
        for (size_t i = 0; subject && i < sizeof components / sizeof *components; i++)
            if (!strcmp(components[i].type, subject))
                return components[i].keys;
    return (size_t)kind < sizeof other_keys / sizeof *other_keys ? other_keys[kind] : NULL;
}

/* Returns 1 if the key `key` is on a list. */
static int is_known(const char *keys, const char *key, aoei_key_file kind) {
    return is_on(keys, key) || (kind == AOEI_KEYS_CONFIG && is_on(config_keys, key)) ||
           (kind == AOEI_KEYS_COMPONENT && !strcmp(key, "type"));
}

static void add_unknown(aoei_unknown_keys *u, const char *within, const char *key) {
    const size_t at = strlen(u->names);
    if (u->n++ < 5)
        snprintf(u->names + at, sizeof u->names - at, "%s\"%.30s%s%.40s\"", at ? ", " : "", within ? within : "",
                 within ? "." : "", key);
}

void aoei_json_keys_collect(aoei_unknown_keys *unknown, const json_t *object, aoei_key_file kind, const char *subject,
                            const char *within) {
    const char *const keys = keys_of(kind, subject), *key;
    const json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v) if (!is_known(keys, key, kind))
        add_unknown(unknown, within, key);
}

void aoei_json_keys_warn(const aoei_unknown_keys *unknown, const char *file, const aoei_log *log) {
    const size_t n = unknown->n;
    if (n)
        aoei_log_write(log, AOE_LOG_WARNING,
                       "%s: unknown key%s %s%s ignored; if another library uses %s, its embeddings may differ", file,
                       n > 1 ? "s" : "", unknown->names,
                       n > 5   ? " and others are"
                       : n > 1 ? " are"
                               : " is",
                       n > 1 ? "them" : "it");
}

/* Collects the unknown keys of rope_scaling or rope_parameters, which may contain one object for each type of
 * layers. */
static void collect_rope(aoei_unknown_keys *unknown, const json_t *rope, const char *within) {
    static const char types[] = "full_attention sliding_attention ";
    const char *key;
    const json_t *v;
    json_object_foreach((json_t *)(uintptr_t)rope, key, v) {
        if (is_on(types, key) && (json_is_object(v) || json_is_null(v)))
            aoei_json_keys_collect(unknown, v, AOEI_KEYS_ROPE, NULL, within);
        else if (!is_known(other_keys[AOEI_KEYS_ROPE], key, AOEI_KEYS_ROPE))
            add_unknown(unknown, within, key);
    }
}

/* Returns 1 if v is a string in `values`, or a list of such strings. */
static int is_harmless(const json_t *v, const char *values) {
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(item) || !is_on(values, json_string_value(item)))
            return 0;
    }
    return 1;
}

/* Checks the value of a key in `limited`. Sets *found to 1 if the key is in `limited`. */
static int check_value(aoei_key_file kind, const char *key, const json_t *v, int *found, const char *file,
                       aoe_error *err) {
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        if (limited[i].kind != kind || strcmp(limited[i].key, key) != 0)
            continue;
        *found = 1;
        if (aoei_json_is_unset(v) || is_harmless(v, limited[i].values))
            return 0;
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: %s has a value that is not supported, because it would change the embeddings; remove the key if "
            "the model does not need it",
            file, key);
    }
    return 0;
}

int aoei_json_keys_check(const json_t *object, aoei_key_file kind, const char *subject, const char *file,
                         const aoei_log *log, aoe_error *err) {
    const char *const keys = keys_of(kind, subject), *key;
    aoei_unknown_keys unknown = {0};
    const json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v) {
        int known = is_known(keys, key, kind);
        const int rc = check_value(kind, key, v, &known, file, err);
        if (rc)
            return rc;
        if (!known)
            add_unknown(&unknown, NULL, key);
        else if (kind == AOEI_KEYS_CONFIG && (!strcmp(key, "rope_scaling") || !strcmp(key, "rope_parameters")))
            collect_rope(&unknown, v, key);
    }
    aoei_json_keys_warn(&unknown, file, log);
    return 0;
}

int aoei_json_keys_list(aoei_key_list *list, size_t i) {
    enum { ARCHITECTURES = sizeof architectures / sizeof *architectures, MODULES = sizeof modules / sizeof *modules };
    enum { COMPONENTS = sizeof components / sizeof *components, OTHERS = sizeof other_keys / sizeof *other_keys };
    if (i < ARCHITECTURES)
        *list = (aoei_key_list){AOEI_KEYS_CONFIG, architectures[i].model_type, architectures[i].keys};
    else if ((i -= ARCHITECTURES) < MODULES)
        *list = (aoei_key_list){AOEI_KEYS_MODULE, modules[i].class_name, modules[i].keys};
    else if ((i -= MODULES) < COMPONENTS)
        *list = (aoei_key_list){AOEI_KEYS_COMPONENT, components[i].type, components[i].keys};
    else if ((i -= COMPONENTS) < OTHERS)
        *list = (aoei_key_list){(aoei_key_file)i, NULL,
                                i == AOEI_KEYS_CONFIG ? config_keys
                                : other_keys[i]       ? other_keys[i]
                                                      : ""};
    else if ((i -= OTHERS) < sizeof limited / sizeof *limited)
        *list = (aoei_key_list){limited[i].kind, NULL, limited[i].key};
    else
        return 0;
    return 1;
}
