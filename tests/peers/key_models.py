# SPDX-License-Identifier: MIT
"""Small random models whose JSON files test_key_values.py changes."""
import json

import tokenizers
import torch

import golden

WORDS = [f"w{i}" for i in range(35)]
TEXTS = ["w1 w2 w3", "w5", " ".join(WORDS[(5 * i) % 35] for i in range(20)), "W7 w7 unknown [MASK] w30", ""]
# the architectures and variants whose config.json is changed, by subject of the lists
CONFIGS = {
    "bert": ["bert/default", "bert/decoder"], "roberta": ["roberta/default"], "xlm-roberta": ["roberta/xlm"],
    "camembert": ["camembert/default"], "mpnet": ["mpnet/default"], "electra": ["electra/default"],
    "albert": ["albert/default"], "deberta-v2": ["deberta/default"], "distilbert": ["distilbert/default"],
    "nomic_bert": ["nomic_bert/default"], "gte": ["gte/default", "gte/gte_published"],
    "modernbert": ["modernbert/default", "modernbert/old_keys"], "llama": ["llama/llama"],
    "mistral": ["llama/mistral_window"], "ministral": ["llama/ministral_mixed_windows"],
    "qwen2": ["llama/qwen2", "llama/qwen2_window"], "qwen3": ["qwen3/default", "qwen3/mixed_windows"],
    "gemma3_text": ["gemma3/causal", "gemma3/bidirectional"],
}


def write_byte_tokenizer(folder):
    """Writes a tokenizer whose tokens are bytes: transformers uses the class Qwen2Tokenizer for each tokenizer of a
    Qwen2."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<|endoftext|>", *alphabet])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.normalizer = tokenizers.normalizers.NFC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Qwen2Tokenizer",
                                                              "model_max_length": 512}))


def write_tokenizer(folder, pad=0, **config):
    """Writes a WordPiece tokenizer of 40 tokens. pad: id of the padding token, 0 or 1."""
    first = ["[UNK]", "[PAD]"] if pad else ["[PAD]", "[UNK]"]
    vocabulary = {token: i for i, token in enumerate([*first, "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(list(vocabulary)[:5])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
        "pad_token": "[PAD]", "mask_token": "[MASK]", "model_max_length": 512, **config}))


def write_modules(folder, size, mode="mean"):
    """Writes the files of a model of sentence-transformers with a transformer and a pooling."""
    module = "sentence_transformers.models."
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"}]))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": size,
                                                                  "pooling_mode": mode}))


def write_config_model(folder, name):
    """Writes the model ARCHITECTURE/VARIANT of tests/peers/architectures with a tokenizer and a pooling."""
    architecture, variant = name.split("/")
    model, options = golden.build(golden.variants(architecture)[variant])
    if architecture == "llama" and variant.startswith("qwen2"):
        model.float().resize_token_embeddings(260)
        golden.randomize(model, 1)
    golden.save_checkpoint(model, options, folder)
    if model.config.model_type == "qwen2":
        write_byte_tokenizer(folder)
    else:
        write_tokenizer(folder, pad=int(architecture in ("roberta", "camembert", "mpnet")))
    write_modules(folder, model.config.hidden_size)
    return model


def bert(folder, size=16, **keys):
    """Writes a BERT with a tokenizer of the class BertTokenizer."""
    from transformers import BertConfig, BertModel

    config = BertConfig(**{**dict(vocab_size=40, hidden_size=size, num_hidden_layers=2, num_attention_heads=2,
                                  intermediate_size=24, max_position_embeddings=64), **keys})
    model = BertModel(config, add_pooling_layer=False).eval()
    golden.randomize(model, 3)
    model.save_pretrained(folder)
    write_tokenizer(folder, tokenizer_class="BertTokenizer", do_lower_case=True)


def chain(folder, between=(), after=(), **options):
    """Writes a model of sentence-transformers with a BERT, the modules `between`, a Pooling and the modules `after`."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    bert(folder / "start")
    first = [Transformer(str(folder / "start"), max_seq_length=16), *between]
    modules = [*first, Pooling(16, pooling_mode="mean"), *after]
    model = SentenceTransformer(modules=modules, device="cpu", **options)
    for module in [*between, *after]:
        golden.randomize(module, 5)
    model.save_pretrained(str(folder / "model"))
    return folder / "model"


def all_modules(folder):
    from sentence_transformers.base.modules import Dense, Normalize
    from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm

    return chain(folder, after=[Dense(16, 16, activation_function=torch.nn.ReLU(), use_residual=True), LayerNorm(16),
                                Dropout(0.1), Normalize()])


def layer_pooling(folder):
    from sentence_transformers.sentence_transformer.modules import WeightedLayerPooling

    made = chain(folder, between=[WeightedLayerPooling(16, num_hidden_layers=2, layer_start=1)])
    path = made / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "output_hidden_states": True}))
    return made


def convolution(folder):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import CNN, Pooling, Transformer

    bert(folder / "start")
    modules = [Transformer(str(folder / "start"), max_seq_length=16), CNN(16, 6, kernel_sizes=[1, 3]), Pooling(12)]
    golden.randomize(modules[1], 5)
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder / "model"))
    return folder / "model"


def words(folder, recurrent=False):
    """Writes word embeddings, and an LSTM after them."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import LSTM, Pooling, WordEmbeddings
    from transformers import PreTrainedTokenizerFast

    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
    generator = torch.Generator().manual_seed(2)
    table = WordEmbeddings(tokenizer, torch.randn(40, 16, generator=generator).numpy(), max_seq_length=30)
    modules = [table, *([LSTM(16, 6, num_layers=2)] if recurrent else []), Pooling(12 if recurrent else 16)]
    if recurrent:
        golden.randomize(modules[1], 5)
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder / "model"))
    return folder / "model"


def static(folder):
    """Writes a model of model2vec."""
    from model2vec import StaticModel

    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    generator = torch.Generator().manual_seed(2)
    StaticModel(torch.randn(40, 16, generator=generator).numpy(),
                tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")),
                config={"tokenizer_name": "a/b", "apply_pca": 16, "apply_zipf": True, "hidden_dim": 16,
                        "seq_length": 100},
                normalize=True).save_pretrained(str(folder / "model"))
    return folder / "model"


def adapters(folder):
    """Writes LoRA adapters of a BERT and files of sentence-transformers in the same directory."""
    import peft
    from transformers import AutoModel

    bert(folder / "base")
    model = peft.get_peft_model(AutoModel.from_pretrained(folder / "base"),
                                peft.LoraConfig(r=2, lora_alpha=5, target_modules=["query", "output.dense"]))
    golden.randomize(model, 6)
    model.save_pretrained(folder / "model")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / "model" / name).write_text((folder / "base" / name).read_text())
    write_modules(folder / "model", 16)
    path = folder / "model" / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": str(folder / "base")}))
    return folder / "model"
