# SPDX-License-Identifier: MIT
"""Writes golden cases of small random models of the library transformers, computed in float64.

A directory of golden cases contains config.json, model.safetensors, cases.json and expected.safetensors
(src/bench/verify_model.c describes the files), and `aoe verify DIR` compares aoe with them. To write the cases of one
variant of an architecture (tests/peers/architectures):

    python tests/peers/golden.py qwen3 default tests/golden/data/qwen3
"""
import importlib
import json
import os
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file

LENGTHS = (1, 2, 3, 17, 31, 32, 33, 60)
GRADED = (0.0, 1.0, 2.5, 5.0, 3.0, 1.0, 4.2, 0.0)
BINARY = (0, 1, 1, 0, 1, 1, 0, 0)
FIRST_ID = 5  # smaller ids may be special tokens such as padding, which some models treat differently


def variants(architecture):
    """Returns the table VARIANTS of tests/peers/architectures/ARCHITECTURE.py. An entry is a function that returns
    (class of the model, configuration) or (class, configuration, options). Options:
    - longest: length in tokens of an additional text, for example beyond the attention window
    - lengths: lengths of all texts
    - prepare: function that is called with the model after its weights were set
    - rewrite: function that returns a dict of tensors, given a dict of tensors with the names of transformers; it is
      applied to the weights and to the gradients, for checkpoints whose stored layout differs
    - config: function that returns the contents of config.json, given those that transformers writes
    - seed: seed of the weights and texts, if the default seed gives a gradient that nearly cancels
    """
    return importlib.import_module("architectures." + architecture).VARIANTS


