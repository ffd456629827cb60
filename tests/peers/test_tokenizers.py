# SPDX-License-Identifier: MIT
"""Compares the tokens of aoe with those of the library tokenizers, and the settings in tokenizer_config.json with the
tokenizer classes of the library transformers.

The texts are 100,000 lines in 20 scripts, generated with a fixed seed, of which a third are adversarial. The
environment variable AOE_TOKENIZER_LINES sets another number of lines.
"""
import base64
import importlib
import itertools
import json
import os
import random
import shutil
import types

import pytest
import sentencepiece as spm
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

convert = importlib.import_module("transformers.convert_slow_tokenizer")  # transformers has a function of the same name
LINES = int(os.environ.get("AOE_TOKENIZER_LINES", "100000"))

# Ranges of code points of 20 scripts. All code points were assigned before Unicode 8, because the BERT normalizer of
# the library uses the tables of this version.
SCRIPTS = {
    "latin": [(0x61, 0x7A)] * 4 + [(0x41, 0x5A)], "latin_extended": [(0x61, 0x7A)] * 2 + [(0xC0, 0x17F)],
    "vietnamese": [(0x61, 0x7A), (0x1EA0, 0x1EF9)], "greek": [(0x391, 0x3A1), (0x3B1, 0x3C9), (0x1F00, 0x1F07)],
    "cyrillic": [(0x410, 0x44F)], "armenian": [(0x531, 0x556), (0x561, 0x586)],
    "hebrew": [(0x5D0, 0x5EA), (0x5B0, 0x5B9)],
    "arabic": [(0x621, 0x63A), (0x641, 0x652)], "devanagari": [(0x905, 0x939), (0x93E, 0x94D)],
    "bengali": [(0x995, 0x9A8), (0x9BE, 0x9C4)], "tamil": [(0xB95, 0xB95), (0xBAE, 0xBB9), (0xBBE, 0xBC2)],
    "thai": [(0xE01, 0xE3A), (0xE40, 0xE4E)], "tibetan": [(0xF40, 0xF47), (0xF71, 0xF7D)],
    "georgian": [(0x10D0, 0x10F0)], "ethiopic": [(0x1200, 0x1248)], "khmer": [(0x1780, 0x17B3), (0x17B6, 0x17C5)],
    "hangul": [(0xAC00, 0xD7A3), (0x1100, 0x1112), (0x1161, 0x1175)], "kana": [(0x3041, 0x3093), (0x30A1, 0x30F6)],
    "han": [(0x4E00, 0x9FA5), (0x3400, 0x4DB5)], "emoji": [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F)],
}
ADVERSARIAL = [
    "\x00", "\x01", "\x08", "\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f", "\x80", "\x85", "\x9f",
    "\xa0",
    "\xad", "\u0300", "\u0301", "\u0345", "\u1680", "\u2000", "\u2009", "\u200b", "\u200c", "\u200d", "\u200e",
    "\u2028",
    "\u2029", "\u202f", "\u205f", "\u2060", "\u2581", "\u3000", "\ufeff", "\ufffd", "\u2581\u2581", " ", "  ", "   ",
    "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F1E9\U0001F1EA", "\u2764\ufe0f", "\ufb01", "\uff21", "\uff41",
    "\u2460",
    "\u00bd", "\u0130", "\u0131", "\u00df", "\u1e9e", "\u03a3", "\u03c2", "\u01c5", "\u0149", "\uac00\u11a8", "e\u0301",
    "\u212b", "\u2126", "\u0958", "\u0e33", "\ufdfa", "'s", "'LL", "``", "''", "\"", "$", "+", "<", ">", "|", "~", "^",
    "_",
    "#", "##", "\\", "//", "...", "!!", "123", "1,234.5", "\u0661\u0662", "\u4e00", "\U00020000", "\u3002", "\u00bf",
    "[CLS]", "[MASK]", "<s>", "</s>", "<mask>", "<unk>", "<0x41>", "<|endoftext|>", "\u0120", "\u010a", "a" * 120,
]


def word(rng, ranges):
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 9)))


