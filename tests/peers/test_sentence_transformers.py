# SPDX-License-Identifier: MIT
"""Modules, poolings and prompts of sentence-transformers in both directions: directories that sentence-transformers
writes must give the same vectors in aoe, and directories that aoe writes must give the same vectors in
sentence-transformers."""
import json
import random
import shutil

import pytest
import torch

from conftest import assert_equal, relative_error

WORDS = ("river", "stone", "market", "engine", "violin", "garden", "winter", "signal", "harbor", "letter", "doctor",
         "ladder",
         "blue", "quiet", "narrow", "ancient", "carries", "builds", "follows", "repairs", "paints", "near", "under",
         "without")
TEXTS = ["A quiet harbor near the market.", "", "The doctor follows an ancient river!", "naïve café — 東京",
         "stone " * 300, "Engine repairs without signal", "x"]
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
NAMES = ("cls", "max", "mean", "mean-sqrt-len", "weighted-mean", "last-token")
COMBINATIONS = [("cls", "mean"), ("max", "weightedmean", "lasttoken"), MODES]
TOLERANCE = 1e-5


def sentences(n, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12))) for _ in range(n)]


@pytest.fixture(scope="module")
def start(aoe, tmp_path_factory):
    """A small random BERT with a tokenizer, without files of sentence-transformers."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "text.txt").write_text("\n".join(sentences(400, 4)) + "\n", encoding="utf-8")
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 200, "-o",
            folder / "model")
    for name in ("aoe.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / "model" / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "model" / "1_Pooling", ignore_errors=True)
    return folder / "model"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = random.Random(3)
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    rows = zip(sentences(48, 1), sentences(48, 2), [round(rng.random(), 2) for _ in range(48)])
    path.write_text("text1\ttext2\tlabel\n" + "".join(f"{a}\t{b}\t{score}\n" for a, b, score in rows), encoding="utf-8")
    return path


def transformer(start, length=64):
    from sentence_transformers.sentence_transformer.modules import Transformer

    return Transformer(str(start), max_seq_length=length)


def pooling(mode="mean", **options):
    from sentence_transformers.sentence_transformer.modules import Pooling

    return Pooling(128, pooling_mode=mode, **options)


def write(path, modules, **options):
    """Writes a model and returns the vectors of TEXTS."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(modules=modules, device="cpu", **options)
    for p in model.parameters():
        if p.dim() == 1 and p.shape[0] < 128:
            torch.nn.init.normal_(p, 0.5, 0.5)
    model.eval()
    model.save(str(path))
    return model.encode(TEXTS, show_progress_bar=False)


def read(path):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(path), device="cpu").encode(TEXTS, show_progress_bar=False)


@pytest.mark.parametrize("mode", [*MODES, *COMBINATIONS], ids=str)
def test_poolings_written_by_sentence_transformers(aoe, start, tmp_path, mode):
    want = write(tmp_path / "model", [transformer(start), pooling(mode)])
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)


@pytest.mark.parametrize("name", [*NAMES, "cls-last-avg", "cls+mean", "max+weighted-mean+last-token", "+".join(NAMES)])
def test_poolings_written_by_aoe(aoe, start, table, tmp_path, name):
    out = tmp_path / "out"
    aoe.run("train", "-q", "-m", start, "-d", table, "-o", out, "--max-steps", 2, "-b", 8, "--pooling", name,
            "--max-length", 48, "--normalize")
    assert_equal(aoe.embed(out, TEXTS), read(out), TOLERANCE)


