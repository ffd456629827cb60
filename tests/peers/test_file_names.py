# SPDX-License-Identifier: MIT
"""Files of a model directory, judged by their names. Each file is added to a small model, with content that would
change the embeddings if it was read. aoe must give the embeddings of sentence-transformers, or name the file in an
error or a warning."""
import json
import shutil

import pytest
import torch

from conftest import assert_equal, relative_error
from test_json_keys import TEXTS, embed

TEMPLATE = "{% for m in messages %}harbor engine {{ m.content }}{% endfor %}"
# The files with their content: a text, bytes, an object that is written as JSON, or a function that writes them.
FILES = {
    "chat_template.jinja": TEMPLATE,
    "chat_template.json": {"chat_template": TEMPLATE},
    "additional_chat_templates/default.jinja": TEMPLATE,
    "tokenizer.model": b"\x0a\x05\x0a\x03abc",
    "sentencepiece.bpe.model": b"\x0a\x05\x0a\x03abc",
    "spiece.model": b"\x0a\x05\x0a\x03abc",
    "added_tokens.json": {"harbor": 4},
    "special_tokens_map.json": {"sep_token": "[CLS]", "cls_token": "[SEP]"},
    "generation_config.json": {"max_length": 2, "bos_token_id": 7},
    "preprocessor_config.json": {"image_mean": [0.5], "do_lower_case": False},
    "processor_config.json": {"chat_template": TEMPLATE},
    "training_args.bin": b"x",
    "pytorch_model.bin": lambda folder: torch.save({"embeddings.word_embeddings.weight": torch.ones(60, 128)},
                                                   folder / "pytorch_model.bin"),
    "model.safetensors.index.json": {"metadata": {},
                                     "weight_map": {"embeddings.word_embeddings.weight": "other.safetensors"}},
    "tf_model.h5": b"x",
    "flax_model.msgpack": b"x",
    "model.onnx": b"x",
    "onnx/model.onnx": b"x",
    "openvino/openvino_model.xml": b"<x/>",
    "model.gguf": b"GGUF",
    "modeling_custom.py": "raise SystemExit",
    "2_Dense/config.json": {"in_features": 128, "out_features": 8, "bias": True,
                            "activation_function": "torch.nn.modules.activation.Tanh"},
    "3_Normalize/config.json": {},
    "router_config.json": {"default_route": "query"},
    "quantize_config.json": {"bits": 4},
    "sentence_roberta_config.json": {"max_seq_length": 3, "do_lower_case": False},
    "config_sentence_transformers.json": {"prompts": {"p": "harbor "}, "default_prompt_name": "p"},
    "adapter_config.json": {"peft_type": "LORA", "r": 2, "target_modules": ["query"], "base_model_name_or_path": "x"},
    "adapter_model.safetensors": b"x",
    "merges.txt": "#version: 0.2\nh a\n",
    "vocab.json": {"harbor": 0},
    "stopwords.txt": "harbor\n",
    "README.md": "---\nlibrary_name: other\n---\n",
}


@pytest.fixture(scope="module", params=["modules", "raw"])
def model(request, aoe, tmp_path_factory):
    """A model that sentence-transformers saved, and the same model without the files of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp(request.param)
    (folder / "text.txt").write_text("a quiet harbor the engine repairs ladder\n" * 20)
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 60, "-o",
            folder / "start")
    SentenceTransformer(str(folder / "start"), device="cpu").save_pretrained(str(folder / "saved"))
    if request.param == "raw":
        for name in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
            (folder / "saved" / name).unlink()
        shutil.rmtree(folder / "saved" / "1_Pooling")
    return folder / "saved"


def reference(folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(TEXTS, show_progress_bar=False)


def test_without_more_files(aoe, model):
    got, _ = embed(aoe, model)
    assert_equal(got, reference(model), 1e-5)


@pytest.mark.parametrize("name", FILES)
def test_file(aoe, model, tmp_path, name):
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    (folder / name).parent.mkdir(exist_ok=True)
    content = FILES[name]
    if callable(content):
        content(folder)
    elif isinstance(content, dict):
        (folder / name).write_text(
            json.dumps({**(json.loads((folder / name).read_text()) if (folder / name).exists() else {}), **content}))
    else:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    got, messages = embed(aoe, folder)
    if got is None or name.split("/")[0] in messages:
        assert name.split("/")[0] in messages, messages
        return
    try:
        want = reference(folder)
    except Exception:  # sentence-transformers cannot open the directory
        return
    assert relative_error(got, want) < 1e-5
