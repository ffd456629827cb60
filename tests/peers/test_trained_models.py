# SPDX-License-Identifier: MIT
"""Trains small models for a few steps with aoe, sentence-transformers, PEFT and angle_emb, and compares the embeddings
of the results in aoe and in the Python libraries."""
import json
import random

import pytest
import torch

from conftest import assert_equal, relative_error

WORDS = ("river", "stone", "market", "engine", "violin", "garden", "winter", "signal", "harbor", "letter", "doctor",
         "ladder",
         "blue", "quiet", "narrow", "ancient", "carries", "builds", "follows", "repairs", "paints", "near", "under",
         "without")
TEXTS = ["A quiet harbor near the market.", "", "The doctor follows an ancient river!", "naïve café — 東京",
         "stone " * 300, "Engine repairs without signal", "x"]
TOLERANCE = 1e-5


def sentences(n, seed):
    rng = random.Random(seed)
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12))) for _ in range(n)]


@pytest.fixture(scope="module")
def pairs():
    """64 pairs of texts with scores from 0 to 1."""
    rng = random.Random(3)
    return list(zip(sentences(64, 1), sentences(64, 2), [round(rng.random(), 2) for _ in range(64)]))


@pytest.fixture(scope="module")
def table(pairs, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("text1\ttext2\tlabel\n" + "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs),
                    encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def start(aoe, table, tmp_path_factory):
    """Small random model directories with tokenizers, by architecture."""
    folder = tmp_path_factory.mktemp("start")
    text = folder / "text.txt"
    text.write_text("\n".join(sentences(400, 4)) + "\n", encoding="utf-8")
    models = {}
    for shape in ("bert-tiny",):
        models[shape] = folder / shape
        aoe.run("init", "-q", "--shape", shape, "--vocab-from", text, "--vocab-size", 200, "-o", models[shape])
    return models


def reference_embeddings(folder, texts=TEXTS, **options):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", **options).encode(texts, show_progress_bar=False)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "last-token", "cls-last-avg"])
@pytest.mark.parametrize("options", [[], ["--normalize"], ["--prompt", "query: {text}"]],
                         ids=["plain", "normalize", "prompt"])
def test_trained_by_aoe(aoe, start, table, tmp_path, pooling, options):
    out = tmp_path / "out"
    aoe.run("train", "-q", "-m", start["bert-tiny"], "-d", table, "-o", out, "--max-steps", 3, "-b", 8, "--pooling",
            pooling, "--max-length", 32, *options)
    assert_equal(aoe.embed(out, TEXTS), reference_embeddings(out), TOLERANCE)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_converted_by_aoe(aoe, start, tmp_path, dtype):
    out = tmp_path / "out"
    aoe.run("convert", "-q", start["bert-tiny"], "-o", out, "--dtype", dtype)
    want = reference_embeddings(out, model_kwargs={"dtype": torch.float32})
    assert_equal(aoe.embed(out, TEXTS), want, TOLERANCE)


@pytest.mark.parametrize("options", [["--dims", 24], ["--layers", 1], ["--layers", 1, "--dims", 24]],
                         ids=lambda options: " ".join(map(str, options)))
@pytest.mark.parametrize("settings", [[], ["--normalize"]], ids=["plain", "normalize"])
def test_truncated_by_aoe(aoe, start, table, tmp_path, options, settings):
    """A truncated model of a model that was trained with --matryoshka."""
    trained, out, options = tmp_path / "trained", tmp_path / "out", [str(option) for option in options]
    aoe.run("train", "-q", "-m", start["bert-tiny"], "-d", table, "-o", trained, "--max-steps", 3, "-b", 8,
            "--matryoshka", "128,24", *settings)
    aoe.run("convert", "-q", trained, "-o", out, *options)
    got = aoe.embed(out, TEXTS)
    assert got.shape[1] == (24 if "--dims" in options else 128)
    assert_equal(got, reference_embeddings(out), TOLERANCE)
    if "--layers" not in options:
        assert_equal(got, reference_embeddings(trained)[:, :24], TOLERANCE)


@pytest.mark.parametrize("name,layers,dims", [("all-MiniLM-L6-v2", 4, 96), ("all-mpnet-base-v2", 5, 200)])
def test_real_model_truncated_by_aoe(aoe, peers, tmp_path, name, layers, dims):
    """The model must be that of sentence-transformers without the last layers."""
    from sentence_transformers import SentenceTransformer

    aoe.run("convert", "-q", peers / "models" / name, "-o", tmp_path / "out", "--layers", layers, "--dims", dims)
    got = aoe.embed(tmp_path / "out", TEXTS)
    assert_equal(got, reference_embeddings(tmp_path / "out"), TOLERANCE)
    model = SentenceTransformer(str(peers / "models" / name), device="cpu", truncate_dim=dims)
    encoder = model[0].auto_model.encoder
    encoder.layer = encoder.layer[:layers]
    assert_equal(got, model.encode(TEXTS, show_progress_bar=False), TOLERANCE)


def test_whitened_by_aoe(aoe, start, table, tmp_path):
    out = tmp_path / "out"
    aoe.run("whiten", "-q", "-m", start["bert-tiny"], table, "-o", out, "--dims", 16)
    assert_equal(aoe.embed(out, TEXTS), reference_embeddings(out), TOLERANCE)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "all-mpnet-base-v2"])
