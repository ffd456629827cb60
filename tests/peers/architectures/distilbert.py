# SPDX-License-Identifier: MIT
"""Small random DistilBERT models."""
from transformers import DistilBertConfig, DistilBertModel

SIZES = dict(vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=64)

VARIANTS = {
    "default": lambda: (DistilBertModel, DistilBertConfig(**SIZES)),
    "tanh": lambda: (DistilBertModel, DistilBertConfig(**SIZES, activation="gelu_new")),
    "sinusoidal": lambda: (DistilBertModel, DistilBertConfig(**SIZES, sinusoidal_pos_embds=True)),
}
