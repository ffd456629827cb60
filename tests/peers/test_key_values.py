# SPDX-License-Identifier: MIT
"""Changes every key of every JSON file of a model to each value of a fixed list, and compares the embeddings of aoe
with those of the reference library (key_comparison.py). The lists of keys are those of src/base/json_keys.c, which the
program tests/servers/json_keys prints. A key that is neither compared nor in NOT_COMPARED fails the test."""
import json
import subprocess

import numpy as np
import pytest
from transformers import AutoTokenizer

import key_comparison as kc
import key_models as km
import key_tables as kt
import test_tokenizers as settings
from conftest import ROOT, record

kc.quiet()
LISTS = kc.key_lists(str(ROOT / "build" / "tests" / "servers" / "json_keys"))
GENERIC = (*kc.GENERIC, object)  # object: the key is removed

# Keys that are compared elsewhere, or that no reference library has. A subject of None means all subjects of the kind.
NOT_COMPARED = {
    ("aoe", None): "aoe.json is a file of aoe only",
    ("config", "ran"): "an architecture of aoe only",
    ("config", "word_embeddings"): "keys of aoe only; wordembedding_config.json is compared",
    ("config", "jina_bert"): "transformers has no class for this architecture (test_jina_reference.py)",
    ("config", "new"): "transformers has no class for this architecture; it has the keys of gte (architectures/gte.py)",
    ("rope", None): "test_json_keys.py changes the keys of rope_parameters and rope_scaling for each type of scaling",
    ("component", None): "test_tokenizers.py compares the components of tokenizers one at a time",
    ("tokenizer_json", None): "test_tokenizers.py",
    ("added_token", None): "test_tokenizers.py",
    ("module", "LogitScore"): "test_causal_reranker.py",
    ("module", "StaticEmbedding"): "the module has no keys",
}
# Single keys that other tests change, because their values have an inner structure
OTHER_TESTS = {"modality_config", "processing_kwargs", "chat_template", "tokenizer_name_or_path", "model_type"}

# Names of other keys that aoe may name instead, because the value contradicts them, or because the file has the key
# under another name
CONSEQUENCES = {
    "position_embedding_type": ["feed_forward_type"], "hidden_size": ["num_attention_heads"],
    "dim": ["num_attention_heads"], "n_embd": ["n_layer", "num_attention_heads"],
    "num_hidden_layers": ["num_hidden_groups", "layer_types"], "num_attention_heads": ["num_key_value_heads"],
    "n_heads": ["num_attention_heads"], "max_position_embeddings": ["max_relative_positions", "position_buckets"],
    "max_relative_positions": ["position_buckets"], "pooling_mode": ["in_features"], "out_features": ["dimension is"],
    "max_seq_length": ["maximum sequence length is"], "path": ["config.json"], "type": ["config.json"],
    "prompts": ["prompt \""], "out_channels": ["embedding_dimension"],
    "kernel_sizes": ["embedding_dimension"], "hidden_dim": ["embedding_dimension"],
    "bidirectional": ["embedding_dimension"],
    "base_model_name_or_path": ["base model"], "model_type": ["architecture"], "use_sliding_window": ["layer_types"],
    "processor_kwargs": ["model_max_length"], "tokenizer_args": ["model_max_length"], "n_layers": ["num_hidden_layers"],
}

