# SPDX-License-Identifier: MIT
"""Checks models with fewer layers and a smaller vocabulary (`aoe convert --take-layers`, `--vocab-size`,
`--vocabulary`) with the libraries tokenizers, transformers and sentence-transformers."""
import collections
import json
import random
import re

import pytest
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (AlbertConfig, AlbertModel, AutoConfig, AutoModel, AutoTokenizer, BertConfig,
                          BertForSequenceClassification, BertModel, BertTokenizer, DistilBertConfig, DistilBertModel,
                          Gemma3TextConfig, Gemma3TextModel, LlamaConfig, LlamaModel, ModernBertConfig, ModernBertModel,
                          MPNetConfig, MPNetModel, PreTrainedTokenizerFast, Qwen3Config, Qwen3Model, RobertaConfig,
                          RobertaModel, XLMRobertaConfig, XLMRobertaModel)

from conftest import assert_equal
from test_tokenizers import KINDS, SCRIPTS, compare, lines, word  # noqa: F401 (lines is a fixture)

LINES = 3000
SIZES = dict(hidden_size=32, num_hidden_layers=6, num_attention_heads=4, intermediate_size=48,
             max_position_embeddings=200)
TAKE = [0, 2, 3, 5]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WORDS = [f"w{i}" for i in range(34)]
TEXTS = ["w1 w2 w3", "w5", " ".join(WORDS[:20]), "w7 w7 w8 w30 w31"]


@pytest.fixture(scope="session")
def corpus():
    """Lines of words in scripts with small alphabets, so that most tokens have several characters."""
    rng = random.Random(5)
    words = [[word(rng, SCRIPTS[script]) for _ in range(80)]
             for script in ("latin", "greek", "cyrillic", "arabic", "thai")]
    return [" ".join(rng.choice(rng.choice(words)) for _ in range(8)) for _ in range(1000)]


def save_bert(directory, tokenizer):
    """Saves a BERT with random weights and the tokenizer."""
    torch.manual_seed(1)
    BertModel(BertConfig(**SIZES, vocab_size=tokenizer.get_vocab_size())).save_pretrained(directory)
    tokenizer.save(str(directory / "tokenizer.json"))


def load(directory):
    """Returns the tokenizer in tokenizer.json. The library tokenizers does not round the scores of a Unigram model in a
    file correctly, which changes the result if two divisions of a word have equal sums of scores, so the model is
    created here."""
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    model = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    if model["type"] == "Unigram":
        tokenizer.model = models.Unigram([tuple(entry) for entry in model["vocab"]], model["unk_id"],
                                         model.get("byte_fallback"))
    return tokenizer


def smallest_size(aoe, model, texts, output):
    """Returns the smallest value of --vocab-size that aoe accepts."""
    message = aoe.run("convert", "-q", model, "--vocab-size", 1, "--count-on", texts, "-o", output, fails=True).stderr
    return int(re.search(r"at least (\d+)", message).group(1))


