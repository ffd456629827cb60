# SPDX-License-Identifier: MIT
"""Compares adapters with the library PEFT: adapters that PEFT wrote give equal vectors in aoe, or aoe rejects them and
names the setting; adapters that aoe trained give equal vectors in PEFT."""


import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (AlbertConfig, AlbertModel, AutoModel, BertConfig, BertModel, DistilBertConfig,
                          DistilBertModel, ElectraConfig, ElectraModel,
                          Gemma3TextConfig, Gemma3TextModel, LlamaConfig, LlamaForCausalLM,
                          LlamaModel, MistralConfig, MistralModel, MPNetConfig, MPNetModel, ModernBertConfig,
                          ModernBertModel, PreTrainedTokenizerFast, Qwen2Config,
                          Qwen2Model, Qwen3Config, Qwen3Model, RobertaConfig, RobertaModel, XLMRobertaConfig,
                          XLMRobertaModel)

from conftest import assert_equal, relative_error

WORDS = [f"w{i}" for i in range(34)]
TEXTS = ["w1 w2 w3", "w5", " ".join(WORDS[:20]), "w7 w7 w8 w30 w31", "w9 w0 w33"]
BERT = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=40, pad_token_id=0)
LLAMA = dict(vocab_size=40, hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=24, max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=3)
MODELS = {
    "bert": lambda: BertModel(BertConfig(**BERT)),
    "roberta": lambda: RobertaModel(RobertaConfig(**BERT)),
    "xlm_roberta": lambda: XLMRobertaModel(XLMRobertaConfig(**BERT)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**{**BERT, "pad_token_id": 1})),
    "distilbert": lambda: DistilBertModel(DistilBertConfig(vocab_size=40, dim=16, n_layers=3, n_heads=2, hidden_dim=24,
                                                           max_position_embeddings=40)),
    "llama": lambda: LlamaModel(LlamaConfig(**LLAMA)),
    "llama_lm": lambda: LlamaForCausalLM(LlamaConfig(**LLAMA)),
    "mistral": lambda: MistralModel(MistralConfig(**LLAMA, sliding_window=None)),
    "qwen2": lambda: Qwen2Model(Qwen2Config(**LLAMA)),
    "qwen3": lambda: Qwen3Model(Qwen3Config(**LLAMA, head_dim=4)),
    "gemma3": lambda: Gemma3TextModel(Gemma3TextConfig(**LLAMA, head_dim=4)),
    "electra": lambda: ElectraModel(ElectraConfig(**BERT, embedding_size=8)),
    "albert": lambda: AlbertModel(AlbertConfig(**BERT, embedding_size=8)),
}
TARGETS = {"bert": ["query", "value"], "roberta": ["query", "output.dense"],
           "xlm_roberta": ["key", "intermediate.dense"],
           "mpnet": ["attn.q", "attn.o"], "distilbert": ["q_lin", "lin2"], "llama": ["q_proj", "down_proj"],
           "llama_lm": ["q_proj", "up_proj"], "mistral": ["v_proj", "gate_proj"], "qwen2": ["k_proj", "o_proj"],
           "qwen3": ["q_proj", "v_proj"], "gemma3": ["q_proj", "down_proj"], "electra": ["query", "value"],
           "albert": ["query", "ffn"]}


def randomize(module, seed):
    """Gives all weights that PEFT trains random values, so that every one of them changes the vectors."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.requires_grad:
                if "magnitude" in name:
                    p.mul_(1 + 0.3 * torch.rand(p.shape, generator=generator))
                else:
                    p.add_(0.2 * torch.randn(p.shape, generator=generator))


@pytest.fixture
def base(tmp_path, aoe):
    """Returns a function that writes a random base model and returns the model and its directory."""
    def make(kind):
        torch.manual_seed(1)
        model = MODELS[kind]().eval()
        with torch.no_grad():
            for p in model.parameters():
                if p.dim() > 1:
                    p.normal_(0, 0.3)
        directory = tmp_path / "base"
        model.save_pretrained(directory)
        vocab = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, **{w: 5 + i for i, w in enumerate(WORDS)}}
        t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
        t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]",
                                                         special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(directory)
        return model, directory
    return make


def reference(model, directory, texts=TEXTS):
    """Mean pooling of the last hidden states, without normalization."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(directory)
    out = []
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            model_output = model(input_ids=ids, output_hidden_states=True)
            out.append(model_output.hidden_states[-1][0].mean(0).numpy())
    return out


def embed(aoe, adapters, directory):
    return aoe.embed(adapters, TEXTS, "--base", directory, "--pooling", "mean", "--no-normalize")


