# SPDX-License-Identifier: MIT
"""Small random NomicBERT models, with the tensors of the classes of transformers and with the tensors of the published
checkpoints. transformers saves models with the tensors of the published checkpoints."""
import torch
from transformers import NomicBertConfig, NomicBertModel

SIZES = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=128)
NAMES = (("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"), ("post_attention_layernorm", "norm1"),
         ("post_mlp_layernorm", "norm2"), ("mlp.up_proj", "mlp.fc11"), ("mlp.gate_proj", "mlp.fc12"),
         ("mlp.down_proj", "mlp.fc2"))


def class_tensors(tensors):
    """Renames the tensors of a published checkpoint to the names of the class NomicBertModel. Other names are unchanged."""
    result = {}
    for name, value in tensors.items():
        name = name.removeprefix("encoder.")
        if "attn.Wqkv" in name:
            for letter, part in zip("qkv", value.chunk(3)):
                result[name.replace("attn.Wqkv", f"self_attn.{letter}_proj")] = part
            continue
        for new, old in NAMES:
            name = name if new in name else name.replace(old, new)
        result[name] = value
    return result


def published_tensors(tensors):
    """Renames the tensors to the names of the published checkpoints, with one tensor for query, key and value."""
    result = {}
    tensors = class_tensors(tensors)
    for name, value in tensors.items():
        for old, new in NAMES:
            name = name.replace(old, new)
        name = "encoder." + name if name.startswith("layers.") else name
        if ".q_proj" in name:
            parts = [value] + [tensors[name.replace("encoder.", "").replace(".q_proj", f".{x}_proj")] for x in "kv"]
            result[name.replace("self_attn.q_proj", "attn.Wqkv")] = torch.cat(parts)
        elif ".k_proj" not in name and ".v_proj" not in name:
            result[name] = value
    return result


def published_config(**keys):
    """Returns a function that replaces the keys of transformers by the keys of the published checkpoints."""
    def convert(config):
        return {
            "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "n_embd": config["hidden_size"],
            "n_layer": config["num_hidden_layers"], "n_head": config["num_attention_heads"],
            "n_inner": config["intermediate_size"], "n_positions": config["max_position_embeddings"],
            "vocab_size": config["vocab_size"], "type_vocab_size": config["type_vocab_size"],
            "layer_norm_epsilon": config["layer_norm_eps"], "activation_function": "swiglu", "rotary_emb_fraction": 1.0,
            "rotary_emb_base": config["rope_parameters"]["rope_theta"], "rotary_emb_interleaved": False,
            "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "qkv_proj_bias": False, "mlp_fc1_bias": False,
            "mlp_fc2_bias": False, "prenorm": False, "causal": False, "pad_vocab_size_multiple": 64, **keys}
    return convert


def nomic(more=None, **keys):
    return lambda: (NomicBertModel, NomicBertConfig(**{**SIZES, **keys}), {"rewrite": published_tensors, **(more or {})})


def published(more, **keys):
    return lambda: (NomicBertModel, NomicBertConfig(**{**SIZES, "intermediate_size": 256, **keys}),
                    {"rewrite": published_tensors, "config": published_config(**more)})


VARIANTS = {
    "default": nomic(),
    "class": nomic({"rewrite": class_tensors}),
    "gelu": nomic(hidden_act="gelu", type_vocab_size=1),
    "theta": nomic(rope_parameters={"rope_theta": 50.0, "rope_type": "default"}, layer_norm_eps=1e-3),
    "head_dim": nomic(head_dim=12),
    "dynamic": nomic({"lengths": (5, 9, 12, 24)}, max_position_embeddings=24,
                     rope_parameters={"rope_theta": 1000.0, "rope_type": "dynamic", "factor": 2.0}),
    "published": published({}),
    "published_dynamic": published({"rotary_scaling_factor": 2.0, "max_trained_positions": 24, "n_positions": 128},
                                   max_position_embeddings=24,
                                   rope_parameters={"rope_theta": 1000.0, "rope_type": "dynamic", "factor": 2.0}),
    "published_rounded": published({"n_inner": 200, "vocab_size": 60}),
}
