# SPDX-License-Identifier: MIT
"""Models whose weights torch.save wrote (pytorch_model.bin) give the same embeddings as their safetensors files."""
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from conftest import assert_equal

TEXTS = ["a quiet harbor", "", "the engine repairs a ladder", "x " * 40]


@pytest.fixture(scope="module")
def model(aoe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    (folder / "text.txt").write_text("a quiet harbor the engine repairs ladder\n" * 20)
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 60, "-o",
            folder / "model")
    return folder / "model"


@pytest.fixture
def copy(model, tmp_path):
    """A copy of the model directory without weights, and the weights."""
    folder = tmp_path / "copy"
    shutil.copytree(model, folder)
    (folder / "model.safetensors").unlink()
    return folder, load_file(model / "model.safetensors")


def prefixed(weights):
    return {"module." + name: w for name, w in weights.items()}


def old_names(weights):
    return {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): w
            for name, w in weights.items()}


def views(weights):
    """All weights as views of one storage, and matrices stored transposed."""
    flat = torch.cat([(w.T if w.dim() == 2 else w).reshape(-1) for w in weights.values()])
    result, at = {}, 0
    for name, w in weights.items():
        part = flat[at : at + w.numel()]
        result[name] = part.view(w.shape[1], w.shape[0]).T if w.dim() == 2 else part.view(w.shape)
        at += w.numel()
    return result


FORMS = {
    "plain": lambda w: w,
    "parameters": lambda w: {name: torch.nn.Parameter(p) for name, p in w.items()},
    "data_parallel": prefixed,
    "old_names": old_names,
    "views": views,
    "double": lambda w: {name: p.double() for name, p in w.items()},
    "other_values": lambda w: {**w, "epoch": 3, "note": "text", "position_ids": torch.arange(8)},
}


@pytest.mark.parametrize("form", FORMS)
def test_single_file(aoe, model, copy, form):
    folder, weights = copy
    torch.save(FORMS[form](weights), folder / "pytorch_model.bin")
    assert_equal(aoe.embed(folder, TEXTS), aoe.embed(model, TEXTS), 0)


@pytest.mark.parametrize("form", FORMS)
def test_legacy_format(aoe, model, copy, form):
    """The format of PyTorch before version 1.6."""
    folder, weights = copy
    torch.save(FORMS[form](weights), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    assert_equal(aoe.embed(folder, TEXTS), aoe.embed(model, TEXTS), 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_data_types(aoe, model, copy, dtype):
    folder, weights = copy
    weights = {name: w.to(dtype) for name, w in weights.items()}
    torch.save(weights, folder / "pytorch_model.bin")
    got = aoe.embed(folder, TEXTS)
    (folder / "pytorch_model.bin").unlink()
    save_file(weights, folder / "model.safetensors")
    assert_equal(got, aoe.embed(folder, TEXTS), 0)


def test_shards(aoe, model, copy):
    folder, weights = copy
    names = list(weights)
    index = {}
    for i, part in enumerate((names[::2], names[1::2]), 1):
        file = f"pytorch_model-0000{i}-of-00002.bin"
        torch.save({name: weights[name] for name in part}, folder / file)
        index.update({name: file for name in part})
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {"total_size": 1},
                                                                     "weight_map": index}))
    assert_equal(aoe.embed(folder, TEXTS), aoe.embed(model, TEXTS), 0)


def test_training_from_bin(aoe, copy, tmp_path):
    folder, weights = copy
    torch.save(weights, folder / "pytorch_model.bin")
    (tmp_path / "pairs.tsv").write_text("text1\ttext2\tlabel\n" + "a quiet harbor\tthe engine\t1\nladder\tharbor\t0\n"
                                        * 8)
    aoe.run("train", "-q", "-m", folder, "-d", tmp_path / "pairs.tsv", "-o", tmp_path / "out", "--max-steps", 2, "-b",
            4)
    assert (tmp_path / "out" / "model.safetensors").exists() and not (tmp_path / "out" / "pytorch_model.bin").exists()


@pytest.mark.parametrize("form,message", [("legacy_module", "function or class"), ("module", "function or class"),
                                          ("checkpoint", "training checkpoint"), ("protocol", "pickle protocol")])
def test_refused(aoe, copy, form, message):
    folder, weights = copy
    path = folder / "pytorch_model.bin"
    if form == "legacy_module":
        torch.save(torch.nn.Linear(2, 2), path, _use_new_zipfile_serialization=False)
    elif form == "module":
        torch.save(torch.nn.Linear(2, 2), path)
    elif form == "checkpoint":
        torch.save({"epoch": 1, "state_dict": weights}, path)
    else:
        torch.save(weights, path, pickle_protocol=4)
    assert message in aoe.run("embed", "-q", "-m", folder, stdin="x\n", fails=True).stderr
