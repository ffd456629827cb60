# SPDX-License-Identifier: MIT
"""Small random GTE models, with the tensors of the classes of transformers and with the tensors of the published
checkpoints. transformers saves models with the tensors of the published checkpoints."""
import torch
from transformers import GteConfig, GteModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=128)
NAMES = (("self_attn", "attention"), ("post_attention_layernorm", "attn_ln"), ("post_mlp_layernorm", "mlp_ln"))


def class_tensors(tensors):
    """Renames the tensors of a published checkpoint to the names of the class GteModel. Other names are unchanged."""
    result = {}
    for name, value in tensors.items():
        if name.startswith("encoder.layer."):
            name = "layers." + name[len("encoder.layer."):]
            for new, old in NAMES:
                name = name.replace(old + ".", new + ".")
        if "qkv_proj" in name:
            for letter, part in zip("qkv", value.chunk(3)):
                result[name.replace("qkv_proj", letter + "_proj")] = part
        elif "up_gate_proj" in name:
            result[name.replace("up_gate_proj", "up_proj")], result[name.replace("up_gate_proj",
                                                                                 "gate_proj")] = value.chunk(2)
        else:
            result[name] = value
    return result


def published_tensors(pack):
    """Returns a function that renames the tensors to the names of the published checkpoints. With `pack`, query, key
    and value are one tensor."""
    def convert(tensors):
        result = {}
        tensors = class_tensors(tensors)
        for name, value in tensors.items():
            stored = "encoder.layer" + name[len("layers"):] if name.startswith("layers.") else name
            for old, new in NAMES:
                stored = stored.replace(old, new)
            if ".q_proj" in name and pack:
                parts = [value] + [tensors[name.replace("q_proj", x + "_proj")] for x in "kv"]
                result[stored.replace("q_proj", "qkv_proj")] = torch.cat(parts)
            elif ".up_proj" in name:
                result[stored.replace("up_proj", "up_gate_proj")] = torch.cat([value,
                                                                               tensors[name.replace("up_", "gate_")]])
            elif not (pack and (".k_proj" in name or ".v_proj" in name)) and ".gate_proj" not in name:
                result[stored] = value
        return result
    return convert


def published_config(model_type, **keys):
    def convert(config):
        config = {**config, "model_type": model_type, "position_embedding_type": "rope",
                  "layer_norm_type": "layer_norm",
                  "logn_attention_scale": False, "rope_theta": config["rope_parameters"]["rope_theta"],
                  "rope_scaling": None, **keys}
        del config["rope_parameters"]
        return config
    return convert


def gte(rewrite=published_tensors(True), **keys):
    return lambda: (GteModel, GteConfig(**{**SIZES, **keys}), {"rewrite": rewrite})


def published(model_type, pack, more=None, **keys):
    return lambda: (GteModel, GteConfig(**{**SIZES, **keys}),
                    {"rewrite": published_tensors(pack), "config": published_config(model_type, **(more or {}))})


HEAD_DIM = SIZES["hidden_size"] // SIZES["num_attention_heads"]
VARIANTS = {
    "default": gte(),
    "class": gte(class_tensors),
    "no_types": gte(type_vocab_size=0),
    "tanh": gte(hidden_act="gelu_new", layer_norm_eps=1e-3),
    "linear": gte(rope_parameters={"rope_theta": 500.0, "rope_type": "linear", "factor": 1.5}),
    "gte_published": published("gte", True),
    "new": published("new", True),
    "new_unpacked": published("new", False, type_vocab_size=0),
    # the published scaling "ntk" with factor f equals linear scaling by f^(2/d) of the base theta f
    "new_ntk": published("new", True, {"rope_theta": 500.0, "rope_scaling": {"type": "ntk", "factor": 2.0}},
                         rope_parameters={"rope_theta": 1000.0, "rope_type": "linear",
                                          "factor": 2.0 ** (2 / HEAD_DIM)}),
}
