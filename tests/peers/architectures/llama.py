# SPDX-License-Identifier: MIT
"""Small random LLaMA, Mistral, Ministral and Qwen2 models."""
from transformers import (LlamaConfig, LlamaModel, MinistralConfig, MinistralModel, MistralConfig, MistralModel,
                          Qwen2Config, Qwen2Model)

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=24, max_position_embeddings=64)


def rope(**keys):
    return {"rope_parameters": {"rope_theta": 10000.0, **keys}}


VARIANTS = {
    "llama": lambda: (LlamaModel, LlamaConfig(**SIZES)),
    "llama_relu": lambda: (LlamaModel, LlamaConfig(**SIZES, hidden_act="relu")),
    "llama_quick_gelu": lambda: (LlamaModel, LlamaConfig(**SIZES, hidden_act="quick_gelu")),
    "llama_biases": lambda: (LlamaModel, LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True)),
    "llama_linear": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(rope_type="linear", factor=2.0))),
    "llama_llama3": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32))),
    "llama_yarn": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=16))),
    "llama_yarn_options": lambda: (LlamaModel, LlamaConfig(**SIZES, head_dim=12, **rope(
        rope_type="yarn", factor=2.0, original_max_position_embeddings=32, beta_fast=8.0, beta_slow=2.0, mscale=0.7,
        mscale_all_dim=0.3, truncate=False))),
    "llama_yarn_magnitude": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(
        rope_type="yarn", factor=2.0, original_max_position_embeddings=32, attention_factor=1.3))),
    "llama_longrope": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(
        rope_type="longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 4.1], original_max_position_embeddings=32))),
    "llama_longrope_factor": lambda: (LlamaModel, LlamaConfig(**SIZES, head_dim=6, **rope(
        rope_type="longrope", short_factor=[1.0, 1.5, 3.0], long_factor=[2.0, 4.1, 6.3],
        original_max_position_embeddings=16, factor=2.0))),
    "llama_longrope_magnitude": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(
        rope_type="longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 4.1], original_max_position_embeddings=32,
        attention_factor=1.4))),
    "llama_partial": lambda: (LlamaModel, LlamaConfig(**SIZES, **rope(rope_type="default", partial_rotary_factor=0.5))),
    "qwen2_longrope": lambda: (Qwen2Model, Qwen2Config(**SIZES, **rope(
        rope_type="longrope", short_factor=[1.1, 1.5], long_factor=[2.0, 4.1], original_max_position_embeddings=32))),
    "llama_bidirectional": lambda: (LlamaModel, LlamaConfig(**SIZES, is_causal=False)),
    "mistral_window": lambda: (MistralModel, MistralConfig(**SIZES, sliding_window=7)),
    "ministral_mixed_windows": lambda: (MinistralModel, MinistralConfig(
        **SIZES, head_dim=4, sliding_window=7, layer_types=["sliding_attention", "full_attention"])),
    "mistral_bidirectional": lambda: (MistralModel, MistralConfig(**SIZES, sliding_window=7, is_causal=False)),
    "qwen2": lambda: (Qwen2Model, Qwen2Config(**SIZES)),
    "qwen2_window": lambda: (Qwen2Model,
                             Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=1)),
}
