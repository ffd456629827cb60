# SPDX-License-Identifier: MIT
"""Models that score text pairs, with the interface of the CrossEncoder of sentence-transformers 6."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from . import _inputs, _native
from ._model import Model, _check_device, check_unsupported
from ._model_files import read_json, save_directory, update_json
from .sentence_transformer import SLICE_CHARACTERS

ACTIVATIONS = {"logit": "linear.Identity", "sigmoid": "activation.Sigmoid", "softmax": "activation.Softmax",
               "tanh": "activation.Tanh"}  # with their modules in torch.nn.modules


class CrossEncoder(Model):
    """A model that scores pairs of texts, such as a query and a document.

    model_name_or_path: as in SentenceTransformer. max_length: maximum number of tokens of a pair; activation_fn: the
    function that is applied to the outputs of the model: "logit" (or "identity"), "sigmoid", "softmax" or "tanh", or
    an instance of Identity, Sigmoid, Softmax or Tanh of torch.nn; None: that of the model.
    """

    _cross_encoder = 1

    def __init__(self, model_name_or_path: str | os.PathLike[str], *, modules: Any = None, device: str | None = None,
                 prompts: dict[str, str] | None = None, default_prompt_name: str | None = None,
                 cache_folder: str | None = None, trust_remote_code: bool = False, revision: str | None = None,
                 local_files_only: bool = False, token: bool | str | None = None,
                 model_kwargs: dict[str, Any] | None = None, processor_kwargs: dict[str, Any] | None = None,
                 config_kwargs: dict[str, Any] | None = None, model_card_data: Any = None, backend: str = "torch",
                 num_labels: int | None = None, max_length: int | None = None, activation_fn: Any = None,
                 threads: int | None = None, dtype: str = "auto") -> None:
        _check_device(device)
        check_unsupported(modules=modules, prompts=prompts, default_prompt_name=default_prompt_name,
                          cache_folder=cache_folder, model_kwargs=model_kwargs, processor_kwargs=processor_kwargs,
                          config_kwargs=config_kwargs, backend=None if backend == "torch" else backend)
        del trust_remote_code, model_card_data
        if max_length is not None:
            max_length = _native.positive(max_length, "max_length")
        super().__init__(model_name_or_path, revision=revision, local_files_only=local_files_only, token=token,
                         threads=threads, dtype=dtype,
                         fields={"max_length": max_length, "activation": _activation(activation_fn)})
        if num_labels is not None and num_labels != self.num_labels:
            have = self.num_labels
            self.close()
            raise ValueError(f"num_labels={num_labels}, but the model has {have} outputs")

    @property
    def num_labels(self) -> int:
        """Number of scores of a pair."""
        with self._handle.use() as handle:
            return int(_native.load().aoe_model_classes(handle.model))

    @property
    def labels(self) -> list[str | None]:
        """Names of the scores from the configuration of the model."""
        lib = _native.load()
        with self._handle.use() as handle:
            names = [lib.aoe_model_class_name(handle.model, i) for i in range(self.num_labels)]
        return [None if name is None else name.decode() for name in names]

    def predict(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None,
                batch_size: int = 32, show_progress_bar: bool | None = None, activation_fn: Any = None,
                apply_softmax: bool | None = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, pool: Any = None, chunk_size: int | None = None, *, sentences: Any = None) -> Any:
        """Scores pairs of texts.

        inputs: a pair, or a list of pairs. Returns float32 scores: [n], or [n, C] if the model has C > 1 outputs; for
        one pair, a number or [C]. activation_fn: as in the constructor. apply_softmax: apply softmax to the C > 1
        activated outputs of each pair, after activation_fn, as sentence-transformers does; it has no effect on a model
        with one output. batch_size is accepted for compatibility: the library chooses its batches."""
        if sentences is not None:
            if inputs is not None:
                raise TypeError("`sentences` is the old name of `inputs`; pass only one of them")
            inputs = sentences
        _check_device(device)
        check_unsupported(prompt_name=prompt_name, prompt=prompt, pool=pool, chunk_size=chunk_size)
        _native.positive(batch_size, "batch_size")
        _inputs.check_tensors(convert_to_tensor)
        pairs = _inputs.as_list(inputs)
        single = len(pairs) == 2 and all(isinstance(text, str) for text in pairs)
        pairs = [pairs] if single else pairs
        for i, pair in enumerate(pairs):
            if isinstance(pair, (str, Mapping, Set)) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise TypeError(f"inputs[{i}]: a pair of strings is needed, not {pair!r:.60}")
            for text in pair:
                if not isinstance(text, str):
                    raise TypeError(f"inputs[{i}]: a text must be a string, not {type(text).__name__}")
        scores = self._scores([p[0] for p in pairs], [p[1] for p in pairs], show_progress_bar,
                              _activation(activation_fn))
        if apply_softmax and scores.shape[1] > 1:
            powers = np.exp(scores - scores.max(1, keepdims=True))
            scores = powers / powers.sum(1, keepdims=True)
        result: Any = scores[:, 0] if scores.shape[1] == 1 else scores
        if convert_to_tensor:
            result = _inputs.to_tensor(np.ascontiguousarray(result))
        elif not convert_to_numpy:
            result = list(result)
        return result[0] if single else result

    def _scores(self, first: list[str], second: list[str], show: bool | None, activation: int | None) -> Any:
        lib = _native.load()
        scores = np.empty((len(first), self.num_labels), np.float32)
        sizes = [len(a) + len(b) for a, b in zip(first, second)]
        bar = _inputs.progress_bar(show, len(first), "Scoring") if first else None
        with self._handle.use() as handle:
            for begin, end in _inputs.slices(sizes, SLICE_CHARACTERS):
                handle.check_slice()
                a, b = _inputs.Texts(first[begin:end], begin=begin), _inputs.Texts(second[begin:end], begin=begin)
                pairs = (ctypes.c_void_p * len(a))()
                with self._named(handle, begin):
                    _native.check(lib.aoe_sequences_create_pairs, handle.embedder, a.pointer, b.pointer, len(a), None,
                                  pairs)
                    try:
                        pointers, owner = _inputs.row_pointers(scores[begin:end])
                        _native.check(lib.aoe_score_sequences, handle.embedder, pairs, len(a),
                                      _native.AUTO if activation is None else activation, pointers)
                        del owner
                    finally:
                        for pair in pairs:
                            lib.aoe_sequence_destroy(pair)
                if bar is not None:
                    bar.update(end - begin)
        if bar is not None:
            bar.close()
        return scores

    def rank(self, query: str, documents: Any, top_k: int | None = None, return_documents: bool = False,
             prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
             show_progress_bar: bool | None = None, activation_fn: Any = None, device: Any = None, pool: Any = None,
             chunk_size: int | None = None) -> list[dict[str, Any]]:
        """Orders documents by their score with a query. Returns a list of {"corpus_id": position, "score": score}, best
        first, with the key "text" if return_documents is True. Documents with equal scores keep their order. The other
        arguments are those of `predict`."""
        if self.num_labels != 1:
            raise ValueError("rank needs a model with one score per pair; use predict")
        if not isinstance(query, str):
            raise TypeError(f"query must be a string, not {type(query).__name__}")
        documents = _inputs.as_list(documents, "documents")
        _inputs.check_texts(documents, "documents")
        scores = self.predict([[query, text] for text in documents], prompt_name, prompt, batch_size, show_progress_bar,
                              activation_fn, device=device, pool=pool, chunk_size=chunk_size)
        found = [{"corpus_id": i, "score": float(s), **({"text": documents[i]} if return_documents else {})}
                 for i, s in enumerate(scores)]
        return sorted(found, key=lambda hit: hit["score"], reverse=True)[:top_k]

    @property
    def max_length(self) -> int:
        """max_seq_length."""
        return self.max_seq_length

    @max_length.setter
    def max_length(self, value: int) -> None:
        self.max_seq_length = value

    def save_pretrained(self, path: str | os.PathLike[str], *, safe_serialization: bool = True) -> None:
        """Writes the model directory, with the current maximum length and with the activation function that the
        constructor received. The directory is complete or not there. Raises FileExistsError if `path` exists and is not
        an empty directory."""
        if not safe_serialization:
            raise NotImplementedError("safe_serialization=False is not supported; weights are saved as safetensors")
        save_directory(self.directory, path, self._write_settings)

    save = save_pretrained

    def _write_settings(self, part: pathlib.Path) -> None:
        length, activation = self._fields.get("max_length"), self._fields.get("activation")
        if length is not None:
            own = [name for name in ("aoe.json", "sentence_bert_config.json") if (part / name).exists()]
            for name in own or ["tokenizer_config.json"]:
                key = {"aoe.json": "max_length", "sentence_bert_config.json": "max_seq_length"}
                update_json(part / name, {key.get(name, "model_max_length"): length})
        if activation is not None:
            names = {_native.enum("aoe_score_activation")["AOE_SCORE_" + name.upper()]: path
                     for name, path in ACTIVATIONS.items()}
            function, config = "torch.nn.modules." + names[activation], part / "config.json"
            model = part / "config_sentence_transformers.json"
            if "activation_fn" in read_json(model) or not config.exists():
                update_json(model, {"activation_fn": function})
            else:
                settings = read_json(config).get("sentence_transformers", {})
                update_json(config, {"sentence_transformers": {**settings, "activation_fn": function}})


def _activation(function: Any) -> int | None:
    """Returns the value of an activation function; None: that of the model."""
    if function is None:
        return None
    name = None
    if isinstance(function, str):
        name = {"identity": "logit"}.get(function.lower(), function.lower())
    elif (torch := sys.modules.get("torch")) is not None:  # only a module of PyTorch itself computes a known function
        name = next((n for n, path in ACTIVATIONS.items()
                     if type(function) is getattr(torch.nn, path.split(".")[1], None)), None)
        if name == "softmax" and getattr(function, "dim", None) not in (None, 1, -1):
            raise NotImplementedError(f"activation_fn={function!r} is not supported; softmax needs dim=-1")
    if name not in ACTIVATIONS:
        raise NotImplementedError(f"activation_fn must be one of {', '.join(ACTIVATIONS)}, or an instance of Identity, "
                                  f"Sigmoid, Softmax or Tanh of torch.nn, not {function!r}; compute other functions "
                                  "from the scores of activation_fn=\"logit\"")
    return _native.enum("aoe_score_activation")["AOE_SCORE_" + name.upper()]
