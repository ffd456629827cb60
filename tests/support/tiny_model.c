/* SPDX-License-Identifier: MIT
 * Writes tiny models, texts and tables for tests; see tiny_model.h.
 */
#include "encoder/params.h"
#include "tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/json.h"
#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/arch_llama.h"
#include "encoder/arch_nomic.h"
#include "encoder/slots.h"
#include "modeldir/safetensors.h"
#include "modeldir/safetensors_writer.h"
#include "nn/rope.h"
#include "support.h"

static const char *const words[] = {"the",  "a",    "cat",   "dog",   "bird", "runs", "sleeps", "eats",
                                    "fast", "slow", "house", "river", "old",  "new",  "##s",    "##ing"};
static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
enum { WORDS = sizeof words / sizeof *words, SPECIALS = sizeof specials / sizeof *specials, LETTERS = 26 };

tiny_model tiny_defaults(void) {
    return (tiny_model){.hidden = 16,
                        .layers = 2,
                        .heads = 2,
                        .intermediate = 24,
                        .positions = 32,
                        .types = 2,
                        .dropout = 0.1,
                        .seed = 7};
}

size_t tiny_vocab(void) {
    return SPECIALS + 2 * LETTERS + WORDS;
}

void tiny_config(aoei_encoder_config *c, const tiny_model *o) {
    const aoei_encoder_config bert = {.arch = &aoei_arch_bert,
                                      .hidden = o->hidden,
                                      .layers = o->layers,
                                      .heads = o->heads,
                                      .intermediate = o->intermediate,
                                      .vocab = tiny_vocab(),
                                      .positions = o->positions,
                                      .token_types = o->types,
                                      .activation = o->activation == AOEI_IDENTITY ? AOEI_GELU : o->activation,
                                      .norm_eps = 1e-12,
                                      .hidden_dropout = o->dropout,
                                      .attention_dropout = o->dropout};
    *c = bert;
    if (o->options)
        o->options(c);
}

void tiny_roberta(aoei_encoder_config *c) {
    c->arch = &aoei_arch_roberta;
    c->position_offset = 2;
    c->token_types = 1;
    c->norm_eps = 1e-5;
}

void tiny_mpnet(aoei_encoder_config *c) {
    c->arch = &aoei_arch_mpnet;
    c->position_offset = 2;
    c->token_types = 0;
    c->norm_eps = 1e-5;
    c->score_buckets = 32;
}

void tiny_deberta(aoei_encoder_config *c) {
    c->arch = &aoei_arch_deberta;
    c->token_types = 0;
    c->norm_eps = 1e-7;
    c->no_position_table = 1;
    c->relative =
        (aoei_relative_config){.span = 8, .buckets = 8, .max_distance = 30, .keys = 1, .queries = 1, .norm = 1};
    c->attention_scale = 1 / sqrt(3 * (double)(c->hidden / c->heads));
}

void tiny_jina_bert(aoei_encoder_config *c) {
    c->arch = &aoei_arch_jina_bert;
    c->gated = c->no_up_bias = c->alibi = 1;
}

void tiny_jina_code(aoei_encoder_config *c) {
    tiny_jina_bert(c);
    c->arch = &aoei_arch_jina_code;
    c->qk_norm = AOEI_QK_LAYERNORM;
    c->second_norm = 1;
}

/* Changes c to another architecture. The options become the defaults of `arch`, and the sizes remain unchanged. */
static void become(aoei_encoder_config *c, const aoei_arch *arch) {
    const aoei_encoder_config sizes = *c;
    arch->defaults(c);
    c->arch = arch;
    c->hidden = sizes.hidden;
    c->layers = sizes.layers;
    c->heads = sizes.heads;
    c->intermediate = sizes.intermediate;
    c->vocab = sizes.vocab;
    c->positions = sizes.positions;
    c->attention_dropout = sizes.attention_dropout;
}

void tiny_llama(aoei_encoder_config *c) {
    become(c, &aoei_arch_llama);
    c->kv_heads = c->heads / 2;
    c->no_qkv_bias = c->no_output_bias = c->no_ffn_bias = 0;
    c->rope = (aoei_rope){
        .theta = 1000, .scaling = AOEI_ROPE_LLAMA3, .factor = 4, .low = 1, .high = 4, .positions = c->positions};
}

/* Adds the layers from `first` on to the layers with a window. */
static void all_windows(aoei_encoder_config *c, size_t first) {
    for (size_t l = first; l < c->layers; l++)
        aoei_layer_set_add(&c->windowed, l);
}