def line(rng, adversarial):
    parts = []
    ranges = SCRIPTS[rng.choice(list(SCRIPTS))]
    for _ in range(rng.randint(0 if adversarial else 1, 9)):
        kind = rng.random()
        if adversarial and kind < 0.6:
            parts.append(rng.choice(ADVERSARIAL))
        elif kind < 0.9:
            parts.append(word(rng, ranges))
        else:
            parts.append(rng.choice([", ", ". ", "-", " (", ") ", "?", "42", "\u00e9", "'s"]))
        if rng.random() < 0.7:
            parts.append(" ")
    return "".join(parts)


@pytest.fixture(scope="session")
def lines():
    rng = random.Random(17)
    return [line(rng, i % 3 == 0) for i in range(LINES)]


@pytest.fixture(scope="session")
def corpus():
    rng = random.Random(3)
    words = [[word(rng, ranges) for _ in range(60)] for ranges in SCRIPTS.values()]
    return [" ".join(rng.choice(some) for _ in range(8)) for some in words for _ in range(60)]


def compare(aoe, directory, reference, texts):
    """Requires equal ids of all texts. reference: tokenizers.Tokenizer."""
    got = []
    for i in range(0, len(texts), 20000):
        got += aoe.tokenize(directory, texts[i:i + 20000])
    want = [e.ids for e in reference.encode_batch(texts)]
    wrong = [i for i in range(len(texts)) if got[i] != want[i]]
    shown = [(texts[i], got[i], want[i]) for i in sorted(wrong, key=lambda i: len(texts[i]))[:5]]
    assert not wrong, f"{len(wrong)} of {len(texts)} lines differ: {shown}"


def save(tokenizer, directory, config=None):
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    if config is not None:
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
    return directory


# The tokenizers of the model types, trained on the corpus

def template(tokenizer, before, after):
    ids = [(t, tokenizer.token_to_id(t)) for t in (before, after) if t]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=" ".join(filter(None, [before, "$A", after])), special_tokens=ids)
    return tokenizer


def wordpiece(corpus, lowercase=True, mpnet=False):
    special = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"] if mpnet else ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus,
                          trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, show_progress=False))
    if mpnet:
        t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
        t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
        return t
    return template(t, "[CLS]", "[SEP]")


QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level(corpus, kind):
    t = Tokenizer(models.BPE(unk_token="<unk>" if kind == "roberta" else None))
    special = {"roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "gpt2": ["<|endoftext|>"],
               "qwen3": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
               "modernbert": ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]}[kind]
    if kind == "qwen3":
        t.normalizer = normalizers.NFC()
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        t.normalizer = normalizers.NFC() if kind == "modernbert" else None
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=1500, special_tokens=special, show_progress=False,
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if kind == "roberta":
        t.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
        t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    if kind == "qwen3":
        t.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("<think>", normalized=False)])
        t.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False),
             processors.TemplateProcessing(single="$A:0 <|endoftext|>:0", special_tokens=[("<|endoftext|>", 0)])])
    if kind == "modernbert":  # added tokens of 2 to 24 spaces, and tokens that end with line breaks
        t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)] +
                     [AddedToken("|||EMAIL|||", normalized=True), AddedToken("\n\n", normalized=True),
                      AddedToken("[unused0]", normalized=True)])
        t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
        template(t, "[CLS]", "[SEP]")
    return t


def byte_fallback(corpus, kind):
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"] if kind == "gemma" else ["<unk>", "<s>", "</s>"]
    if kind == "gemma":
        t.normalizer = normalizers.Replace(" ", "\u2581")
        t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    elif kind == "llama":
        t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    else:
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    # the trainer would learn merges over spaces, so a second tokenizer with words is trained
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=1500, special_tokens=special + bytes_,
                                                            show_progress=False))
    state = json.loads(trained.to_str())["model"]
    t.model = models.BPE(vocab=state["vocab"], merges=[tuple(m) for m in state["merges"]], unk_token="<unk>",
                         fuse_unk=True, byte_fallback=True)
    if kind == "gemma":
        t.add_special_tokens(special)
        t.add_tokens([AddedToken("\n" * n, normalized=False) for n in range(2, 6)] +
                     [AddedToken("\u2581" * n, normalized=False) for n in range(2, 8)] +
                     [AddedToken(f"<unused{n}>", normalized=False) for n in range(3)])
        return template(t, "<bos>", "<eos>")
    t.add_special_tokens(special)
    return template(t, "<s>", None)