# Differences that are intended or known: {(kind, key): (reason, values)}. `object` stands for a missing key.
INTENDED = {
    ("config", "pad_token_id"): (
        "a text of RoBERTa that contains the padding token has other positions in transformers", [0]),
    ("config", "quantization_config"): ("a value without content is no quantization; transformers cannot read it",
                                        [False, "", [], {}]),
    ("config", "max_position_embeddings"): ("null is the default, which transformers cannot read", [None]),
    ("config", "is_decoder"): ("null is the default, which transformers cannot read", [None]),
    ("config", "norm_rel_ebd"): ("null is the default, which transformers cannot read", [None]),
    ("config", "query_pre_attn_scalar"): ("transformers accepts only integers", [None, 0.5]),
    ("config", "local_attention"): ("null is the default, which transformers cannot read", [None]),
    ("config", "local_rope_theta"): ("null is the value of global_rope_theta (docs/architectures.md)", [None]),
    ("module", "eps"): ("a key of aoe only", [0.5, 1e-5, 1e-3]),
    ("module", "module_input_name"): ("aoe accepts the keys of Dense in LayerNorm and Dropout", ["sentence_embedding"]),
    ("module", "module_output_name"): ("aoe accepts the keys of Dense in LayerNorm and Dropout",
                                       ["sentence_embedding"]),
    ("module", "activation_function"): ("null is the default, which sentence-transformers cannot read", [None]),
    ("module", "num_layers"): ("null is the default, which sentence-transformers cannot read", [None]),
    ("transformer", "max_seq_length"): ("5.0 is 5", [5.0]),
    **{("transformer", key): ("the type of computation is an option of aoe", [{"torch_dtype": "float16"}])
       for key in ("model_args", "model_kwargs", "config_args")},
    ("static", "normalize"): (
        "a module Normalize normalizes too, as in sentence-transformers (docs/model-directories.md)",
                              [None, False, object]),
    ("tokenizer", "tokenizer_class"): (
        "default special tokens of a class that the vocabulary does not contain are not added",
                                       ["MPNetTokenizer", "Qwen2Tokenizer"]),
    ("tokenizer", "additional_special_tokens"): ("transformers cannot read an object in special_tokens_map.json",
                                                 [{}, {"image_token": "lowkey"}]),
    ("tokenizer", "cls_token"): ("null is rejected; transformers uses the id 2 or 101 of BERT", [None]),
    ("tokenizer", "sep_token"): ("null is rejected; transformers uses the id 3 or 102 of BERT", [None]),
    **{("adapters", key): ("a value without content is no configuration; PEFT cannot read it", [False, "", [], {}])
       for key in ("use_bdlora", "arrow_config", "kasa_config")},
    ("adapters", "lora_alpha"): ("null is the default, which PEFT cannot read", [None]),
}

NAMES = ["sentence_embedding", "token_embeddings"]
ACTIVATIONS = [f"torch.nn.modules.activation.{name}" for name in ("Tanh", "ReLU", "GELU", "SiLU", "Sigmoid", "ELU",
                                                                  "LeakyReLU")]
