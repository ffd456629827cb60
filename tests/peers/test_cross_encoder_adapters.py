# SPDX-License-Identifier: MIT
"""LoRA adapters of cross-encoders: adapters that PEFT wrote give equal scores in aoe, and adapters that aoe trained
give equal scores in PEFT and in CrossEncoder of sentence-transformers.

To write the golden cases that tests/golden/cross_encoder_test.c reads:

    python tests/peers/test_cross_encoder_adapters.py adapters
    python tests/peers/test_cross_encoder_adapters.py dora
"""
import json
import pathlib
import sys

import numpy as np
import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file

import cross_encoders
import golden
import test_cross_encoder_training
from cross_encoders import PAIRS
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer

TARGETS = {"albert": ["query", "ffn"], "bert": ["query", "dense"], "distilbert": ["q_lin", "lin2"],
           "electra": ["query", "value", "dense"], "modernbert": ["attn.Wo"], "mpnet": ["attn.q", "attn.o"],
           "qwen3": ["q_proj", "down_proj"], "roberta": ["query", "dense"]}
OPTIONS = {
    "rslora": dict(use_rslora=True),
    "patterns": dict(rank_pattern={"query": 5, "pooler.dense": 2}, alpha_pattern={"value": 7, "pooler.dense": 3}),
    "regex": dict(target_modules=r".*\.1\..*(query|intermediate\.dense)"),
    "all_linear": dict(target_modules="all-linear"),
    "head_regex": dict(target_modules=r".*(query|pooler\.dense)"),
    "dora": dict(target_modules="all-linear", use_dora=True),
    "bias_all": dict(target_modules="all-linear", bias="all"),
    "bias_lora_only": dict(target_modules="all-linear", bias="lora_only"),
    "pooler": dict(modules_to_save=["pooler"]),
    "pooler_dense": dict(modules_to_save=["pooler.dense"]),
    "norms": dict(modules_to_save=["LayerNorm"]),
    "no_task": dict(task_type=None),
    "no_task_saved": dict(task_type=None, modules_to_save=["classifier"]),
    "layers": dict(target_modules=["query", "dense"], layers_to_transform=[1]),
}


