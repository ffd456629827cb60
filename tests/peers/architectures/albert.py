# SPDX-License-Identifier: MIT
"""Small random ALBERT models."""
from transformers import AlbertConfig, AlbertModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=64, embedding_size=12)


def albert(**keys):
    return lambda: (lambda c: AlbertModel(c, add_pooling_layer=False), AlbertConfig(**{**SIZES, **keys}))


# With some other sizes (embedding_size=16 with three layers, hidden_size=24), one check fails: the gradient of the bias
# of the keys is 0 in exact arithmetic, and its rounding errors exceed the absolute tolerance of 1e-6, because the whole
# gradient has a norm of 130 to 230. PyTorch in float32 has rounding errors of the same size (1.4e-6 to 2.3e-6; aoe:
# 2.2e-6 to 2.6e-6). The relative errors of all other gradients are below 3e-6.
VARIANTS = {
    "default": albert(),
    "groups": albert(num_hidden_groups=2, hidden_act="gelu"),
    "equal_sizes": albert(embedding_size=16, num_hidden_layers=2),
    "own_layers": albert(num_hidden_groups=2, num_hidden_layers=2, type_vocab_size=1),
}