def chains():
    """Chains of modules after mean pooling of 128 components, by name."""
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm

    nn = torch.nn
    result = {f"dense {f.__name__}": lambda f=f: [Dense(128, 24, activation_function=f())]
              for f in (nn.Identity, nn.Tanh, nn.ReLU, nn.GELU, nn.Sigmoid, nn.SiLU)}
    result |= {
        "no bias": lambda: [Dense(128, 24, bias=False, activation_function=nn.Tanh())],
        "residual": lambda: [Dense(128, 128, activation_function=nn.GELU(), use_residual=True)],
        "residual with weight": lambda: [Dense(128, 24, activation_function=nn.SiLU(), use_residual=True)],
        "layer norm": lambda: [LayerNorm(128)],
        "dropout": lambda: [Dropout(0.3)],
        "normalize": lambda: [Normalize()],
        "two dense": lambda: [Dense(128, 64, activation_function=nn.Identity(), bias=False),
                              Dense(64, 16, activation_function=nn.Identity(), bias=False), Normalize()],
        "normalize first": lambda: [Normalize(), Dense(128, 40, activation_function=nn.ReLU()), LayerNorm(40)],
        "six": lambda: [Dropout(0.1), Dense(128, 40, activation_function=nn.ReLU()), LayerNorm(40), Normalize(),
                        Dense(40, 40, activation_function=nn.Sigmoid(), use_residual=True), Dense(40, 8), Normalize()],
    }
    return result


CHAINS = sorted(["dense Identity", "dense Tanh", "dense ReLU", "dense GELU", "dense Sigmoid", "dense SiLU", "no bias",
                 "residual",
                 "residual with weight", "layer norm", "dropout", "normalize", "two dense", "normalize first", "six"])


@pytest.mark.parametrize("name", CHAINS)
def test_modules(aoe, start, table, tmp_path, name):
    """A chain that sentence-transformers writes, and the directories that aoe derives from it."""
    want = write(tmp_path / "model", [transformer(start), pooling(), *chains()[name]()])
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)
    aoe.run("convert", "-q", tmp_path / "model", "-o", tmp_path / "converted", "--dtype", "f32")
    assert_equal(read(tmp_path / "converted"), want, TOLERANCE)
    aoe.run("train", "-q", "-m", tmp_path / "model", "-d", table, "-o", tmp_path / "trained", "--max-steps", 2, "-b", 8,
            "--lr", 1e-3)
    got = aoe.embed(tmp_path / "trained", TEXTS)
    assert_equal(got, read(tmp_path / "trained"), TOLERANCE)
    assert relative_error(got, want) > 1e-4  # training changes the vectors
    aoe.run("merge", "-q", tmp_path / "trained", tmp_path / "converted", "-o", tmp_path / "mean")
    assert_equal(aoe.embed(tmp_path / "mean", TEXTS), read(tmp_path / "mean"), TOLERANCE)


@pytest.mark.parametrize("name", ["dense GELU", "residual with weight", "six"])
def test_adapters_with_modules(aoe, start, table, tmp_path, name):
    """The modules are trained and saved together with LoRA adapters."""
    write(tmp_path / "model", [transformer(start), pooling(), *chains()[name]()])
    aoe.run("train", "-q", "-m", tmp_path / "model", "-d", table, "-o", tmp_path / "adapters", "--max-steps", 2, "-b",
            8, "--lora-r", 2)
    aoe.run("merge", "-q", tmp_path / "adapters", "-o", tmp_path / "merged")
    got = aoe.embed(tmp_path / "adapters", TEXTS)
    assert_equal(aoe.embed(tmp_path / "merged", TEXTS), got, TOLERANCE)
    assert_equal(read(tmp_path / "merged"), got, TOLERANCE)


def test_prompts(aoe, start, tmp_path):
    from sentence_transformers import SentenceTransformer

    write(tmp_path / "model", [transformer(start), pooling()], prompts={"query": "query: ", "passage": "the garden "})
    model = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    for name, want in (("query", model.encode_query(TEXTS)), ("document", model.encode_document(TEXTS)),
                       (None, model.encode(TEXTS))):
        got = aoe.embed(tmp_path / "model", TEXTS, *(["--prompt-name", name] if name else []))
        assert_equal(got, want, TOLERANCE)


