# SPDX-License-Identifier: MIT
"""PyTorch as one of the libraries that run.py measures in alternation. A process handles one shape and batch size; each
command on stdin executes one measured run.

    torch_encoder.py SHAPE TEXTS LENGTH THREADS
    infer|train|pretrain f32|bf16 COUNT    prints the milliseconds of COUNT runs, or "- REASON"
    pretrain f32-all|bf16-all COUNT        pretrain with logits of every token, as in transformers' BertForMaskedLM

The encoder is a BERT or RoBERTa (Devlin et al. 2019) or a LLaMA decoder (Touvron et al. 2023), written as is usual in PyTorch,
with random weights and texts of the maximum length. The embedding is the vector of the first token ([CLS]), or of the last
token of a decoder. Training is one step on pairs: the three AnglE losses, dropout 0.1 (LLaMA: none), AdamW, no clipping.
Pretraining is one step of masked language modeling whose head computes logits only for the masked tokens. bf16 is autocast
with float32 weights, which is faster than a model converted to bf16. export_onnx.py exports these encoders.
The state of a command is created when it is first used, with one warm-up run, and kept.
"""
import functools
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

# hidden, layers, heads, intermediate, vocabulary; RoBERTa's position and token-type tables have other sizes,
# which does not affect the time
SHAPES = {
    "bert-base": (768, 12, 12, 3072, 30522),
    "roberta-base": (768, 12, 12, 3072, 50265),
    "minilm-l6": (384, 6, 12, 1536, 30522),
    "aoe-mini": (256, 3, 4, 1024, 12000),
    "llama2-7b": (4096, 1, 32, 11008, 1024),  # one of its 32 layers and a small vocabulary, as in aoe bench
}
DECODERS = {"llama2-7b"}
POSITIONS, DROPOUT, NORM_EPS = 512, 0.1, 1e-12
ROPE_THETA, RMS_EPS = 10000.0, 1e-5


class Layer(nn.Module):
    def __init__(self, hidden, heads, intermediate):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attention_output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, NORM_EPS)
        self.up = nn.Linear(hidden, intermediate)
        self.down = nn.Linear(intermediate, hidden)
        self.norm = nn.LayerNorm(hidden, NORM_EPS)

    def drop(self, x):
        return F.dropout(x, DROPOUT, self.training)

    def attend(self, x, mask):
        """x [B, T, D], mask [B, 1, 1, T] additive."""
        texts, length, hidden = x.shape

        def split(projected):
            return projected.view(texts, length, self.heads, -1).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(hidden // self.heads) + mask
        return (self.drop(scores.softmax(-1)) @ v).transpose(1, 2).reshape(texts, length, hidden)

    def forward(self, x, mask):
        x = self.attention_norm(x + self.drop(self.attention_output(self.attend(x, mask))))
        return self.norm(x + self.drop(self.down(F.gelu(self.up(x)))))


def draw_weights(model):
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0, 0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


class Encoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden, layers, heads, intermediate, vocabulary = SHAPES[shape]
        self.word = nn.Embedding(vocabulary, hidden)
        self.position = nn.Embedding(POSITIONS, hidden)
        self.token_type = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, NORM_EPS)
        self.layers = nn.ModuleList(Layer(hidden, heads, intermediate) for _ in range(layers))
        self.transform = nn.Linear(hidden, hidden)  # used in pretraining
        self.transform_norm = nn.LayerNorm(hidden, NORM_EPS)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary))
        draw_weights(self)

    def forward(self, ids, attend):
        """Last hidden state [B, T, D] of ids [B, T]; attend [B, T] is 1 for tokens, 0 for padding."""
        x = self.word(ids) + self.position.weight[: ids.shape[1]] + self.token_type.weight[0]
        x = F.dropout(self.norm(x), DROPOUT, self.training)
        mask = ((1 - attend) * -1e9)[:, None, None, :].to(x.dtype)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def predict(self, hidden):
        """Logits [M, V] of hidden states [M, D]; the decoder is the token embedding matrix."""
        x = self.transform_norm(F.gelu(self.transform(hidden)).float())  # this LayerNorm requires one data type
        return F.linear(x, self.word.weight, self.decoder_bias)


class RMSNorm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        x = x.float()
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + RMS_EPS))