void tiny_mistral(aoei_encoder_config *c) {
    become(c, &aoei_arch_mistral);
    c->kv_heads = c->heads;
    c->head_dim = c->hidden / c->heads / 2 * 2 + 4;
    c->window = 5;
    all_windows(c, 0);
    c->rope.scaling = AOEI_ROPE_LINEAR;
    c->rope.factor = 2.5;
    c->rope.positions = c->positions;
}

void tiny_qwen2(aoei_encoder_config *c) {
    become(c, &aoei_arch_qwen2);
    c->kv_heads = 1;
    c->window = 70;
    all_windows(c, 1);
    c->rope = (aoei_rope){.theta = 50, .scaling = AOEI_ROPE_DYNAMIC, .factor = 2, .positions = 6};
}

void tiny_qwen3(aoei_encoder_config *c) {
    become(c, &aoei_arch_qwen3);
    c->kv_heads = c->heads / 2;
    c->head_dim = c->hidden / c->heads / 2 * 2 + 2;
    c->window = 4;
    aoei_layer_set_add(&c->windowed, 0);
}

void tiny_gemma3(aoei_encoder_config *c) {
    become(c, &aoei_arch_gemma3);
    c->kv_heads = c->heads / 2;
    c->embed_scale = sqrt((double)c->hidden);
    c->attention_scale = 0.2;
    c->window = 4;
    aoei_layer_set_add(&c->windowed, 0);
}

void tiny_modernbert(aoei_encoder_config *c) {
    become(c, &aoei_arch_modernbert);
    c->hidden_dropout = c->attention_dropout;
    c->window = 4;
    all_windows(c, 1);
}

void tiny_billm(aoei_encoder_config *c) {
    become(c, &aoei_arch_llama);
    c->kv_heads = c->heads / 2;
    c->bidirectional_from = 1;
    c->rope = (aoei_rope){
        .theta = 30, .scaling = AOEI_ROPE_YARN, .factor = 3, .low = 0.5, .high = 2, .magnitude = 1.2, .positions = 20};
}

void tiny_modern(aoei_encoder_config *c) {
    c->no_norm_bias = c->no_first_norm = 1;
    c->rope_local = (aoei_rope){.theta = 3};
    c->pre_norm = c->gated = c->no_qkv_bias = c->no_output_bias = c->no_ffn_bias = 1;
    c->rope = (aoei_rope){.theta = 10};
    c->token_types = 0;
    c->window = 4;
    all_windows(c, 1);
}

void tiny_nomic(aoei_encoder_config *c) {
    become(c, &aoei_arch_nomic);
}

void tiny_nomic_partial(aoei_encoder_config *c) {
    tiny_nomic(c);
    c->rope.dims = c->hidden / c->heads / 4 * 2;
}

void tiny_nomic_fused(aoei_encoder_config *c) {
    tiny_nomic(c);
    c->arch = &aoei_arch_nomic_fused;
}

void tiny_gte(aoei_encoder_config *c) {
    become(c, &aoei_arch_gte);
}

void tiny_new(aoei_encoder_config *c) {
    become(c, &aoei_arch_new);
    c->rope.scaling = AOEI_ROPE_LINEAR;
    c->rope.factor = 1.5;
    c->rope.positions = c->positions;
}

void tiny_distilbert(aoei_encoder_config *c) {
    become(c, &aoei_arch_distilbert);
}

void tiny_camembert(aoei_encoder_config *c) {
    tiny_roberta(c);
    c->arch = &aoei_arch_camembert;
}

void tiny_electra(aoei_encoder_config *c) {
    c->arch = &aoei_arch_electra;
    c->embed_width = 12;
}

void tiny_albert(aoei_encoder_config *c) {
    c->arch = &aoei_arch_albert;
    c->embed_width = 12;
    c->layer_groups = c->layers > 2 ? 2 : 1;
}

void tiny_weight(float *host, const aoei_encoder_config *c, size_t slot, uint32_t seed) {
    aoei_slot d;
    aoei_rng r;
    assert_int_equal(aoei_slot_describe(c, slot, &d), 0);
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, aoei_slot_stream(c, slot));
    const double sd = d.vector ? 0.1 : slot < AOEI_W_LAYERS ? 0.5 : 0.2;
    for (size_t i = 0; i < d.rows * d.cols; i++)
        host[i] = (float)((d.norm ? 1.0 : 0.0) + sd * aoei_rng_normal(&r));
}

