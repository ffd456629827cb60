# SPDX-License-Identifier: MIT
"""Compares the encoding of pairs of texts with the library tokenizers, for all lengths of both texts and all limits."""
import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "b": 5, "c": 6}
TEMPLATES = {
    "bert": processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)),
    "roberta": processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2), add_prefix_space=False),
    "template": processors.TemplateProcessing(single="[CLS] $A", pair="[CLS] $B:1 [SEP]:1 $A [SEP]:2",
                                              special_tokens=[("[CLS]", 2), ("[SEP]", 3)]),
    "sequence": processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 3)])]),
    "none": None,
}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_pairs(aoe, tmp_path, name, side):
    tokenizer = Tokenizer(models.WordPiece(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if TEMPLATES[name] is not None:
        tokenizer.post_processor = TEMPLATES[name]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"truncation_side": side}))
    pairs = [(" ".join("a b c".split()[i % 3] for i in range(n)), " ".join("b" for _ in range(m))) for n in range(7)
             for m in range(7)]
    lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
    for limit in range(4, 16):
        tokenizer.enable_truncation(limit, strategy="longest_first", direction=side)
        done = aoe.run("tokenize", "-q", "-m", tmp_path, "--jsonl", "--json", "--max-length", limit, stdin=lines)
        for pair, line in zip(pairs, done.stdout.splitlines()):
            want, got = tokenizer.encode(*pair), json.loads(line)
            assert (got["ids"], got["types"]) == (want.ids, want.type_ids), (pair, limit)