def rotate(x, cos, sin):
    """Rotary positions (Su et al. 2021) of x [B, H, T, d]; halves of a head are the two coordinates."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class DecoderLayer(nn.Module):
    def __init__(self, hidden, heads, intermediate):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(hidden, intermediate, bias=False) for _ in range(2))
        self.down = nn.Linear(intermediate, hidden, bias=False)
        self.attention_norm, self.norm = RMSNorm(hidden), RMSNorm(hidden)

    def attend(self, x, mask, cos, sin):
        texts, length, hidden = x.shape

        def split(projected):
            return projected.view(texts, length, self.heads, -1).transpose(1, 2)

        q, k, v = rotate(split(self.query(x)), cos, sin), rotate(split(self.key(x)), cos, sin), split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(hidden // self.heads) + mask
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(texts, length, hidden)

    def forward(self, x, mask, cos, sin):
        x = x + self.output(self.attend(self.attention_norm(x), mask, cos, sin))
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """LLaMA without its language-model head."""

    def __init__(self, shape):
        super().__init__()
        hidden, layers, heads, intermediate, vocabulary = SHAPES[shape]
        self.word = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(DecoderLayer(hidden, heads, intermediate) for _ in range(layers))
        self.norm = RMSNorm(hidden)
        half = hidden // heads // 2
        angles = torch.arange(POSITIONS)[:, None] * ROPE_THETA ** (-torch.arange(half) / half)
        self.register_buffer("cos", torch.cat((angles, angles), 1).cos())
        self.register_buffer("sin", torch.cat((angles, angles), 1).sin())
        draw_weights(self)

    def forward(self, ids, attend):
        length = ids.shape[1]
        x = self.word(ids)
        later = torch.full((length, length), -1e9).triu(1)
        mask = (later + ((1 - attend) * -1e9)[:, None, None, :]).to(x.dtype)
        for layer in self.layers:
            x = layer(x, mask, self.cos[:length], self.sin[:length])
        return self.norm(x)


def encoder(shape):
    return Decoder(shape) if shape in DECODERS else Encoder(shape)


def ranking_loss(score, label, temperature):
    """log(1 + sum over pairs i, j with label i > label j of exp((score j - score i) / temperature))."""
    gap = (score[None, :] - score[:, None]) / temperature
    gap = gap.masked_fill(label[:, None] <= label[None, :], -math.inf)
    return torch.logsumexp(F.pad(gap.flatten(), (1, 0)), 0)


def angle_score(x, y):
    """|sum of the real and imaginary parts of z conj(w)| / (|x| |y|), halves of a vector being real and imaginary parts."""
    (a, b), (c, d) = x.chunk(2, 1), y.chunk(2, 1)
    return (a * c + b * d + b * c - a * d).sum(1).abs() / (x.norm(dim=1) * y.norm(dim=1))


def in_batch_loss(vectors, label, temperature):
    """Cross-entropy of each text's partner among all other texts; vectors [2B, D] interleaved."""
    z = F.normalize(vectors)
    texts = len(z)
    similarity = (z @ z.t() / temperature).masked_fill(torch.eye(texts, dtype=torch.bool), -math.inf)
    positive = (label > 0).to(z.dtype).repeat_interleave(2)
    return (F.cross_entropy(similarity, torch.arange(texts) ^ 1, reduction="none") * positive).mean()


def angle_losses(vectors, label):
    x, y = vectors[::2], vectors[1::2]
    cosine = ranking_loss(F.cosine_similarity(x, y), label, 0.05)
    return cosine + in_batch_loss(vectors, label, 0.05) + ranking_loss(angle_score(x, y), label, 1.0)


class Bench:
    def __init__(self, shape, texts, length):
        torch.manual_seed(42)
        self.model = encoder(shape)
        self.token = -1 if shape in DECODERS else 0  # the token whose hidden state is the embedding
        self.ids = torch.randint(SHAPES[shape][4], (texts, length))
        self.masked = (torch.arange(texts * length) % 20 % 7 == 0).nonzero()[:, 0]  # 15%
        self.attend = torch.ones(texts, length)
        self.label = torch.arange(texts // 2) % 2
        self.optimizer = None
        self.warm = set()

    def infer(self, dtype):
        self.model.eval()
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            self.model(self.ids, self.attend)

    def train(self, dtype):
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, weight_decay=0.01, foreach=True)
        self.model.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            vectors = self.model(self.ids, self.attend)[:, self.token]
        loss = angle_losses(vectors.float(), self.label)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def pretrain(self, dtype, every=False):
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, weight_decay=0.01, foreach=True)
        self.model.train()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            hidden = self.model(self.ids, self.attend).flatten(0, 1)
            logits = self.model.predict(hidden if every else hidden[self.masked])
        labels = self.ids.flatten()
        if every:
            loss = F.cross_entropy(logits.float(), torch.full_like(labels, -100).index_copy(0, self.masked, labels[self.masked]))
        else:
            loss = F.cross_entropy(logits.float(), labels[self.masked])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def command(self, mode, dtype, count):
        run = {"infer": self.infer, "train": self.train, "pretrain": self.pretrain}[mode]
        if mode == "pretrain" and dtype.endswith("-all"):
            dtype, run = dtype[:-4], functools.partial(self.pretrain, every=True)
            mode = "pretrain-all"
        if dtype not in ("f32", "bf16"):
            raise ValueError(f"no {mode} {dtype}")
        if (mode, dtype) not in self.warm:
            run(dtype)
            self.warm.add((mode, dtype))
        times = []
        for _ in range(count):
            start = time.perf_counter()
            run(dtype)
            times.append(1e3 * (time.perf_counter() - start))
        return times


def blas_in_use():
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = maps.read()
    return "OpenBLAS" if "openblas" in loaded else "MKL" if "libmkl" in loaded else "reference BLAS (slow)"


def main():
    shape, texts, length, threads = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    bench = Bench(shape, texts, length)
    print(f"ready PyTorch {torch.__version__}, {blas_in_use()}", flush=True)
    for line in sys.stdin:
        try:
            mode, dtype, count = line.split()
            print(*(f"{ms:.4f}" for ms in bench.command(mode, dtype, int(count))), flush=True)
        except (RuntimeError, KeyError, ValueError) as error:
            print("-", " ".join(str(error).split()), flush=True)


if __name__ == "__main__":
    main()
