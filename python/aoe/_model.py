# SPDX-License-Identifier: MIT
"""What embedding models and cross-encoders have in common: opening by name, with a download if necessary; closing; and
pickling, which stores the name and the options, so that a worker process maps the same files."""
from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import weakref
from collections.abc import Iterator
from typing import Any

from . import _context, _inputs, _native

DTYPES = ("auto", "f32", "bf16", "int8")


class Handle:
    """An open model with its embedder. It is destroyed when it was closed and no call uses it."""

    borrowed = False

    def __init__(self, directory: str | None, threads: int | None, fields: dict[str, Any]) -> None:
        lib = _native.load()
        self.context = _context.context(threads)
        self.lock = _native.Lock()
        self.users, self.closed = 0, False
        options = _native.options("aoe_model_options", **fields)
        self.model, self.embedder = ctypes.c_void_p(), ctypes.c_void_p()
        name = None if directory is None else os.fsencode(directory)
        _native.check(lib.aoe_model_open, ctypes.byref(self.model), self.context.handle, name, ctypes.byref(options))
        try:
            _native.check(lib.aoe_embedder_create, ctypes.byref(self.embedder), self.model, None)
        except BaseException:
            lib.aoe_model_close(self.model)
            raise
        # objects that are alive when Python exits are not destroyed: other threads may still use them
        self.finalizer = weakref.finalize(self, Handle._destroy, self.model, self.embedder)
        self.finalizer.atexit = False

    @staticmethod
    def _destroy(model: Any, embedder: Any) -> None:
        lib = _native.load()
        lib.aoe_embedder_destroy(embedder)
        lib.aoe_model_close(model)

    @contextlib.contextmanager
    def use(self) -> Iterator["Handle"]:
        with self.lock:
            if self.closed:
                raise ValueError("the model is closed")
            self.users += 1
        try:
            yield self
        finally:
            with self.lock:
                self.users -= 1
                if self.closed and not self.users:
                    self.finalizer()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            if not self.users:
                self.finalizer()


class Borrowed(Handle):
    """The model of an embedder that belongs to the library: the model of a running training. It is closed when the
    function that received it returns."""

    borrowed = True

    def __init__(self, embedder: Any, context: Any) -> None:
        lib = _native.load()
        self.context, self.lock = context, _native.Lock()
        self.users, self.closed = 0, False
        self.embedder = ctypes.c_void_p(embedder)
        self.model = ctypes.c_void_p(lib.aoe_embedder_model(embedder))
        self.finalizer = weakref.finalize(self, Borrowed._keep, self.model, self.embedder)
        self.finalizer.atexit = False

    @staticmethod
    def _keep(model: Any, embedder: Any) -> None:
        """The library destroys the model."""


def download(name: str, token: str | None = None, show_progress_bar: bool | None = None) -> str:
    """Downloads a model of the Hugging Face Hub into the cache that Python programs share, and returns its directory.

    name: "ORG/NAME" or "NAME", optionally followed by "@REVISION". token: None: $HF_TOKEN or the saved token. A model
    that is in the cache is not downloaded again. An interrupted download continues where it stopped."""
    lib = _native.load()
    bar = None

    def progress(user: Any, state: Any) -> None:
        nonlocal bar
        at = state.contents
        if bar is None and at.total:
            bar = _inputs.progress_bar(show_progress_bar, at.total, f"Downloading {name}")
        if bar is not None:
            bar.update(at.done - bar.n)

    with _native.Callbacks() as callbacks:
        options = _native.options("aoe_hub_options", token=token)
        fields = dict(type(options)._fields_)
        options.progress = callbacks.add_type(fields["progress"], progress)
        options.stop = callbacks.add_type(fields["stop"], lambda user: 0, 1)
        result = _native.struct("aoe_hub_result")
        _native.check(lib.aoe_hub_pull, _native.to_bytes(name, "name"), ctypes.byref(options), ctypes.byref(result))
    if bar is not None:
        bar.close()
    return str(os.fsdecode(result.dir))


def find(name: str | os.PathLike[str] | None, revision: str | None, local_files_only: bool,
         token: str | bool | None) -> str | None:
    """Returns the directory of a model, which is downloaded if it is not in the cache; None: the default model."""
    if name is None:
        if revision is not None:
            raise ValueError(f"revision={revision!r} has no meaning for the default model")
        return None
    text = os.fspath(name)
    if not isinstance(text, str):
        raise TypeError(f"the name of a model must be a string, not {type(text).__name__}")
    if not text:
        raise ValueError("the name of a model must not be empty; leave it out for the default model")
    if os.path.exists(text):
        if revision is not None:
            raise ValueError(f"revision={revision!r} has no meaning for the directory {text}")
        return text
    text = text if revision is None else f"{text}@{revision}"
    directory = ctypes.create_string_buffer(4096)
    try:
        _native.check(_native.load().aoe_model_find, directory, len(directory), text.encode())
        found = os.fsdecode(directory.value)
        if os.path.isdir(found):
            return found
    except _native.AoeFileNotFoundError:
        if local_files_only:
            raise
    looks_like_path = text.startswith((".", "/", "~")) or text.count("/") > 1
    if local_files_only or looks_like_path:
        raise _native.error_of(_native.enum("aoe_code")["AOE_ENOENT"], f"the model {text} does not exist")
    return download(text, token=token if isinstance(token, str) else "" if token is False else None)


