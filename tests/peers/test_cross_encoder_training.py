# SPDX-License-Identifier: MIT
"""Cross-encoders that aoe trains: the same steps in PyTorch give the same scores, and CrossEncoder of
sentence-transformers computes the scores of the saved directory."""
import copy
import json

import numpy as np
import pytest
import torch
import transformers

import cross_encoders
import golden
from sentence_transformers import CrossEncoder

NAMES = ["albert", "bert", "deberta", "distilbert", "electra", "gte", "modernbert", "mpnet", "nomic_bert", "qwen3",
         "roberta"]
LABELS = {1: [0, 1, 0.5, 1, 0.25, 0], 3: [0, 2, 1, 1, 0, 2]}
STEPS, RATE = 6, 1e-3
# The steps of aoe in float32 are compared with the same steps of PyTorch in float64. The error may be 4 times the error
# of the steps of PyTorch in float32, or the sum of the roundings of the operations that follow one another: 2 or 3
# layers with about 30 operations each, forward and backward, so about 200 in each step, with an error of at most 2^-24
# each.
ROUNDINGS = 200


def train_in_torch(model, tokenizer, labels):
    """Trains with full batches, as `aoe train` does: AdamW with weight decay on matrices, linear decay without warmup,
    and gradients clipped to norm 1. There is no dropout, because the model is in evaluation mode."""
    decayed = [p for p in model.parameters() if p.dim() > 1 and p.requires_grad]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}],
                                  lr=RATE)
    target = torch.tensor(labels)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (STEPS - step) / STEPS
        rows = []
        for a, b in cross_encoders.PAIRS:
            encoded = tokenizer.encode(a, b)
            types = {"token_type_ids": torch.tensor([encoded.type_ids])} if cross_encoders.has_types(model) else {}
            rows.append(model(input_ids=torch.tensor([encoded.ids]), attention_mask=torch.ones(1, len(encoded.ids)),
                              **types).logits[0])
        out = torch.stack(rows)
        if out.shape[1] == 1:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(out[:, 0], target.to(out.dtype))
        else:
            loss = torch.nn.functional.cross_entropy(out, target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.double()


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_equals_torch(aoe, tmp_path, name, classes):
    start, out, table = tmp_path / "start", tmp_path / "out", tmp_path / "pairs.jsonl"
    model = cross_encoders.build(golden.variants(name)["default"], classes)
    tokenizer = cross_encoders.save(model, start)
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * cross_encoders.has_types(model)
    (start / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "model_input_names": names}))
    table.write_text("".join(json.dumps({"text1": a, "text2": b, "label": label}) + "\n"
                             for (a, b), label in zip(cross_encoders.PAIRS, LABELS[classes])))
    aoe.run("train", "-m", start, "-d", table, "-o", out, "--method", "cross-encoder", "--classes", classes, "--epochs",
            STEPS,
            "--batch-size", len(cross_encoders.PAIRS), "--lr", RATE, "--warmup", 0, "--dropout", 0, "--dtype", "f32")
    before = cross_encoders.logits(model, tokenizer, cross_encoders.PAIRS)
    single = cross_encoders.logits(train_in_torch(copy.deepcopy(model).float(), tokenizer, LABELS[classes]), tokenizer,
                                   cross_encoders.PAIRS)
    want = cross_encoders.logits(train_in_torch(model, tokenizer, LABELS[classes]), tokenizer, cross_encoders.PAIRS)
    got = cross_encoders.logits(transformers.AutoModelForSequenceClassification.from_pretrained(
        out, dtype=torch.float32, attn_implementation="eager").double().eval(), tokenizer, cross_encoders.PAIRS)
    change = np.abs(want - before).max()
    assert np.abs(got - want).max() < max(4 * np.abs(single - want).max(), STEPS * ROUNDINGS * 2**-24 * change)
    scorer = CrossEncoder(str(out), device="cpu")
    scores = scorer.predict(cross_encoders.PAIRS)
    assert np.abs(scores - (got if classes > 1 else 1 / (1 + np.exp(-got[:, 0])))).max() < 1e-5
    assert scorer.num_labels == classes
    assert type(scorer.activation_fn) is (torch.nn.Sigmoid if classes == 1 else torch.nn.Identity)


@pytest.mark.parametrize("adapters", [False, True], ids=["all weights", "adapters"])
@pytest.mark.parametrize("name", NAMES)
def test_settings_in_cross_encoder(aoe, tmp_path, name, adapters):
    """CrossEncoder applies the maximum sequence length and the prompt of the run, gives the model the token types that
    aoe gives it, and scores several pairs at a time, although the start model has no padding token."""
    if adapters and name in ("gte", "modernbert", "nomic_bert"):
        pytest.skip("several linear layers share a tensor, so they have no adapters in PEFT")
    start, out, table = tmp_path / "start", tmp_path / "out", tmp_path / "pairs.jsonl"
    model = cross_encoders.build(golden.variants(name)["default"], 1)
    cross_encoders.save(model, start)
    config = json.loads((start / "config.json").read_text())
    config["pad_token_id"] = 0 if name != "qwen3" else None
    (start / "config.json").write_text(json.dumps(config))
    (start / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | (
        {} if name == "qwen3" else {"pad_token": "[PAD]"})))
    pairs = cross_encoders.PAIRS
    table.write_text("".join(json.dumps({"text1": a, "text2": b, "label": label}) + "\n"
                             for (a, b), label in zip(pairs, LABELS[1])))
    aoe.run("train", "-m", start, "-d", table, "-o", out, "--method", "cross-encoder", "--max-steps", 2, "--lr", RATE,
            "--max-length", 9, "--prompt", "w3 w4 {text}", "--dtype", "f32", *(["--lora-r", 4] if adapters else []))
    lines = "".join(json.dumps({"text1": a, "text2": b}) + "\n" for a, b in pairs)
    done = aoe.run("rerank", "-q", "-m", out, "--dtype", "f32", "--json", "--pairs", "-", "--input-format", "jsonl",
                   stdin=lines)
    got = np.array([json.loads(line)["score"] for line in done.stdout.splitlines()])
    scorer = CrossEncoder(str(out), device="cpu")
    assert scorer.max_length == 9
    want = scorer.predict(pairs, batch_size=len(pairs))
    assert np.abs(want - got).max() < 1e-5
    assert np.abs(scorer.predict(pairs, prompt="") - got).max() > 1e-4
