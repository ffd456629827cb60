# SPDX-License-Identifier: MIT
"""Embedding models with the interface of sentence-transformers 6."""
from __future__ import annotations

import ctypes
import os
import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _inputs, _native, util
from ._context import logger
from ._model import Handle, Model, _check_device, check_unsupported
from ._model_files import SETTINGS, Padding, link_directory, read_json, save_directory, update_json as _update

SLICE_CHARACTERS = 1 << 18  # of the texts of one call of the library, after which Ctrl-C and progress bars act
ALL_DIMS = 2**64 - 1  # value of the field "dims": all components, without the truncation of the model directory

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]
OutputValue = Literal["sentence_embedding", "token_embeddings"]


class SentenceTransformer(Model):
    """An embedding model.

    model_name_or_path: a directory, or a name on the Hugging Face Hub such as "sentence-transformers/all-MiniLM-L6-v2",
    which is downloaded if it is not in the cache of this machine; None: the default model, which is part of the
    package. prompts: prompts in addition to those of the model, or instead of them; a prompt that contains {text} is a
    template, in which {text} stands for the text. default_prompt_name: the prompt of `encode` without prompt and
    prompt_name. similarity_fn_name: "cosine", "dot", "euclidean" or "manhattan"; None: from the model. truncate_dim:
    number of components that `encode` keeps; None: from the model directory, or all.

    Only in aoe: threads, the number of threads (None: the CPUs that the process may use, limited by its cgroup and by
    OMP_NUM_THREADS); dtype, "auto", "f32", "bf16" or "int8"; max_seq_length.

    Several threads may use one model at the same time. A model can be pickled: its name and options are stored, and its
    weights are mapped again.
    """

    def __init__(self, model_name_or_path: str | os.PathLike[str] | None = None, *, modules: Any = None,
                 device: str | None = None, prompts: dict[str, str] | None = None,
                 default_prompt_name: str | None = None, cache_folder: str | None = None,
                 trust_remote_code: bool = False, revision: str | None = None, local_files_only: bool = False,
                 token: bool | str | None = None, use_auth_token: bool | str | None = None,
                 model_kwargs: dict[str, Any] | None = None, processor_kwargs: dict[str, Any] | None = None,
                 config_kwargs: dict[str, Any] | None = None, model_card_data: Any = None, backend: str = "torch",
                 similarity_fn_name: str | None = None, truncate_dim: int | None = None, threads: int | None = None,
                 dtype: str = "auto", max_seq_length: int | None = None) -> None:
        _check_device(device)
        check_unsupported(modules=modules, cache_folder=cache_folder, model_kwargs=model_kwargs,
                          processor_kwargs=processor_kwargs, config_kwargs=config_kwargs,
                          use_auth_token=use_auth_token, backend=None if backend == "torch" else backend)
        del trust_remote_code, model_card_data  # without effect: aoe never runs code of a model
        if similarity_fn_name is not None and similarity_fn_name not in util.PAIRWISE:
            raise ValueError(f"similarity_fn_name must be one of {', '.join(util.PAIRWISE)}, not "
                             f"{similarity_fn_name!r}")
        if max_seq_length is not None:
            max_seq_length = _native.positive(max_seq_length, "max_seq_length")
        if truncate_dim is not None:
            truncate_dim = _native.positive(truncate_dim, "truncate_dim")
        super().__init__(model_name_or_path, revision=revision, local_files_only=local_files_only, token=token,
                         threads=threads, dtype=dtype, fields={"max_length": max_seq_length})
        self._similarity = similarity_fn_name
        self._wide: Handle | None = None
        self._directory_dims: int | None = self._saved_setting("truncate_dim")
        self._truncate_dim: int | None = self._directory_dims
        if truncate_dim is not None:
            self.truncate_dim = truncate_dim
        self._set_prompts(prompts, default_prompt_name)

    def _set_prompts(self, prompts: dict[str, str] | None, default_prompt_name: str | None) -> None:
        """Sets the prompts of the model directory, and then those that were given."""
        self.prompts: dict[str, str] = self._find_prompts()
        default = _prefix(self._info().prompt.decode())
        recorded = self._saved_setting("default_prompt_name")
        own_default = recorded if recorded in self.prompts and self.prompts[recorded] == default else next(
            (name for name, text in self.prompts.items() if text and text == default), None)
        default_prompt_name = own_default if default_prompt_name is None else default_prompt_name
        self._saved: dict[str, Any] = {"prompts": dict(self.prompts), "default_prompt_name": own_default,
                       "truncate_dim": self._directory_dims}
        for name, text in (prompts or {}).items():
            self.prompts[name] = "" if text is None else text
            _native.c_string(name, "name of a prompt")
            _native.c_string(self.prompts[name], f"prompt {name!r}")
        self.default_prompt_name = default_prompt_name
        if default_prompt_name is not None and default_prompt_name not in self.prompts:
            raise ValueError(f"default_prompt_name={default_prompt_name!r} is not one of the prompts "
                             f"{list(self.prompts)}")

    @classmethod
    def _borrow(cls, handle: Handle) -> Any:
        model = super()._borrow(handle)
        model._similarity = model._wide = model._directory_dims = model._truncate_dim = None
        model._set_prompts(None, None)
        return model

    def _replace(self, directory: str, **fields: Any) -> None:
        given = {name: text for name, text in self.prompts.items() if self._saved["prompts"].get(name) != text}
        default = self.default_prompt_name if "default_prompt_name" in self.changed_settings() else None
        dims = self._truncate_dim if "truncate_dim" in self.changed_settings() else None
        super()._replace(directory, **fields, dims=None)
        self._directory_dims = self._truncate_dim = self._saved_setting("truncate_dim")
        if dims is not None:
            self.truncate_dim = dims
        self._set_prompts(given, default)

    def _saved_setting(self, name: str) -> Any:
        """Returns a setting of the model directory that aoe_model_info does not contain; None: it is not there."""
        if self._handle.borrowed:
            return None
        for file in SETTINGS:
            value = read_json(self.directory / file).get(name)
            if value is not None:
                return value
        return None

    # ------------------------------------------------------------ size of the embeddings

    @property
    def truncate_dim(self) -> int | None:
        """Number of components that `encode` keeps; None: all."""
        return self._truncate_dim

    @truncate_dim.setter
    def truncate_dim(self, value: int | None) -> None:
        value = None if value is None else _native.positive(value, "truncate_dim")
        if self._directory_dims is not None:  # the library truncates vectors, unless they must be longer
            longer = value is None or value > self._directory_dims
            if longer != (self._fields.get("dims") is not None):
                self._reopen(dims=ALL_DIMS if longer else None)
        self._truncate_dim = value

    def _handle_for(self, dims: int | None) -> Handle:
        """Returns a handle whose vectors have at least `dims` components, if the model has so many."""
        short = self._directory_dims
        if short is None or self._fields.get("dims") is not None or dims is not None and dims <= short:
            return self._handle
        with self._handle.use() as handle, handle.lock:
            if self._wide is None:
                self._wide = self._open({**self._fields, "dims": ALL_DIMS})
            return self._wide

    def _open(self, fields: dict[str, Any]) -> Handle:
        if fields.get("dims") != ALL_DIMS:
            return super()._open(fields)
        # the library truncates as the directory says, so it opens links to the files, with other settings
        with tempfile.TemporaryDirectory(prefix="aoe-model-") as folder:
            link_directory(self._find_directory(), pathlib.Path(folder), {"truncate_dim": None})
            return Handle(folder, self._threads, {**fields, "dims": None})

    def _close_wide(self) -> None:
        if self._wide is not None:
            self._wide.close()
            self._wide = None

    def close(self) -> None:
        """Closes the model and frees its memory, after the calls of other threads. Later calls raise ValueError."""
        super().close()
        self._close_wide()

    def _reopen(self, **fields: Any) -> None:
        super()._reopen(**fields)
        self._close_wide()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_wide": None}

    # ------------------------------------------------------------ prompts

    def _own_template(self) -> str | None:
        """Returns the prompt template of `encode`; None: it is that of the model directory."""
        changed = {"prompts", "default_prompt_name"} & set(self.changed_settings())
        return self._template(None, None) if changed else None

    def _find_prompts(self) -> dict[str, str]:
        lib, found, i = _native.load(), {"query": "", "document": ""}, 0
        with self._handle.use() as handle:
            while (name := lib.aoe_model_prompt_name(handle.model, i)) is not None:
                found[name.decode()] = _prefix(lib.aoe_model_prompt(handle.model, name).decode())
                i += 1
        recorded = self._saved_setting("default_prompt_name")
        if recorded != "default" and recorded in found and found[recorded] == found.get("default"):
            del found["default"]  # save_pretrained wrote the default prompt of aoe.json under this second name
        return found

    def changed_settings(self) -> list[str]:
        """Returns the names of the settings that differ from those in the model directory: "prompts",
        "default_prompt_name" and "truncate_dim"."""
        return [name for name, saved in self._saved.items() if getattr(self, name) != saved]

    # ------------------------------------------------------------ embeddings

    def encode(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None,
               batch_size: int = 32, show_progress_bar: bool | None = None,
               output_value: OutputValue | None = "sentence_embedding", precision: Precision = "float32",
               convert_to_numpy: bool = True, convert_to_tensor: bool = False, device: Any = None,
               normalize_embeddings: bool = False, truncate_dim: int | None = None, pool: Any = None,
               chunk_size: int | None = None, *, sentences: Any = None, task: str | None = None) -> Any:
        """Computes the embeddings of texts.

        inputs: a string, or a list, tuple, numpy array, column or generator of strings. Returns a float32 array [D] for
        one string, and [n, D] otherwise; int8 or uint8 for other values of `precision`; a list of arrays if
        convert_to_numpy is False; a tensor if convert_to_tensor is True. output_value "token_embeddings": the last
        hidden states of the tokens, a list of float32 arrays [tokens, H], or of tensors if convert_to_tensor is True;
        as in sentence-transformers, convert_to_numpy, normalize_embeddings and truncate_dim do not apply to them.

        prompt is put before each text, or is a template that contains {text}; prompt_name selects one of `prompts`. If
        the tokenizer truncates texts at their start (truncation_side "left"), a text that is too long keeps its prompt;
        sentence-transformers removes the prompt first. normalize_embeddings scales the vectors to unit length.
        truncate_dim keeps the first components. The vectors have the same bits for any batch_size, which is accepted
        for compatibility: the library chooses its batches. Ctrl-C ends the call between two slices of texts. Raises
        TypeError for inputs that are no strings, and ValueError for invalid Unicode.
        """
        if sentences is not None:
            if inputs is not None:
                raise TypeError("`sentences` is the old name of `inputs`; pass only one of them")
            inputs = sentences
        _check_device(device if not isinstance(device, list) or len(device) != 1 else device[0])
        check_unsupported(pool=pool, chunk_size=chunk_size, task=task)
        _native.positive(batch_size, "batch_size")
        _inputs.check_tensors(convert_to_tensor)
        if precision not in _inputs.PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(_inputs.PRECISIONS)}, not {precision!r}")
        if output_value not in ("sentence_embedding", "token_embeddings"):
            raise NotImplementedError(f"output_value={output_value!r} is not supported; use \"sentence_embedding\" or "
                                      "\"token_embeddings\"")
        if output_value == "token_embeddings" and precision != "float32":
            raise NotImplementedError(f"precision={precision!r} does not apply to token embeddings; pass them to "
                                      "aoe.util.quantize_embeddings")
        template = self._template(prompt, prompt_name)
        single = isinstance(inputs, str)
        texts = [inputs] if single else _inputs.as_list(inputs)
        if output_value == "token_embeddings":
            states = self._token_embeddings(texts, template, show_progress_bar)
            result: Any = [_inputs.to_tensor(s) for s in states] if convert_to_tensor else states
            return result[0] if single else result
        dims = self.truncate_dim if truncate_dim is None else _native.positive(truncate_dim, "truncate_dim")
        vectors = self._vectors(texts, template, show_progress_bar, self._handle_for(dims))
        if dims is not None:
            vectors = vectors[:, :dims]
        if normalize_embeddings:
            vectors = util.normalize_embeddings(vectors)
        result = _inputs.quantize(vectors, precision) if len(texts) else vectors
        if not len(texts):
            result = np.array([], np.float32 if convert_to_tensor else np.float64)
        if convert_to_tensor:
            result = _inputs.to_tensor(np.ascontiguousarray(result))
        elif not convert_to_numpy:
            result = list(result)
        return result[0] if single else result

    def encode_query(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None,
                     **arguments: Any) -> Any:
        """Computes the embeddings of queries: `encode` with the prompt "query" of the model."""
        if prompt_name is None and prompt is None and "query" in self.prompts:
            prompt_name = "query"
        return self.encode(inputs, prompt_name, prompt, **arguments)

    def encode_document(self, inputs: Any = None, prompt_name: str | None = None, prompt: str | None = None,
                        **arguments: Any) -> Any:
        """Computes the embeddings of documents: `encode` with the first of the prompts "document", "passage" and
        "corpus" that is in `prompts`. As in sentence-transformers, "document" is there by default and is empty, so that
        a model that has only the prompt "passage" needs prompt_name="passage"; a warning tells so."""
        if prompt_name is None and prompt is None:
            prompt_name = next((n for n in ("document", "passage", "corpus") if n in self.prompts), None)
            other = next((n for n in ("passage", "corpus") if self.prompts.get(n)), None)
            if prompt_name == "document" and not self.prompts["document"] and other:
                logger.warning("encode_document uses the prompt \"document\", which is empty, as sentence-transformers "
                               "does; pass prompt_name=\"%s\" to use the other prompt of the model", other)
        return self.encode(inputs, prompt_name, prompt, **arguments)

    def _template(self, prompt: str | None, prompt_name: str | None) -> str | None:
        """Returns the prompt template of a call; None: the default of the model."""
        if prompt is None:
            name = prompt_name if prompt_name is not None else self.default_prompt_name
            if name is None:  # the default prompt of the model may have been switched off
                return None if self._saved["default_prompt_name"] is None else ""
            if name not in self.prompts:
                raise ValueError(f"there is no prompt {name!r}; the model has the prompts {list(self.prompts)}")
            prompt = self.prompts[name]
        elif not isinstance(prompt, str):
            raise TypeError(f"prompt must be a string, not {type(prompt).__name__}")
        _native.c_string(prompt, "prompt")
        return prompt if "{text}" in prompt or not prompt else prompt + "{text}"

    def _slices(self, texts: list[Any], show: bool | None) -> Iterator[tuple[int, int]]:
        """Divides texts into slices, and advances the progress bar."""
        _inputs.check_texts(texts)
        sizes = list(map(len, texts))
        bar = _inputs.progress_bar(show, len(texts), "Embedding") if texts else None
        try:
            for begin, end in _inputs.slices(sizes, SLICE_CHARACTERS):
                self._handle.check_slice()
                yield begin, end
                if bar is not None:
                    bar.update(end - begin)
        finally:
            if bar is not None:
                bar.close()

    def _vectors(self, texts: list[Any], template: str | None, show: bool | None,
                 opened: Handle) -> NDArray[np.float32]:
        lib = _native.load()
        with opened.use() as handle:
            dims = int(lib.aoe_embedder_dims(handle.embedder))
            vectors = np.empty((len(texts), dims), np.float32)
            for begin, end in self._slices(texts, show):
                part, rows = _inputs.Texts(texts[begin:end], begin=begin), vectors[begin:end]
                with self._named(handle, begin):
                    if template is None:
                        out = rows.ctypes.data_as(_native.interface().type("float *"))
                        _native.check(lib.aoe_embed, handle.embedder, part.pointer, len(part), out, None)
                    else:
                        with self._sequences(handle, part, template) as sequences:
                            pointers, owner = _inputs.row_pointers(rows)
                            _native.check(lib.aoe_embed_sequences, handle.embedder, sequences, len(part), pointers)
                            del owner
        return vectors

    def _token_embeddings(self, texts: list[Any], template: str | None,
                          show: bool | None) -> list[NDArray[np.float32]]:
        lib, states = _native.load(), []
        info = _native.struct("aoe_sequence_info")
        with self._handle.use() as handle:
            for begin, end in self._slices(texts, show):
                part = _inputs.Texts(texts[begin:end], begin=begin)
                with self._named(handle, begin), self._sequences(handle, part, template) as sequences:
                    for i in range(len(part)):
                        lib.aoe_sequence_get_info(sequences[i], ctypes.byref(info))
                        state = np.empty((info.tokens, info.token_dims), np.float32)
                        out = state.ctypes.data_as(_native.interface().type("float *"))
                        _native.check(lib.aoe_embed_tokens, handle.embedder, sequences[i], out)
                        states.append(state)
        return states

    @contextmanager
    def _sequences(self, handle: Any, part: _inputs.Texts, template: str | None) -> Iterator[Any]:
        lib = _native.load()
        options = _native.options("aoe_sequence_options", prompt=template)
        sequences = (ctypes.c_void_p * len(part))()
        _native.check(lib.aoe_sequences_create, handle.embedder, part.pointer, len(part), ctypes.byref(options),
                      sequences)
        try:
            yield sequences
        finally:
            for sequence in sequences:
                lib.aoe_sequence_destroy(sequence)

    # ------------------------------------------------------------ other functions

    def tokenize(self, texts: list[str], **arguments: Any) -> dict[str, NDArray[np.int64]]:
        """Returns the token ids of texts, without a prompt: {"input_ids": [n, T], "attention_mask": [n, T]}, and
        "token_type_ids": [n, T] if the tokenizer of transformers returns them. Shorter rows are filled with the padding
        token, where the mask is 0, on the padding side of the tokenizer."""
        check_unsupported(**arguments)
        lib, count, rows = _native.load(), ctypes.c_size_t(), []
        with self._handle.use() as handle:
            part = _inputs.Texts(_inputs.as_list([texts] if isinstance(texts, str) else texts, "texts"), begin=0,
                                 argument="texts")
            with self._named(handle, 0), self._sequences(handle, part, "") as sequences:
                for sequence in sequences:
                    ids = lib.aoe_sequence_ids(sequence, ctypes.byref(count))
                    rows.append(np.ctypeslib.as_array(ids, (count.value,)).astype(np.int64))
        self._check_owned("used for batches of token ids")
        base = self._info().base
        padding = Padding([self.directory, *([pathlib.Path(os.fsdecode(base))] if base else [])])
        longest = max(map(len, rows), default=0)
        ids_array, mask = np.full((len(rows), longest), padding.id, np.int64), np.zeros((len(rows), longest), np.int64)
        for i, row in enumerate(rows):
            begin = longest - len(row) if padding.left else 0
            ids_array[i, begin:begin + len(row)], mask[i, begin:begin + len(row)] = row, 1
        types = {"token_type_ids": np.zeros_like(mask)} if padding.types else {}
        return {"input_ids": ids_array, **types, "attention_mask": mask}

    preprocess = tokenize

    def get_embedding_dimension(self) -> int:
        """Returns the number of components of an embedding."""
        with self._handle_for(self.truncate_dim).use() as handle:
            dims = int(_native.load().aoe_embedder_dims(handle.embedder))
        return dims if self.truncate_dim is None else min(dims, self.truncate_dim)

    get_sentence_embedding_dimension = get_embedding_dimension

    @property
    def similarity_fn_name(self) -> str:
        """"cosine", "dot", "euclidean" or "manhattan"."""
        return self._similarity or str(self._info().similarity.decode())

    @similarity_fn_name.setter
    def similarity_fn_name(self, value: str | None) -> None:
        if value is not None and value not in util.PAIRWISE:
            raise ValueError(f"similarity_fn_name must be one of {', '.join(util.PAIRWISE)}, not {value!r}")
        self._similarity = value

    def similarity(self, embeddings1: Any, embeddings2: Any) -> NDArray[Any]:
        """Returns the similarities [n, m] of all pairs of embeddings1[n, D] and embeddings2[m, D]."""
        return util.ALL_PAIRS[self.similarity_fn_name](embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns the similarities [n] of the rows of embeddings1[n, D] and embeddings2[n, D]; a number for two
        embeddings [D]."""
        return util.PAIRWISE[self.similarity_fn_name](embeddings1, embeddings2)

    @contextmanager
    def truncate_embeddings(self, truncate_dim: int | None) -> Iterator[None]:
        """Sets truncate_dim for a block."""
        before, self.truncate_dim = self.truncate_dim, truncate_dim
        try:
            yield
        finally:
            self.truncate_dim = before

    truncate_sentence_embeddings = truncate_embeddings

    def save_pretrained(self, path: str | os.PathLike[str], model_name: str | None = None,
                        create_model_card: bool = True, **arguments: Any) -> None:
        """Writes the model directory, with the current max_seq_length, prompts, default_prompt_name, similarity
        function and truncate_dim. The directory is complete or not there. Raises FileExistsError if `path` exists and
        is not an empty directory."""
        if not arguments.pop("safe_serialization", True):
            raise NotImplementedError("safe_serialization=False is not supported; weights are saved as safetensors")
        check_unsupported(**arguments)
        del model_name, create_model_card
        save_directory(self.directory, path, self._write_settings)

    save = save_pretrained

    def _write_settings(self, part: pathlib.Path) -> None:
        templates = {name: self._template(text, None) or "{text}" for name, text in self.prompts.items()}
        prefixes = {name: _prefix(text) for name, text in templates.items() if "{text}" not in _prefix(text)}
        default, has_own = self.default_prompt_name, (part / "aoe.json").exists()
        for name in self.prompts if not has_own else ():
            if name not in prefixes:
                raise ValueError(f"the prompt {name!r} contains text after {{text}}, which the files of this model "
                                 "cannot store; use a prompt that is put before the text")
        if has_own and "default" in templates and default != "default" and templates["default"] != "{text}":
            raise ValueError("aoe.json stores the default prompt as \"default\", but the model has another prompt with "
                             "this name; rename it, or set default_prompt_name=\"default\"")
        changed, length = self.changed_settings(), self._fields.get("max_length")
        settings: dict[str, Any] = {} if self._similarity is None else {"similarity_fn_name": self._similarity}
        if "truncate_dim" in changed:
            settings["truncate_dim"] = self.truncate_dim
        own = {"similarity" if key == "similarity_fn_name" else key: value for key, value in settings.items()}
        if {"prompts", "default_prompt_name"} & set(changed):
            settings |= {"prompts": prefixes, "default_prompt_name": default if default in prefixes else None}
            own["prompts"] = {**{n: t for n, t in templates.items() if n != "default"},
                              **({} if default is None else {"default": templates[default]})}
        _update(part / "config_sentence_transformers.json", settings)
        if length is not None and ((part / "sentence_bert_config.json").exists() or not has_own):
            _update(part / "sentence_bert_config.json", {"max_seq_length": length})
        if has_own:  # its settings take precedence
            if own.get("truncate_dim") is not None:  # a setting of version 4
                own["format_version"] = max(4, read_json(part / "aoe.json").get("format_version", 0))
            _update(part / "aoe.json", {**own, **({} if length is None else {"max_length": length})})


def _prefix(template: str) -> str:
    """Returns the prompt of sentence-transformers for a template; templates with text after {text} stay as they are."""
    return template[:-6] if template.endswith("{text}") and template.count("{text}") == 1 else template
