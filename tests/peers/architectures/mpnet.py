# SPDX-License-Identifier: MIT
"""Small random MPNet models. The longest text has all buckets of distances: the last bucket begins at distance 91."""
from transformers import MPNetConfig, MPNetModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=130)


def mpnet(options=None, **keys):
    return lambda: (lambda config: MPNetModel(config, add_pooling_layer=False), MPNetConfig(**{**SIZES, **keys}),
                    options or {"longest": 120})


VARIANTS = {
    "default": mpnet(),
    "three_heads": mpnet(hidden_size=24, num_attention_heads=3, num_hidden_layers=3, layer_norm_eps=1e-5),
    "gelu_new": mpnet(hidden_act="gelu_new"),
    "pad_0": mpnet(pad_token_id=0),
    "golden": mpnet({"lengths": (1, 2, 9, 33, 100)}, num_attention_heads=4),
}