@pytest.mark.parametrize("mode", [*MODES, *COMBINATIONS], ids=str)
def test_prompts_that_pooling_leaves_out(aoe, start, table, tmp_path, mode):
    from sentence_transformers import SentenceTransformer

    prompts = {"query": "the quiet river: ", "document": "winter "}
    want = write(tmp_path / "model", [transformer(start), pooling(mode, include_prompt=False)], prompts=prompts,
                 default_prompt_name="document")
    model = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)
    for options, want in ((["--prompt-name", "query"], model.encode_query(TEXTS)),
                          (["--prompt", "ancient violin {text}"], model.encode(TEXTS, prompt="ancient violin ")),
                          (["--prompt", ""], model.encode(TEXTS, prompt=""))):
        assert_equal(aoe.embed(tmp_path / "model", TEXTS, *options), want, TOLERANCE)
    aoe.run("train", "-q", "-m", tmp_path / "model", "-d", table, "-o", tmp_path / "trained", "--max-steps", 2, "-b", 8)
    got = aoe.embed(tmp_path / "trained", TEXTS)
    assert_equal(got, read(tmp_path / "trained"), TOLERANCE)


@pytest.mark.parametrize("normalize", [False, True])
def test_truncate_dim(aoe, start, table, tmp_path, normalize):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize

    modules = [transformer(start), pooling(), *([Normalize()] if normalize else [])]
    want = write(tmp_path / "model", modules, truncate_dim=40, similarity_fn_name="dot")
    assert want.shape[1] == 40
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)
    unit = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(TEXTS, normalize_embeddings=True)
    assert_equal(aoe.embed(tmp_path / "model", TEXTS, "--normalize"), unit, TOLERANCE)
    aoe.run("train", "-q", "-m", tmp_path / "model", "-d", table, "-o", tmp_path / "trained", "--max-steps", 2, "-b", 8)
    got = aoe.embed(tmp_path / "trained", TEXTS)
    assert got.shape[1] == 40
    assert_equal(got, read(tmp_path / "trained"), TOLERANCE)
    assert SentenceTransformer(str(tmp_path / "trained"), device="cpu").similarity_fn_name == "dot"


def layer_modules(start, folder, layer_start):
    """Modules with WeightedLayerPooling. sentence-transformers ignores it unless all hidden states are requested."""
    from sentence_transformers.sentence_transformer.modules import Transformer, WeightedLayerPooling

    shutil.copytree(start, folder)
    config = json.loads((folder / "config.json").read_text()) | {"output_hidden_states": True}
    (folder / "config.json").write_text(json.dumps(config))
    layers = config["num_hidden_layers"]
    weights = torch.nn.Parameter(torch.tensor([0.5, -0.25, 2.0, 1.5][: layers + 1 - layer_start]))
    return [Transformer(str(folder), max_seq_length=64),
            WeightedLayerPooling(128, num_hidden_layers=layers, layer_start=layer_start, layer_weights=weights),
            pooling()]


