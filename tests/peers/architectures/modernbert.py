# SPDX-License-Identifier: MIT
"""Small random ModernBERT models. The texts are longer than the windows."""
from transformers import ModernBertConfig, ModernBertModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=4, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=64, local_attention=8, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             cls_token_id=1, sep_token_id=2)


def modernbert(**keys):
    return lambda: (ModernBertModel, ModernBertConfig(**{**SIZES, **keys}))


def published(config):
    """Returns config.json with the keys of published checkpoints."""
    ropes = config.pop("rope_parameters")
    del config["layer_types"]
    return {**config, "global_attn_every_n_layers": 3, "global_rope_theta": ropes["full_attention"]["rope_theta"],
            "local_rope_theta": ropes["sliding_attention"]["rope_theta"]}


def old_keys():
    return (*modernbert()(), {"config": published})


def null_keys():
    """The keys of published checkpoints that transformers 5 saved again: null where rope_parameters has the values."""
    nulls = {"global_rope_theta": None, "local_rope_theta": None, "rope_theta": None}
    return (*modernbert()(), {"config": lambda config: {**config, **nulls}})


def one_theta():
    """Without local_rope_theta, all layers have the value of global_rope_theta. transformers cannot read such a
    configuration."""
    same = {"rope_type": "default", "rope_theta": 5e4}
    return (*modernbert(rope_parameters={"full_attention": same, "sliding_attention": same})(),
            {"config": lambda config: {**published(config), "local_rope_theta": None}})


VARIANTS = {
    "default": modernbert(),
    "old_keys": old_keys,
    "null_keys": null_keys,
    "published_one_theta": one_theta,
    "biases": modernbert(norm_bias=True, attention_bias=True, mlp_bias=True),
    "every_2": modernbert(global_attn_every_n_layers=2, norm_eps=1e-3),
    "types": modernbert(layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]),
    "tanh": modernbert(hidden_activation="gelu_pytorch_tanh", local_attention=11),
    "rope": modernbert(rope_parameters={"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e4},
                                        "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}),
    "golden": modernbert(hidden_size=8, num_hidden_layers=2, intermediate_size=12),
}
