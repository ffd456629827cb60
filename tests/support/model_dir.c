/* SPDX-License-Identifier: MIT
 * Writes small model directories for tests; see model_dir.h. It computes float16 and bfloat16 values from the bits of
 * floats, independently of the library.
 */
#include "model_dir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "encoder/arch_registry.h"
#include "encoder/slots.h"
#include "modeldir/safetensors_writer.h"
#include "support.h"

const char test_config_json[] =
    "{\"architectures\": [\"BertForMaskedLM\"], \"model_type\": \"bert\", \"hidden_size\": 8, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 12, \"num_hidden_layers\": 2, "
    "\"vocab_size\": 16, \"max_position_embeddings\": 10, \"type_vocab_size\": 2, "
    "\"layer_norm_eps\": 1e-12, \"hidden_act\": \"gelu\", \"hidden_dropout_prob\": 0.25, "
    "\"attention_probs_dropout_prob\": 0.125, \"position_embedding_type\": \"absolute\", "
    "\"torch_dtype\": \"float16\", \"note\": \"kept\"}";

static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";

aoe_context *test_model_context;

aoei_model_dir test_model_dir(const char *path) {
    static aoei_file_cache *cache;
    aoei_file_cache_destroy(cache);
    cache = aoei_file_cache_create();
    if (!cache)
        abort();
    return (aoei_model_dir){path, cache};
}

int test_model_begin(void **state) {
    (void)state;
    return aoe_context_create(&test_model_context,
                              &(aoe_context_options){.struct_size = sizeof(aoe_context_options), .threads = 2}, NULL);
}

int test_model_end(void **state) {
    (void)state;
    aoe_context_destroy(test_model_context);
    return 0;
}

aoe_model *test_model_open(aoe_context *ctx, const char *dir, const aoe_model_options *o) {
    aoe_model *m;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, dir, o, &err))
        fail_msg("%s", err.message);
    return m;
}

int test_model_open_once(void *dir) {
    aoe_error err;
    aoe_model *m = NULL;
    const int rc = aoe_model_open(&m, test_model_context, dir, NULL, &err);
    aoe_model_close(m);
    return rc;
}

