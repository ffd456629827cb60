# SPDX-License-Identifier: MIT
"""Small random NomicBERT models, with the tensors of the classes of transformers and with the tensors of the published
checkpoints. transformers saves models with the tensors of the published checkpoints."""
import torch
from transformers import NomicBertConfig, NomicBertModel

SIZES = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=128)
NAMES = (("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"),
         ("post_attention_layernorm", "norm1"),
         ("post_mlp_layernorm", "norm2"), ("mlp.up_proj", "mlp.fc11"), ("mlp.gate_proj", "mlp.fc12"),
         ("mlp.down_proj", "mlp.fc2"))


def class_tensors(tensors):
    """Renames the tensors of a published checkpoint to the names of the class NomicBertModel. Other names are
    unchanged."""
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
    return lambda: (NomicBertModel, NomicBertConfig(**{**SIZES, **keys}),
                    {"rewrite": published_tensors, **(more or {})})


def published(more, options=None, **keys):
    return lambda: (NomicBertModel, NomicBertConfig(**{**SIZES, "intermediate_size": 256, **keys}),
                    {"rewrite": published_tensors, "config": published_config(**more), **(options or {})})


def add_biases(*names):
    """Returns a function that gives random biases to the linear layers whose names contain one of `names`."""
    def prepare(model):
        generator = torch.Generator().manual_seed(7)
        for name, module in model.named_modules():
            if any(part in name for part in names):
                values = 0.2 * torch.randn(module.out_features, generator=generator)
                module.bias = torch.nn.Parameter(values.double())
    return prepare


class UngatedMLP(torch.nn.Module):
    """The feed-forward of published models whose activation has no gate."""

    def __init__(self, size, inner, approximate):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(size, inner, bias=False), torch.nn.Linear(inner, size, bias=False)
        self.approximate = approximate

    def forward(self, x):
        return self.fc2(torch.nn.functional.gelu(self.fc1(x), approximate=self.approximate))


def remove_gates(approximate, *biases):
    def prepare(model):
        torch.manual_seed(5)
        for layer in model.layers:
            layer.mlp = UngatedMLP(SIZES["hidden_size"], 24, approximate).double()
        add_biases(*biases)(model)
    return prepare


QKV, FC = ("q_proj", "k_proj", "v_proj", "o_proj"), ("up_proj", "gate_proj", "down_proj")
BIASES = {"qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True}
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
    "published_geglu": published({"activation_function": "geglu"}, hidden_act="gelu"),
    "published_qkv_biases": published({"qkv_proj_bias": True}, {"prepare": add_biases(*QKV)}),
    "published_fc_biases": published({**BIASES, "qkv_proj_bias": False}, {"prepare": add_biases(*FC)}),
    "published_gelu": published({"activation_function": "gelu", "n_inner": 24, **BIASES},
                                {"prepare": remove_gates("none", *QKV, "fc")}),
    "published_tanh": published({"activation_function": "gelu_new", "n_inner": 24}, {"prepare": remove_gates("tanh")}),
}
