# SPDX-License-Identifier: MIT
"""Small random JinaBERT models, which the NumPy reference (jina_reference.py) computes."""
import json
import os
from types import SimpleNamespace

import torch
from safetensors.torch import save_file

from jina_reference import CODE, Reference, shapes

SIZES = dict(vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
             max_position_embeddings=512, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu")
PLAIN = "jinaai/jina-bert-implementation"


class Run(torch.autograd.Function):
    """Computes one text with the reference, so that golden.py can compute poolings and losses with torch."""

    @staticmethod
    def forward(ctx, config, ids, names, *parameters):
        ctx.names = names
        ctx.reference = Reference(config, {name: p.detach().numpy() for name, p in zip(names, parameters)})
        return tuple(torch.from_numpy(h.copy()) for h in ctx.reference.forward(ids))

    @staticmethod
    def backward(ctx, *gradients):
        result = ctx.reference.backward([g.numpy() for g in gradients])
        return None, None, None, *(torch.from_numpy(result[name]) for name in ctx.names)


class JinaBert(torch.nn.Module):
    """Has the interface of a model of transformers that golden.py uses."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        for name, shape in shapes(config.keys).items():
            *path, last = name.split(".")
            module = self
            for part in path:
                if not hasattr(module, part):
                    module.add_module(part, torch.nn.Module())
                module = getattr(module, part)
            module.register_parameter(last, torch.nn.Parameter(torch.zeros(shape)))

    def forward(self, input_ids, **_):
        names, parameters = zip(*self.named_parameters())
        hidden = Run.apply(self.config.keys, input_ids[0].numpy(), names, *parameters)
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