def unigram(corpus, kind):
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"] if kind in ("albert", "deberta") else ["<s>", "<pad>",
                                                                                                    "</s>",
                                                                                                  "<unk>", "<mask>"]
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    if kind == "albert":
        t.normalizer = normalizers.Sequence([
            normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
            normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")])
    elif kind == "deberta":
        t.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
                                             normalizers.Strip(left=False, right=True)])
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Metaspace()])
    elif kind == "xlmr":
        t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(),
                                             normalizers.Replace(Regex(" {2,}"), " ")])
    elif kind == "camembert":  # XLMRobertaTokenizer uses no other normalizer than Precompiled
        pass
    elif kind == "first":  # a control character that the normalizer removes precedes the first word
        t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
        t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.train_from_iterator(corpus, trainers.UnigramTrainer(vocab_size=6000, special_tokens=special, unk_token="<unk>",
                                                          show_progress=False))
    return template(t, special[2] if kind in ("albert", "deberta") else "<s>",
                    special[3] if kind in ("albert", "deberta")
                    else "</s>")


KINDS = {
    "bert": wordpiece,
    "bert_cased": lambda c: wordpiece(c, lowercase=False),
    "mpnet": lambda c: wordpiece(c, mpnet=True),
    "roberta": lambda c: byte_level(c, "roberta"),
    "gpt2": lambda c: byte_level(c, "gpt2"),
    "qwen3": lambda c: byte_level(c, "qwen3"),
    "modernbert": lambda c: byte_level(c, "modernbert"),
    "gemma": lambda c: byte_fallback(c, "gemma"),
    "llama": lambda c: byte_fallback(c, "llama"),
    "llama_metaspace": lambda c: byte_fallback(c, "metaspace"),
    "xlmr": lambda c: unigram(c, "xlmr"),
    "camembert": lambda c: unigram(c, "camembert"),
    "albert": lambda c: unigram(c, "albert"),
    "deberta_v2": lambda c: unigram(c, "deberta"),
    "first": lambda c: unigram(c, "first"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_trained(aoe, tmp_path, corpus, lines, kind):
    tokenizer = KINDS[kind](corpus)
    compare(aoe, save(tokenizer, tmp_path), tokenizer, lines)


# Tokenizers that the library sentencepiece trained and transformers converted. Their normalizers are of the type
# Precompiled.

BERT_SYMBOLS = dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, pad_piece="<pad>",
                    control_symbols=["[CLS]", "[SEP]", "[MASK]"])
SENTENCEPIECE = {
    # name: (class of transformers that converts the model, options of the training)
    "xlmr": (convert.XLMRobertaConverter, dict(unk_id=0, bos_id=1, eos_id=2)),
    "xlmr_casefold": (convert.XLMRobertaConverter,
                      dict(unk_id=0, bos_id=1, eos_id=2, normalization_rule_name="nmt_nfkc_cf")),
    "xlmr_nfkc": (convert.XLMRobertaConverter, dict(unk_id=0, bos_id=1, eos_id=2, normalization_rule_name="nfkc")),
    "camembert": (convert.CamembertConverter, dict(unk_id=0, bos_id=1, eos_id=2)),
    "t5": (convert.T5Converter, dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)),
    "albert": (convert.AlbertConverter, BERT_SYMBOLS),
    "deberta_v2": (convert.DebertaV2Converter, BERT_SYMBOLS),
}


