# SPDX-License-Identifier: MIT
"""Compares the texts to which `aoe tokenize --decode` converts token ids with those of the library tokenizers."""
import json
import random
import shutil

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from transformers import AutoTokenizer

from test_tokenizers import KINDS, corpus, lines, save  # corpus and lines are fixtures

METASPACE = [decoders.Metaspace(prepend_scheme=scheme) for scheme in ("always", "first", "never")]
LLAMA = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                           decoders.Strip(" ", 1, 0)])
DECODERS = {
    "none": None, "WordPiece": decoders.WordPiece(), "WordPiece without cleanup": decoders.WordPiece(cleanup=False),
    "WordPiece prefix": decoders.WordPiece(prefix="\u2581"), "WordPiece no prefix": decoders.WordPiece(prefix=""),
    "ByteLevel": decoders.ByteLevel(), "Metaspace always": METASPACE[0], "Metaspace first": METASPACE[1],
    "Metaspace never": METASPACE[2], "Metaspace letter": decoders.Metaspace(replacement="a"),
    "BPEDecoder": decoders.BPEDecoder(), "BPEDecoder suffix": decoders.BPEDecoder(suffix="a"),
    "Fuse": decoders.Fuse(), "ByteFallback": decoders.ByteFallback(), "Strip": decoders.Strip(" ", 2, 0),
    "Strip letter": decoders.Strip("\u00e9", 1, 0), "Replace": decoders.Replace("a", "\u00e9\u00e9"),
    "Replace regex": decoders.Replace(Regex(r"\s+|a(?=b)"), "-"), "Replace nothing": decoders.Replace("", "-"),
    "LLaMA": LLAMA, "empty Sequence": decoders.Sequence([]),
    "Sequence": decoders.Sequence([decoders.ByteFallback(), decoders.Sequence([METASPACE[0], decoders.Fuse()]),
                                   decoders.Strip(" ", 0, 0), decoders.Replace("b", "")]),
    "bytes, then letters": decoders.Sequence([decoders.ByteFallback(), decoders.ByteLevel()]),
    "letters, then words": decoders.Sequence([decoders.ByteLevel(), decoders.WordPiece()]),
}
TOKENS = [*"abz.?!,'\u00e9\u2581\u4e2d ", "ab", "##", "##a", "##.", "####b", "a##b", "\u2581a", "a\u2581\u2581b",
          "n't", "'m", "'s", "'ve", "'re", "do not", "a do not b", " .", " ' ", "x .y ?z", "  a  ", "</w>", "a</w>",
          "</w>b</w>", "\u0120a", "\u0120", "\u010a", "\u00c3\u00a9", "\u00c3", "\u00a9", "\u00f0\u0141\u013a\u0122",
          "\u00f0\u0141", "\u0122", "\u0144", "\u00ad", "\u0143", "\u00ed\u0142\u0122", "\u00f4\u0131", "\u00e2\u0124",
          "<0x41>", "<0xC3>", "<0xA9>", "<0xa9>", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0x+F>", "<0xG1>", "<0x411>",
          "\U0001F600", "e\u0301", "\u00e9\u00e9a", "a b a\tb", "\n", "\ufffd", "&", "<unk>"]


def decode(aoe, directory, lists, keep=False):
    """Returns the texts of lists of token ids."""
    done = aoe.run("tokenize", "-q", "-m", directory, "--decode", *(["--keep-specials"] if keep else []),
                   stdin="".join(json.dumps(ids) + "\n" for ids in lists))
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def compare(aoe, directory, tokenizer, lists):
    """tokenizer: tokenizers.Tokenizer. Version 0.23 of the library does not skip a special token whose normalized text
    differs from its text. Other versions and aoe skip it, so special tokens are removed before the library decodes."""
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    for keep in (False, True):
        got = decode(aoe, directory, lists, keep)
        want = tokenizer.decode_batch(lists if keep else [[i for i in ids if i not in special] for ids in lists],
                                      skip_special_tokens=not keep)
        wrong = [(ids, g, w) for ids, g, w in zip(lists, got, want, strict=True) if g != w]
        assert not wrong, f"{len(wrong)} of {len(lists)}: {sorted(wrong, key=lambda x: len(x[0]))[:3]}"


def random_ids(size, count=3000):
    """Returns lists of ids from 0 to size + 9; the last ids are not in a vocabulary of this size."""
    rng = random.Random(size)
    return [[rng.randrange(size + 10) for _ in range(rng.randrange(9))] for _ in range(count)]


@pytest.mark.parametrize("name", DECODERS)
def test_decoders(aoe, tmp_path, name):
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(TOKENS)}, []))
    if DECODERS[name]:
        tokenizer.decoder = DECODERS[name]
    tokenizer.add_tokens([AddedToken("new \u00e9", normalized=False),
                          AddedToken("\u0120\u00c3\u00c9", normalized=True)])
    tokenizer.add_special_tokens(["<s>", "a", AddedToken("</S>", normalized=True, special=True)])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.NFD()])
    compare(aoe, save(tokenizer, tmp_path), tokenizer, random_ids(tokenizer.get_vocab_size()) + [[], [0], [10 ** 7]])


# The decoders that transformers gives these kinds of tokenizers
OF_KINDS = {**{kind: decoders.ByteLevel() for kind in ("roberta", "gpt2", "qwen3", "modernbert")},
            **{kind: LLAMA for kind in ("llama", "llama_metaspace", "gemma")},
            **{kind: decoders.WordPiece() for kind in ("bert", "bert_cased", "mpnet")}}


@pytest.mark.parametrize("kind", KINDS)
def test_trained(aoe, tmp_path, corpus, lines, kind):
    tokenizer = KINDS[kind](corpus)
    tokenizer.decoder = OF_KINDS.get(kind, METASPACE[0])
    lists = [e.ids for e in tokenizer.encode_batch(lines[::5])]
    compare(aoe, save(tokenizer, tmp_path), tokenizer, lists + random_ids(tokenizer.get_vocab_size()))


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "llama2", "qwen2.5"])
def test_shared(aoe, shared, tmp_path, lines, name):
    shutil.copy(shared / "tokenizers" / name / "tokenizer.json", tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    lists = [e.ids for e in tokenizer.encode_batch(lines[::5])]
    compare(aoe, tmp_path, tokenizer, lists + random_ids(tokenizer.get_vocab_size()))


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base"])
def test_vocabulary_files(aoe, shared, tmp_path, lines, name):
    """Directories without tokenizer.json have the decoder of their class."""
    files = {"bert-base-uncased": ["vocab.txt"]}.get(name, ["vocab.json", "merges.txt"])
    for file in [*files, "tokenizer_config.json"]:
        shutil.copy(shared / "tokenizers" / name / file, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": name.split("-")[0]}))
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path)).backend_tokenizer
    (tmp_path / "config.json").unlink()
    lists = [e.ids for e in tokenizer.encode_batch(lines[::20])]
    compare(aoe, tmp_path, tokenizer, lists + random_ids(tokenizer.get_vocab_size()))


def test_rejected(aoe, tmp_path):
    """A decoder that is not supported does not prevent encoding."""
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    tokenizer.decoder = decoders.CTC()
    save(tokenizer, tmp_path)
    assert aoe.tokenize(tmp_path, ["aa"]) == [[0, 0]]
    done = aoe.run("tokenize", "-m", tmp_path, "--decode", stdin="[0]\n", fails=True)
    assert 'decoder "CTC" is not supported' in done.stderr
