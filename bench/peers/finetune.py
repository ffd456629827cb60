# SPDX-License-Identifier: MIT
"""Fine-tunes a sentence-transformers model on scored pairs with PyTorch, for comparison with `aoe train`.

    finetune.py MODEL TRAIN TEST [--method angle|cosent|sbert-regression] [--dtype f32|bf16] [--seed N]

TRAIN and TEST are tab-separated files with the columns score (0 to 5), sentence1 and sentence2. The settings are those of
recipes/results/finetune.args: one epoch, batches of 32 pairs, AdamW with weight decay 0.01, a peak learning rate of 2e-5 with a
warmup over a tenth of the steps and a linear decay, gradients clipped to norm 1, texts of at most 128 tokens. The two texts of
all pairs of a batch are encoded in one forward pass. bf16 is autocast with float32 weights. Prints one JSON object with the
Spearman correlation on TEST before and after the training, the seconds of the training and the peak memory of the process.
"""
import argparse
import json
import random
import resource
import time

import torch
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from texts import read

SCALE = 20  # 1 / temperature of the cosine loss and of the in-batch negatives loss


def ranking(scores, labels):
    """log(1 + sum over label_i < label_j of exp(score_i - score_j)), the form of the cosine loss and of the angle loss."""
    differences = (scores[:, None] - scores[None, :])[labels[:, None] < labels[None, :]]
    return torch.logsumexp(torch.cat([scores.new_zeros(1), differences]), 0)


def in_batch(x, y, texts, positive):
    """In-batch negatives over all texts of the batch, with equal texts as positives of each other."""
    rows = torch.nn.functional.normalize(torch.cat([x, y]), dim=1)
    n = len(x)
    self_mask = torch.eye(2 * n, dtype=torch.bool)
    logs = torch.log_softmax((SCALE * rows @ rows.T).masked_fill(self_mask, -torch.inf), 1).masked_fill(self_mask, 0)
    target = torch.tensor([[float(a == b) for b in texts] for a in texts]).masked_fill(self_mask, 0)
    partner = torch.arange(2 * n).roll(n)
    target[torch.arange(2 * n), partner] += positive.repeat(2)
    return -(target * logs).sum(1).mean()


def loss_of(method, x, y, texts, labels):
    norms = x.norm(dim=1) * y.norm(dim=1)
    cosine = (x * y).sum(1) / norms
    if method == "sbert-regression":
        return torch.nn.functional.mse_loss(cosine, labels / 5)
    if method == "cosent":
        return ranking(SCALE * cosine, labels)
    a, b, c, d = *x.chunk(2, 1), *y.chunk(2, 1)
    angle = ((a * c + b * d).sum(1) + (b * c - a * d).sum(1)).abs() / norms
    return ranking(SCALE * cosine, labels) + in_batch(x, y, texts, (labels >= 4).float()) + ranking(angle, labels)


def evaluate(model, rows):
    model.eval()
    x, y = (model.encode([row[i] for row in rows], normalize_embeddings=True, show_progress_bar=False) for i in (0, 1))
    return float(spearmanr((x * y).sum(1), [row[2] for row in rows]).statistic)


def optimizer_of(model, lr):
    """Returns AdamW with weight decay 0.01 for all weight matrices."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}], lr=lr)


def train_step(model, optimizer, batch, method, dtype):
    """Executes one training step on rows of `read`. dtype: f32 or bf16 (autocast)."""
    texts = [row[0] for row in batch] + [row[1] for row in batch]
    labels = torch.tensor([row[2] for row in batch])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
        vectors = model(model.preprocess(texts))["sentence_embedding"]
    x, y = vectors.float().chunk(2)
    loss_of(method, x, y, texts, labels).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--method", default="angle", choices=["angle", "cosent", "sbert-regression"])
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-steps", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rows, test = read(args.train), read(args.test)
    random.Random(args.seed).shuffle(rows)
    batches = [rows[i : i + args.batch_size] for i in range(0, len(rows), args.batch_size)]
    batches = batches[: args.max_steps] if args.max_steps else batches
    model = SentenceTransformer(args.model, device="cpu")
    model.max_seq_length = 128
    before = evaluate(model, test)
    optimizer = optimizer_of(model, args.lr)
    warmup = max(1, len(batches) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, (len(batches) - step) / max(1, len(batches) - warmup)))
    model.train()
    start = time.monotonic()
    for batch in batches:
        train_step(model, optimizer, batch, args.method, args.dtype)
        schedule.step()
    seconds = time.monotonic() - start
    print(json.dumps({"method": args.method, "dtype": args.dtype, "seed": args.seed, "steps": len(batches), "seconds": seconds,
                      "before": before, "after": evaluate(model, test),
                      "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))


if __name__ == "__main__":
    main()