@pytest.mark.parametrize("kind", KINDS)
def test_vocabulary(aoe, tmp_path, corpus, lines, kind):  # noqa: F811
    old = KINDS[kind](corpus)
    (tmp_path / "model").mkdir()
    save_bert(tmp_path / "model", old)
    counted = corpus[:400] + ["It costs 1,234.50 euros.", "caf\u00e9 \u6771\u4eac"]
    texts, directory = tmp_path / "texts.txt", tmp_path / "new"
    texts.write_text("".join(text + "\n" for text in counted), encoding="utf-8")
    size = smallest_size(aoe, tmp_path / "model", texts, directory) + 40
    result = json.loads(aoe.run("convert", "-q", tmp_path / "model", "--vocab-size", size, "--count-on", texts, "-o",
                                directory, "--json").stdout)
    new = load(directory)
    assert new.get_vocab_size() == result["vocab"] == size == AutoConfig.from_pretrained(directory).vocab_size
    compare(aoe, directory, new, lines[:LINES])
    # the tokens have the order of the complete vocabulary
    ids = [old.token_to_id(new.id_to_token(i)) for i in range(size)]
    assert ids == sorted(set(ids))
    # the numbers of tokens of the counted texts
    before, after = (t.encode_batch(counted, add_special_tokens=False) for t in (old, new))
    assert result["texts"] == len(counted) and result["tokens"] == sum(len(e) for e in before)
    assert result["tokens_after"] == sum(len(e) for e in after) > result["tokens"]
    assert result["tokens_kept"] == sum(i in set(ids) for e in before for i in e.ids) < result["tokens"]
    if kind in ("bert", "bert_cased", "mpnet"):  # other tokens than single characters are kept by their counts and ids
        counts = collections.Counter(i for e in before for i in e.ids)
        words = [i for i in range(old.get_vocab_size()) if len(old.id_to_token(i).removeprefix("##")) > 1 and
                 old.id_to_token(i) not in SPECIAL]
        ordered = sorted(words, key=lambda i: (-counts[i], i))
        n = sum(i in set(words) for i in ids)
        assert 0 < n < len(ordered) and sorted(ordered[:n]) == [i for i in ids if i in set(words)]
    # texts without removed tokens have equal tokens, and no counted text has more unknown tokens
    equal = 0
    for a, b in zip(before + old.encode_batch(lines[:LINES]), after + new.encode_batch(lines[:LINES])):
        if all(i in set(ids) for i in a.ids):
            assert a.tokens == b.tokens
            equal += 1
    assert equal > LINES / 100
    for a, b in zip(before, after):
        assert sum(t in ("[UNK]", "<unk>") for t in b.tokens) == sum(t in ("[UNK]", "<unk>") for t in a.tokens)
    # the rows of the token embeddings
    a, b = (AutoModel.from_pretrained(tmp_path / name).get_input_embeddings().weight for name in ("model", "new"))
    assert torch.equal(a[ids], b)
    # a list of tokens
    listed = [new.id_to_token(i) for i in range(size - 20, size) if "\n" not in new.id_to_token(i)]
    (tmp_path / "list.txt").write_text("".join(token + "\n" for token in listed), encoding="utf-8")
    aoe.run("convert", "-q", tmp_path / "model", "--vocabulary", tmp_path / "list.txt", "-o", tmp_path / "listed")
    small = load(tmp_path / "listed")
    assert set(listed) <= set(small.get_vocab()) and small.get_vocab_size() < size
    compare(aoe, tmp_path / "listed", small, lines[:LINES])


# Tokenizer classes of transformers, with the files that they write

def classes(corpus):  # noqa: F811
    special = dict(unk_token="<unk>", pad_token="<pad>", cls_token="<s>", sep_token="</s>", mask_token="<mask>")
    bert, roberta, xlmr = (KINDS[kind](corpus) for kind in ("bert", "roberta", "camembert"))
    fast = PreTrainedTokenizerFast(tokenizer_object=roberta, **special)
    return {
        "BertTokenizer": (BertTokenizer(vocab=bert.get_vocab()), BertModel, BertConfig, {}),
        "RobertaTokenizer": (fast, RobertaModel, RobertaConfig, {"type_vocab_size": 1}),
        "XLMRobertaTokenizer": (PreTrainedTokenizerFast(tokenizer_object=xlmr, **special), XLMRobertaModel,
                                XLMRobertaConfig, {"type_vocab_size": 1}),
    }


@pytest.mark.parametrize("name", ["BertTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"])
def test_class(aoe, tmp_path, corpus, lines, name):  # noqa: F811
    tokenizer, model, config, options = classes(corpus)[name]
    tokenizer.save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": name}))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert type(tokenizer).__name__ == name
    ids = {f"{key}_token_id": tokenizer.convert_tokens_to_ids(getattr(tokenizer, f"{key}_token"))
           for key in ("pad", "cls", "sep", "mask")}
    torch.manual_seed(1)
    model(config(**SIZES, vocab_size=len(tokenizer), **options, **ids)).save_pretrained(tmp_path / "model")
    texts, directory = tmp_path / "texts.txt", tmp_path / "new"
    texts.write_text("".join(text + "\n" for text in corpus), encoding="utf-8")
    size = smallest_size(aoe, tmp_path / "model", texts, directory) + 40
    aoe.run("convert", "-q", tmp_path / "model", "--take-layers", "1,4", "--vocab-size", size, "--count-on", texts,
            "-o", directory)
    new = AutoTokenizer.from_pretrained(directory)
    assert type(new).__name__ == name and len(new) == size
    shown = [line for line in lines[:LINES] if line.splitlines() == [line] and "\0" not in line]
    assert aoe.tokenize(directory, shown) == [new(line)["input_ids"] for line in shown]
    for key, value in ids.items():
        assert getattr(AutoConfig.from_pretrained(directory), key) == getattr(new, key)
        assert new.convert_ids_to_tokens(getattr(new, key)) == tokenizer.convert_ids_to_tokens(value)
    sentences = SentenceTransformer(str(directory), device="cpu")
    short = [line for line in shown if len(new(line)["input_ids"]) < 100][:200]
    assert_equal(aoe.embed(directory, short), sentences.encode(short), 5e-6)
    # texts without removed tokens have the vectors of the complete vocabulary
    aoe.run("convert", "-q", tmp_path / "model", "--take-layers", "1,4", "-o", tmp_path / "layers")
    kept = [line for line in shown if tokenizer.tokenize(line) == new.tokenize(line)][:100]
    assert len(kept) > 20
    assert (aoe.embed(directory, kept) == aoe.embed(tmp_path / "layers", kept)).all()