# Values that the references document, by key
VALUES = {
    "module": {
        "pooling_mode": ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ["cls", "mean"],
                         ["mean", "cls"], ["lasttoken"], ["mean", "mean"]],
        "word_embedding_dimension": [16, 8], "embedding_dimension": [16], "module_input_name": NAMES,
        "module_output_name": NAMES,
        "activation_function": [*ACTIVATIONS, "torch.nn.modules.linear.Identity", "torch.nn.Tanh", "Tanh"],
        "eps": [1e-5, 1e-3], "layer_start": [2], "num_hidden_layers": [2, 12], "kernel_sizes": [[1, 3], [3, 1], [3]],
        "stride_sizes": [[1, 1], [2, 2], [1, 2], [1]], "out_channels": [6], "max_seq_length": [5, 100],
        "num_layers": [2], "hidden_dim": [6]},
    "module_list": {
        "name": ["0", "1", "2"], "path": ["1_Pooling", "./1_Pooling", "2_Dense"], "kwargs": [["task"], ["prompt"]],
        "type": [*(f"sentence_transformers.models.{name}" for name in ("Pooling", "Dense", "Normalize")),
                 "torch.nn.Identity"]},
    "transformer": {
        "max_seq_length": [5, 16, 63, 64, 65, 100, 5.0, "5"], "query_length": [5], "document_length": [5],
        "transformer_task": ["feature-extraction", "fill-mask", "text-generation", "sequence-classification"],
        "module_output_name": NAMES, "backend": ["torch", "onnx"],
        "query_expansion": [{"strategy": "fixed", "length": 32}],
        "model_args": [{"attn_implementation": "eager"}, {"torch_dtype": "float32"}, {"torch_dtype": "float16"},
                       {"output_hidden_states": True}, {"add_pooling_layer": False}, {"num_hidden_layers": 1}],
        "model_kwargs": [{"torch_dtype": "float16"}, {"attn_implementation": "eager"}],
        "config_args": [{"num_hidden_layers": 1}, {"hidden_act": "relu"}, {"torch_dtype": "float16"},
                        {"is_decoder": True}],
        "config_kwargs": [{"num_hidden_layers": 1}, {"num_labels": 2}],
        "tokenizer_args": [{"model_max_length": 5}, {"do_lower_case": False}, {"padding_side": "left"},
                           {"use_fast": False},
                           {"truncation_side": "left", "model_max_length": 5}, {"cls_token": "[MASK]"}],
        "processor_kwargs": [{"model_max_length": 5}, {"do_lower_case": False}, {"model_max_length": None},
                             {"model_max_length": 0}, {"model_max_length": "5"}]},
    "sentence_transformers": {
        "prompts": [{"query": "w9: ", "document": "w8 "}, {"x": None}], "default_prompt_name": ["query", "document"],
        "similarity_fn_name": ["cosine", "dot", "euclidean"], "truncate_dim": [8, 16, 17],
        "requirements": [["sentence_transformers>=99"]]},
    "static": {"max_length": [5, 512, 1000], "embedding_dtype": ["float16", "int8"], "pooling": ["mean", "last"]},
    "adapters": {
        "target_modules": ["all-linear", "query", ".*query", ".*(query|output.dense)", ["query"],
                           ["output.dense", "query"], ["query", "value"]],
        "bias": ["none", "all", "lora_only"], "task_type": ["FEATURE_EXTRACTION", "SEQ_CLS", "CAUSAL_LM"],
        "layers_to_transform": [[0], [0, 1]], "layers_pattern": ["layer", ["layer"]], "r": [2, 4],
        "rank_pattern": [{"query": 2}, {"query": 3}], "alpha_pattern": [{"query": 1}, {".*layer.0.*query": 11}],
        "exclude_modules": ["query", ["query"], ".*0.*query"], "modules_to_save": [["embeddings"], ["classifier"]],
        "init_lora_weights": ["gaussian", "pissa", "olora", "loftq", "eva"], "lora_alpha": [5.0, 5, 7, 2.5],
        "peft_type": ["LORA", "IA3", "ADALORA"], "trainable_token_indices": [{"embeddings": [1]}],
        "target_parameters": [["x.weight"]], "layer_replication": [[[0, 1], [0, 2]]],
        "loftq_config": [{"loftq_bits": 4}], "alora_invocation_tokens": [[1, 2]]},
    "config": {
        "hidden_act": ["gelu", "relu", "silu", "gelu_new", "tanh"],
        "position_embedding_type": ["absolute", "relative_key", "alibi"],
        "layer_types": [["full_attention"] * 2, ["sliding_attention"] * 2], "sliding_window": [4, 100],
        "rope_theta": [100.0], "partial_rotary_factor": [0.5, 1.0], "head_dim": [4, 8], "padding_idx": [2],
        "rope_scaling": [{"rope_type": "linear", "factor": 2.0}, {"type": "dynamic", "factor": 2.0}],
        "rope_parameters": [{"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}],
        "attn_implementation": ["eager", "sdpa"], "_attn_implementation": ["eager"], "num_hidden_layers": [2, 3],
        "classifier_pooling": ["cls", "mean"], "max_position_embeddings": [24, 40],
        "architectures": [["BertForMaskedLM"]]},
}


def model2vec(folder, texts):
    from model2vec import StaticModel

    return StaticModel.from_pretrained(str(folder)).encode(texts)


ST = kc.sentence_transformers_reference
LONG = [*km.TEXTS, "w1 " * 600]
# name: (function that writes the model, reference, texts, parts). A part is (kind, subject, file, path to the object).
MODELS = {
    "modules": (km.all_modules, ST, km.TEXTS, [
        ("module", "Pooling", "1_Pooling/config.json", ()), ("module", "Dense", "2_Dense/config.json", ()),
        ("module", "LayerNorm", "3_LayerNorm/config.json", ()), ("module", "Dropout", "4_Dropout/config.json", ()),
        ("module", "Normalize", "5_Normalize/config.json", ()),
        *(("module_list", None, "modules.json", (i,)) for i in (0, 1, 2, 5)),
        ("transformer", None, "sentence_bert_config.json", ()),
        ("sentence_transformers", None, "config_sentence_transformers.json", ())]),
    "layers": (km.layer_pooling, ST, km.TEXTS,
               [("module", "WeightedLayerPooling", "1_WeightedLayerPooling/config.json", ())]),
    "convolution": (km.convolution, ST, km.TEXTS, [("module", "CNN", "1_CNN/cnn_config.json", ())]),
    "words": (km.words, ST, km.TEXTS, [("module", "WordEmbeddings", "wordembedding_config.json", ())]),
    "recurrent": (lambda folder: km.words(folder, True), ST, km.TEXTS,
                  [("module", "LSTM", "1_LSTM/lstm_config.json", ())]),
    "static": (km.static, model2vec, LONG, [("config", "static", "config.json", ())]),
    "adapters": (km.adapters, ST, km.TEXTS, [("adapters", None, "adapter_config.json", ())]),
}
VARIANTS = []  # outcomes of all comparisons


def check(outcomes, kind):
    """Returns the outcomes that are faults and not intended, and records the number of variants."""
    VARIANTS.extend(outcomes)
    record("variants", len(VARIANTS))
    kc.prove(outcomes)
    faults = [outcome for outcome in outcomes if outcome.kind in kc.FAULTS]
    for outcome in faults:
        _, values = INTENDED.get((kind, outcome.key), ("", []))
        outcome.excused = any(v is outcome.value if object in (v, outcome.value) else kc.same(v, outcome.value)
                              for v in values)
    return [str(outcome) for outcome in faults if not outcome.excused]


def keys_of(kind, subject):
    return [key for key in LISTS[kind, subject] if key not in OTHER_TESTS]


@pytest.mark.parametrize("name", MODELS)
def test_files(aoe, tmp_path, name):
    write, reference, texts, parts = MODELS[name]
    (tmp_path / "model").mkdir()
    folder = write(tmp_path / "model")
    kt.refill(tmp_path)
    model = kc.Model(aoe.program, folder, texts, reference)
    table, wrong = kt.Table(name, tmp_path, model), []
    for kind, subject, path, where in parts:
        file, group = kc.File(model, path, where), subject if subject == "static" else kind
        outcomes = []
        for key in keys_of(kind, subject):
            for value in (*GENERIC, *VALUES[group].get(key, [])):
                outcomes.append(kc.compare(file, key, value, causes=("tensor", *CONSEQUENCES.get(key, []))))
        wrong += check(outcomes, group)
        table.add(file, outcomes)
    table.finish(wrong)


TWO_ROPES = ("gemma3_text", "modernbert")
CONFIGS = [(subject, name) for subject, names in km.CONFIGS.items() for name in names]


@pytest.mark.parametrize("subject,name", CONFIGS, ids=[name.replace("/", "-") for _, name in CONFIGS])
def test_configs(aoe, tmp_path, subject, name):
    """The keys of the architecture are compared one at a time, and those of all architectures in groups."""
    folder = tmp_path / "model"
    folder.mkdir()
    km.write_config_model(folder, name)
    kt.refill(folder)
    # Qwen2 has no special tokens, so an empty text has no token
    texts = km.TEXTS[:-1] if subject == "qwen2" else km.TEXTS
    model = kc.Model(aoe.program, folder, texts, ST)
    table, file, outcomes = kt.Table(name.replace("/", "-"), tmp_path, model), kc.File(model, "config.json"), []
    for key in keys_of("config", subject):
        # models with two rotary bases: aoe obeys rope_parameters, and transformers obeys rope_scaling if a file has
        # both
        documented = [] if key == "rope_scaling" and subject in TWO_ROPES else VALUES["config"].get(key, [])
        for value in (*GENERIC, *documented):
            outcomes.append(kc.compare(file, key, value, causes=("tensor", *CONSEQUENCES.get(key, []))))
    common = keys_of("config", None)
    for value in kc.GENERIC:
        for i in range(0, len(common), 12):
            outcomes += kc.compare_group(file, [(key, value) for key in common[i:i + 12]])
    for key in common:
        outcomes += [kc.compare(file, key, value) for value in VALUES["config"].get(key, [])]
    wrong = check(outcomes, "config")
    table.add(file, outcomes)
    table.finish(wrong)


# name: (kind of test_tokenizers.py, tokenizer_class)
TOKENIZERS = {"bert": ("bert", "BertTokenizer"), "roberta": ("roberta", "RobertaTokenizer"),
              "xlmr": ("camembert", "XLMRobertaTokenizer"), "backend": ("modernbert", "PreTrainedTokenizerFast")}
TOKENS = ["[UNK]", "[MASK]", "[CLS]", "<s>", "</s>", "<mask>", "lowkey", "[NEW]",
          {"__type": "AddedToken", "content": "[NEW]", "special": True},
          {"__type": "AddedToken", "content": "lowkey", "lstrip": True, "rstrip": False, "single_word": True,
           "normalized": False, "special": False}]
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "image_token",
         "boi_token")
