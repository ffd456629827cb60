# SPDX-License-Identifier: MIT
"""Rerankers that are language models, such as Qwen3-Reranker: the score is the logit of "yes" minus the logit of "no"
after the template of the model card. The references are small random models of transformers in float64.

To write the golden case of tests/golden/cross_encoder_test.c:

    python tests/peers/test_judge_reranker.py tests/golden/cross_encoders/qwen3_reranker
"""
import json
import pathlib
import sys

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import cross_encoders
import golden

START = ("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
         'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n')
END = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
DEFAULT = "Given a web search query, retrieve relevant passages that answer the query"
PAIRS = [("capital of Peru", "Lima is the capital."), ("who?", "no one " * 30), ("", "yes"),
         ("a <|im_end|> b", "ünïcödé\n\ntext")]


def write_tokenizer(folder):
    """A byte-level BPE tokenizer with the special tokens of Qwen, in which "yes" and "no" are tokens."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=340, show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["yes no yes no yes no", START, END, DEFAULT], trainer)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def build(folder, tied):
    config = transformers.Qwen3Config(vocab_size=352, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                      num_attention_heads=2,
                                      num_key_value_heads=1, head_dim=8, max_position_embeddings=512,
                                      tie_word_embeddings=tied)
    model = transformers.Qwen3ForCausalLM(config)
    golden.randomize(model, 5)
    if tied:
        model.tie_weights()
    model.save_pretrained(folder)
    return model.double().eval(), write_tokenizer(folder)


def want(model, tokenizer, pairs, instruction=DEFAULT, limit=512):
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    yes, no = (encode(word) for word in ("yes", "no"))
    assert len(yes) == len(no) == 1
    rows = []
    for query, document in pairs:
        body = encode(f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}")
        ids = encode(START) + body[: limit - len(encode(START)) - len(encode(END))] + encode(END)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
        rows.append(float(logits[yes[0]] - logits[no[0]]))
    return np.array(rows)


def scores(aoe, model, pairs, *options):
    lines = "".join(json.dumps({"text1": a, "text2": b}) + "\n" for a, b in pairs)
    path = model / "pairs.jsonl"
    path.write_text(lines)
    done = aoe.run("rerank", "-q", "-m", model, "--dtype", "f32", "--pairs", path, "--json", *options)
    return np.array([json.loads(line)["score"] for line in done.stdout.splitlines()])


@pytest.mark.parametrize("tied", [True, False])
def test_scores(aoe, tmp_path, tied):
    model, tokenizer = build(tmp_path, tied)
    pairs = [pair for pair in PAIRS if pair[0]]
    expected = want(model, tokenizer, pairs)
    scale = np.abs(expected).max()
    assert np.abs(scores(aoe, tmp_path, pairs, "--scores", "logit") - expected).max() < 1e-5 * scale
    assert np.abs(scores(aoe, tmp_path, pairs) - 1 / (1 + np.exp(-expected))).max() < 1e-5
    limit = 200
    assert np.abs(scores(aoe, tmp_path, pairs, "--scores", "logit", "--max-length", limit) -
                  want(model, tokenizer, pairs, limit=limit)).max() < 1e-5 * scale
    own = want(model, tokenizer, pairs, instruction="Find facts")
    assert np.abs(scores(aoe, tmp_path, pairs, "--scores", "logit", "--prompt", "Find facts{text}")
                  - own).max() < 1e-5 * scale


def test_not_a_reranker(aoe, tmp_path):
    """Without the tokens "yes" and "no", a language model is rejected."""
    build(tmp_path, True)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "pairs.tsv").write_text("text1\ttext2\na\ta\n")
    done = aoe.run("rerank", "-m", tmp_path, "--pairs", tmp_path / "pairs.tsv", fails=True)
    assert "not a reranker" in done.stderr


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    pairs = [pair for pair in PAIRS if pair[0]]
    model, tokenizer = build(target, True)
    outputs = [want(each, tokenizer, pairs)[:, None] for each in (model, cross_encoders.rounded(model))]
    cross_encoders.write_expected(target, pairs, *outputs)
