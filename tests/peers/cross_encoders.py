# SPDX-License-Identifier: MIT
"""Small random cross-encoders (classes ...ForSequenceClassification of the library transformers), and their scores in
float64.

To write the golden case of one architecture, which tests/golden/cross_encoder_test.c reads:

    python tests/peers/cross_encoders.py bert default tests/golden/cross_encoders/bert
"""
import copy
import json
import pathlib
import re
import sys

import numpy as np
import safetensors.numpy
import tokenizers
import torch
import transformers

import golden
import jina_reference

WORDS = [f"w{i}" for i in range(35)]
LENGTHS = [(1, 1), (2, 5), (9, 3), (12, 20), (1, 33), (25, 2)]
PAIRS = [(" ".join(WORDS[(3 * i + 5 * j) % 35] for j in range(a)),
          " ".join(WORDS[(7 * i + 2 * j + 1) % 35] for j in range(b)))
         for i, (a, b) in enumerate(LENGTHS)]
WITHOUT_TYPES = ("MPNet", "DistilBert", "Llama", "Mistral", "Ministral", "Qwen", "Gemma", "ModernBert")


def build(make, labels):
    """Returns the model with a classification head of `labels` outputs for a variant of tests/peers/architectures, in
    float64."""
    _, config, *_ = make()
    config = type(config)(**{**config.to_dict(), "num_labels": labels, "pad_token_id": 0})
    model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    golden.randomize(model, 7)
    return model.double().eval()


def write_tokenizer(folder):
    """Writes a WordPiece tokenizer of the words WORDS with the template of pairs and the token types of BERT, and
    returns it."""
    vocabulary = {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast",
         "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}) + "\n")
    return tokenizer


def has_types(model):
    return getattr(model.config, "type_vocab_size", 0) > 1 and not type(model).__name__.startswith(WITHOUT_TYPES)


def logits(model, tokenizer, pairs):
    """Returns the outputs [pairs, labels] of the model."""
    rows = []
    with torch.no_grad():
        for a, b in pairs:
            encoded = tokenizer.encode(a, b)
            types = {"token_type_ids": torch.tensor([encoded.type_ids])} if has_types(model) else {}
            rows.append(model(input_ids=torch.tensor([encoded.ids]), attention_mask=torch.ones(1, len(encoded.ids)),
                              **types)
                        .logits[0].numpy())
    return np.array(rows)


def rounded(model):
    """Returns a copy of a model in which the weights of the linear layers are rounded to bf16, except those of the
    head, which aoe computes in float32."""
    model = copy.deepcopy(model)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and not re.search("classifier|score|pooler|head", name):
            module.weight.data = module.weight.data.to(torch.bfloat16).to(module.weight.dtype)
    return model


def write_expected(folder, pairs, outputs, rounded_outputs):
    """Writes the expected outputs [pairs, labels] of a golden case, in float64. bf16_deviation: largest change of an
    output if the weights are rounded to bf16, relative to the largest output."""
    deviation = np.abs(rounded_outputs - outputs).max() / np.abs(outputs).max()
    (folder / "expected.json").write_text(
        json.dumps({"pairs": pairs, "logits": outputs.tolist(), "bf16_deviation": float(f"{deviation:.3g}")}) + "\n")


def save(model, folder):
    """Writes the model as float32 and its tokenizer; returns the tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    model.float().save_pretrained(folder)
    model.double()
    return write_tokenizer(folder)


def save_jina(make, labels, folder):
    """Writes a JinaBERT with a classification head, which transformers does not have, for a variant of
    tests/peers/architectures, and a tokenizer. Returns the outputs [pairs, labels] of the NumPy reference for PAIRS,
    and the outputs if the weights of the linear layers are rounded to bf16."""
    config = {**make()[1].keys, "architectures": ["JinaBertForSequenceClassification"], "num_labels": labels}
    random = np.random.default_rng(7)
    draw = lambda shapes: {name: random.normal(size=shape, scale=0.3).astype(np.float32) for name,
                           shape in shapes.items()}
    weights, head = draw(jina_reference.shapes(config)), draw(jina_reference.head_shapes(config, labels))
    for name in weights:
        if "norm" in name.lower() and name.endswith("weight"):
            weights[name] += 1
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file({**{"bert." + name: weight for name, weight in weights.items()}, **head},
                                folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = write_tokenizer(folder)
    encoded = [tokenizer.encode(a, b) for a, b in PAIRS]
    double = lambda tensors: {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
    linear = lambda name, tensor: tensor.ndim == 2 and not name.startswith("embeddings.")
    to_bf16 = lambda tensor: torch.from_numpy(tensor).to(torch.bfloat16).double().numpy()
    outputs = lambda body: np.array([jina_reference.score(config, body, double(head), np.array(e.ids),
                                                          np.array(e.type_ids))
                                     for e in encoded])
    return outputs(double(weights)), outputs({name: to_bf16(tensor) if linear(name, tensor)
                                              else tensor.astype(np.float64)
                                              for name, tensor in weights.items()})


def main(architecture, variant, folder):
    folder = pathlib.Path(folder)
    make = golden.variants(architecture)[variant]
    if architecture == "jina_bert":
        expected = save_jina(make, 2, folder)
    else:
        model = build(make, 2)
        tokenizer = save(model, folder)
        expected = logits(model, tokenizer, PAIRS), logits(rounded(model), tokenizer, PAIRS)
    write_expected(folder, PAIRS, *expected)
    config = json.loads((folder / "config.json").read_text())
    config["num_labels"] = 2  # transformers omits this number, because 2 is its default
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
