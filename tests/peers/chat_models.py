# SPDX-License-Identifier: MIT
"""Small random models with chat templates, saved by sentence-transformers with the modality "message"."""
import json
import shutil

import tokenizers
import torch
import transformers

import golden
import key_models

SIZES = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=128)
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|user|>", "<|end|>", "</s>", "<s>"]
CORPUS = ["<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n", "user\nassistant\nsystem\nquery\ndocument\n",
          "the capital of Peru is Lima, and the river is near the harbor", "find similar texts: search query"] * 4

CHATML = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
PHI = ("{{ bos_token }}{% for message in messages %}{{ '<|' + ('user' if message['role'] == 'user' else message['role']) + '|>\n' + "
       "message['content'] | trim + '<|end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}"
       "{% else %}{{ eos_token }}{% endif %}")
WORDS = ("{% for m in messages %}{% if m.role == 'system' %}w1 {{ m.content }} [SEP] {% else %}[CLS] w2 {{ m.content }} w3 [SEP]"
         "{% endif %}{% endfor %}{% if add_generation_prompt %} w4{% endif %}")
PARTS = """{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' }}
    {%- for item in message['content'] %}
        {%- if item['type'] == 'text' %}{{ item['text'] }}{% endif %}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}"""
EITHER = """{%- for message in messages %}
    {%- if message.content is string %}{{ '<|im_start|>flat ' + message.content + '<|im_end|>' }}
    {%- else %}{{ '<|im_start|>parts ' + message.content[0].text + '<|im_end|>' }}{% endif %}
{%- endfor %}"""


def byte_model(tokens=TOKENS):
    """Returns the vocabulary and the merges of a byte-level BPE model, whose first tokens are `tokens`."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS, tokenizers.trainers.BpeTrainer(
        vocab_size=256 + len(tokens) + 90, show_progress=False, special_tokens=tokens,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def write_qwen2(folder, labels):
    vocabulary, merges = byte_model()
    tokenizer = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges, eos_token="<|im_end|>",
                                            extra_special_tokens=["<|im_start|>", "<|user|>", "<|end|>"])
    tokenizer.save_pretrained(folder)
    config = transformers.Qwen2Config(**SIZES, num_key_value_heads=1, vocab_size=len(tokenizer), pad_token_id=0,
                                      num_labels=labels or 2)
    return transformers.Qwen2ForSequenceClassification(config) if labels else transformers.Qwen2Model(config)


def write_llama(folder, labels):
    vocabulary, merges = byte_model()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>",
        special_tokens=[(token, vocabulary[token]) for token in ("<s>", "</s>")])
    tokenizer.add_special_tokens(TOKENS)
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>",
                                         pad_token="<|endoftext|>",
                                         model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=1, vocab_size=len(vocabulary), pad_token_id=0,
                                      num_labels=labels or 2)
    return transformers.LlamaForSequenceClassification(config) if labels else transformers.LlamaModel(config)


def write_bert(folder, labels):
    key_models.write_tokenizer(folder, tokenizer_class="BertTokenizer", do_lower_case=False)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(tokenizer))
    config = transformers.BertConfig(**SIZES, vocab_size=40, pad_token_id=0, num_labels=labels or 2)
    return transformers.BertForSequenceClassification(config) if labels else transformers.BertModel(config,
        add_pooling_layer=False)


MODELS = {"qwen2": (write_qwen2, CHATML), "llama": (write_llama, PHI), "bert": (write_bert, WORDS)}


def raw(folder, kind, template=None, labels=None):
    """Writes a model of the library transformers with a chat template; returns its directory."""
    write, default = MODELS[kind]
    folder.mkdir(parents=True)
    model = write(folder, labels)
    golden.randomize(model, 3)
    model.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(default if template is None else template, newline="")
    return folder


def move_template(folder, place):
    """Moves the chat template to tokenizer_config.json. place: "string", or "list" for a list of named templates."""
    path = folder / "tokenizer_config.json"
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").unlink()
    named = [{"name": "tool_use", "template": "{{ messages }}"}, {"name": "default", "template": template}]
    path.write_text(json.dumps({**json.loads(path.read_text()), "chat_template": named if place == "list"
                                else template}))


def nest(folder):
    """Moves the files of the transformer to the folder 0_Transformer, as older versions of sentence-transformers wrote
    them."""
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in [*folder.iterdir()]:
        if file.is_file() and file.name not in ("modules.json", "config_sentence_transformers.json", "README.md"):
            shutil.move(file, inner / file.name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))


def edit(folder, form=None, **keys):
    """Changes sentence_bert_config.json. form: format of the messages; "missing" removes it."""
    path = folder / "sentence_bert_config.json"
    config = {**json.loads(path.read_text()), **keys}
    message = config["modality_config"]["message"]
    if form == "missing":
        del message["format"]
    elif form:
        message["format"] = form
    path.write_text(json.dumps(config))


def sentence_model(folder, kind, template=None, *, form=None, place=None, nested=False, mode="mean",
                   include_prompt=True, length=None, lower=False, options=None, tokenizer=None, **model_options):
    """Writes a SentenceTransformer directory and returns its path. options: processing_kwargs["chat_template"];
    tokenizer: keys of tokenizer_config.json."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    start = raw(folder / "raw", kind, template)
    more = {"processing_kwargs": {"chat_template": options}} if options else {}
    first = Transformer(str(start), max_seq_length=length, **more)
    assert "message" in first.modality_config
    pooling = Pooling(SIZES["hidden_size"], pooling_mode=mode, include_prompt=include_prompt)
    out = folder / "model"
    SentenceTransformer(modules=[first, pooling], device="cpu", **model_options).save_pretrained(str(out))
    finish(out, form, place, tokenizer)
    if lower:  # the library does not save this argument
        edit(out, do_lower_case=True)
    if nested:
        nest(out)
    return out


def finish(out, form, place, tokenizer):
    edit(out, form)
    if place:
        move_template(out, place)
    if tokenizer:
        path = out / "tokenizer_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **tokenizer}))


def cross_encoder(folder, kind, template=None, *, labels=1, form=None, place=None, length=None, options=None,
                  tokenizer=None, **model_options):
    """Writes a CrossEncoder directory with a classification head and returns its path."""
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Transformer

    start = raw(folder / "raw", kind, template, labels)
    more = {"processing_kwargs": {"chat_template": options}} if options else {}
    first = Transformer(str(start), transformer_task="sequence-classification", max_seq_length=length, **more)
    assert "message" in first.modality_config
    CrossEncoder(modules=[first], device="cpu", activation_fn=torch.nn.Identity(),
                 **model_options).save_pretrained(str(folder / "model"))
    finish(folder / "model", form, place, tokenizer)
    return folder / "model"
