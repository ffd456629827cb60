# SPDX-License-Identifier: MIT
"""Compares the offsets of `aoe tokenize --json --offsets` with those of the library tokenizers."""
import json
import shutil
import unicodedata

import pytest
from tokenizers import Tokenizer

from test_tokenizers import COMPONENTS, KINDS, SENTENCEPIECE, bpe, converted, corpus, lines, save  # fixtures: the last


def offsets(aoe, directory, texts, *options):
    """Returns the offsets of the tokens of each text; None for special tokens."""
    done = aoe.run("tokenize", "-q", "-m", directory, "--jsonl", "--json", "--offsets", *options,
                   stdin="".join(json.dumps(text) + "\n" for text in texts))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [[offset and tuple(offset) for offset in line["offsets"]] for line in found], [line["ids"] for line in found]


def expected(encoding):
    return [None if special else offset for offset, special in zip(encoding.offsets, encoding.special_tokens_mask)]


def compare(aoe, directory, tokenizer, texts):
    got, ids = offsets(aoe, directory, texts)
    encodings = tokenizer.encode_batch(texts)
    assert ids == [e.ids for e in encodings]
    wrong = [(t, g, expected(e), e.tokens) for t, g, e in zip(texts, got, encodings, strict=True) if g != expected(e)]
    assert not wrong, f"{len(wrong)} of {len(texts)}: {sorted(wrong, key=lambda x: len(x[0]))[:3]}"


@pytest.mark.parametrize("kind", KINDS)
def test_trained(aoe, tmp_path, corpus, lines, kind):
    tokenizer = KINDS[kind](corpus)
    compare(aoe, save(tokenizer, tmp_path), tokenizer, lines[::5])


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece(aoe, tmp_path, corpus, lines, name):
    tokenizer = converted(tmp_path, corpus, *SENTENCEPIECE[name])
    # The library shifts the offsets after a character that the normalizer Precompiled removes, and after one that it
    # replaces by several characters if a mark follows. Texts with such characters are left out.
    forms = {c: tokenizer.normalizer.normalize_str("a" + c + "a")[1:-1] for c in set("".join(lines))}
    marks = {c for c in forms if unicodedata.category(c)[0] == "M" or c == "\u0e33"}
    texts = [line for line in lines[::5] if all(forms[c] for c in line) and not any(
        len(forms[c]) > 1 and mark in marks for c, mark in zip(line, line[1:]))]
    assert len(texts) > len(lines) / 10
    compare(aoe, save(tokenizer, tmp_path / "model"), tokenizer, texts)


@pytest.mark.parametrize("name", COMPONENTS)
def test_components(aoe, tmp_path, corpus, lines, name):
    tokenizer = bpe(corpus, **COMPONENTS[name])
    if name == "model no unk":  # the library drops unknown characters, and shifts the offsets after them in the word
        lines = [line for line in lines if "".join(tokenizer.encode(line).tokens) == "".join(line.split())]
    compare(aoe, save(tokenizer, tmp_path), tokenizer, lines[::20])


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "llama2", "qwen2.5"])
def test_shared(aoe, shared, tmp_path, lines, name):
    shutil.copy(shared / "tokenizers" / name / "tokenizer.json", tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    compare(aoe, tmp_path, tokenizer, lines[::5])
