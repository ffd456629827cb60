# SPDX-License-Identifier: MIT
"""Compares two real models with sentence-transformers: tokens, embeddings, and the score on the STS benchmark."""
import json
import random

import numpy as np
import pytest
import zstandard

from conftest import record

MODELS = ("all-MiniLM-L6-v2", "all-mpnet-base-v2")
SCRIPTS = {"Chinese": (0x4E00, 0x9FA5), "Arabic": (0x0620, 0x064A), "Cyrillic": (0x0410, 0x044F),
           "Devanagari": (0x0905, 0x0939),
           "Hangul": (0xAC00, 0xD7A3), "Greek": (0x03B1, 0x03C9), "emoji": (0x1F300, 0x1F64F)}


def generated_texts(seed):
    """Texts of kinds that natural data rarely contains: several scripts, code, emoji, empty and long texts."""
    rng = random.Random(seed)
    texts = ["", " ", "\n\t", "a" * 10_000, "word " * 2_000, "x", "🙂" * 300, "\u200d\ufeff", "İstanbul ẞ ﬁ Å",
             "\u0000nul"]
    for first, last in SCRIPTS.values():
        for _ in range(60):
            texts.append(" ".join("".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))
                                  for _ in range(rng.randint(1, 12))))
    names = ["i", "count", "buffer_size", "__init__", "std::vector<int>", "x[0]", "0xFF", "1e-9", "-->", "&&",
             "/* c */", "#!"]
    for _ in range(100):
        texts.append("".join(rng.choice(names) + rng.choice([" ", "\n", "(", ");\n", " = ", "."])
                             for _ in range(rng.randint(3, 40))))
    return texts


def natural_texts(shared, wanted, seed):
    """Sentences of the STS benchmark and of Wikipedia."""
    lines = []
    for name in ("stsb/test.tsv", "stsb/dev.tsv"):
        with open(shared / "data" / name, encoding="utf-8") as file:
            lines += [field for line in file for field in line.rstrip("\n").split("\t") if len(field) > 20]
    with zstandard.open(shared / "data/corpus_wiki/wiki_sentences.tsv.zst", "rt", encoding="utf-8") as file:
        lines += [field for _, line in zip(range(5000), file) for field in line.rstrip("\n").split("\t")
                  if len(field) > 20]
    return random.Random(seed).sample(sorted(set(lines)), wanted)


@pytest.fixture(scope="module")
def texts(shared):
    generated = generated_texts(1)
    return generated + natural_texts(shared, 2000 - len(generated), 1)


@pytest.mark.parametrize("name", MODELS)
def test_embeddings_and_tokens(aoe, peers, texts, name):
    from sentence_transformers import SentenceTransformer

    folder = peers / "models" / name
    reference = SentenceTransformer(str(folder), device="cpu")
    limit = reference.max_seq_length
    want_ids = [reference.tokenizer(text, truncation=True, max_length=limit)["input_ids"] for text in texts]
    assert aoe.tokenize(folder, texts, "--max-length", limit) == want_ids
    want = reference.encode(texts, batch_size=16, normalize_embeddings=True, show_progress_bar=False)
    got = aoe.embed(folder, texts, "--normalize")
    cosine = (got * want).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(want, axis=1)
    record("1 - cosine", 1 - cosine.min())
    assert cosine.min() >= 0.999999, f"text {cosine.argmin()}: cosine {cosine.min()}"


@pytest.mark.parametrize("name", MODELS)
def test_sts_benchmark(aoe, peers, shared, name):
    from scipy.stats import spearmanr
    from sentence_transformers import SentenceTransformer

    table = shared / "data/stsb/test.tsv"
    with open(table, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    reference = SentenceTransformer(str(peers / "models" / name), device="cpu")
    first, second = (reference.encode([row[i] for row in rows], normalize_embeddings=True, show_progress_bar=False)
                     for i in (1, 2))
    want = spearmanr((first * second).sum(1), [float(row[0]) for row in rows]).statistic
    done = aoe.run("eval", "sts", "-q", "-m", peers / "models" / name, table, "--dtype", "f32", "--json")
    got = json.loads(done.stdout.splitlines()[-1])["spearman"]
    record("points of the STS score", abs(100 * got - 100 * want))
    assert 100 * got == pytest.approx(100 * want, abs=0.01)
