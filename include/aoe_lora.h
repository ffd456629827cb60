/* SPDX-License-Identifier: MIT
 *
 * aoe_lora.h: options of low-rank adapters. docs/lora.md describes adapters.
 */
#ifndef AOE_LORA_H
#define AOE_LORA_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Low-rank adapters (LoRA, Hu et al. 2021; docs/lora.md). Only the adapters and the layers after the pooling, such as a
 * classification head, are trained; all other weights are frozen. If the start model is an adapter directory, these
 * adapters are trained further, and r, alpha and targets cannot be changed. */
typedef struct aoe_lora {
    size_t struct_size;  /* set by aoe_lora_defaults */
    size_t r;            /* rank of new adapters; 0 (default): no new adapters */
    double alpha;        /* the output of an adapter is scaled by alpha / r; AOE_AUTO (default): 32 for new adapters */
    double dropout;      /* dropout probability of the input of an adapter; AOE_AUTO (default): the value saved with the
                            adapters, 0.1 for new adapters */
    int load_8bit;       /* 1: keep the frozen weights in memory as int8 (see AOE_STORAGE_INT8); default 0 */
    const char *targets; /* comma-separated names of linear layers, or the last parts of their names, for example
                            "q_proj,v_proj"; NULL (default): all linear layers */
} aoe_lora;

AOE_OPTIONS(aoe_lora);

#ifdef __cplusplus
}
#endif

#endif
