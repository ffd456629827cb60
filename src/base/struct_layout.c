/* SPDX-License-Identifier: MIT
 * The layouts of the public structs that later versions may extend, and copies between such structs of different sizes.
 *
 * The offset of a field in the program's struct follows from the sizes of the structs before it: all extensible structs
 * have the alignment and a multiple of the size of size_t, so that there is no other difference than these sizes.
 */
#include "base/struct_layout.h"

#include <string.h>

#include "aoe_annotate.h"
#include "aoe_collect.h"
#include "aoe_comm.h"
#include "aoe_convert.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_experiment.h"
#include "aoe_hub.h"
#include "aoe_index.h"
#include "aoe_objective.h"
#include "aoe_plan.h"
#include "aoe_postgres.h"
#include "aoe_sequence.h"
#include "aoe_serve.h"
#include "aoe_tokenizer.h"
#include "aoe_train.h"
#include "base/error.h"

enum { MAX_SIZE = 1 << 16 /* no struct is larger; a larger struct_size was not set */ };

/* On all supported platforms, the largest alignment of a field is that of size_t. */
#define AOEI_X(type)                                                                                                   \
    _Static_assert(_Alignof(type) == sizeof(size_t) && sizeof(type) < MAX_SIZE, #type);                                \
    _Static_assert(offsetof(type, struct_size) == 0, #type ": struct_size must be the first field");
AOEI_EXTENSIBLE_STRUCTS(AOEI_X)
#undef AOEI_X

/* OPTIONS: the function aoe_NAME_defaults sets struct_size. RESULT: the program sets it. NONE, or a list of NESTED: the
 * extensible structs inside the struct. */
#define LAYOUT(type, by_defaults, ...)                                                                                 \
    const aoei_struct_layout aoei_layout_##type = {                                                                    \
        .name = #type, .size = sizeof(type), .has_defaults = by_defaults, .nested = {__VA_ARGS__}}
#define OPTIONS(type, ...) LAYOUT(type, 1, __VA_ARGS__)
#define RESULT(type, ...)  LAYOUT(type, 0, __VA_ARGS__)
#define NONE                                                                                                           \
    { 0, NULL }
#define NESTED(type, field, inner)                                                                                     \
    { offsetof(type, field), &aoei_layout_##inner }
#define TABLE(type) OPTIONS(type, NESTED(type, table, aoe_table_options))

OPTIONS(aoe_bootstrap_options, NONE);
OPTIONS(aoe_chat_model, NONE);
OPTIONS(aoe_chat_options, NONE);
RESULT(aoe_comm, NONE);
OPTIONS(aoe_context_options, NONE);
OPTIONS(aoe_embedder_options, NONE);
OPTIONS(aoe_encode_options, NONE);
OPTIONS(aoe_experiment_options, NONE);
OPTIONS(aoe_github_options, NONE);
OPTIONS(aoe_hub_options, NONE);
OPTIONS(aoe_index_options, NONE);
OPTIONS(aoe_index_search_options, NONE);
OPTIONS(aoe_index_update_options, NONE);
OPTIONS(aoe_layer_options, NONE);
OPTIONS(aoe_sequence_options, NONE);
OPTIONS(aoe_serve_options, NONE);
OPTIONS(aoe_lora, NONE);
OPTIONS(aoe_model_options, NONE);
OPTIONS(aoe_objective_options, NONE);
OPTIONS(aoe_postgres_options, NONE);
OPTIONS(aoe_postgres_write_options, NONE);
OPTIONS(aoe_plan_options, NONE);
OPTIONS(aoe_rerank_options, NONE);
RESULT(aoe_shape, NONE);
OPTIONS(aoe_similar_options, NONE);
OPTIONS(aoe_suite_options, NONE);
OPTIONS(aoe_table_options, NONE);
OPTIONS(aoe_word_vectors_options, NONE);

TABLE(aoe_binary_options);
TABLE(aoe_convert_options);
TABLE(aoe_data_check_options);
TABLE(aoe_data_convert_options);
TABLE(aoe_data_dedup_options);
TABLE(aoe_data_split_options);
TABLE(aoe_data_stats_options);
TABLE(aoe_evaluation_file);
TABLE(aoe_retrieval_options);
TABLE(aoe_sts_options);
TABLE(aoe_train_data);
TABLE(aoe_triplet_options);

OPTIONS(aoe_annotate_options, NESTED(aoe_annotate_options, chat, aoe_chat_options),
        NESTED(aoe_annotate_options, table, aoe_table_options));
OPTIONS(aoe_bench_options, NESTED(aoe_bench_options, shape, aoe_shape));
OPTIONS(aoe_compare_options, NESTED(aoe_compare_options, experiment, aoe_experiment_options),
        NESTED(aoe_compare_options, bootstrap, aoe_bootstrap_options));
OPTIONS(aoe_configuration, NESTED(aoe_configuration, train, aoe_train_options));
OPTIONS(aoe_flow_options, NESTED(aoe_flow_options, table, aoe_table_options),
        NESTED(aoe_flow_options, model_options, aoe_model_options));
OPTIONS(aoe_grid_options, NESTED(aoe_grid_options, experiment, aoe_experiment_options));
OPTIONS(aoe_init_options, NESTED(aoe_init_options, shape, aoe_shape));
OPTIONS(aoe_mine_options, NESTED(aoe_mine_options, table, aoe_table_options),
        NESTED(aoe_mine_options, corpus_table, aoe_table_options));
OPTIONS(aoe_pretrain_options, NESTED(aoe_pretrain_options, args, aoe_training_args),
        NESTED(aoe_pretrain_options, table, aoe_table_options));
OPTIONS(aoe_score_options, NESTED(aoe_score_options, chat, aoe_chat_options),
        NESTED(aoe_score_options, table, aoe_table_options));
OPTIONS(aoe_train_options, NESTED(aoe_train_options, args, aoe_training_args),
        NESTED(aoe_train_options, objective, aoe_objective_options), NESTED(aoe_train_options, lora, aoe_lora),
        NESTED(aoe_train_options, layers, aoe_layer_options));
OPTIONS(aoe_training_args, NESTED(aoe_training_args, model_options, aoe_model_options));
OPTIONS(aoe_whiten_options, NESTED(aoe_whiten_options, table, aoe_table_options),
        NESTED(aoe_whiten_options, model_options, aoe_model_options));

RESULT(aoe_bench_result, NONE);
RESULT(aoe_chat_result, NONE);
RESULT(aoe_compare_result, NONE);
RESULT(aoe_convert_result, NONE);
RESULT(aoe_data_check_result, NONE);
RESULT(aoe_data_convert_result, NONE);
RESULT(aoe_data_dedup_result, NONE);
RESULT(aoe_data_split_result, NONE);
RESULT(aoe_data_stats_result, NONE);
RESULT(aoe_flow_result, NONE);
RESULT(aoe_github_result, NONE);
RESULT(aoe_grid_result, NONE);
RESULT(aoe_hub_result, NONE);
RESULT(aoe_index_document, NONE);
RESULT(aoe_index_filter, NONE);
RESULT(aoe_index_hits, NONE);
RESULT(aoe_index_source, NONE);
RESULT(aoe_index_stats, NONE);
RESULT(aoe_index_update_result, NONE);
RESULT(aoe_init_result, NONE);
RESULT(aoe_memory_plan, NONE);
RESULT(aoe_mine_result, NONE);
RESULT(aoe_model_info, NONE);
RESULT(aoe_objective_result, NONE);
RESULT(aoe_postgres_write_result, NONE);
RESULT(aoe_rerank_result, NONE);
RESULT(aoe_sequence_info, NONE);
RESULT(aoe_similar_result, NONE);
RESULT(aoe_sts_result, NONE);
RESULT(aoe_train_sizes, NONE);
RESULT(aoe_whiten_result, NONE);
RESULT(aoe_word_vectors_result, NONE);
RESULT(aoe_annotate_result, NESTED(aoe_annotate_result, chat, aoe_chat_result));
RESULT(aoe_score_result, NESTED(aoe_score_result, chat, aoe_chat_result));

/* A run of fields without extensible structs, and the struct after it. */
typedef struct span {
    size_t full, given;              /* offsets of the run in the library's and in the program's struct */
    size_t n;                        /* bytes of the run that both structs have */
    const aoei_struct_layout *after; /* layout of the struct after the run; NULL: the program's struct ends */
} span;

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Sets *s to run i of the struct. For i = 0, *s need not be initialized; otherwise it is run i - 1. */
static void next_span(span *s, size_t i, const char *given, const aoei_struct_layout *layout) {
    const size_t size = size_of(given);
    if (i) {
        s->given += s->n + size_of(given + s->given + s->n);
        s->full += s->n + s->after->size;
    } else
        s->full = s->given = sizeof size;
    s->after = layout->nested[i].layout;
    const size_t end = s->after ? layout->nested[i].offset : layout->size;
    const size_t left = s->given < size ? size - s->given : 0;
    s->n = min_size(end - s->full, left);
    if (left < end - s->full + sizeof size)
        s->after = NULL;
}

/* Returns 1 if the program's struct contains all bytes of the struct after the run. */
static int contains(const char *given, const span *s) {
    return size_of(given + s->given + s->n) <= size_of(given) - s->given - s->n;
}

static int fail_not_set(const aoei_struct_layout *layout, const char *function, aoe_error *err) {
    return layout->has_defaults ? aoei_fail(err, AOE_EARG, "%s: struct_size of %s is not set; call %s_defaults first",
                                            function, layout->name, layout->name)
                                : aoei_fail(err, AOE_EARG, "%s: struct_size of %s is not set; set it to sizeof(%s)",
                                            function, layout->name, layout->name);
}

int aoei_struct_check(const void *given, const aoei_struct_layout *layout, const char *function, aoe_error *err) {
    const size_t size = size_of(given);
    if (size < sizeof size || size >= MAX_SIZE || size % sizeof size)
        return fail_not_set(layout, function, err);
    span s;
    for (size_t i = 0; next_span(&s, i, given, layout), s.after; i++) {
        const char *inner = (const char *)given + s.given + s.n;
        if (!contains(given, &s))
            return fail_not_set(s.after, function, err);
        const int code = aoei_struct_check(inner, s.after, function, err);
        if (code)
            return code;
    }
    if (size > layout->size)
        return aoei_fail(
            err, AOE_EARG,
            "%s: %s has %zu bytes, but this library supports at most %zu; compile the program with the headers of this "
            "library version",
            function, layout->name, size, layout->size);
    return 0;
}

void aoei_struct_read(void *full, const void *given, const aoei_struct_layout *layout) {
    span s;
    for (size_t i = 0;; i++) {
        next_span(&s, i, given, layout);
        memcpy((char *)full + s.full, (const char *)given + s.given, s.n);
        if (!s.after)
            return;
        aoei_struct_read((char *)full + s.full + s.n, (const char *)given + s.given + s.n, s.after);
    }
}

void aoei_struct_write(void *given, const void *full, const aoei_struct_layout *layout) {
    const size_t size = size_of(given);
    if (size < sizeof size || size >= MAX_SIZE || size % sizeof size)
        return;
    span s;
    for (size_t i = 0;; i++) {
        next_span(&s, i, given, layout);
        memcpy((char *)given + s.given, (const char *)full + s.full, s.n);
        if (!s.after || !contains(given, &s))
            break;
        aoei_struct_write((char *)given + s.given + s.n, (const char *)full + s.full + s.n, s.after);
    }
    const size_t written = s.given + s.n;
    if (written < size)
        memset((char *)given + written, 0, size - written);
}