@pytest.mark.parametrize("layer_start", [0, 1])
def test_weighted_layer_pooling(aoe, start, table, tmp_path, layer_start):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(modules=layer_modules(start, tmp_path / "start", layer_start), device="cpu")
    model.eval()
    model.save(str(tmp_path / "model"))
    want = model.encode(TEXTS)
    assert relative_error(aoe.embed(tmp_path / "model", TEXTS), want) < TOLERANCE
    assert relative_error(aoe.embed(tmp_path / "model", TEXTS, "--dtype", "bf16"), want) < 0.05
    train = ["train", "-q", "-m", tmp_path / "model", "-d", table, "--max-steps", 3, "-b", 8, "--lr", 1e-3]
    weights = []
    for name, options in (("one", ["--threads", 1]), ("two", ["--threads", 2, "--recompute"]),
                          ("lora", ["--lora-r", 2])):
        aoe.run(*train, "-o", tmp_path / name, *options)
        weights.append((tmp_path / name / "1_WeightedLayerPooling" / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
    got = aoe.embed(tmp_path / "one", TEXTS)
    assert relative_error(got, read(tmp_path / "one")) < TOLERANCE
    assert relative_error(got, want) > 1e-4
    aoe.run("merge", "-q", tmp_path / "lora", "-o", tmp_path / "merged")
    assert relative_error(aoe.embed(tmp_path / "lora", TEXTS), read(tmp_path / "merged")) < TOLERANCE
    trained = SentenceTransformer(str(tmp_path / "one"), device="cpu")[1].layer_weights.detach()
    assert not torch.equal(trained, model[1].layer_weights.detach())


@pytest.mark.parametrize("kernels", [[1], [1, 3, 5]])
def test_cnn(aoe, start, table, tmp_path, kernels):
    """The convolutions of sentence-transformers read the hidden states of padding tokens, so texts are encoded
    alone."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import CNN, Pooling

    modules = [transformer(start), CNN(128, out_channels=16, kernel_sizes=kernels),
               Pooling(16 * len(kernels), pooling_mode="mean")]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.eval()
    model.save(str(tmp_path / "model"))
    want = model.encode(TEXTS, batch_size=1)
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)
    assert relative_error(aoe.embed(tmp_path / "model", TEXTS, "--dtype", "bf16"), want) < 0.05
    train = ["train", "-q", "-m", tmp_path / "model", "-d", table, "--max-steps", 3, "-b", 8, "--lr", 1e-3, "--dtype",
             "f32"]
    weights = []
    for name, options in (("one", ["--threads", 1]), ("two", ["--threads", 2, "--recompute", "--cache-chunk", 3])):
        aoe.run(*train, "-o", tmp_path / name, *options)
        weights.append((tmp_path / name / "1_CNN" / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
    trained = SentenceTransformer(str(tmp_path / "one"), device="cpu")
    got = aoe.embed(tmp_path / "one", TEXTS)
    assert_equal(got, trained.encode(TEXTS, batch_size=1), TOLERANCE)
    assert relative_error(got, want) > 1e-4


@pytest.mark.parametrize("name", ["words", "lstm", "layers", "cnn", "normalize"])
def test_word_embeddings(aoe, start, table, tmp_path, name):
    """Models that begin with WordEmbeddings, alone and with the modules LSTM and CNN. Training does not change the
    table."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import CNN, LSTM, Pooling, WordEmbeddings
    from transformers import AutoTokenizer

    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(str(start))
    words = WordEmbeddings(tokenizer, torch.randn(len(tokenizer), 24), max_seq_length=1000)
    after = {"words": [Pooling(24, pooling_mode="mean")],
             "lstm": [LSTM(24, 16), Pooling(32, pooling_mode="max")],
             "layers": [LSTM(24, 16, num_layers=3, dropout=0.1, bidirectional=False), Pooling(16, pooling_mode="mean"),
                        Dense(16, 8)],
             "cnn": [CNN(24, 8, [1, 3]), Pooling(16, pooling_mode="max")],
             "normalize": [LSTM(24, 16), Pooling(32, pooling_mode="lasttoken"), Normalize()]}[name]
    model = SentenceTransformer(modules=[words, *after], device="cpu")
    model.eval()
    model.save(str(tmp_path / "model"))
    want = model.encode(TEXTS, batch_size=1)
    assert_equal(aoe.embed(tmp_path / "model", TEXTS), want, TOLERANCE)
    train = ["train", "-q", "-m", tmp_path / "model", "-d", table, "--max-steps", 3, "-b", 8, "--lr", 1e-2]
    weights = []
    for run, options in (("one", ["--threads", 1]), ("two", ["--threads", 2, "--cache-chunk", 3])):
        if name == "words":
            error = aoe.run(*train, "-o", tmp_path / run, *options, fails=True).stderr
            assert "has no weights to train" in error
            return
        aoe.run(*train, "-o", tmp_path / run, *options)
        weights.append([p.read_bytes() for p in sorted((tmp_path / run).glob("*_*/model.safetensors"))])
    assert weights[0] == weights[1]
    trained = SentenceTransformer(str(tmp_path / "one"), device="cpu")
    assert torch.equal(trained[0].emb_layer.weight, words.emb_layer.weight)
    got = aoe.embed(tmp_path / "one", TEXTS)
    assert_equal(got, trained.encode(TEXTS, batch_size=1), TOLERANCE)
    assert relative_error(got, want) > 1e-4


def random_words(random, n):
    """Words of several scripts with punctuation, capital sigmas and characters that lower case ignores."""
    letters = "abcXYZ019ΣσΑΩέИжÉßİIıǅАاב中ªͅ·'.:’-_!?(),\u00ad\u0301\u2160\u24b6"
    return ["".join(random.choice(letters) for _ in range(random.randrange(1, 8))) for _ in range(n)]


@pytest.mark.parametrize("lowercase", [False, True])
def test_whitespace_tokenizer(aoe, tmp_path, lowercase):
    """The tokenizer WhitespaceTokenizer: forms of words, stop words, duplicates, texts without tokens, and prompts."""
    import random

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

    rng = random.Random(5)
    words = random_words(rng, 3000)
    vocabulary = ["PADDING_TOKEN", *(f(word) for word in words[:1500] for f in (str, str.lower)),
                  *(word.lower().strip("'.:-_!?(),") for word in words), "the", "cat"]
    tokenizer = WhitespaceTokenizer(vocabulary, stop_words=["the", "of", *words[:40]], do_lower_case=lowercase)
    spaces = [" ", "  ", "\t", "\u00a0", "\u2003", "\x1c", "\x1f", "\u200b", "\x85", "\u3000"]
    texts = ["".join(rng.choice(words) + rng.choice(spaces) for _ in range(rng.randrange(1, 12))) for _ in range(800)]
    texts = [" ".join(text.splitlines()) for text in texts] + ["The cat of the Cat.", "!!!", "of", "cat"]
    torch.manual_seed(3)
    model = SentenceTransformer(modules=[WordEmbeddings(tokenizer, torch.randn(len(vocabulary), 24)),
                                         Pooling(24, pooling_mode="mean")],
                                device="cpu")
    model.save(str(tmp_path / "model"))
    saved = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert aoe.tokenize(tmp_path / "model", texts) == [saved[0].tokenizer.tokenize(text) for text in texts]
    assert_equal(aoe.embed(tmp_path / "model", texts), saved.encode(texts, batch_size=1), TOLERANCE)
    aoe.run("convert", "-q", tmp_path / "model", "-o", tmp_path / "copy", "--dtype", "f32")
    copy = SentenceTransformer(str(tmp_path / "copy"), device="cpu")
    assert isinstance(copy[0].tokenizer, WhitespaceTokenizer)
    assert_equal(copy.encode(texts, batch_size=1), saved.encode(texts, batch_size=1), TOLERANCE)


def test_weighted_layer_pooling_without_hidden_states(aoe, start, tmp_path):
    """sentence-transformers ignores the module, so aoe rejects the directory."""
    modules = layer_modules(start, tmp_path / "start", 0)
    modules[0].model.config.output_hidden_states = False
    write(tmp_path / "model", modules)
    error = aoe.run("embed", "-m", tmp_path / "model", stdin="x\n", fails=True).stderr
    assert "sentence-transformers ignores the module WeightedLayerPooling" in error


def static_modules(start, truncation, name):
    """Modules of a model that begins with StaticEmbedding. The tokenizer has special tokens and the unknown token
    [UNK]."""
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(start / "tokenizer.json"))
    tokenizer.enable_truncation(truncation) if truncation else tokenizer.no_truncation()
    after = {"alone": [], "normalize": [Normalize()], "dense": [Dense(128, 24), Normalize()]}[name]
    return [StaticEmbedding(tokenizer, embedding_dim=128), *after]


@pytest.mark.parametrize("truncation", [0, 7])
@pytest.mark.parametrize("name", ["alone", "normalize", "dense"])
def test_static_embedding(aoe, start, table, tmp_path, name, truncation):
    texts = TEXTS + ["\u4e2d\u0f00", "stone market " * 400]
    want = write(tmp_path / "model", static_modules(start, truncation, name), prompts={"query": "quiet "})
    assert not (tmp_path / "model" / "config.json").exists()
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    want = model.encode(texts)
    assert_equal(aoe.embed(tmp_path / "model", texts), want, TOLERANCE)
    assert_equal(aoe.embed(tmp_path / "model", texts, "--prompt-name", "query"), model.encode_query(texts), TOLERANCE)
    aoe.run("train", "-q", "-m", tmp_path / "model", "-d", table, "-o", tmp_path / "trained", "--max-steps", 2, "-b", 8,
            "--lr", 1e-3)
    trained = SentenceTransformer(str(tmp_path / "trained"), device="cpu")
    got = aoe.embed(tmp_path / "trained", texts)
    assert_equal(got, trained.encode(texts), TOLERANCE)
    assert relative_error(got, want) > 1e-4

    # version 3 of sentence-transformers stored the module in a subfolder, and Model2Vec uses another name of the tensor
    folder = tmp_path / "model" / "0_StaticEmbedding"
    folder.mkdir()
    for file in ("model.safetensors", "tokenizer.json"):
        shutil.move(tmp_path / "model" / file, folder / file)
    path = tmp_path / "model" / "modules.json"
    modules = json.loads(path.read_text())
    modules[0] |= {"path": "0_StaticEmbedding", "type": "sentence_transformers.models.StaticEmbedding"}
    path.write_text(json.dumps(modules))
    assert_equal(aoe.embed(tmp_path / "model", texts), want, TOLERANCE)
    aoe.run("convert", "-q", tmp_path / "model", "-o", tmp_path / "converted", "--dtype", "f32")
    assert_equal(SentenceTransformer(str(tmp_path / "converted"), device="cpu").encode(texts), want, TOLERANCE)


@pytest.mark.parametrize("key", ["module_input_name", "module_output_name"])
@pytest.mark.parametrize("folder", ["2_Dense", "3_Normalize"])
def test_other_names_are_rejected(aoe, start, tmp_path, folder, key):
    from sentence_transformers.base.modules import Dense, Normalize

    write(tmp_path / "model", [transformer(start), pooling(), Dense(128, 8), Normalize()])
    path = tmp_path / "model" / folder / "config.json"
    config = json.loads(path.read_text())
    config[key] = "other_embedding"
    path.write_text(json.dumps(config))
    error = aoe.run("embed", "-m", tmp_path / "model", stdin="x\n", fails=True).stderr
    assert f"{folder}/config.json: {key} 'other_embedding' is not supported" in error


UNSUPPORTED = {
    "AoeFlow": ("flow", "--levels", 1, "--width", 4),
    "AoePooling": ("train", "-d", "TABLE", "--pooling", "first-last-avg", "--max-steps", 1),
    "AoeBigrams": ("train", "-d", "TABLE", "--method", "dan", "--classes", 2, "--bigrams", 16, "--max-steps", 1),
}


@pytest.mark.parametrize("module", UNSUPPORTED)
def test_unsupported_models_are_not_opened(aoe, start, tmp_path, module):
    from sentence_transformers import SentenceTransformer

    table, out = tmp_path / "pairs.tsv", tmp_path / "out"
    texts = sentences(40, 5)
    table.write_text("text1\ttext2\tlabel\n" + "".join(f"{a}\t{b}\t{i % 2}\n" for i,
                                                       (a, b) in enumerate(zip(texts, texts[1:]))))
    command, *options = UNSUPPORTED[module]
    options = [table if option == "TABLE" else option for option in options]
    aoe.run(command, "-q", "-m", start, *([table] if command == "flow" else []), *options, "-o", out)
    assert aoe.embed(out, texts[:3]).shape[0] == 3
    readme = (out / "README.md").read_text()
    assert "library_name: aoe" in readme and "- sentence-transformers" not in readme and "cannot open" in readme
    with pytest.raises(ImportError, match=module):
        SentenceTransformer(str(out), device="cpu")


def test_prompt_with_suffix_is_not_added(aoe, start, tmp_path):
    from sentence_transformers import SentenceTransformer

    table, out = tmp_path / "pairs.tsv", tmp_path / "out"
    texts = sentences(40, 5)
    table.write_text("text1\ttext2\tlabel\n" + "".join(f"{a}\t{b}\t{i % 2}\n" for i,
                                                       (a, b) in enumerate(zip(texts, texts[1:]))))
    aoe.run("train", "-q", "-m", start, "-d", table, "-o", out, "--prompt", "river {text} stone", "--max-steps", 1)
    assert "opens the directory without an error, but its embeddings differ" in (out / "README.md").read_text()
    assert_equal(aoe.embed(out, texts, "--prompt", "{text}"), SentenceTransformer(str(out), device="cpu").encode(texts),
                 TOLERANCE)