def converted(tmp_path, corpus, converter, options):
    """Trains a SentencePiece model and returns the tokenizer into which transformers converts it."""
    spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_prefix=str(tmp_path / "spm"), vocab_size=3000,
                                   character_coverage=1.0, hard_vocab_limit=False, minloglevel=2, num_threads=1,
                                   **options)
    pieces = spm.SentencePieceProcessor(model_file=str(tmp_path / "spm.model"))
    slow = types.SimpleNamespace(vocab_file=str(tmp_path / "spm.model"), keep_accents=False, do_lower_case=converter is
                                 convert.AlbertConverter, split_by_punct=True, _extra_ids=10, add_prefix_space=True,
                                 legacy=True,
                                 convert_ids_to_tokens=pieces.id_to_piece,
                                 convert_tokens_to_ids=lambda token: ids[token])
    vocabulary = converter(slow).vocab(converter(slow).proto)
    ids = {piece: i for i, (piece, _) in reversed(list(enumerate(vocabulary)))}
    if converter is convert.CamembertConverter:
        ids["<s>"] = 0  # the piece <s>NOTUSED
    return converter(slow).converted()


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece(aoe, tmp_path, corpus, lines, name):
    tokenizer = converted(tmp_path, corpus, *SENTENCEPIECE[name])
    assert '"Precompiled"' in tokenizer.to_str()
    compare(aoe, save(tokenizer, tmp_path / "model"), tokenizer, lines)


@pytest.mark.parametrize("name", ["TokenizersBackend", "LlamaTokenizer"])
def test_sentencepiece_bpe(aoe, tmp_path, corpus, lines, name):
    rule = "nmt_nfkc" if name == "TokenizersBackend" else "identity"
    spm.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_prefix=str(tmp_path / "tokenizer"),
                                   vocab_size=3000,
                                   character_coverage=1.0, minloglevel=2, num_threads=1, model_type="bpe",
                                   byte_fallback=True, normalization_rule_name=rule)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    tokenizer = AutoTokenizer.from_pretrained(str(tmp_path), vocab_file=str(tmp_path / "tokenizer.model"))
    tokenizer.save_pretrained(str(tmp_path / "model"))
    compare(aoe, tmp_path / "model", tokenizer.backend_tokenizer, lines)


# One component at a time, with a BPE model that is trained with this component

BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
NORMALIZERS = {
    "NFC": normalizers.NFC(), "NFD": normalizers.NFD(), "NFKC": normalizers.NFKC(), "NFKD": normalizers.NFKD(),
    "Lowercase": normalizers.Lowercase(), "Strip": normalizers.Strip(), "Strip right": normalizers.Strip(left=False),
    "StripAccents": normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), "Nmt": normalizers.Nmt(),
    "Replace": normalizers.Replace("a", "\u00e9\u0301"),
    "Replace regex": normalizers.Replace(Regex(r"\p{Lu}|\s+$"), "_"),
    "Prepend": normalizers.Prepend("\u2581"), "ByteLevel": normalizers.ByteLevel(),
    "Bert": normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True,
                                       lowercase=False),
    "Bert without accents": normalizers.BertNormalizer(strip_accents=False),
}
PRE_TOKENIZERS = {
    "Bert": pre_tokenizers.BertPreTokenizer(), "Whitespace": pre_tokenizers.Whitespace(),
    "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(), "Digits": pre_tokenizers.Digits(),
    "individual Digits": pre_tokenizers.Digits(individual_digits=True),
    "CharDelimiterSplit": pre_tokenizers.CharDelimiterSplit("-"),
    "ByteLevel": pre_tokenizers.ByteLevel(),
    "ByteLevel without prefix": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "ByteLevel without regex": pre_tokenizers.ByteLevel(use_regex=False),
    **{f"Metaspace {scheme} {split}": pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
       for scheme in ("always", "first", "never") for split in (False, True)},
    **{f"Punctuation {behavior}": pre_tokenizers.Punctuation(behavior) for behavior in BEHAVIORS},
    **{f"Split {behavior}{' inverted' if invert else ''}": pre_tokenizers.Split(Regex(r"\p{L}+|\s"), behavior,
                                                                                invert=invert)
       for behavior in BEHAVIORS for invert in (False, True)},
    "Split at a string": pre_tokenizers.Split("  ", "merged_with_next"),
}
MODELS = {
    "fuse_unk": dict(fuse_unk=True), "no unk": dict(unk_token=None), "ignore_merges": dict(ignore_merges=True),
    "continuing_subword_prefix": dict(continuing_subword_prefix="##"),
    "end_of_word_suffix": dict(end_of_word_suffix="</w>"),
}


