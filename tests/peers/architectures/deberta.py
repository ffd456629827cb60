# SPDX-License-Identifier: MIT
"""Small random DeBERTa-v2 models. The longest texts exceed the buckets of distances and the maximum distance."""
from transformers import DebertaV2Config, DebertaV2Model

SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
             max_position_embeddings=128, relative_attention=True, share_att_key=True, position_buckets=16,
             norm_rel_ebd="layer_norm", pos_att_type=["p2c", "c2p"], position_biased_input=False, layer_norm_eps=1e-7)


def deberta(options=None, **keys):
    return lambda: (DebertaV2Model, DebertaV2Config(**{**SIZES, **keys}), options or {"longest": 100})


VARIANTS = {
    "default": deberta(),
    "no_buckets": deberta(position_buckets=-1, max_relative_positions=24),
    "c2p": deberta(pos_att_type="c2p"),
    "p2c": deberta(pos_att_type="p2c", norm_rel_ebd="none"),
    "positions": deberta(position_biased_input=True, type_vocab_size=2),
    "steep": deberta(max_relative_positions=11),
    "wide_span": deberta(position_buckets=64, num_attention_heads=4, num_hidden_layers=3),
    "golden": deberta({"lengths": (1, 2, 9, 33, 70)}, hidden_act="gelu_new"),
}
