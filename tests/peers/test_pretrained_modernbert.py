# SPDX-License-Identifier: MIT
"""A ModernBERT model with a masked-LM head, written by transformers, is trained by aoe with a learning rate of almost 0: all
tensors that aoe writes must be equal, and transformers must open them."""
import pytest
import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM

import golden
from architectures.modernbert import SIZES
from test_saved_architectures import TEXTS, write_tokenizer


@pytest.mark.parametrize("keys", [{}, {"norm_bias": True, "classifier_bias": True}], ids=["default", "biases"])
def test_head(aoe, tmp_path, keys):
    start, out, texts = tmp_path / "start", tmp_path / "out", tmp_path / "texts.txt"
    model, options = golden.build(lambda: (ModernBertForMaskedLM, ModernBertConfig(**{**SIZES, **keys})))
    golden.save_checkpoint(model, options, start)
    write_tokenizer(start)
    texts.write_text("\n".join(TEXTS * 20) + "\n")
    aoe.run("pretrain", "-m", start, "-d", texts, "-o", out, "--max-steps", 1, "-b", 4, "--lr", 1e-30, "--held-out", 0, "--no-pack")
    opened, notes = ModernBertForMaskedLM.from_pretrained(out, output_loading_info=True)
    assert not notes["missing_keys"] and not notes["unexpected_keys"]
    want = model.state_dict()
    for name, tensor in opened.state_dict().items():
        assert torch.equal(tensor, want[name].float()), name
