# SPDX-License-Identifier: MIT
"""Compares the pooling of causal models without modules.json with sentence-transformers, which chooses the pooling from
the class of the model: the last token for ...ForCausalLM, the mean for every other class."""
import pytest
import tokenizers
import torch
from sentence_transformers import SentenceTransformer
from transformers import (Gemma3TextConfig, Gemma3TextModel, LlamaConfig, LlamaForCausalLM, LlamaModel,
                          PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, Qwen3Model)

from conftest import assert_equal

WORDS = [f"w{i}" for i in range(34)]
TEXTS = ["w1 w2 w3", "w5", " ".join(WORDS[:20]), "w7 w7 w8 w30 w31"]
SIZES = dict(vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=24, max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=3)
MODELS = {
    "Qwen3Model": lambda: Qwen3Model(Qwen3Config(**SIZES, head_dim=4)),
    "Qwen3ForCausalLM": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=4)),
    "Gemma3TextModel": lambda: Gemma3TextModel(Gemma3TextConfig(**SIZES, head_dim=4)),
    "LlamaModel": lambda: LlamaModel(LlamaConfig(**SIZES)),
    "LlamaForCausalLM": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
}


@pytest.mark.parametrize("name", MODELS)
def test_default_pooling(aoe, tmp_path, name):
    torch.manual_seed(1)
    MODELS[name]().save_pretrained(tmp_path)
    vocab = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + WORDS)}
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(tmp_path)
    want = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    assert_equal(aoe.embed(tmp_path, TEXTS), want, 5e-6)
    other = aoe.embed(tmp_path, TEXTS, "--pooling", "mean" if name.endswith("ForCausalLM") else "last-token")
    assert abs(other - want).max() > 1e-3, "the two poolings are equal"
