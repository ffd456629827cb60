# SPDX-License-Identifier: MIT
"""Trains a model with PyTorch. run.py runs this program and `aoe train` in alternation.

    step.py TASK TYPE MODEL DATA THREADS
    run        executes one epoch, a training step for each batch of DATA; prints the time in milliseconds

TASK is one of
    cosent         the training loop of finetune.py with the CoSENT loss on the scored pairs of DATA, 32 pairs per step
    contrastive    CachedMultipleNegativesRankingLoss of sentence-transformers: in-batch negatives with gradient
                   caching; all pairs of DATA are one batch, of which 64 pairs at a time pass through the model
    lora           a LLaMA whose frozen weights are bf16, with the LoRA adapters of peft (rank 32, all linear layers),
                   the AnglE losses, 16 pairs of 32 tokens per step

TYPE is f32, or bf16 (autocast with float32 weights). DATA is a tab-separated file with the columns score, sentence1 and
sentence2. The program first executes one step that is not measured, and then prints "ready VERSION", or "- REASON".
"""
import functools
import sys
import time

import torch

import finetune
from engine import answers, reason
from texts import read

LEARNING_RATE = 2e-5
LORA_PAIRS, LORA_TOKENS = 16, 32
CACHE_CHUNK = 64  # pairs


def batches_of(rows, size):
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def cosent(model, rows, dtype):
    """Returns the steps of an epoch as functions."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model, device="cpu")
    model.max_seq_length = 128
    model.train()
    optimizer = finetune.optimizer_of(model, LEARNING_RATE)
    return [functools.partial(finetune.train_step, model, optimizer, batch, "cosent", dtype)
            for batch in batches_of(rows, 32)]


def contrastive(model, rows, dtype):
    from sentence_transformers import SentenceTransformer, losses

    model = SentenceTransformer(model, device="cpu")
    model.max_seq_length = 128
    model.train()
    optimizer = finetune.optimizer_of(model, LEARNING_RATE)
    cached = losses.CachedMultipleNegativesRankingLoss(model, mini_batch_size=CACHE_CHUNK)

    def step():
        # the backward pass computes the hidden states again, so that it also needs autocast
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
            features = [model.preprocess([row[side] for row in rows]) for side in (0, 1)]
            cached(features, None).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return [step]


def lora(model, rows, dtype):
    import peft
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.unk_token or tokenizer.convert_ids_to_tokens(0)
    config = peft.LoraConfig(r=32, lora_alpha=32, lora_dropout=0.1, target_modules="all-linear")
    model = peft.get_peft_model(AutoModel.from_pretrained(model, dtype=torch.bfloat16), config)
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)

    def step(batch):
        texts = [row[0] for row in batch] + [row[1] for row in batch]
        tokens = tokenizer(texts, truncation=True, max_length=LORA_TOKENS, padding="max_length", return_tensors="pt")
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == "bf16"):
            hidden = model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
        x, y = hidden[:, -1].float().chunk(2)
        finetune.loss_of("angle", x, y, texts, torch.tensor([row[2] for row in batch])).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return [functools.partial(step, batch) for batch in batches_of(rows, LORA_PAIRS)]


def main():
    task, dtype, model, data, threads = sys.argv[1:]
    out = answers()
    torch.set_num_threads(int(threads))
    torch.manual_seed(42)
    try:
        steps = {"cosent": cosent, "contrastive": contrastive, "lora": lora}[task](model, read(data), dtype)
        steps[0]()
    except Exception as error:
        print(reason(error), file=out, flush=True)
        return 1
    print(f"ready PyTorch {torch.__version__}", file=out, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for step in steps:
            step()
        print(f"{1e3 * (time.perf_counter() - start):.4f}", file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
