# SPDX-License-Identifier: MIT
"""Small random ELECTRA models."""
from transformers import ElectraConfig, ElectraModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=64)

VARIANTS = {
    "default": lambda: (ElectraModel, ElectraConfig(**SIZES, embedding_size=12)),
    "wide": lambda: (ElectraModel, ElectraConfig(**SIZES, embedding_size=24)),
    "base": lambda: (ElectraModel, ElectraConfig(**SIZES, embedding_size=16, hidden_act="gelu_new")),
}