def bpe(corpus, normalizer=None, pre_tokenizer=pre_tokenizers.Whitespace(), **options):
    options = {"unk_token": "<unk>", **options}
    t = Tokenizer(models.BPE(**options))
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    affixes = {key: value for key,
               value in options.items() if key in ("continuing_subword_prefix", "end_of_word_suffix")}
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=1500, special_tokens=["<unk>"], show_progress=False,
                                                      **affixes))
    return t


COMPONENTS = {**{f"normalizer {name}": {"normalizer": value} for name, value in NORMALIZERS.items()},
              **{f"pre-tokenizer {name}": {"pre_tokenizer": value} for name, value in PRE_TOKENIZERS.items()},
              **{f"model {name}": options for name, options in MODELS.items()}}


@pytest.mark.parametrize("name", COMPONENTS)
def test_components(aoe, tmp_path, corpus, lines, name):
    tokenizer = bpe(corpus, **COMPONENTS[name])
    compare(aoe, save(tokenizer, tmp_path), tokenizer, lines[::10])


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "all-mpnet-base-v2"])
def test_real(aoe, peers, tmp_path, lines, name):
    tokenizer = Tokenizer.from_file(str(peers / "models" / name / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    compare(aoe, peers / "models" / name, tokenizer, lines)


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "llama2", "qwen2.5"])
def test_shared(aoe, shared, tmp_path, lines, name):
    source = shared / "tokenizers" / name / "tokenizer.json"
    shutil.copy(source, tmp_path)
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    compare(aoe, tmp_path, tokenizer, lines)


# Settings in tokenizer_config.json

