# SPDX-License-Identifier: MIT
"""Measures SentenceTransformer.encode on the lines of a file, for comparison with `aoe embed`.

    embed.py MODEL TEXTS [--dtype float32|bfloat16] [--threads N] [--rounds N]

Prints the seconds of each round, after the model was loaded and a first batch was encoded. Batches have 32 texts.
"""
import argparse
import time

import torch
from sentence_transformers import SentenceTransformer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("texts")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = SentenceTransformer(args.model, device="cpu", model_kwargs={"dtype": args.dtype})
    with open(args.texts, encoding="utf-8") as file:
        texts = file.read().splitlines()
    model.encode(texts[:64])
    for _ in range(args.rounds):
        start = time.monotonic()
        model.encode(texts, batch_size=32)
        print(f"{time.monotonic() - start:.2f}", flush=True)


if __name__ == "__main__":
    main()
