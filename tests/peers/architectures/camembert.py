# SPDX-License-Identifier: MIT
"""Small random CamemBERT models."""
from transformers import CamembertConfig, CamembertModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=66)

VARIANTS = {
    "default": lambda: (lambda c: CamembertModel(c, add_pooling_layer=False), CamembertConfig(**SIZES, pad_token_id=1)),
    "one_type": lambda: (lambda c: CamembertModel(c, add_pooling_layer=False),
                         CamembertConfig(**SIZES, pad_token_id=1, type_vocab_size=1)),
}