class Model:
    """Base class of models. `name`: the argument with which the model was opened; None: the default model."""

    _cross_encoder = 0

    def __init__(self, name: str | os.PathLike[str] | None, *, revision: str | None, local_files_only: bool,
                 token: str | bool | None, threads: int | None, dtype: str, fields: dict[str, Any]) -> None:
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")
        self.name = None if name is None else os.fspath(name)
        self._directory = find(name, revision, local_files_only, token)
        self._threads = threads
        self._fields = {"dtype": _native.enum("aoe_dtype")["AOE_DTYPE_" + dtype.upper()],
                        "cross_encoder": self._cross_encoder, **fields}
        self._handle = Handle(self._directory, threads, self._fields)

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Closes the model and frees its memory, after the calls of other threads. Later calls raise ValueError."""
        self._handle.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        self._check_owned("pickled")
        state = dict(self.__dict__)
        state["_closed"] = state.pop("_handle").closed
        if self._directory is not None:
            state["_directory"] = os.path.abspath(self._directory)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        closed = state.pop("_closed")
        self.__dict__.update(state)
        self._handle = Handle(self._directory, self._threads, self._fields)
        if closed:
            self._handle.close()

    @classmethod
    def _borrow(cls, handle: Handle) -> Any:
        """Returns a model for the embedder of a running training."""
        model = cls.__new__(cls)
        model.name = model._directory = model._threads = None
        model._fields, model._handle = {}, handle
        return model

    def _replace(self, directory: str) -> None:
        """Opens another model directory, with the same options."""
        before, self._directory = self._directory, directory
        try:
            self._reopen()
        except BaseException:
            self._directory = before
            raise
        self.name = directory

    def _check_owned(self, what: str) -> None:
        if self._handle.borrowed:
            raise ValueError(f"the model of a running training cannot be {what}; use the trained model in the output "
                             "directory")

    def _reopen(self, **fields: Any) -> None:
        """Opens the model with other options."""
        self._check_owned("changed")
        new = Handle(self._directory, self._threads, {**self._fields, **fields})
        self._fields.update(fields)
        self._handle.close()
        self._handle = new

    @contextlib.contextmanager
    def _named(self, handle: Any, begin: int) -> Iterator[None]:
        """Adds the index of the text to an error of the library."""
        try:
            yield
        except _native.AoeError as error:
            failed = int(_native.load().aoe_embed_failed_text(handle.embedder))
            if failed >= 2**63:
                raise
            named = type(error)(f"inputs[{begin + failed}]: {error}")
            named.code = error.code
            raise named from None

    # ------------------------------------------------------------ facts

    def _info(self) -> Any:
        info = _native.struct("aoe_model_info")
        with self._handle.use() as handle:
            _native.load().aoe_model_get_info(handle.model, ctypes.byref(info))
        return info

    @property
    def max_seq_length(self) -> int:
        """Maximum number of tokens of a text, special tokens included. Longer texts are truncated."""
        return int(self._info().max_length)

    @max_seq_length.setter
    def max_seq_length(self, value: int) -> None:
        self._reopen(max_length=int(value))

    def get_max_seq_length(self) -> int:
        """Returns max_seq_length."""
        return self.max_seq_length

    @property
    def device(self) -> str:
        """"cpu"."""
        return "cpu"

    @property
    def threads(self) -> int:
        """Number of threads that a call uses."""
        return int(_native.load().aoe_context_threads(self._handle.context.handle))

    @property
    def directory(self) -> pathlib.Path:
        """Directory of the model."""
        self._check_owned("copied")
        if self._directory is not None:
            return pathlib.Path(self._directory)
        buffer = ctypes.create_string_buffer(4096)
        _native.check(_native.load().aoe_default_model, buffer, len(buffer))
        return pathlib.Path(os.fsdecode(buffer.value))

    def describe(self) -> str:
        """Returns one line that names the pooling, the data type and the CPU tier, with the reasons of the choices."""
        buffer = ctypes.create_string_buffer(4096)
        with self._handle.use() as handle:
            _native.load().aoe_model_describe(handle.model, buffer, len(buffer))
        return buffer.value.decode()

    def to(self, device: Any = None, *arguments: Any, **keywords: Any) -> Any:
        """Returns the model. Every device but the CPU raises ValueError."""
        _check_device(device)
        return self

    def cpu(self) -> Any:
        """Returns the model."""
        return self

    def eval(self) -> Any:
        """Returns the model."""
        return self


def _check_device(device: Any) -> None:
    if device is not None and not str(device).startswith("cpu"):
        raise ValueError(f"device must be \"cpu\", not {device!r}: aoe computes on CPUs only")


def check_unsupported(**arguments: Any) -> None:
    """Raises NotImplementedError for the first argument of sentence-transformers that has another value than its
    default, because it would change the result."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{name}={value!r} is an option of sentence-transformers that aoe does not have; "
                                      "docs/python.md lists all differences")
