# SPDX-License-Identifier: MIT
"""A reference of JinaBERT (jina-embeddings-v2), whose implementation is not part of transformers, and small random models.
The reference is written from the formulas of the architecture."""
import json
import math
import os
from types import SimpleNamespace

import torch
from safetensors.torch import save_file
from torch import nn

SIZES = dict(vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
             max_position_embeddings=512, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu")
PLAIN = "jinaai/jina-bert-implementation"
CODE = "jinaai/jina-bert-v2-qk-post-norm"


def slopes(heads):
    """Slopes of ALiBi. For a power of two, slope h is 2^(-8 h / heads), h = 1, 2, ...; other numbers of heads take the
    slopes of the next lower power P, and then every second slope of 2 P."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]
    power = 2 ** int(math.log2(heads))
    return (slopes(power) + slopes(2 * power)[0::2])[:heads]


class Holder(nn.Module):
    """A module whose children are given by name, so that parameters have the names of published checkpoints."""

    def __init__(self, /, **children):
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


class Layer(nn.Module):
    def __init__(self, config, code):
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.config, self.code = config, code
        norm = lambda: nn.LayerNorm(hidden, config["layer_norm_eps"])
        projections = {name: nn.Linear(hidden, hidden) for name in ("query", "key", "value")}
        norms = {"layer_norm_q": norm(), "layer_norm_k": norm()} if code else {}
        self.attention = Holder(**{"self": Holder(**projections, **norms),
                                   "output": Holder(dense=nn.Linear(hidden, hidden), LayerNorm=norm())})
        if code:
            self.layer_norm_1, self.layer_norm_2 = norm(), norm()
            self.mlp = Holder(up_gated_layer=nn.Linear(hidden, 2 * inner, bias=False), down_layer=nn.Linear(inner, hidden))
        else:
            self.mlp = Holder(gated_layers=nn.Linear(hidden, 2 * inner, bias=False), wo=nn.Linear(inner, hidden), layernorm=norm())

    def attend(self, x):
        own, heads, length = self.attention.self, self.config["num_attention_heads"], len(x)
        q, k, v = own.query(x), own.key(x), own.value(x)
        if self.code:
            q, k = own.layer_norm_q(q), own.layer_norm_k(k)
        q, k, v = (t.view(length, heads, -1).transpose(0, 1) for t in (q, k, v))
        position = torch.arange(length, dtype=x.dtype)
        distance = (position[:, None] - position[None, :]).abs()
        bias = torch.tensor(slopes(heads), dtype=x.dtype)[:, None, None] * distance
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) - bias, -1)
        context = (weights @ v).transpose(0, 1).reshape(length, -1)
        out = self.attention.output
        return out.LayerNorm(out.dense(context) + x)

    def forward(self, x):
        a, gelu = self.attend(x), torch.nn.functional.gelu
        if self.code:
            h = self.layer_norm_1(x + a)
            up, gate = self.mlp.up_gated_layer(h).chunk(2, -1)
            return self.layer_norm_2(h + self.mlp.down_layer(up * gelu(gate)))
        gate, up = self.mlp.gated_layers(a).chunk(2, -1)
        return self.mlp.layernorm(a + self.mlp.wo(gelu(gate) * up))


class JinaBert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        keys, hidden = config.keys, config.keys["hidden_size"]
        self.embeddings = Holder(word_embeddings=nn.Embedding(keys["vocab_size"], hidden),
                                 token_type_embeddings=nn.Embedding(keys["type_vocab_size"], hidden),
                                 LayerNorm=nn.LayerNorm(hidden, keys["layer_norm_eps"]))
        code = keys["_name_or_path"] == CODE
        self.encoder = Holder(layer=nn.ModuleList(Layer(keys, code) for _ in range(keys["num_hidden_layers"])))

    def forward(self, input_ids, **_):
        e = self.embeddings
        hidden = [e.LayerNorm(e.word_embeddings(input_ids[0]) + e.token_type_embeddings.weight[0])]
        for layer in self.encoder.layer:
            hidden.append(layer(hidden[-1]))
        return SimpleNamespace(hidden_states=[h[None] for h in hidden], last_hidden_state=hidden[-1][None])

    def save_pretrained(self, folder):
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self.config.keys, file)
        save_file(self.state_dict(), os.path.join(folder, "model.safetensors"))


def jina(options=None, **keys):
    keys = {**SIZES, "model_type": "bert", "_name_or_path": PLAIN, "position_embedding_type": "alibi",
            "feed_forward_type": "geglu", "emb_pooler": "mean", **keys}
    return lambda: (JinaBert, SimpleNamespace(keys=keys, vocab_size=keys["vocab_size"]), options or {"longest": 200})


VARIANTS = {
    "default": jina(),
    "four_heads": jina(num_attention_heads=4),
    "six_heads": jina(num_attention_heads=6, num_hidden_layers=3),
    "keys_only": jina(_name_or_path="./local"),
    "code": jina(_name_or_path=CODE),
    "code_four_heads": jina(_name_or_path=CODE, num_attention_heads=4, num_hidden_layers=3),
    "golden": jina({"lengths": (1, 2, 9, 33, 90)}, hidden_size=18),
}
