# SPDX-License-Identifier: MIT
"""Small random Gemma 3 text models. The texts are longer than the windows."""
import types

import torch
from transformers import Gemma3TextConfig, Gemma3TextModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             head_dim=8, intermediate_size=24, max_position_embeddings=64, sliding_window=8, query_pre_attn_scalar=8,
             sliding_window_pattern=2)


def norm(self, x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (1 + self.weight)


def prepare(model):
    """Makes the factors 1 + weight of norms near 1, and computes norms in float64, because transformers rounds to
    float32."""
    for module in model.modules():
        if type(module).__name__ == "Gemma3RMSNorm":
            module.weight.data -= 1
            module.forward = types.MethodType(norm, module)


def gemma3(**keys):
    return lambda: (Gemma3TextModel, Gemma3TextConfig(**{**SIZES, **keys}), {"prepare": prepare})


VARIANTS = {
    "causal": gemma3(),
    "bidirectional": gemma3(use_bidirectional_attention=True),
    "bidirectional_odd_window": gemma3(use_bidirectional_attention=True, sliding_window=9),
    "not_causal": gemma3(is_causal=False),
    "pattern": gemma3(use_bidirectional_attention=True,
                      layer_types=["full_attention", "sliding_attention", "full_attention"]),
    "scale": gemma3(query_pre_attn_scalar=5, attention_bias=True, hidden_activation="gelu"),
    "rope": gemma3(rope_parameters={"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5},
                                    "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}),
    "golden": gemma3(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=6,
                     intermediate_size=12, use_bidirectional_attention=True),
}