def test_trained_by_sentence_transformers(aoe, peers, pairs, tmp_path, name):
    from datasets import Dataset
    from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer,
                                       SentenceTransformerTrainingArguments)
    from sentence_transformers.losses import CoSENTLoss

    model = SentenceTransformer(str(peers / "models" / name), device="cpu")
    data = Dataset.from_dict(dict(zip(("sentence1", "sentence2", "score"), map(list, zip(*pairs)))))
    arguments = SentenceTransformerTrainingArguments(output_dir=str(tmp_path / "run"), max_steps=4,
                                                     per_device_train_batch_size=8,
                                                     learning_rate=1e-4, report_to=[], use_cpu=True, save_strategy="no")
    SentenceTransformerTrainer(model=model, args=arguments, train_dataset=data, loss=CoSENTLoss(model)).train()
    model.save_pretrained(str(tmp_path / "out"))
    want = model.encode(TEXTS, show_progress_bar=False)
    assert relative_error(want, reference_embeddings(peers / "models" / name)) > 1e-3  # the training changed the model
    assert_equal(aoe.embed(tmp_path / "out", TEXTS), want, TOLERANCE)


def test_adapter_trained_by_sentence_transformers(aoe, peers, pairs, tmp_path):
    from peft import LoraConfig
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import CosineSimilarityLoss

    base = peers / "models/all-MiniLM-L6-v2"
    model = SentenceTransformer(str(base), device="cpu")
    model.add_adapter(LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"], init_lora_weights=False))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    loss = CosineSimilarityLoss(model)
    for i in range(0, 32, 8):
        columns = list(zip(*pairs[i : i + 8]))
        features = [model.preprocess(list(column)) for column in columns[:2]]
        optimizer.zero_grad()
        loss(features, torch.tensor(columns[2])).backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(str(tmp_path / "out"))
    want = model.encode(TEXTS, show_progress_bar=False)
    got = aoe.embed(tmp_path / "out", TEXTS, "--base", base)
    assert_equal(got, want, TOLERANCE)


@pytest.mark.parametrize("options", [{}, {"use_rslora": True, "bias": "all"}, {"use_dora": True}],
                         ids=["plain", "rslora", "dora"])
def test_adapter_trained_by_peft(aoe, peers, pairs, tmp_path, options):
    """An adapter of PEFT that AdamW of torch trains with the classes of transformers, without sentence-transformers."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModel, AutoTokenizer

    base = peers / "models/all-MiniLM-L6-v2"
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = get_peft_model(AutoModel.from_pretrained(base),
                           LoraConfig(r=4, target_modules=["query", "value"], **options))
    encode = lambda texts: tokenizer(texts, padding=True, truncation=True, max_length=32, return_tensors="pt")
    first_tokens = lambda texts: model(**encode(texts)).last_hidden_state[:, 0]
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for i in range(0, 64, 16):
        first, second, scores = zip(*pairs[i : i + 16])
        cosine = torch.nn.functional.cosine_similarity(first_tokens(list(first)), first_tokens(list(second)))
        optimizer.zero_grad()
        ((cosine - torch.tensor(scores)) ** 2).mean().backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(tmp_path / "out")
    with torch.no_grad():
        want = [first_tokens([text])[0].numpy() for text in TEXTS]
        with model.disable_adapter():
            # the training has an effect
            assert relative_error([first_tokens([text])[0].numpy() for text in TEXTS], want) > 1e-2
    got = aoe.embed(tmp_path / "out", TEXTS, "--base", base, "--pooling", "cls", "--max-length", 32, "--no-normalize")
    assert_equal(got, want, TOLERANCE)


@pytest.mark.parametrize("pooling,option",
                         [("cls", "cls"), ("avg", "mean"), ("cls_avg", "cls-last-avg"), ("last", "last-token")])
@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_trained_by_angle_emb(aoe, start, pairs, tmp_path, pooling, option, lora):
    from angle_emb import AnglE
    from datasets import Dataset

    options = {"apply_lora": True, "lora_config_kwargs": {"r": 4, "lora_alpha": 8}, "train_mode": True} if lora else {}
    angle = AnglE(str(start["bert-tiny"]), max_length=32, pooling_strategy=pooling, device="cpu", is_llm=False,
                  **options)
    data = Dataset.from_list([{"text1": a, "text2": b, "label": float(score > 0.5)} for a, b, score in pairs])
    angle.fit(train_ds=data, output_dir=str(tmp_path / "run"), batch_size=8, epochs=1, learning_rate=1e-3,
              warmup_steps=0,
              save_strategy="no", eval_strategy="no",
              argument_kwargs={"max_steps": 4, "use_cpu": True, "report_to": []})
    angle.save_pretrained(str(tmp_path / "out"))
    angle.backbone.eval()
    # angle_emb pools padding tokens as well, so that each text is encoded alone
    want = [angle.encode([text], to_numpy=True)[0] for text in TEXTS]
    base = ["--base", start["bert-tiny"]] if lora else []
    got = aoe.embed(tmp_path / "out", TEXTS, "--pooling", option, "--max-length", 32, "--no-normalize", *base)
    assert_equal(got, want, TOLERANCE)


def test_adapter_trained_by_aoe(aoe, start, table, tmp_path):
    from peft import PeftModel
    from transformers import AutoModel, AutoTokenizer

    out = tmp_path / "out"
    aoe.run("train", "-q", "-m", start["bert-tiny"], "-d", table, "-o", out, "--max-steps", 3, "-b", 8, "--lora-r", 4,
            "--pooling", "cls", "--max-length", 32, "--no-normalize")
    base = json.loads((out / "adapter_config.json").read_text())["base_model_name_or_path"]
    model = PeftModel.from_pretrained(AutoModel.from_pretrained(base, add_pooling_layer=False), str(out)).eval()
    tokenizer = AutoTokenizer.from_pretrained(base)
    with torch.no_grad():
        want = [model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=32)).last_hidden_state[0,
            0].numpy()
                for text in TEXTS]
    assert_equal(aoe.embed(out, TEXTS), want, TOLERANCE)