# Layers

WIDE = dict(hidden_size=32, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
            head_dim=8)
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SIZES, vocab_size=40)),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES, vocab_size=40, pad_token_id=1)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**SIZES, vocab_size=40)),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(vocab_size=40, dim=32, n_layers=6, n_heads=4,
                                                           hidden_dim=48)),
    "albert": lambda: AlbertModel(AlbertConfig(**SIZES, vocab_size=40, embedding_size=16)),
    "modernbert": lambda: ModernBertModel(ModernBertConfig(**SIZES, vocab_size=40, local_attention=6, pad_token_id=0)),
    "gemma3": lambda: Gemma3TextModel(Gemma3TextConfig(**WIDE, vocab_size=40, sliding_window=5, pad_token_id=0,
                                                       layer_types=["sliding_attention", "full_attention"] * 3)),
    "qwen3": lambda: Qwen3Model(Qwen3Config(**WIDE, vocab_size=40, use_sliding_window=True, sliding_window=4,
                                            max_window_layers=3, pad_token_id=0)),
    "llama": lambda: LlamaModel(LlamaConfig(**WIDE, vocab_size=40, pad_token_id=0)),
}


def save_words(directory):
    vocab = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + WORDS)}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(directory)


def with_layers(model, take):
    """Returns a copy of the model with the layers `take`, made with transformers."""
    config = model.config.to_dict()
    config[next(key for key in ("n_layers", "num_hidden_layers") if key in config)] = len(take)
    if config.get("layer_types"):
        config["layer_types"] = [config["layer_types"][i] for i in take]
    for key in ("global_attn_every_n_layers", "max_window_layers", "sliding_window_pattern", "_sliding_window_pattern"):
        config.pop(key, None)
    copy = type(model)(type(model.config).from_dict(config)).eval()
    weights = {}
    for name, value in model.state_dict().items():
        found = re.search(r"layers?\.(\d+)\.", name) if model.config.model_type != "albert" else None
        if found and int(found.group(1)) in take:
            weights[name[:found.start(1)] + str(take.index(int(found.group(1)))) + name[found.end(1):]] = value
        elif not found:
            weights[name] = value
    copy.load_state_dict(weights)
    return copy


@pytest.mark.parametrize("name", MODELS)
def test_layers(aoe, tmp_path, name):
    torch.manual_seed(1)
    model = MODELS[name]().eval()
    for parameter in model.parameters():  # larger weights, so that layers and windows change the embeddings
        parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(tmp_path / "model")
    save_words(tmp_path / "model")
    aoe.run("convert", "-q", tmp_path / "model", "--take-layers", ",".join(map(str, TAKE)), "-o", tmp_path / "new")
    with_layers(model, TAKE).save_pretrained(tmp_path / "reference")
    save_words(tmp_path / "reference")
    want = SentenceTransformer(str(tmp_path / "reference"), device="cpu").encode(TEXTS)
    assert_equal(SentenceTransformer(str(tmp_path / "new"), device="cpu").encode(TEXTS), want, 1e-6)
    assert_equal(aoe.embed(tmp_path / "new", TEXTS), want, 2e-5)
    assert abs(aoe.embed(tmp_path / "model", TEXTS) - want).max() > 1e-3, "the layers have no effect"


def test_cross_encoder(aoe, tmp_path):
    torch.manual_seed(1)
    model = BertForSequenceClassification(BertConfig(**SIZES, vocab_size=40, num_labels=1)).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(tmp_path / "model")
    save_words(tmp_path / "model")
    aoe.run("convert", "-q", tmp_path / "model", "--take-layers", "0,2,3,5", "-o", tmp_path / "new")
    with_layers(model, TAKE).save_pretrained(tmp_path / "reference")
    save_words(tmp_path / "reference")
    pairs = [(TEXTS[0], text) for text in TEXTS]
    want, got = (CrossEncoder(str(tmp_path / path), device="cpu").predict(pairs) for path in ("reference", "new"))
    assert_equal(got, want, 1e-6, "scores")
