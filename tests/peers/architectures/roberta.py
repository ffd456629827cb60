# SPDX-License-Identifier: MIT
"""Small random RoBERTa and XLM-RoBERTa models."""
from transformers import RobertaConfig, RobertaModel, XLMRobertaConfig, XLMRobertaModel

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=66, type_vocab_size=1)

VARIANTS = {
    "default": lambda: (lambda c: RobertaModel(c, add_pooling_layer=False), RobertaConfig(**SIZES, pad_token_id=1)),
    "pad_0": lambda: (lambda c: RobertaModel(c, add_pooling_layer=False), RobertaConfig(**SIZES, pad_token_id=0)),
    "xlm": lambda: (lambda c: XLMRobertaModel(c, add_pooling_layer=False), XLMRobertaConfig(**SIZES, pad_token_id=1)),
}