def randomize(module, seed):
    """Gives all weights that PEFT trains random values, so that every one of them changes the scores."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.requires_grad:
                if "magnitude" in name:
                    p.mul_(1 + 0.3 * torch.rand(p.shape, generator=generator))
                else:
                    p.add_(0.2 * torch.randn(p.shape, generator=generator, dtype=torch.float32))


def start(folder, name, labels):
    """Writes a cross-encoder and returns the model and its tokenizer."""
    model = cross_encoders.build(golden.variants(name)["default"], labels)
    tokenizer = cross_encoders.save(model, folder)
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * cross_encoders.has_types(model)
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "model_input_names": names}))
    return model, tokenizer


def rerank(aoe, adapters, base, *options):
    lines = "".join(json.dumps({"text1": a, "text2": b}) + "\n" for a, b in PAIRS)
    table = adapters / "pairs.jsonl"
    table.write_text(lines)
    out = aoe.run("rerank", "-q", "-m", adapters, *(["--base", base] if base else []), "--pairs", table, "--json",
                  "--dtype", "f32", "--scores", "logit", *options).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return np.array([row["scores"] if "scores" in row else [row["score"]] for row in rows])


def check_written(aoe, tmp_path, name, labels, options):
    """Compares the scores of adapters that PEFT wrote, and of the merged model."""
    base, folder, merged = tmp_path / "base", tmp_path / "adapters", tmp_path / "merged"
    model, tokenizer = start(base, name, labels)
    plain = cross_encoders.logits(model, tokenizer, PAIRS)
    config = peft.LoraConfig(**{"r": 3, "lora_alpha": 5, "task_type": "SEQ_CLS", "target_modules": TARGETS[name],
                                **options})
    adapted = peft.get_peft_model(model, config)
    randomize(adapted, 5)
    adapted.float().save_pretrained(folder)
    want = cross_encoders.logits(adapted.double().eval(), tokenizer, PAIRS)
    assert np.abs(want - plain).max() > 1e-3 * np.abs(want).max(), "the adapters have no effect"
    assert np.abs(rerank(aoe, folder, base) - want).max() < 2e-5 * np.abs(want).max()
    aoe.run("merge", "-q", folder, "--base", base, "-o", merged)
    assert np.abs(rerank(aoe, merged, None) - want).max() < 2e-5 * np.abs(want).max()
    return base, folder


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("name", TARGETS)
def test_targets(aoe, tmp_path, name, labels):
    check_written(aoe, tmp_path, name, labels, {})


@pytest.mark.parametrize("name", ["mpnet", "qwen3", "roberta"])
def test_all_linear(aoe, tmp_path, name):
    check_written(aoe, tmp_path, name, 2, {"target_modules": "all-linear"})


@pytest.mark.parametrize("name", OPTIONS)
def test_options(aoe, tmp_path, name):
    check_written(aoe, tmp_path, "bert", 2, OPTIONS[name])


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert", "qwen3"])
def test_embedding_base(aoe, tmp_path, name):
    """The head is in the file of the adapters, and the base model has none."""
    base, folder = check_written(aoe, tmp_path, name, 1, {"modules_to_save": ["pooler", "head"]})
    full = transformers.AutoModel.from_pretrained(base)
    want = rerank(aoe, folder, base)
    full.save_pretrained(tmp_path / "encoder")
    (tmp_path / "encoder" / "tokenizer.json").write_text((base / "tokenizer.json").read_text())
    assert np.abs(rerank(aoe, folder, tmp_path / "encoder") - want).max() < 1e-6
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "",
                "type": f"sentence_transformers.models.{kind}"}
               for i, kind in enumerate(["Transformer", "Pooling", "Normalize"])]
    (tmp_path / "encoder" / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "encoder" / "1_Pooling").mkdir()
    size = full.config.hidden_size
    (tmp_path / "encoder" / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": size, "pooling_mode_mean_tokens": True}))
    (tmp_path / "encoder" / "config_sentence_transformers.json").write_text(json.dumps(
        {"prompts": {"query": "w1 w2: "}, "default_prompt_name": "query"}))
    assert np.abs(rerank(aoe, folder, tmp_path / "encoder") - want).max() < 1e-6


def write_table(path, classes):
    labels = {1: [0, 1, 0.5, 1, 0.25, 0], 3: [0, 2, 1, 1, 0, 2]}[classes]
    path.write_text("".join(json.dumps({"text1": a, "text2": b, "label": x}) + "\n" for (a, b),
                            x in zip(PAIRS, labels)))
    return path


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("name", TARGETS)
def test_trained_by_aoe(aoe, tmp_path, name, classes):
    base, out, further = tmp_path / "base", tmp_path / "out", tmp_path / "further"
    model, tokenizer = start(base, name, classes)
    before = cross_encoders.logits(model, tokenizer, PAIRS)
    options = ["-d", write_table(tmp_path / "pairs.jsonl", classes), "--method", "cross-encoder", "--classes", classes,
               "--epochs", 4, "--batch-size", 3, "--lr", 0.02, "--dtype", "f32"]
    aoe.run("train", "-q", "-m", base, "-o", out, "--lora-r", 2, "--lora-targets", ",".join(TARGETS[name]), *options)
    got = rerank(aoe, out, None)
    auto = peft.AutoPeftModelForSequenceClassification.from_pretrained(out, num_labels=classes, dtype=torch.float32)
    want = cross_encoders.logits(auto.double().eval(), tokenizer, PAIRS)
    assert np.abs(want - before).max() > 1e-2 * np.abs(want).max(), "the training has no effect"
    assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()
    config = json.loads((out / "adapter_config.json").read_text())
    assert config["task_type"] == "SEQ_CLS"
    saved = load_file(out / "adapter_model.safetensors")
    assert all(".lora_" in key or any(module in key for module in config["modules_to_save"]) for key in saved)
    scorer = CrossEncoder(str(out), device="cpu")
    assert np.abs(scorer.predict(PAIRS, activation_fn=torch.nn.Identity()).reshape(got.shape) - want).max() < 1e-4
    assert type(scorer.activation_fn) is (torch.nn.Sigmoid if classes == 1 else torch.nn.Identity)
    aoe.run("train", "-q", "-m", out, "-o", further, *options)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, dtype=torch.float32)
    want = cross_encoders.logits(peft.PeftModel.from_pretrained(model, further).double().eval(), tokenizer, PAIRS)
    assert np.abs(rerank(aoe, further, None) - want).max() < 2e-5 * np.abs(want).max()
    assert np.abs(want - got).max() > 1e-3 * np.abs(want).max(), "the second training has no effect"


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("name", ["bert", "roberta", "qwen3", "distilbert"])
def test_training_equals_torch(aoe, tmp_path, name, labels):
    """The same training steps in PyTorch, from adapters that PEFT wrote, give the same scores."""
    base, folder, out = tmp_path / "base", tmp_path / "adapters", tmp_path / "out"
    model, tokenizer = start(base, name, labels)
    model.float()
    adapted = peft.get_peft_model(model, peft.LoraConfig(
        r=2, task_type="SEQ_CLS", target_modules=TARGETS[name], modules_to_save=["pooler", "pre_classifier"]))
    randomize(adapted, 5)
    adapted.save_pretrained(folder)
    targets = test_cross_encoder_training.LABELS[labels]
    before = cross_encoders.logits(adapted.double().eval(), tokenizer, PAIRS)
    want = cross_encoders.logits(test_cross_encoder_training.train_in_torch(adapted, tokenizer, targets), tokenizer,
                                 PAIRS)
    aoe.run("train", "-q", "-m", folder, "--base", base, "-d", write_table(tmp_path / "pairs.jsonl", labels), "-o", out,
            "--method", "cross-encoder", "--classes", labels, "--epochs", test_cross_encoder_training.STEPS,
            "--batch-size",
            len(PAIRS), "--lr", test_cross_encoder_training.RATE, "--warmup", 0, "--dropout", 0, "--lora-dropout", 0,
            "--dtype", "f32")
    assert np.abs(rerank(aoe, out, base) - want).max() < 0.02 * np.abs(want - before).max()


@pytest.mark.parametrize("name", ["dora", "norms", "head_regex"])
def test_training_rejected(aoe, tmp_path, name):
    base, folder = check_written(aoe, tmp_path, "bert", 1, OPTIONS[name])
    done = aoe.run("train", "-q", "-m", folder, "--base", base, "-d", write_table(tmp_path / "pairs.jsonl", 1),
                   "--method", "cross-encoder", "-o", tmp_path / "out", fails=True)
    assert "aoe merge" in done.stderr


def write_golden(name):
    """Writes a golden case of tests/golden/cross_encoder_test.c: adapters of the golden cross-encoder of BERT."""
    cases = pathlib.Path(__file__).parent.parent / "golden" / "cross_encoders"
    folder = cases / f"bert_{name}"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        cases / "bert", num_labels=2, dtype=torch.float32, attn_implementation="eager")
    options = {"adapters": dict(use_rslora=True, rank_pattern={"query": 1}, alpha_pattern={"pooler.dense": 3}),
               "dora": dict(use_dora=True)}[name]
    adapted = peft.get_peft_model(model, peft.LoraConfig(
        r=2, lora_alpha=5, task_type="SEQ_CLS", target_modules=r".*(query|intermediate\.dense|pooler\.dense)",
        **options))
    randomize(adapted, 5)
    adapted.save_pretrained(folder)
    (folder / "README.md").unlink()
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "../bert"
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    tokenizer = Tokenizer.from_file(str(cases / "bert" / "tokenizer.json"))
    outputs = cross_encoders.logits(adapted.double().eval(), tokenizer, PAIRS)
    (folder / "expected.json").write_text(json.dumps({"pairs": PAIRS, "logits": outputs.tolist()}) + "\n")


if __name__ == "__main__":
    write_golden(*sys.argv[1:])
