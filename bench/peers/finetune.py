# SPDX-License-Identifier: MIT
"""Fine-tunes a sentence-transformers model on scored pairs with PyTorch, for comparison with `aoe train`.

    finetune.py MODEL TRAIN TEST [--method angle|cosent|sbert-regression] [--dtype f32|bf16] [--seed N] [OPTIONS]

TRAIN and TEST are tab-separated files with the columns score (0 to 5), sentence1 and sentence2. The default settings
are those of recipes/results/finetune.args: one epoch, batches of 32 pairs, AdamW with weight decay 0.01, a peak
learning rate of 2e-5 with a warmup over a tenth of the steps and a linear decay, gradients clipped to norm 1, texts of
at most 128 tokens, the pooling of the model directory (mean, if it names none). The two texts of all pairs of a batch
are encoded in one forward pass. bf16 is autocast with float32 weights. With --dev FILE, the model is evaluated on FILE
before the training and after each epoch, and the model with the highest score is evaluated on TEST. Prints one JSON
object with the Spearman correlation on TEST before and after the training, the highest score on FILE, the seconds of
the training and the peak memory of the process.
"""
import argparse
import copy
import json
import random
import resource
import time

import torch
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer, models

from texts import read

SCALE = 20  # 1 / temperature of the cosine loss and of the in-batch negatives loss


def ranking(scores, labels):
    """log(1 + sum over label_i < label_j of exp(score_i - score_j)), the form of the cosine loss and of the angle
    loss."""
    differences = (scores[:, None] - scores[None, :])[labels[:, None] < labels[None, :]]
    return torch.logsumexp(torch.cat([scores.new_zeros(1), differences]), 0)


def in_batch(x, y, texts, positive, isp):
    """In-batch negatives over all texts of the batch. isp: equal texts are positives of each other."""
    rows = torch.nn.functional.normalize(torch.cat([x, y]), dim=1)
    n = len(x)
    self_mask = torch.eye(2 * n, dtype=torch.bool)
    logs = torch.log_softmax((SCALE * rows @ rows.T).masked_fill(self_mask, -torch.inf), 1).masked_fill(self_mask, 0)
    target = torch.tensor([[float(isp and a == b) for b in texts] for a in texts]).masked_fill(self_mask, 0)
    partner = torch.arange(2 * n).roll(n)
    target[torch.arange(2 * n), partner] += positive.repeat(2)
    return -(target * logs).sum(1).mean()


def loss_of(method, x, y, texts, labels, isp=True):
    norms = x.norm(dim=1) * y.norm(dim=1)
    cosine = (x * y).sum(1) / norms
    if method == "sbert-regression":
        return torch.nn.functional.mse_loss(cosine, labels / 5)
    if method == "cosent":
        return ranking(SCALE * cosine, labels)
    a, b, c, d = *x.chunk(2, 1), *y.chunk(2, 1)
    angle = ((a * c + b * d).sum(1) + (b * c - a * d).sum(1)).abs() / norms
    return ranking(SCALE * cosine, labels) + in_batch(x, y, texts, (labels >= 4).float(), isp) + ranking(angle, labels)


def evaluate(model, rows):
    model.eval()
    x, y = (model.encode([row[i] for row in rows], normalize_embeddings=True, show_progress_bar=False) for i in (0, 1))
    return float(spearmanr((x * y).sum(1), [row[2] for row in rows]).statistic)


def optimizer_of(model, lr):
    """Returns AdamW with weight decay 0.01 for all weight matrices."""
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}], lr=lr)


def train_step(model, optimizer, batch, method, dtype, isp=True):
    """Executes one training step on rows of `read`. dtype: f32 or bf16 (autocast)."""
    texts = [row[0] for row in batch] + [row[1] for row in batch]
    labels = torch.tensor([row[2] for row in batch])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
        vectors = model(model.preprocess(texts))["sentence_embedding"]
    x, y = vectors.float().chunk(2)
    loss_of(method, x, y, texts, labels, isp).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


class Best:
    """The weights with the highest score on the rows `dev`. Without dev, `restore` keeps the last weights."""

    def __init__(self, model, dev):
        self.model, self.dev, self.score, self.weights = model, dev, None, None
        if dev:
            self.update()

    def update(self):
        score = evaluate(self.model, self.dev)
        if self.score is None or score > self.score:
            self.score, self.weights = score, copy.deepcopy(self.model.state_dict())

    def restore(self):
        if self.weights:
            self.model.load_state_dict(self.weights)


def open_model(path, pooling, max_length):
    if not pooling:
        model = SentenceTransformer(path, device="cpu")
    else:
        transformer = models.Transformer(path)
        model = SentenceTransformer(modules=[transformer,
                                             models.Pooling(transformer.get_embedding_dimension(), pooling)],
                                    device="cpu")
    model.max_seq_length = max_length
    return model


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
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=0, help="steps (default: a tenth of all steps)")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--pooling", choices=["cls", "mean", "max"])
    parser.add_argument("--no-isp", action="store_true", help="equal texts of a batch are no positives of each other")
    parser.add_argument("--dev")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    rows, test, dev = read(args.train), read(args.test), read(args.dev) if args.dev else None
    shuffle = random.Random(args.seed).shuffle
    batches = []
    for _ in range(args.epochs):
        shuffle(rows)
        batches += [rows[i : i + args.batch_size] for i in range(0, len(rows), args.batch_size)]
    epoch = len(batches) // args.epochs
    batches = batches[: args.max_steps] if args.max_steps else batches
    model = open_model(args.model, args.pooling, args.max_length)
    before = evaluate(model, test)
    best = Best(model, dev)
    optimizer = optimizer_of(model, args.lr)
    warmup = args.warmup or max(1, len(batches) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, (len(batches) - step) / max(1, len(batches) - warmup)))
    model.train()
    start = time.monotonic()
    for step, batch in enumerate(batches, 1):
        train_step(model, optimizer, batch, args.method, args.dtype, not args.no_isp)
        schedule.step()
        if dev and (step % epoch == 0 or step == len(batches)):
            best.update()
            model.train()
    seconds = time.monotonic() - start
    best.restore()
    print(json.dumps({"method": args.method, "dtype": args.dtype, "seed": args.seed, "steps": len(batches),
                      "seconds": seconds, "before": before, "after": evaluate(model, test), "dev": best.score,
                      "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))


if __name__ == "__main__":
    main()