TOKEN_VALUES = {
    **{key: TOKENS for key in NAMED},
    **{key: [["[NEW]", "lowkey"], {"image_token": "lowkey"}]
       for key in ("additional_special_tokens", "extra_special_tokens")},
    "model_specific_special_tokens": [{"image_token": "lowkey"}],
    "tokenizer_class": ["BertTokenizer", "BertTokenizerFast", "RobertaTokenizer", "PreTrainedTokenizerFast",
                        "TokenizersBackend",
                        "Qwen2Tokenizer", "LlamaTokenizer", "UnknownTokenizer", "GemmaTokenizer", "MPNetTokenizer"],
    "truncation_side": ["left", "right", "LEFT"], "padding_side": ["left", "right"], "model_max_length": [5],
    "max_length": [5], "stride": [2], "padding": ["max_length"], "sp_model_kwargs": [{"enable_sampling": True}],
    "auto_map": [{"AutoTokenizer": ["a.B", None]}], "never_split": [["lowkey"]],
    "model_input_names": [["input_ids"], ["input_ids", "attention_mask"]]}
TOKEN_TEXTS = ["Hello WORLD caf\u00e9 \u00c9t\u00e9", "a lowkey [NEW] x[MASK]y <mask> z </s>", "\u4e2d\u6587abc \u4e2d",
               "", " lead", "trail ", "two  spaces\n\nx", "MiXeD, punct! (x) 12345", "<pad> [PAD] <unk> <|endoftext|>"]


