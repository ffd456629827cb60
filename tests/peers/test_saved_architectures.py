# SPDX-License-Identifier: MIT
"""Models of all architectures, written by transformers, trained for one step by aoe, or truncated by aoe to fewer
layers, and opened in transformers again: the embeddings of texts must be equal. The files config.json and
model.safetensors are those that aoe writes."""
import json

import numpy as np
import pytest
import tokenizers
import torch
import transformers

import golden
from conftest import assert_equal
from test_architectures import NAMES as ALL

# transformers has no class for JinaBERT, and does not read some configurations of published models
CASES = [(name, variant) for name in ALL if name != "jina_bert" for variant in golden.variants(name)
         if not variant.startswith(("new", "published"))]
WORDS = [f"w{i}" for i in range(35)]
TEXTS = [" ".join(WORDS[(3 * i + 5 * j) % 35] for j in range(n)) for i, n in enumerate((1, 2, 9, 30, 55))]


def write_tokenizer(folder):
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


@pytest.mark.parametrize("name,variant", CASES, ids=[f"{a}-{v}" for a, v in CASES])
def test_saved_by_aoe(aoe, tmp_path, name, variant):
    start, out, table = tmp_path / "start", tmp_path / "out", tmp_path / "pairs.tsv"
    model, options = golden.build(golden.variants(name)[variant])
    golden.save_checkpoint(model, options, start)
    tokenizer = write_tokenizer(start)
    texts = [text for text in TEXTS if len(text.split()) <= model.config.max_position_embeddings]
    table.write_text("text1\ttext2\tlabel\n" + "".join(f"{a}\t{b}\t{i}\n" for i,
                                                       (a, b) in enumerate(zip(TEXTS, TEXTS[1:]))))
    aoe.run("train", "-m", start, "-d", table, "-o", out, "--epochs", 1, "--batch-size", 4, "--lr", 1e-3, "--pooling",
            "mean", "--dtype", "f32")
    trained = transformers.AutoModel.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    assert type(trained) is type(model)
    with torch.no_grad():
        want = [trained(input_ids=torch.tensor([tokenizer.encode(t).ids])).last_hidden_state[0].mean(0).numpy()
                for t in texts]
    assert_equal(aoe.embed(out, texts, "--pooling", "mean"), np.stack(want), 5e-6)


def mean_vectors(model, tokenizer, texts, layer=-1):
    """Returns the means of a hidden state over the tokens. layer: index of the hidden state; 0 is the embedding
    output."""
    with torch.no_grad():
        states = [model(input_ids=torch.tensor([tokenizer.encode(t).ids]), output_hidden_states=True).hidden_states
                  for t in texts]
    return np.stack([state[layer][0].mean(0).float().numpy() for state in states])


# architectures whose layers cannot be removed: the layers of ALBERT share weights, and in the other models a norm
# follows the last layer only
WITH_ALL_LAYERS = ("albert", "gemma3", "llama", "modernbert", "qwen3")


@pytest.mark.parametrize("name,variant", CASES, ids=[f"{a}-{v}" for a, v in CASES])
def test_truncated_by_aoe(aoe, tmp_path, name, variant):
    start, out = tmp_path / "start", tmp_path / "out"
    model, options = golden.build(golden.variants(name)[variant])
    golden.save_checkpoint(model, options, start)
    tokenizer = write_tokenizer(start)
    convert = ["convert", "-q", start, "--layers", 1, "-o", out]
    if name in WITH_ALL_LAYERS:
        assert "can only be used with all" in aoe.run(*convert, fails=True).stderr
        return
    aoe.run(*convert)
    texts = [text for text in TEXTS if len(text.split()) <= model.config.max_position_embeddings]
    first = transformers.AutoModel.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    assert type(first) is type(model) and first.config.num_hidden_layers == 1 < model.config.num_hidden_layers
    got = aoe.embed(out, texts, "--pooling", "mean")
    assert_equal(got, mean_vectors(first, tokenizer, texts), 5e-6)
    assert_equal(got, mean_vectors(model, tokenizer, texts, 1), 5e-6)


@pytest.mark.parametrize("other", [{}, {"num_hidden_layers": 6}], ids=["default", "other-key"])
def test_truncated_default_number_of_layers(aoe, tmp_path, other):
    """config.json of a DistilBERT may omit the number of layers, which is then 6."""
    torch.manual_seed(1)
    sizes = {"vocab_size": 40, "dim": 32, "n_heads": 2, "hidden_dim": 64, "max_position_embeddings": 64}
    model = transformers.DistilBertModel(transformers.DistilBertConfig(**sizes)).eval()
    model.save_pretrained(tmp_path / "start")
    tokenizer = write_tokenizer(tmp_path / "start")
    path = tmp_path / "start" / "config.json"
    config = json.loads(path.read_text())
    del config["n_layers"]
    path.write_text(json.dumps(config | other))
    aoe.run("convert", "-q", tmp_path / "start", "--layers", 2, "-o", tmp_path / "out")
    first = transformers.AutoModel.from_pretrained(tmp_path / "out", dtype=torch.float32,
                                                   attn_implementation="eager").eval()
    assert first.config.n_layers == 2
    got = aoe.embed(tmp_path / "out", TEXTS, "--pooling", "mean")
    assert_equal(got, mean_vectors(first, tokenizer, TEXTS), 5e-6)
    assert_equal(got, mean_vectors(model, tokenizer, TEXTS, 2), 5e-6)