CONTRADICTIONS = {
    # name: (kind, class, changes of tokenizer_config.json)
    "bert_cased": ("bert", "BertTokenizer", {"do_lower_case": False}),
    "bert_lower": ("bert_cased", "BertTokenizerFast", {"do_lower_case": True}),
    "bert_default": ("bert_cased", "BertTokenizer", {}),
    "bert_accents": ("bert", "BertTokenizer", {"do_lower_case": True, "strip_accents": False}),
    "bert_chinese": ("bert", "BertTokenizer", {"do_lower_case": True, "tokenize_chinese_chars": False}),
    "mpnet_cased": ("mpnet", "MPNetTokenizer", {"do_lower_case": False}),
    "mpnet_accents": ("mpnet", "MPNetTokenizerFast", {"strip_accents": False}),
    "roberta_prefix": ("roberta", "RobertaTokenizer", {"add_prefix_space": True}),
    "roberta_plain": ("roberta", "RobertaTokenizerFast", {"add_prefix_space": False}),
    "qwen_prefix": ("qwen3", "Qwen2Tokenizer", {"add_prefix_space": True}),
    "qwen_eos": ("qwen3", "Qwen2Tokenizer", {"add_eos_token": False, "add_bos_token": True}),
    "xlmr_plain": ("camembert", "XLMRobertaTokenizer", {"add_prefix_space": False}),
    "camembert_plain": ("camembert", "CamembertTokenizer", {"add_prefix_space": False}),
    "albert_cased": ("albert", "AlbertTokenizer", {"do_lower_case": False}),
    "albert_accents": ("albert", "AlbertTokenizer", {"keep_accents": True}),
    "deberta_lower": ("deberta_v2", "DebertaV2Tokenizer", {"do_lower_case": True, "split_by_punct": True}),
    "backend_cased": ("bert", "PreTrainedTokenizerFast", {"do_lower_case": False}),
    "backend_prefix": ("modernbert", "PreTrainedTokenizerFast", {"add_prefix_space": True}),
    "gemma": ("gemma", "GemmaTokenizer", {"add_bos_token": False}),
    "llama_metaspace": ("llama_metaspace", "LlamaTokenizer", {"legacy": False}),
    "llama_plain": ("llama_metaspace", "LlamaTokenizer", {"add_prefix_space": False, "legacy": False}),
    "truncation_left": ("bert", "BertTokenizer", {"truncation_side": "left"}),
    "truncation_left_backend": ("roberta", "PreTrainedTokenizerFast", {"truncation_side": "left"}),
    "added": ("bert", "BertTokenizer", {"added_tokens_decoder": {
        "4": {"content": "[MASK]", "special": True},
        "1500": {"content": "lowkey", "special": False, "normalized": True},
        "1501": {"content": "[NEW]", "special": True}}}),
    "added_backend": ("modernbert", "PreTrainedTokenizerFast", {"added_tokens_decoder": {
        "1900": {"content": "[NEW]", "special": True}, "1901": {"content": "lowkey", "lstrip": True}}}),
    "extra": ("bert", "BertTokenizer", {"additional_special_tokens": ["[NEW]"]}),
    "bert_cls": ("bert", "BertTokenizer", {"cls_token": "[MASK]"}),
    "bert_sep": ("bert", "BertTokenizer",
                 {"sep_token": {"__type": "AddedToken", "content": "[MASK]", "special": True}}),
    "bert_unk": ("bert", "BertTokenizer", {"unk_token": "[MASK]"}),
    "electra_unk": ("bert", "ElectraTokenizer", {"unk_token": "[PAD]"}),
    "mpnet_cls": ("mpnet", "MPNetTokenizer", {"cls_token": "</s>", "unk_token": "<pad>"}),
    "roberta_sep": ("roberta", "RobertaTokenizer", {"sep_token": "<s>"}),
    "xlmr_eos": ("camembert", "XLMRobertaTokenizer", {"eos_token": "<s>", "cls_token": "</s>"}),
    "camembert_bos": ("camembert", "CamembertTokenizer", {"bos_token": "</s>", "sep_token": "<s>"}),
    "deberta_cls": ("deberta_v2", "DebertaV2Tokenizer", {"cls_token": "[SEP]", "unk_token": "[CLS]"}),
    "albert_cls": ("albert", "AlbertTokenizer", {"cls_token": "[SEP]", "unk_token": "[CLS]"}),
    "backend_cls": ("bert", "PreTrainedTokenizerFast", {"cls_token": "[MASK]", "unk_token": "[PAD]"}),
}
MODEL_TYPES = {"BertTokenizer": "bert", "ElectraTokenizer": "electra", "MPNetTokenizer": "mpnet",
               "RobertaTokenizer": "roberta", "Qwen2Tokenizer": "qwen3",
               "XLMRobertaTokenizer": "xlm-roberta", "CamembertTokenizer": "camembert", "AlbertTokenizer": "albert",
               "DebertaV2Tokenizer": "deberta-v2",
               "GemmaTokenizer": "gemma3_text", "LlamaTokenizer": "llama", "PreTrainedTokenizerFast": "modernbert"}
NAMED = {
    "bert": {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
             "mask_token": "[MASK]"},
    "mpnet": {"unk_token": "[UNK]", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "bos_token": "<s>",
              "eos_token": "</s>"},
    "qwen3": {"pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"},
    "albert": {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    "deberta_v2": {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "[CLS]", "sep_token": "[SEP]"},
}
TEXTS = ["Hello WORLD caf\u00e9 \u00c9t\u00e9", "a lowkey [NEW] x[MASK]y  z", "\u4e2d\u6587abc \u4e2d", "", " lead",
         "trail ", "word " * 30, "MiXeD, punct! (x)", "one two three four five six seven eight nine ten eleven twelve"]


@pytest.mark.parametrize("kind", ["bert_cased", "roberta", "albert"])
def test_lowercase(aoe, tmp_path, corpus, kind):
    """do_lower_case of sentence-transformers adds the normalizer Lowercase in front of the others."""
    tokenizer = KINDS[kind](corpus)
    tokenizer.add_tokens([tokenizers.AddedToken("LOWKEY", normalized=True),
                          tokenizers.AddedToken("[NEW]", normalized=False)])
    directory = save(tokenizer, tmp_path, {"tokenizer_class": "PreTrainedTokenizerFast"})
    (directory / "config.json").write_text('{"model_type": "bert"}')
    (directory / "sentence_bert_config.json").write_text('{"max_seq_length": 64, "do_lower_case": true}')
    before = [tokenizer.normalizer] if tokenizer.normalizer else []
    tokenizer.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Lowercase(), *before])
    texts = [*TEXTS, "a LowKey B [NEW] [new]", "I\u0307 \u0130 \u03a3\u03a3"]
    assert aoe.tokenize(directory, texts) == [tokenizer.encode(text).ids for text in texts]