void test_use_memory(void) {
    if (!getenv("TMPDIR") && access("/dev/shm", W_OK | X_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
}

void test_message(const char *message, const char *fragment) {
    if (!strstr(message, fragment) || strchr(message, '\n'))
        fail_msg("\"%s\" does not contain \"%s\" or has more than one line", message, fragment);
}

void test_model_config(aoei_encoder_config *c) {
    json_t *root = json_loads(test_config_json, 0, NULL);
    assert_non_null(root);
    assert_int_equal(aoei_config_read(c, root, "config.json", NULL), 0);
    json_decref(root);
}

float test_model_value(size_t slot, size_t i) {
    return (float)((int)((i * 7 + slot * 3) % 17) - 8) / 16.0f;
}

static uint16_t half_bits(float v) {
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    if (isnan(v))
        return 0x7e00;
    if (v == 0)
        return 0;
    return (uint16_t)((b >> 16 & 0x8000u) | (((b >> 23 & 255u) - 112) << 10) | (b >> 13 & 1023u));
}

static uint16_t bfloat_bits(float v) {
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return (uint16_t)(b >> 16);
}

typedef struct tensor_list {
    aoei_st_entry entry[128];
    char name[128][160];
    size_t slot[128];
    size_t rows[128];
    size_t n;
} tensor_list;

static int equal(const char *a, const char *b) {
    return a && !strcmp(a, b);
}

static void add(tensor_list *p, const test_model_spec *s, const char *name, size_t slot, size_t rows, size_t cols,
                int vector) {
    size_t i = p->n;
    if (equal(s->missing, name))
        return;
    char spelled[128];
    snprintf(spelled, sizeof spelled, "%s", name);
    char *norm = strstr(spelled, "LayerNorm.");
    if (s->older_names && norm)
        strcpy(norm, strstr(name, ".weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
    snprintf(p->name[i], sizeof p->name[i], "%s%s", s->prefix ? s->prefix : "", spelled);
    rows += equal(s->misshapen, name) && !vector;
    cols += equal(s->misshapen, name) && vector;
    p->entry[i] = (aoei_st_entry){
        p->name[i], equal(s->mixed, name) ? AOEI_ST_F16 : s->dtype, vector ? 1 : 2, {vector ? cols : rows, cols}};
    p->slot[i] = slot;
    p->rows[i] = rows * cols;
    p->n++;
}

static void write_tensor(aoei_st_writer *w, const test_model_spec *s, const tensor_list *p, size_t i) {
    size_t skip = s->prefix ? strlen(s->prefix) : 0;
    for (size_t k = 0; k < p->rows[i]; k++) {
        float v = k == 5 && equal(s->damaged, p->name[i] + skip) ? NAN : test_model_value(p->slot[i], k);
        uint16_t h = p->entry[i].dtype == AOEI_ST_F16 ? half_bits(v) : bfloat_bits(v);
        int is_f32 = p->entry[i].dtype == AOEI_ST_F32;
        assert_int_equal(aoei_st_writer_write(w, is_f32 ? (const void *)&v : &h, is_f32 ? sizeof v : sizeof h, NULL),
                         0);
    }
}

static void write_file(const char *dir, const char *name, const test_model_spec *s, const tensor_list *p, size_t first,
                       size_t n) {
    aoei_st_writer *w;
    char *path = test_path(dir, name);
    assert_int_equal(aoei_st_writer_open(&w, path, p->entry + first, n, NULL), 0);
    for (size_t i = first; i < first + n; i++)
        write_tensor(w, s, p, i);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
}

/* Adds one space to the header of model.safetensors, so that every tensor begins at an odd address. */
static void shift(const char *dir) {
    size_t size;
    char *path = test_path(dir, "model.safetensors"), *data = test_read(path, &size), *moved = malloc(size + 1);
    assert_non_null(moved);
    uint64_t n;
    memcpy(&n, data, 8);
    memcpy(moved, data, 8 + n);
    moved[8 + n] = ' ';
    memcpy(moved + 9 + n, data + 8 + n, size - 8 - n);
    n++;
    memcpy(moved, &n, 8);
    free(test_write(dir, "model.safetensors", moved, size + 1));
    free(moved);
    free(data);
    free(path);
}

static void write_shards(const char *dir, const test_model_spec *s, const tensor_list *p) {
    static const char *const names[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    size_t half = p->n / 2;
    json_t *map = json_object();
    for (size_t i = 0; i < p->n; i++)
        json_object_set_new(map, p->name[i], json_string(names[i >= half]));
    write_file(dir, names[0], s, p, 0, half);
    write_file(dir, names[1], s, p, half, p->n - half);
    json_t *root = json_pack("{s:{s:i}, s:o}", "metadata", "total_size", 0, "weight_map", map);
    char *text = json_dumps(root, 0);
    free(test_write_text(dir, "model.safetensors.index.json", text));
    json_decref(root);
    aoei_free(text);
}

void test_model_write(const char *dir, const test_model_spec *spec) {
    static const test_model_spec plain;
    const test_model_spec *s = spec ? spec : &plain;
    aoei_encoder_config c;
    tensor_list *p = calloc(1, sizeof *p);
    assert_non_null(p);
    test_model_config(&c);
    for (size_t i = 0; i < aoei_slot_count(&c); i++) {
        aoei_slot slot;
        assert_int_equal(aoei_slot_describe(&c, i, &slot), 0);
        if (!slot.absent)
            add(p, s, slot.name, i, slot.rows, slot.cols, slot.vector);
    }
    if (s->pooler) {
        add(p, s, "pooler.dense.weight", 1000, TEST_HIDDEN, TEST_HIDDEN, 0);
        add(p, s, "pooler.dense.bias", 1001, 1, TEST_HIDDEN, 1);
    }
    if (s->shards == 2)
        write_shards(dir, s, p);
    else
        write_file(dir, "model.safetensors", s, p, 0, p->n);
    if (s->misaligned)
        shift(dir);
    free(test_write_text(dir, "config.json", s->config ? s->config : test_config_json));
    if (!s->no_tokenizer) {
        free(test_write_text(dir, "vocab.txt", vocab));
        free(test_write_text(dir, "tokenizer_config.json",
                             "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": true}"));
    }
    free(p);
}