void tiny_fill(const aoe_context *ctx, aoei_params *p, const aoei_encoder_config *c, uint32_t seed) {
    float *host = malloc(p->count * sizeof *host);
    assert_non_null(host);
    aoei_tensor_zero(ctx, p->value);
    for (size_t s = 0; s < p->n_slots; s++) {
        if (!p->values[s].data)
            continue;
        tiny_weight(host, c, s, seed);
        aoei_tensor_write(ctx, p->values[s], host);
    }
    aoei_params_pack(ctx, p);
    free(host);
}

/* Writes config.json for an architecture other than BERT. */
static void write_other_config(const char *dir, const tiny_model *o) {
    aoei_encoder_config c;
    tiny_config(&c, o);
    json_t *config = json_object();
    assert_int_equal(c.arch->write(&c, config), 0);
    if (c.arch->default_pooling == AOE_POOLING_LAST_TOKEN) /* of other classes, the default is the mean */
        assert_int_equal(json_object_set_new(config, "architectures", json_pack("[s]", "TinyForCausalLM")), 0);
    char *path = test_path(dir, "config.json");
    assert_int_equal(aoei_json_save(config, path, NULL), 0);
    json_decref(config);
    free(path);
}

static void write_config(const char *dir, const tiny_model *o) {
    char text[1024];
    if (o->options) {
        write_other_config(dir, o);
        return;
    }
    snprintf(
        text, sizeof text,
        "{\"architectures\": [\"BertForMaskedLM\"], \"model_type\": \"bert\", \"hidden_size\": %zu, "
        "\"num_attention_heads\": %zu, "
        "\"intermediate_size\": %zu, \"num_hidden_layers\": %zu, \"vocab_size\": %zu, "
        "\"max_position_embeddings\": %zu, "
        "\"type_vocab_size\": %zu, \"layer_norm_eps\": 1e-12, \"hidden_act\": \"%s\", \"hidden_dropout_prob\": %g, "
        "\"attention_probs_dropout_prob\": %g}",
        o->hidden, o->heads, o->intermediate, o->layers, tiny_vocab(), o->positions, o->types,
        aoei_activation_name(o->activation == AOEI_IDENTITY ? AOEI_GELU : o->activation), o->dropout, o->dropout);
    free(test_write_text(dir, "config.json", text));
}