class Tokens(kc.Model):
    """Compares the ids of texts, complete and truncated to six tokens."""

    def embed(self):
        self.runs["aoe"] += 1
        ids, messages = [], ""
        for options in ([], ["--max-length", "6"]):
            lines = "".join(json.dumps(text) + "\n" for text in self.texts)
            done = subprocess.run([self.program, "tokenize", "-m", str(self.folder), "--jsonl", *options], input=lines,
                                  capture_output=True, text=True)
            assert done.returncode >= 0
            if done.returncode:
                return None, done.stderr
            messages = done.stderr
            ids += [json.loads(line) for line in done.stdout.splitlines()]
        return rows(ids), messages


    @staticmethod
    def summary(result):
        """Returns the number of tokens and the sum of (i + 1) times id i, of the first 40 ids."""
        return [[row[0], np.arange(1, 41) @ np.maximum(row[1:], 0)] for row in np.asarray(result) - 10]


def rows(lists):
    """Returns an array of the lengths and the first 40 ids of lists."""
    return np.array([[len(ids), *(ids + [-7] * 40)[:40]] for ids in lists], dtype=np.float64) + 10


def tokens_of_transformers(folder, texts):
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    return rows([list(tokenizer(text, truncation=length is not None, max_length=length)["input_ids"])
                 for length in (None, 6) for text in texts])


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokenizer_settings(aoe, tmp_path, name):
    kind, class_name = TOKENIZERS[name]
    if not kt.write_stored_files(f"tokenizer-{name}", tmp_path):
        words = [" ".join(f"{a}{b}{c}" for c in "aeiou") for a in "bdklmst" for b in ("", "an", "or")]
        settings.save(settings.KINDS[kind](words), tmp_path,
                      {"tokenizer_class": class_name, **settings.NAMED.get(kind, {})})
        (tmp_path / "config.json").write_text(json.dumps({"model_type": settings.MODEL_TYPES[class_name]}))
    model = Tokens(aoe.program, tmp_path, TOKEN_TEXTS, tokens_of_transformers)
    table, wrong = kt.Table(f"tokenizer-{name}", tmp_path, model), []
    for kind, path in (("tokenizer", "tokenizer_config.json"), ("special_tokens", "special_tokens_map.json")):
        file, outcomes = kc.File(model, path), []
        for key in keys_of(kind, None):
            for value in (*GENERIC, *TOKEN_VALUES.get(key, [])):
                outcomes.append(kc.compare(file, key, value, causes=CONSEQUENCES.get(key, [])))
        wrong += check(outcomes, "tokenizer")
        table.add(file, outcomes)
    table.finish(wrong)


def test_every_key_is_compared():
    compared = {("config", subject) for subject, _ in CONFIGS}
    compared |= {("config", None), ("tokenizer", None), ("special_tokens", None)}
    for _, _, _, parts in MODELS.values():
        compared |= {(kind, subject) for kind, subject, _, _ in parts}
    missing = [(kind, subject) for kind, subject in LISTS
               if (kind, subject) not in compared and not {(kind, subject), (kind, None)} & set(NOT_COMPARED)]
    assert not missing