@pytest.mark.parametrize("decoder", [False, True])
@pytest.mark.parametrize("class_name", ["BertTokenizer", "PreTrainedTokenizerFast"])
def test_special_tokens_map(aoe, tmp_path, corpus, class_name, decoder):
    """special_tokens_map.json replaces the special tokens, and added_tokens.json adds tokens, unless there is an
    added_tokens_decoder."""
    directory = save(KINDS["bert"](corpus), tmp_path, {"tokenizer_class": class_name, "cls_token": "[SEP]", **(
        {"added_tokens_decoder": {"4": {"content": "[MASK]", "special": True}}} if decoder else {})})
    (directory / "config.json").write_text('{"model_type": "bert"}')
    (directory / "special_tokens_map.json").write_text(json.dumps({"cls_token": "[MASK]",
                                                                   "unk_token": {"content": "[PAD]"}}))
    (directory / "added_tokens.json").write_text(json.dumps({"LowKey": 2000, "[NEW]": 1999, "[MASK]": 4}))
    reference = AutoTokenizer.from_pretrained(str(directory))
    assert aoe.tokenize(directory, TEXTS) == [reference(text)["input_ids"] for text in TEXTS]


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_settings(aoe, tmp_path, corpus, name):
    kind, class_name, changes = CONTRADICTIONS[name]
    config = {"tokenizer_class": class_name, **NAMED.get(kind, {}), **changes}
    directory = save(KINDS[kind](corpus), tmp_path, config)
    model_type = MODEL_TYPES[class_name.removesuffix("Fast") if "PreTrained" not in class_name else class_name]
    (directory / "config.json").write_text(json.dumps({"model_type": model_type}))
    reference = AutoTokenizer.from_pretrained(str(directory))
    texts = TEXTS + corpus[::40]
    for length in (None, 6):
        want = [reference(t, truncation=length is not None, max_length=length)["input_ids"] for t in texts]
        got = aoe.tokenize(directory, texts, *(["--max-length", length] if length else []))
        wrong = [(t, g, w) for t, g, w in zip(texts, got, want) if g != w]
        assert not wrong, f"{len(wrong)} of {len(texts)}: {wrong[:3]}"


# Classes that build their normalizer and their pre-tokenizer, with other components in tokenizer.json

PIECES = [*"abEe\u00e9\u00c9\u2581.-'`\"1\u4e2dfi \n\t\u0301!<x>s", "fi", "\u2581a", "\u2581b", "\u2581E", "a.b",
          "\u2581\u2581", "ab"]
CLASS_TEXTS = ["a E e-E a.b \u00e9", "  lead a", "trail a  ", "\u2581a \u2581", "a <x> b", "<x>a",
               "\u00c9 \ufb01 ''a`` ", "``a", "a\nb\t c",
               "a  b   c", "<s>a</s> b", "[CLS] a [SEP]", "<mask> a", "\u4e2da.b1", "e\u0301a  E\u0301", "''a '' b"]