static void write_vocab(const char *dir) {
    char text[2048];
    size_t at = 0;
    for (size_t i = 0; i < SPECIALS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", specials[i]);
    for (int i = 0; i < LETTERS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%c\n##%c\n", 'a' + i, 'a' + i);
    for (size_t i = 0; i < WORDS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", words[i]);
    assert_true(at < sizeof text);
    free(test_write_text(dir, "vocab.txt", text));
    free(test_write_text(dir, "tokenizer_config.json",
                         "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": true}"));
}

/* Writes the two tensors of the pooler to e[2] and their names to `names`. The names are not in alphabetical order, so
 * that the library is tested with a safetensors file whose tensors are not sorted. Returns the number of tensors, 2 or
 * 0. */
static size_t pooler_entries(aoei_st_entry *e, char names[2][64], const tiny_model *o) {
    if (!o->pooler)
        return 0;
    const char *prefix = o->prefix ? o->prefix : "";
    snprintf(names[0], sizeof names[0], "%spooler.dense.weight", prefix);
    snprintf(names[1], sizeof names[1], "%spooler.dense.bias", prefix);
    e[0] = (aoei_st_entry){names[0], AOEI_ST_F32, 2, {o->hidden, o->hidden}};
    e[1] = (aoei_st_entry){names[1], AOEI_ST_F32, 1, {o->hidden}};
    return 2;
}

/* Writes to `host` the values of the tensor that begins with the weight in `slot`. A fused tensor contains several
 * weights. */
static void tensor_values(float *host, const aoei_encoder_config *c, size_t slot, uint32_t seed) {
    aoei_slot first, d;
    assert_int_equal(aoei_slot_describe(c, slot, &first), 0);
    tiny_weight(host, c, slot, seed);
    for (size_t s = 0; s < aoei_slot_count(c) && first.stored_rows; s++) {
        assert_int_equal(aoei_slot_describe(c, s, &d), 0);
        if (!d.absent && d.first && !strcmp(d.name, first.name))
            tiny_weight(host + d.first * (d.vector ? 1 : d.cols), c, s, seed);
    }
}

static void write_weights(const char *dir, const tiny_model *o) {
    aoei_encoder_config c;
    tiny_config(&c, o);
    const size_t n = aoei_slot_count(&c),
                 largest = (c.vocab + c.positions + c.intermediate) * (c.hidden + c.intermediate);
    aoei_st_entry *e = calloc(n + 2, sizeof *e);
    char(*names)[192] = calloc(n, sizeof *names), pooler[2][64];
    float *host = malloc(largest * sizeof *host);
    size_t *slots = calloc(n, sizeof *slots), used = 0;
    assert_true(e && names && host && slots);
    for (size_t s = 0; s < n; s++) {
        aoei_slot d;
        assert_int_equal(aoei_slot_describe(&c, s, &d), 0);
        if (d.absent || d.first)
            continue;
        const size_t length = d.stored_rows ? d.stored_rows : d.vector ? d.cols : d.rows;
        snprintf(names[used], sizeof names[used], "%s%s", o->prefix ? o->prefix : "", d.name);
        e[used] = d.vector ? (aoei_st_entry){names[used], AOEI_ST_F32, 1, {length}}
                           : (aoei_st_entry){names[used], AOEI_ST_F32, 2, {length, d.cols}};
        slots[used++] = s;
    }
    const size_t more = pooler_entries(e + used, pooler, o);
    aoei_st_writer *w;
    char *path = test_path(dir, "model.safetensors");
    assert_int_equal(aoei_st_writer_open(&w, path, e, used + more, NULL), 0);
    for (size_t i = 0; i < used + more; i++) {
        size_t count = 1;
        for (size_t k = 0; k < e[i].n_dims; k++)
            count *= e[i].shape[k];
        assert_true(count <= largest);
        if (i < used)
            tensor_values(host, &c, slots[i], o->seed);
        for (size_t k = 0; k < count; k++)
            if (i >= used || (o->filled && strcmp(names[i], o->filled) == 0))
                host[k] = i >= used ? (float)k : o->fill;
        assert_int_equal(aoei_st_writer_write(w, host, count * sizeof *host, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
    free(slots);
    free(host);
    free(names);
    free(e);
}

void tiny_model_write(const char *dir, const tiny_model *o) {
    aoe_error err = {0};
    if (aoei_make_dir(dir, &err))
        fail_msg("%s", err.message);
    write_config(dir, o);
    write_vocab(dir);
    write_weights(dir, o);
}

/* Appends n random words, separated by spaces, to the text out[size] of length `at`. Returns the new length. */
static size_t add_words(char *out, size_t size, size_t at, aoei_rng *r, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t k = aoei_rng_below(r, WORDS - 2 + 4);
        const char *space = at ? " " : "";
        if (k < WORDS - 2)
            at += (size_t)snprintf(out + at, size - at, "%s%s", space, words[k]);
        else
            at += (size_t)snprintf(out + at, size - at, "%s%c%c%c", space, 'b' + (char)k,
                                   'a' + (char)aoei_rng_below(r, LETTERS), 'o');
    }
    return at;
}

const char *tiny_text(uint32_t i) {
    static char text[256];
    aoei_rng r;
    aoei_rng_init(&r, 11, AOEI_STREAM_TEST, i);
    add_words(text, sizeof text, 0, &r, 1 + aoei_rng_below(&r, 9));
    return text;
}

char *tiny_table(const char *dir, const char *name, size_t n, uint32_t seed) {
    const size_t size = 64 + n * 256;
    char *text = malloc(size), common[128], a[128], b[128];
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, size, "text1\ttext2\tlabel\n");
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, UINT32_MAX);
    for (size_t i = 0; i < n; i++) {
        const size_t shared = i % 6;
        const size_t start = add_words(common, sizeof common, 0, &r, shared);
        common[start] = '\0';
        snprintf(a, sizeof a, "%s", common);
        snprintf(b, sizeof b, "%s", common);
        add_words(a, sizeof a, start, &r, 6 - shared);
        add_words(b, sizeof b, start, &r, 6 - shared - (shared > 3));
        if (i % 7 == 3)
            snprintf(b, sizeof b, "the old house"); /* the table contains this text several times */
        at += (size_t)snprintf(text + at, size - at, "%s\t%s\t%zu\n", a, b, shared);
    }
    assert_true(at < size);
    char *path = test_write_text(dir, name, text);
    free(text);
    return path;
}

char *tiny_dir_create(void) {
    const char *base = getenv("TMPDIR");
    if ((base && *base) || access("/dev/shm", W_OK) != 0)
        return test_dir_create();
    char *dir = test_path("/dev/shm", "aoe-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

aoe_context *tiny_context(size_t threads) {
    aoe_context_options o;
    aoe_context *ctx;
    aoe_error err = {0};
    aoe_context_options_defaults(&o);
    o.threads = threads;
    if (aoe_context_create(&ctx, &o, &err))
        fail_msg("%s", err.message);
    return ctx;
}