def check(aoe, base, tmp_path, kind, config, state=None):
    model, directory = base(kind)
    plain = reference(model, directory)
    adapted = peft.get_peft_model(model, config)
    randomize(adapted, 5)
    adapted.eval()
    adapted.save_pretrained(tmp_path / "adapters")
    if state:
        file = tmp_path / "adapters" / "adapter_model.safetensors"
        stored = {k: v.to(state) for k, v in load_file(file).items()}
        save_file(stored, file)
        peft.set_peft_model_state_dict(adapted, {k: v.float() for k, v in stored.items()})
    want = reference(adapted, directory)
    got = embed(aoe, tmp_path / "adapters", directory)
    assert relative_error(plain, want) > 1e-3, "the adapters have no effect"
    assert_equal(got, want, 2e-5)
    return directory


@pytest.mark.parametrize("kind", MODELS)
def test_targets(aoe, base, tmp_path, kind):
    check(aoe, base, tmp_path, kind, peft.LoraConfig(r=3, lora_alpha=5, target_modules=TARGETS[kind]))


@pytest.mark.parametrize("kind", sorted(set(MODELS) - {"electra", "albert"}))
def test_all_linear(aoe, base, tmp_path, kind):
    check(aoe, base, tmp_path, kind, peft.LoraConfig(r=2, lora_alpha=5, target_modules="all-linear"))


@pytest.mark.parametrize("kind", ["electra", "albert"])
def test_all_linear_rejected(aoe, base, tmp_path, kind):
    """all-linear includes the projection of the embeddings, which cannot have an adapter in aoe."""
    model, directory = base(kind)
    peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules="all-linear")).save_pretrained(tmp_path / "adapters")
    done = aoe.run("embed", "-q", "-m", tmp_path / "adapters", "--base", directory, stdin="w1\n", fails=True)
    assert "embedding" in done.stderr


