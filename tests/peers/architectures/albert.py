# SPDX-License-Identifier: MIT
"""Small random ALBERT models."""
from transformers import AlbertConfig, AlbertModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=64, embedding_size=12)


def albert(**keys):
    return lambda: (lambda c: AlbertModel(c, add_pooling_layer=False), AlbertConfig(**{**SIZES, **keys}))


VARIANTS = {
    "default": albert(),
    "groups": albert(num_hidden_groups=2, hidden_act="gelu"),
    "equal_sizes": albert(embedding_size=16, num_hidden_layers=2),
    "own_layers": albert(num_hidden_groups=2, num_hidden_layers=2, type_vocab_size=1),
}
