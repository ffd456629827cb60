# SPDX-License-Identifier: MIT
"""A model with a masked-LM head, written by transformers, is trained by aoe with a learning rate of almost 0: all
tensors that aoe writes must be equal, and transformers must open them."""
import pytest
import torch
from transformers import (AlbertConfig, AlbertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM, ElectraConfig,
                          ElectraForMaskedLM, ModernBertConfig, ModernBertForMaskedLM)

import golden
from architectures import albert, distilbert, electra, modernbert
from test_saved_architectures import TEXTS, write_tokenizer

MODELS = {
    "modernbert": lambda: (ModernBertForMaskedLM, ModernBertConfig(**modernbert.SIZES)),
    "modernbert_biases": lambda: (ModernBertForMaskedLM,
                                  ModernBertConfig(**{**modernbert.SIZES, "norm_bias": True, "classifier_bias": True})),
    "distilbert": lambda: (DistilBertForMaskedLM, DistilBertConfig(**distilbert.SIZES)),
    "electra": lambda: (ElectraForMaskedLM, ElectraConfig(**{**electra.SIZES, "embedding_size": 12})),
    "electra_equal_sizes": lambda: (ElectraForMaskedLM, ElectraConfig(**{**electra.SIZES, "embedding_size": 16})),
    "albert": lambda: (AlbertForMaskedLM, AlbertConfig(**albert.SIZES)),
}


@pytest.mark.parametrize("name", MODELS)
def test_head(aoe, tmp_path, name):
    start, out, texts = tmp_path / "start", tmp_path / "out", tmp_path / "texts.txt"
    model, options = golden.build(MODELS[name])
    golden.save_checkpoint(model, options, start)
    write_tokenizer(start)
    texts.write_text("\n".join(TEXTS * 20) + "\n")
    aoe.run("pretrain", "-m", start, "-d", texts, "-o", out, "--max-steps", 1, "-b", 4, "--lr", 1e-30, "--held-out", 0,
            "--no-pack")
    opened, notes = type(model).from_pretrained(out, output_loading_info=True)
    assert not notes["missing_keys"] and not notes["unexpected_keys"]
    want = model.state_dict()
    for tensor_name, tensor in opened.state_dict().items():
        assert torch.equal(tensor, want[tensor_name].float()), tensor_name