OPTIONS = {
    "rslora": dict(use_rslora=True),
    "gaussian": dict(init_lora_weights="gaussian"),
    "orthogonal": dict(init_lora_weights="orthogonal", r=4),
    "rank_pattern": dict(rank_pattern={"layer.0.attention.self.query": 5, ".*1.*value": 2}),
    "rank_pattern_rslora": dict(rank_pattern={"value": 7}, use_rslora=True),
    "alpha_pattern": dict(alpha_pattern={"query": 11, r"layer\.2\..*value": 1}),
    "both_patterns": dict(rank_pattern={"query": 1}, alpha_pattern={"query": 3, "value": 7}),
    "layers": dict(layers_to_transform=[0, 2]),
    "one_layer": dict(layers_to_transform=1),
    "layers_pattern": dict(layers_to_transform=[1], layers_pattern="layer"),
    "exclude": dict(exclude_modules=["layer.0.attention.self.query"]),
    "exclude_regex": dict(exclude_modules=r".*\.2\..*"),
    "regex": dict(target_modules=r"encoder\.layer\.[02]\..*(query|intermediate\.dense)"),
    "complete_names": dict(target_modules=["encoder.layer.0.attention.self.query", "encoder.layer.2.output.dense"]),
    "bias_all": dict(bias="all"),
    "bias_lora_only": dict(bias="lora_only"),
    "modules_to_save": dict(modules_to_save=["embeddings.LayerNorm", "pooler"]),
    "saved_embeddings": dict(modules_to_save=["word_embeddings"]),
    "saved_linear": dict(modules_to_save=["layer.1.intermediate.dense"]),
    "dora": dict(use_dora=True),
    "dora_patterns": dict(use_dora=True, rank_pattern={"value": 5}, use_rslora=True),
    "dora_all": dict(use_dora=True, bias="all", modules_to_save=["pooler"], target_modules="all-linear"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(aoe, base, tmp_path, name):
    options = {"r": 3, "lora_alpha": 6, "target_modules": ["query", "value"], **OPTIONS[name]}
    directory = check(aoe, base, tmp_path, "bert", peft.LoraConfig(**options))
    aoe.run("merge", tmp_path / "adapters", "--base", directory, "-o", tmp_path / "merged")
    got = aoe.embed(tmp_path / "merged", TEXTS, "--pooling", "mean", "--no-normalize")
    assert_equal(got, embed(aoe, tmp_path / "adapters", directory), 1e-6)


@pytest.mark.parametrize("name", ["rank_pattern", "alpha_pattern", "layers", "dora"])
def test_options_llama(aoe, base, tmp_path, name):
    options = {"rank_pattern": dict(rank_pattern={"layers.1.self_attn.q_proj": 5}),
               "alpha_pattern": dict(alpha_pattern={"v_proj": 1}),
               "layers": dict(layers_to_transform=[1], layers_pattern="layers"), "dora": dict(use_dora=True)}[name]
    check(aoe, base, tmp_path, "llama_lm", peft.LoraConfig(r=3, target_modules=["q_proj", "v_proj"], **options))


@pytest.mark.parametrize("state", [torch.bfloat16, torch.float16])
def test_types(aoe, base, tmp_path, state):
    check(aoe, base, tmp_path, "bert", peft.LoraConfig(r=3, target_modules=["query", "output.dense"]), state)


REJECTED = {
    "pissa": dict(init_lora_weights="pissa"),
    "pissa_niter_4": dict(init_lora_weights="pissa_niter_4"),
    "olora": dict(init_lora_weights="olora"),
    "lora_bias": dict(lora_bias=True, bias="none"),
    "alora_invocation_tokens": dict(alora_invocation_tokens=[5, 6], task_type="CAUSAL_LM"),
    "layer_replication": dict(layer_replication=[[0, 2], [1, 3]]),
    "trainable_token_indices": dict(trainable_token_indices={"word_embeddings": [1, 2]}),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(aoe, base, tmp_path, name):
    kind = "llama_lm" if name in ("alora_invocation_tokens", "layer_replication") else "bert"
    model, directory = base(kind)
    options = {"r": 3, "target_modules": ["q_proj"] if kind == "llama_lm" else ["query"], **REJECTED[name]}
    peft.get_peft_model(model, peft.LoraConfig(**options)).save_pretrained(tmp_path / "adapters")
    done = aoe.run("embed", "-q", "-m", tmp_path / "adapters", "--base", directory, stdin="w1\n", fails=True)
    assert name in done.stderr and "adapter_config.json" in done.stderr


def test_fused_layers(aoe, tmp_path):
    """Adapters of Wqkv, which contains three linear layers of aoe, are rejected."""
    model = ModernBertModel(ModernBertConfig(**BERT, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3))
    model.save_pretrained(tmp_path / "base")
    peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["Wqkv"])).save_pretrained(tmp_path / "adapters")
    done = aoe.run("embed", "-q", "-m", tmp_path / "adapters", "--base", tmp_path / "base", stdin="w1\n", fails=True)
    assert "Wqkv" in done.stderr and "several" in done.stderr


def test_other_types_of_adapters(aoe, base, tmp_path):
    model, directory = base("bert")
    config = peft.IA3Config(target_modules=["query"], feedforward_modules=[])
    peft.get_peft_model(model, config).save_pretrained(tmp_path / "adapters")
    done = aoe.run("embed", "-q", "-m", tmp_path / "adapters", "--base", directory, stdin="w1\n", fails=True)
    assert "IA3" in done.stderr


def train_data(tmp_path):
    rows = ["text1\ttext2\tlabel"] + [f"w{i} w{i + 1}\tw{(i * 7) % 30} w{i}\t{i % 6}" for i in range(24)]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("kind", MODELS)
def test_trained_by_aoe(aoe, base, tmp_path, kind):
    model, directory = base(kind)
    out = tmp_path / "adapters"
    aoe.run("train", "-q", "-m", directory, "-d", train_data(tmp_path), "--lora-r", 3, "--lora-targets",
            ",".join(TARGETS[kind]), "--lr", "0.05", "--epochs", 1, "--batch-size", 8, "--pooling", "mean", "-o", out)
    want = reference(peft.PeftModel.from_pretrained(model, str(out)).eval(), directory)
    assert_equal(embed(aoe, out, directory), want, 2e-5)


@pytest.mark.parametrize("name", ["rank_pattern", "both_patterns", "layers", "exclude", "regex"])
def test_trained_further(aoe, base, tmp_path, name):
    """Adapters that differ between layers keep their targets, ranks and alphas when aoe trains them further."""
    model, directory = base("bert")
    options = {"r": 3, "lora_alpha": 6, "target_modules": ["query", "value"], **OPTIONS[name]}
    adapted = peft.get_peft_model(model, peft.LoraConfig(**options))
    randomize(adapted, 5)
    adapted.save_pretrained(tmp_path / "adapters")
    out = tmp_path / "further"
    aoe.run("train", "-q", "-m", tmp_path / "adapters", "--base", directory, "-d", train_data(tmp_path), "--lr", "0.05",
            "--epochs", 1, "--batch-size", 8, "--pooling", "mean", "-o", out)
    before, after = load_file(tmp_path / "adapters" / "adapter_model.safetensors"), load_file(
        out / "adapter_model.safetensors")
    assert {k: v.shape for k, v in before.items()} == {k: v.shape for k, v in after.items()}
    fresh = AutoModel.from_pretrained(directory)
    want = reference(peft.PeftModel.from_pretrained(fresh, str(out)).eval(), directory)
    assert_equal(embed(aoe, out, directory), want, 2e-5)


@pytest.mark.parametrize("name", ["dora", "bias_all", "modules_to_save"])
def test_training_rejected(aoe, base, tmp_path, name):
    model, directory = base("bert")
    options = {"r": 3, "target_modules": ["query", "value"], **OPTIONS[name]}
    peft.get_peft_model(model, peft.LoraConfig(**options)).save_pretrained(tmp_path / "adapters")
    done = aoe.run("train", "-q", "-m", tmp_path / "adapters", "--base", directory, "-d", train_data(tmp_path), "-o",
                   tmp_path / "out", fails=True)
    assert "aoe merge" in done.stderr
