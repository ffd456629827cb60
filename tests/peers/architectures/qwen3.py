# SPDX-License-Identifier: MIT
"""Small random Qwen3 models. Each head of the queries and keys is normalized, and the head size does not depend on the
hidden size."""
from transformers import Qwen3Config, Qwen3Model

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             head_dim=8, intermediate_size=24, max_position_embeddings=64)


def qwen3(**keys):
    return lambda: (Qwen3Model, Qwen3Config(**{**SIZES, **keys}))


WINDOW = dict(use_sliding_window=True, sliding_window=5)
MIXED = ["sliding_attention", "full_attention", "sliding_attention"]

VARIANTS = {
    "default": qwen3(),
    "biases": qwen3(attention_bias=True),
    "one_key_head": qwen3(num_key_value_heads=1),
    "even_heads": qwen3(num_attention_heads=2, head_dim=8),
    "theta_eps": qwen3(rope_parameters={"rope_theta": 1e6, "rope_type": "default"}, rms_norm_eps=1e-3),
    "window": qwen3(**WINDOW, max_window_layers=1),
    "mixed_windows": qwen3(**WINDOW, layer_types=MIXED),
    "bidirectional": qwen3(is_causal=False),
    "bidirectional_window": qwen3(**WINDOW, layer_types=MIXED, is_causal=False),
    "golden": qwen3(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=6,
                    intermediate_size=12, use_sliding_window=True, sliding_window=5,
                    layer_types=["sliding_attention", "full_attention"]),
}
