/* SPDX-License-Identifier: MIT
 * The public structs that later versions may extend, and copies of them between this library and programs that were
 * compiled with older headers. Each of these structs begins with `size_t struct_size`, the size of the struct in the
 * headers of the owner of its memory. A program's struct can therefore have fewer fields than the library's struct.
 * This also holds for a struct inside another struct, which moves the fields after it. The functions read the sizes in
 * the program's struct and find each field by its position among the fields.
 */
#pragma once

#include "aoe.h"

/* Calls X(type) for each extensible struct that programs allocate. The library allocates all other extensible structs,
 * and programs read them only through pointers, so that they need no copies. */
#define AOEI_EXTENSIBLE_STRUCTS(X)                                                                                     \
    X(aoe_annotate_options)                                                                                            \
    X(aoe_annotate_result)                                                                                             \
    X(aoe_bench_options)                                                                                               \
    X(aoe_bench_result)                                                                                                \
    X(aoe_binary_options)                                                                                              \
    X(aoe_bootstrap_options)                                                                                           \
    X(aoe_chat_model)                                                                                                  \
    X(aoe_chat_options)                                                                                                \
    X(aoe_chat_result)                                                                                                 \
    X(aoe_comm)                                                                                                        \
    X(aoe_compare_options)                                                                                             \
    X(aoe_compare_result)                                                                                              \
    X(aoe_configuration)                                                                                               \
    X(aoe_context_options)                                                                                             \
    X(aoe_convert_options)                                                                                             \
    X(aoe_convert_result)                                                                                              \
    X(aoe_data_check_options)                                                                                          \
    X(aoe_data_check_result)                                                                                           \
    X(aoe_data_convert_options)                                                                                        \
    X(aoe_data_convert_result)                                                                                         \
    X(aoe_data_dedup_options)                                                                                          \
    X(aoe_data_dedup_result)                                                                                           \
    X(aoe_data_split_options)                                                                                          \
    X(aoe_data_split_result)                                                                                           \
    X(aoe_data_stats_options)                                                                                          \
    X(aoe_data_stats_result)                                                                                           \
    X(aoe_embedder_options)                                                                                            \
    X(aoe_encode_options)                                                                                              \
    X(aoe_evaluation_file)                                                                                             \
    X(aoe_experiment_options)                                                                                          \
    X(aoe_flow_options)                                                                                                \
    X(aoe_flow_result)                                                                                                 \
    X(aoe_github_options)                                                                                              \
    X(aoe_github_result)                                                                                               \
    X(aoe_grid_options)                                                                                                \
    X(aoe_grid_result)                                                                                                 \
    X(aoe_hub_options)                                                                                                 \
    X(aoe_hub_result)                                                                                                  \
    X(aoe_index_document)                                                                                              \
    X(aoe_index_filter)                                                                                                \
    X(aoe_index_hits)                                                                                                  \
    X(aoe_index_options)                                                                                               \
    X(aoe_index_search_options)                                                                                        \
    X(aoe_index_source)                                                                                                \
    X(aoe_index_stats)                                                                                                 \
    X(aoe_index_update_options)                                                                                        \
    X(aoe_index_update_result)                                                                                         \
    X(aoe_init_options)                                                                                                \
    X(aoe_init_result)                                                                                                 \
    X(aoe_layer_options)                                                                                               \
    X(aoe_lora)                                                                                                        \
    X(aoe_memory_plan)                                                                                                 \
    X(aoe_mine_options)                                                                                                \
    X(aoe_mine_result)                                                                                                 \
    X(aoe_model_info)                                                                                                  \
    X(aoe_model_options)                                                                                               \
    X(aoe_objective_options)                                                                                           \
    X(aoe_objective_result)                                                                                            \
    X(aoe_plan_options)                                                                                                \
    X(aoe_postgres_options)                                                                                            \
    X(aoe_postgres_write_options)                                                                                      \
    X(aoe_postgres_write_result)                                                                                       \
    X(aoe_pretrain_options)                                                                                            \
    X(aoe_rerank_options)                                                                                              \
    X(aoe_rerank_result)                                                                                               \
    X(aoe_retrieval_options)                                                                                           \
    X(aoe_score_options)                                                                                               \
    X(aoe_score_result)                                                                                                \
    X(aoe_sequence_info)                                                                                               \
    X(aoe_sequence_options)                                                                                            \
    X(aoe_serve_options)                                                                                               \
    X(aoe_shape)                                                                                                       \
    X(aoe_similar_options)                                                                                             \
    X(aoe_similar_result)                                                                                              \
    X(aoe_sts_options)                                                                                                 \
    X(aoe_sts_result)                                                                                                  \
    X(aoe_suite_options)                                                                                               \
    X(aoe_table_options)                                                                                               \
    X(aoe_train_data)                                                                                                  \
    X(aoe_train_options)                                                                                               \
    X(aoe_train_sizes)                                                                                                 \
    X(aoe_training_args)                                                                                               \
    X(aoe_triplet_options)                                                                                             \
    X(aoe_whiten_options)                                                                                              \
    X(aoe_whiten_result)                                                                                               \
    X(aoe_word_vectors_options)                                                                                        \
    X(aoe_word_vectors_result)

enum { AOEI_MAX_NESTED = 4 /* maximum number of extensible structs inside a struct */ };

typedef struct aoei_struct_layout aoei_struct_layout;
struct aoei_struct_layout {
    const char *name; /* name of the type */
    size_t size;      /* sizeof the type in this library */
    int has_defaults; /* 1: the function aoe_NAME_defaults sets struct_size; 0: the program sets it */
    /* The extensible structs inside the struct, in the order of their offsets; the list ends at a NULL layout. */
    struct {
        size_t offset;
        const aoei_struct_layout *layout;
    } nested[AOEI_MAX_NESTED + 1];
};

/* aoei_layout_TYPE is the layout of TYPE. */
#define AOEI_X(type) extern const aoei_struct_layout aoei_layout_##type;
AOEI_EXTENSIBLE_STRUCTS(AOEI_X)
#undef AOEI_X

/* Checks struct_size of the program's struct and of the structs inside it. function: name for the message. Errors:
 * AOE_EARG (a size is not set, or is larger than the size in this library). */
int aoei_struct_check(const void *given, const aoei_struct_layout *layout, const char *function, aoe_error *err);
/* Copies the fields of the program's struct, which aoei_struct_check accepts, over those of the library's struct
 * `full`. Fields that the program's struct does not have are unchanged, and so are the sizes in `full`. */
void aoei_struct_read(void *full, const void *given, const aoei_struct_layout *layout);
/* Copies the fields of the library's struct to the program's struct, as far as it has them. The sizes in the program's
 * struct are unchanged. Does nothing if aoei_struct_check does not accept the program's struct, unless only its size or
 * a size inside it is too large. Bytes after the library's fields are set to 0. */
void aoei_struct_write(void *given, const void *full, const aoei_struct_layout *layout);