def randomize(model, seed):
    """Sets all weights to random values that are exact in float32. The weights of norms are near 1, and biases are not
    0, so that an error in any of them changes the results."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            values = torch.randn(p.shape, generator=generator, dtype=torch.float32)
            if p.dim() > 1:
                is_table = "embed" in name or "relative_attention_bias" in name
                values *= 0.5 if is_table else 1.2 / p.shape[-1] ** 0.5
            elif "norm" in name.lower() and name.endswith("weight"):
                values = 1 + 0.2 * values
            else:
                values *= 0.2
            p.copy_(values)


def texts_and_pairs(vocab, lengths, seed):
    """Returns (texts, pairs) as lists of token ids. Pairs 1 and 5 have the same first text, for the detection of
    identical sentences."""
    random = np.random.default_rng(seed)
    draw = lambda n: random.integers(FIRST_ID, vocab, n).tolist()
    pairs = [[draw(int(a)), draw(int(b))] for a, b in random.integers(3, 24, (len(GRADED), 2))]
    pairs[5][0] = pairs[1][0]
    return [draw(n) for n in lengths], pairs


def hidden_states(model, ids):
    """Returns the hidden states of one text: the embedding output, and the output of each layer. The last one is the
    output of the model, after the final norm if there is one."""
    out = model(input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                output_hidden_states=True)
    return [h[0] for h in out.hidden_states[:-1]] + [out.last_hidden_state[0]]


POOLINGS = {
    "cls": lambda first, last: last[0],
    "cls-last-avg": lambda first, last: (last[0] + last.mean(0)) / 2,
    "last-avg": lambda first, last: last.mean(0),
    "last-max": lambda first, last: last.max(0).values,
    "first-last-avg": lambda first, last: ((first + last) / 2).mean(0),
    "last-token": lambda first, last: last[-1],
}


def ranking_loss(scores, labels):
    """log(1 + sum over label_i < label_j of exp(score_i - score_j))."""
    lower = labels[:, None] < labels[None, :]
    differences = (scores[:, None] - scores[None, :])[lower]
    return torch.logsumexp(torch.cat([torch.zeros(1, dtype=scores.dtype), differences]), 0)


def in_batch_loss(x, y, positive, group):
    """Loss of in-batch negatives. With `group`, texts with equal ids are positives of each other (ISP)."""
    rows = torch.nn.functional.normalize(torch.stack([x, y], 1).reshape(2 * len(x), -1), dim=1)
    n = len(rows)
    scores = (20 * rows @ rows.T).masked_fill(torch.eye(n, dtype=torch.bool), -torch.inf)
    target = torch.zeros(n, n, dtype=rows.dtype)
    for u in range(n):
        target[u, u ^ 1] += positive[u // 2]
        for v in range(n):
            if group is not None and u != v and group[u] == group[v]:
                target[u, v] += 1
    log_p = torch.log_softmax(scores, 1).masked_fill(torch.eye(n, dtype=torch.bool), 0)
    return -(target * log_p).sum(1).mean()


def losses(x, y, pairs):
    """Returns the four losses of a batch of pairs of vectors (docs/objectives.md)."""
    graded, binary = torch.tensor(GRADED, dtype=x.dtype), torch.tensor(BINARY, dtype=x.dtype)
    norms = x.norm(dim=1) * y.norm(dim=1)
    a, b = x.chunk(2, 1)
    c, d = y.chunk(2, 1)
    angle = ((a * c + b * d).sum(1) + (b * c - a * d).sum(1)).abs() / norms
    flat = [tuple(ids) for pair in pairs for ids in pair]
    return {
        "cosine": ranking_loss(20 * (x * y).sum(1) / norms, graded),
        "angle": ranking_loss(angle, graded),
        "ibn": in_batch_loss(x, y, binary, None),
        "ibn-isp": in_batch_loss(x, y, binary, [flat.index(ids) for ids in flat]),
    }


def batch_losses(model, pairs, pooling):
    vectors = []
    for pair in pairs:
        for ids in pair:
            hidden = hidden_states(model, ids)
            vectors.append(POOLINGS[pooling](hidden[0], hidden[-1]))
    return losses(torch.stack(vectors[0::2]), torch.stack(vectors[1::2]), pairs)


def gradients(model, loss):
    """Returns the gradients of all parameters; zeros for a parameter that has no effect."""
    model.zero_grad()
    loss.backward(retain_graph=True)
    return {name: (torch.zeros_like(p) if p.grad is None else p.grad.clone()) for name, p in model.named_parameters()}


def trace(model, pairs, pooling):
    """Returns the losses and gradient norms of ten steps of AdamW with weight decay on all parameters."""
    settings = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01,
                "total": "cosine + ibn-isp + angle"}
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["lr"], betas=tuple(settings["betas"]),
                                  eps=settings["eps"], weight_decay=settings["weight_decay"])
    settings["trace"] = []
    for _ in range(10):
        value = batch_losses(model, pairs, pooling)
        total = value["cosine"] + value["ibn-isp"] + value["angle"]
        model.zero_grad()
        total.backward()
        for p in model.parameters():
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        norm = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters()))
        settings["trace"].append({"loss": total.item(), "grad_norm": norm.item()})
        optimizer.step()
    return settings


def build(entry):
    """Returns (model in float64 without dropout, options) of an entry of VARIANTS."""
    model_class, config, *rest = entry()
    options = rest[0] if rest else {}
    config._attn_implementation = "eager"
    seed = options.get("seed", 1)
    torch.manual_seed(seed)
    model = model_class(config)
    randomize(model, seed)
    model = model.double().eval()
    if "prepare" in options:
        options["prepare"](model)
    return model, options


def save_checkpoint(model, options, folder):
    """Writes config.json and model.safetensors (float32)."""
    os.makedirs(folder, exist_ok=True)
    model.float().save_pretrained(folder)
    model.double()
    for name in os.listdir(folder):
        if name not in ("config.json", "model.safetensors"):
            os.remove(os.path.join(folder, name))
    path = os.path.join(folder, "config.json")
    config = json.load(open(path, encoding="utf-8"))
    config = options["config"](config) if "config" in options else config
    json.dump(config, open(path, "w", encoding="utf-8"), indent=1)
    if "rewrite" in options:
        path = os.path.join(folder, "model.safetensors")
        save_file({k: v.contiguous() for k, v in options["rewrite"](load_file(path)).items()}, path)


def write(entry, folder, pooling="last-avg"):
    """Writes the golden cases of an entry of VARIANTS to `folder`."""
    model, options = build(entry)
    save_checkpoint(model, options, folder)
    lengths = options.get("lengths", LENGTHS) + ((options["longest"],) if "longest" in options else ())
    texts, pairs = texts_and_pairs(model.config.vocab_size, lengths, options.get("seed", 1))
    rewrite = options.get("rewrite", lambda tensors: tensors)
    expected = {}
    with torch.no_grad():
        for i, ids in enumerate(texts):
            hidden = hidden_states(model, ids)
            for layer, h in enumerate(hidden):
                expected[f"hidden.{i}.{layer}"] = h
            for name, pool in POOLINGS.items():
                expected[f"pooled.{i}.{name}"] = pool(hidden[0], hidden[-1])
    value = batch_losses(model, pairs, pooling)
    for name, loss in value.items():
        for parameter, gradient in rewrite(gradients(model, loss)).items():
            expected[f"grad.{name}.{parameter}"] = gradient
    cases = {"texts": texts, "pairs": pairs, "graded": GRADED, "binary": BINARY, "pooling": pooling,
             "losses": {name: loss.item() for name, loss in value.items()}, "adamw": trace(model, pairs, pooling)}
    json.dump(cases, open(os.path.join(folder, "cases.json"), "w", encoding="utf-8"))
    save_file({k: v.detach().float().contiguous() for k, v in expected.items()},
              os.path.join(folder, "expected.safetensors"))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: golden.py ARCHITECTURE VARIANT DIR")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    write(variants(sys.argv[1])[sys.argv[2]], sys.argv[3])
