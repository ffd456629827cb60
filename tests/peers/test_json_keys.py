# SPDX-License-Identifier: MIT
"""The keys of JSON files. Files that the libraries write cause no warning. If one key of a file is changed, aoe gives
the embeddings of sentence-transformers, rejects the model, or writes a warning that names the key. (test_key_values.py
changes every known key.)"""
import json
import shutil
import subprocess

import pytest
import torch

import golden
from conftest import assert_equal, relative_error
from test_architectures import NAMES

TEXTS = ["a quiet harbor", "the Engine repairs a ladder", "x " * 40, "naïve café"]


@pytest.mark.parametrize("name", NAMES)
def test_written_configs(aoe, tmp_path, name):
    for variant, build in golden.variants(name).items():
        made = build()
        if not (isinstance(made, tuple) and hasattr(made[1], "to_dict")):
            continue
        folder = tmp_path / variant
        made[0](made[1]).save_pretrained(folder)
        path = folder / "config.json"
        path.write_text(json.dumps({**made[1].to_dict(), **json.loads(path.read_text())}, default=str))
        assert "unknown key" not in aoe.run("info", "-m", folder).stderr


@pytest.fixture(scope="module")
def model(aoe, tmp_path_factory):
    """A model that sentence-transformers saved, with all its JSON files."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("keys")
    (folder / "text.txt").write_text("a quiet harbor the engine repairs ladder\n" * 20)
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 60, "-o",
            folder / "start")
    SentenceTransformer(str(folder / "start"), device="cpu").save_pretrained(str(folder / "saved"))
    return folder / "saved"


def reference(folder, **options):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(TEXTS, show_progress_bar=False, **options)


def embed(aoe, folder):
    """Returns the embeddings, or None if the model is rejected, and the messages."""
    done = subprocess.run([aoe.program, "embed", "-m", str(folder), "--dtype", "f32"], input="\n".join(TEXTS) + "\n",
                          capture_output=True, text=True)
    return (None if done.returncode
            else [json.loads(line)["embedding"] for line in done.stdout.splitlines()]), done.stderr


def changed(value):
    """Returns another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return type(value)(value * 2 + 1)
    if isinstance(value, str):
        return value + "x"
    return {"x": 1} if value is None or isinstance(value, dict) else None


def test_saved_model(aoe, model):
    got, messages = embed(aoe, model)
    assert_equal(got, reference(model), 1e-5)
    assert "unknown key" not in messages


ROPES = {
    "default": dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=1.0),
    "linear": dict(rope_type="linear", rope_theta=1e4, factor=2.0),
    "dynamic": dict(rope_type="dynamic", rope_theta=1e4, factor=2.0),
    "llama3": dict(rope_type="llama3", rope_theta=1e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=16),
    "yarn": dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=16,
                 attention_factor=1.2, beta_fast=8.0, beta_slow=2.0, mscale=0.7, mscale_all_dim=0.3, truncate=False),
    "longrope": dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0, 1.5, 3.0, 2.0],
                     long_factor=[2.0, 4.1, 6.3, 9.0],
                     factor=2.0, attention_factor=1.1, original_max_position_embeddings=16),
}


@pytest.mark.parametrize("text", ["[]", "3", "null"])
@pytest.mark.parametrize("file",
                         ["sentence_bert_config.json", "1_Pooling/config.json", "config_sentence_transformers.json",
                                  "special_tokens_map.json", "tokenizer_config.json"])
def test_files_without_an_object(aoe, model, tmp_path, file, text):
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / file).write_text(text)
    got, messages = embed(aoe, tmp_path / "copy")
    assert got is None and file in messages


@pytest.mark.parametrize("kind", ROPES)
def test_changed_rope_keys(aoe, model, tmp_path, kind):
    """The keys of rope_parameters and rope_scaling of a LLaMA model with the tokenizer of another model."""
    from transformers import LlamaConfig, LlamaModel

    folder = tmp_path / "llama"
    shutil.copytree(model, folder)
    vocab = json.loads((model / "config.json").read_text())["vocab_size"]
    config = LlamaConfig(vocab_size=vocab, hidden_size=128, num_hidden_layers=2, num_attention_heads=16,
                         intermediate_size=24, max_position_embeddings=64, rope_parameters=dict(ROPES[kind]))
    torch.manual_seed(1)
    LlamaModel(config).save_pretrained(folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    path, saved, wrong = folder / "config.json", json.loads((folder / "config.json").read_text()), []
    values = [(None, None), ("new_key", 1), *ROPES[kind].items()]
    for place in ("rope_parameters", "rope_scaling"):
        for key, value in values:
            rope = dict(ROPES[kind])
            if key:
                rope[key] = value[::-1] if isinstance(value, list) else changed(value)
            path.write_text(json.dumps({**{k: v for k, v in saved.items() if k != "rope_parameters"}, place: rope}))
            got, messages = embed(aoe, folder)
            if key and (got is None or f'{key}"' in messages):
                continue
            try:
                want = reference(folder, batch_size=1)  # the scaling depends on the longest text of a batch
            except Exception:  # transformers cannot open the model
                continue
            if got is None or relative_error(got, want) > 1e-5:
                wrong.append((place, key))
    assert not wrong


@pytest.mark.parametrize("kind", ["processor_kwargs", "tokenizer_args"])
def test_maximum_length_of_the_tokenizer(aoe, model, tmp_path, kind):
    """model_max_length in the arguments of the tokenizer has priority over max_seq_length, whichever is larger."""
    for length, argument in ((12, 5), (4, 9)):
        folder = tmp_path / f"{length}"
        shutil.copytree(model, folder)
        path = folder / "sentence_bert_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "max_seq_length": length,
                                    kind: {"model_max_length": argument}}))
        got, messages = embed(aoe, folder)
        assert_equal(got, reference(folder), 1e-5)


def test_direction_of_attention(aoe, model, tmp_path):
    """is_causal true changes embeddings of BERT in some batches of transformers, so aoe rejects it; false has no
    effect."""
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    path = folder / "config.json"
    saved = json.loads(path.read_text())
    path.write_text(json.dumps({**saved, "is_causal": False}))
    got, messages = embed(aoe, folder)
    assert_equal(got, reference(folder), 1e-5)
    assert "is_causal" not in messages
    path.write_text(json.dumps({**saved, "is_causal": True}))
    assert relative_error(got, reference(folder, batch_size=1)) > 1e-3
    got, messages = embed(aoe, folder)
    assert got is None and "is_causal is true" in messages
