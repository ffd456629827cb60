# SPDX-License-Identifier: MIT
"""A model that aoe trained with promptbert-sup subtracts the embedding of its empty prompt. The embeddings of aoe are
compared with those that PyTorch computes from the saved directory."""
import numpy as np
import torch
from safetensors.torch import load_file
from transformers import AutoModel, BertConfig, BertForMaskedLM

import golden
from architectures import bert
from conftest import assert_equal
from test_saved_architectures import TEXTS, write_tokenizer

BEFORE, AFTER = ["w1", "w2"], ["w3", "[MASK]", "w4"]


def transform(directory):
    """Returns the function that the modules Dense and LayerNorm of the directory compute."""
    dense = load_file(directory / "2_Dense" / "model.safetensors")
    norm = load_file(directory / "3_LayerNorm" / "model.safetensors")

    def apply(x):
        y = torch.nn.functional.gelu(x @ dense["linear.weight"].T + dense["linear.bias"])
        return torch.nn.functional.layer_norm(y, y.shape[-1:], norm["norm.weight"], norm["norm.bias"], 1e-12)

    return apply


def mask_state(model, tokenizer, words, positions):
    ids = [tokenizer.token_to_id(word) for word in words]
    with torch.no_grad():
        states = model(input_ids=torch.tensor([ids]), position_ids=torch.tensor([positions])).last_hidden_state
    return states[0, words.index("[MASK]")]


def test_promptbert_sup(aoe, tmp_path):
    start, out, table = tmp_path / "start", tmp_path / "out", tmp_path / "triplets.tsv"
    model, options = golden.build(lambda: (BertForMaskedLM, BertConfig(**bert.SIZES)))
    golden.save_checkpoint(model, options, start)
    tokenizer = write_tokenizer(start)
    texts = [text for text in TEXTS if len(text.split()) + 5 <= model.config.max_position_embeddings]
    table.write_text("query\tpositive\tnegative\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b,
                                                             c in zip(texts, texts[1:], texts[2:])))
    aoe.run("train", "-m", start, "-d", table, "-o", out, "--method", "promptbert-sup", "--prompt",
            " ".join(BEFORE) + " {text} " + " ".join(AFTER), "--epochs", 1, "--batch-size", 4, "--lr", 1e-3,
            "--max-length", model.config.max_position_embeddings, "--dtype", "f32")
    trained = AutoModel.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    apply, want = transform(out), []
    for text in texts:
        words = BEFORE + text.split() + AFTER
        n = len(text.split())
        first = mask_state(trained, tokenizer, words, list(range(len(words))))
        empty = mask_state(trained, tokenizer, BEFORE + AFTER, [0, 1, n + 2, n + 3, n + 4])
        want.append((apply(first) - apply(empty)).numpy())
    assert_equal(aoe.embed(out, texts), np.stack(want), 5e-6)
