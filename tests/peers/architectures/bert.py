# SPDX-License-Identifier: MIT
"""Small random BERT models."""
from transformers import BertConfig, BertModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=64)


def bert(options=None, **keys):
    return lambda: (lambda config: BertModel(config, add_pooling_layer=False), BertConfig(**{**SIZES, **keys}),
                    options or {})


VARIANTS = {
    "default": bert(),
    "gelu_new": bert(hidden_act="gelu_new"),
    "gelu_fast": bert(hidden_act="gelu_fast"),
    # with the default seed, the terms of the gradient of a bias nearly cancel, so that float32 is not accurate enough
    "quick_gelu": bert({"seed": 3}, hidden_act="quick_gelu"),
    "silu": bert(hidden_act="silu"),
    "relu": bert(hidden_act="relu"),
    "eps": bert(layer_norm_eps=1e-3),
    "one_type": bert(type_vocab_size=1),
    "decoder": bert(is_decoder=True),
}