CLASSES = {
    # name: (model type, special tokens, changes of tokenizer_config.json); a name that begins with "-" is not written
    "XLMRobertaTokenizer": ("xlm-roberta", "<s> <pad> </s> <unk> <mask>", [{}, {"add_prefix_space": False}]),
    "CamembertTokenizer": ("camembert", "<s> <pad> </s> <unk> <mask>", [{}, {"add_prefix_space": None}]),
    "AlbertTokenizer": ("albert", "<pad> <unk> [CLS] [SEP] [MASK]",
                        [{}, {"do_lower_case": False}, {"keep_accents": True, "add_prefix_space": False}]),
    "DebertaV2Tokenizer": ("deberta-v2", "[PAD] [UNK] [CLS] [SEP] [MASK]",
                           [{}, {"do_lower_case": True}, {"split_by_punct": True, "add_prefix_space": False}]),
    "LlamaTokenizer": ("llama", "<unk> <s> </s>", [{}, {"add_prefix_space": False}, {"legacy": True}]),
    "GemmaTokenizer": ("gemma3_text", "<pad> <eos> <bos> <unk> <mask>", [{}, {"unk_token": "<pad>"}]),
    "RobertaTokenizer": ("roberta", "<s> <pad> </s> <unk> <mask>", [{}, {"add_prefix_space": True}]),
    "-qwen2": ("qwen2", "<|endoftext|> <s>", [{}]),
    "-gte": ("gte", "<s> <pad> </s> <unk> <mask>", [{}]),
    "-new": ("new", "<s> <pad> </s> <unk> <mask>", [{}]),
    "-llama": ("llama", "<unk> <s> </s>", [{}]),
    "-mistral": ("mistral", "<unk> <s> </s>", [{"tokenizer_class": "LlamaTokenizer"}]),
}


def class_models(special):
    """Returns a BPE and a Unigram with the same tokens."""
    tokens = list(dict.fromkeys([*special.split(), *PIECES, *(f"<0x{i:02X}>" for i in range(256)), "\u0120", "\u0120a",
                                 "\u00c3"]))
    merges = [("\u2581", "a"), ("\u2581", "b"), ("\u2581", "E"), ("f", "i"), ("\u2581", "\u2581"), ("a", "b"),
              ("\u0120", "a")]
    scores = [(token, 0.0 if i < len(special.split()) else -1 - 0.01 * i) for i, token in enumerate(tokens)]
    return {"BPE": models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token=special.split()[0],
                              ignore_merges=True),
            "Unigram": models.Unigram(scores, unk_id=1, byte_fallback=True)}


@pytest.mark.parametrize("name", CLASSES)
def test_components_of_classes(aoe, tmp_path, corpus, name):
    model_type, special, settings = CLASSES[name]
    charsmap = json.loads(converted(tmp_path, corpus, *SENTENCEPIECE["xlmr_casefold"]).to_str())["normalizer"]
    while charsmap["type"] == "Sequence":
        charsmap = charsmap["normalizers"][0]
    charsmap = normalizers.Precompiled(base64.b64decode(charsmap["precompiled_charsmap"]))
    others = [None, normalizers.Lowercase(), charsmap, normalizers.Sequence([normalizers.Replace("``", "x"), charsmap]),
              normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])]
    divisions = [None, pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                 pre_tokenizers.Sequence([pre_tokenizers.Punctuation(), pre_tokenizers.Metaspace()]),
                 pre_tokenizers.ByteLevel(add_prefix_space=False)]
    unigram_class = name in ("XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer", "DebertaV2Tokenizer",
                             "-gte", "-new")
    wrong = []
    for normalizer, division, changes in itertools.product(others, divisions, settings):
        tokenizer = Tokenizer(class_models(special)["Unigram" if unigram_class else "BPE"])
        if normalizer:
            tokenizer.normalizer = normalizer
        if division:
            tokenizer.pre_tokenizer = division
        tokenizer.add_tokens([AddedToken("<x>", normalized=False)])
        save(tokenizer, tmp_path / "model", changes if name[0] == "-" else {"tokenizer_class": name, **changes})
        (tmp_path / "model/config.json").write_text(json.dumps({"model_type": model_type}))
        reference = AutoTokenizer.from_pretrained(str(tmp_path / "model"))
        want = [reference(text)["input_ids"] for text in CLASS_TEXTS]
        if aoe.tokenize(tmp_path / "model", CLASS_TEXTS) != want:
            wrong.append((normalizer, division, changes))
    assert not wrong
