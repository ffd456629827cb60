# SPDX-License-Identifier: MIT
"""What embedding models and cross-encoders have in common: opening by name, with a download if necessary; closing; and
pickling, which stores the name and the options, so that a worker process maps the same files."""
from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _context, _inputs, _native

DTYPES = ("auto", "f32", "bf16", "int8")

_ONE_PROCESS = "the threads of one process use all CPUs, so encode and predict need no pool"
_OPEN_DTYPE = "open the model with the argument dtype"
_TRAIN = "use aoe.train or aoe.Trainer"
_NO_TORCH = "the model contains no modules of PyTorch"
_PUSH = "write the model with save_pretrained, and upload the directory with the tools of the Hub"
MISSING = {
    "start_multi_process_pool": _ONE_PROCESS, "stop_multi_process_pool": _ONE_PROCESS,
    "encode_multi_process": _ONE_PROCESS, "half": _OPEN_DTYPE, "bfloat16": _OPEN_DTYPE, "float": _OPEN_DTYPE,
    "double": _OPEN_DTYPE, "cuda": "aoe computes on CPUs only", "fit": _TRAIN, "old_fit": _TRAIN, "train": _TRAIN,
    "add_adapter": _TRAIN + " with lora_r", "gradient_checkpointing_enable": _TRAIN,
    "evaluate": "call the evaluator with the model, or use aoe.evaluate_sts and the other evaluation functions",
    "push_to_hub": _PUSH, "save_to_hub": _PUSH, "compile": "the kernels of aoe are compiled",
    "forward": "use encode or predict", "modules": _NO_TORCH, "parameters": _NO_TORCH, "state_dict": _NO_TORCH,
    "load_state_dict": _NO_TORCH, "transformers_model": _NO_TORCH, "model": _NO_TORCH,
    "tokenizer": "use SentenceTransformer.tokenize", "processor": "use SentenceTransformer.tokenize",
    "set_pooling_include_prompt": "set include_prompt in 1_Pooling/config.json of the model directory",
    "merge": "use the command `aoe merge`", "load": "use the constructor",
}


class MissingAttributeError(AttributeError, NotImplementedError):
    """A method or property of sentence-transformers that aoe does not have."""


_handles: "weakref.WeakSet[Handle]" = weakref.WeakSet()


def _after_fork() -> None:
    """In a child process, only the thread that called fork() still uses the models."""
    for handle in list(_handles):
        handle.users = [thread for thread in handle.users if thread == threading.get_ident()]


os.register_at_fork(after_in_child=_after_fork)


class Handle:
    """An open model with its embedder. It is destroyed when it was closed and no call uses it. users: the thread of
    each call that uses it."""

    borrowed = False

    def __init__(self, directory: str | None, threads: int | None, fields: dict[str, Any]) -> None:
        lib = _native.load()
        self._set_up(_context.context(threads))
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
        self.finalizer: Any = weakref.finalize(self, Handle._destroy, self.model, self.embedder)
        self.finalizer.atexit = False

    def _set_up(self, context: Any) -> None:
        self.context, self.lock = context, _native.Lock()
        self.users: list[int] = []
        self.closed = False
        _handles.add(self)

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
            thread = threading.get_ident()
            self.users.append(thread)
        try:
            yield self
        finally:
            with self.lock:
                if thread in self.users:  # another thread may end the use, and fork() removes entries
                    self.users.remove(thread)
                if self.closed and not self.users:
                    self.finalizer()

    def close(self, wait: bool = True) -> None:
        """Rejects later calls, and destroys the model after the calls that use it. wait: see Borrowed."""
        del wait
        with self.lock:
            self.closed = True
            if not self.users:
                self.finalizer()

    def check_slice(self) -> None:
        """Is called between two slices of the texts of a call. Raises ValueError if the call must end early."""


class Borrowed(Handle):
    """The model of an embedder that belongs to the library: the model of a running training. It is closed when the
    function that received it returns. The library then continues to train or destroys the model, so `close` waits until
    no thread uses it; calls of other threads end after their current slice of texts."""

    borrowed = True

    def __init__(self, embedder: Any, context: Any) -> None:
        lib = _native.load()
        self._set_up(context)
        self.unused = threading.Event()
        self.embedder = ctypes.c_void_p(embedder)
        self.model = ctypes.c_void_p(lib.aoe_embedder_model(embedder))
        self.finalizer: Any = weakref.finalize(self, self.unused.set)  # the library destroys the model
        self.finalizer.atexit = False

    def close(self, wait: bool = True) -> None:
        """Rejects later calls. wait: whether to wait until no thread uses the model, also if Ctrl-C is pressed."""
        super().close()
        interrupt: BaseException | None = None
        while wait and not self.unused.is_set():
            try:
                self.unused.wait()
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def check_slice(self) -> None:
        if self.closed:
            raise ValueError("the model is closed, because the function that received it has returned")


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
        _native.check(lib.aoe_hub_pull, _native.c_string(name, "model name"), ctypes.byref(options),
                      ctypes.byref(result))
    if bar is not None:
        bar.close()
    return os.path.abspath(os.fsdecode(result.dir))


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
    if "\0" in text:
        raise ValueError(f"the name of a model must not contain U+0000: {text!r}")
    if os.path.exists(text):
        if revision is not None:
            raise ValueError(f"revision={revision!r} has no meaning for the directory {text}")
        return os.path.abspath(text)
    text = text if revision is None else f"{text}@{revision}"
    directory = ctypes.create_string_buffer(4096)
    try:
        _native.check(_native.load().aoe_model_find, directory, len(directory), _native.c_string(text, "model name"))
        found = os.path.abspath(os.fsdecode(directory.value))
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
        self._handle = self._open(self._fields)

    def _open(self, fields: dict[str, Any]) -> Handle:
        """Opens the directory with these model options."""
        return Handle(self._directory, self._threads, fields)

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Closes the model and frees its memory, after the calls of other threads. Later calls raise ValueError."""
        self._handle.close(wait=False)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._handle.borrowed:
            return f"<{kind} of a running training>"
        name = "the default model" if self.name is None else repr(self.name)
        return f"<{kind} {name}, closed>" if self._handle.closed else f"<{kind} {name}: {self.describe()}>"

    def __getstate__(self) -> dict[str, Any]:
        self._check_owned("pickled")
        state = dict(self.__dict__)
        state["_closed"] = state.pop("_handle").closed
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        closed = state.pop("_closed")
        self.__dict__.update(state)
        self._handle = self._open(self._fields)
        if closed:
            self._handle.close()

    @classmethod
    def _borrow(cls, handle: Handle) -> Any:
        """Returns a model for the embedder of a running training."""
        model = cls.__new__(cls)
        model.name = model._directory = model._threads = None
        model._fields, model._handle = {}, handle
        return model

    def _replace(self, directory: str, **fields: Any) -> None:
        """Opens another model directory, with the same options except `fields`."""
        before, self._directory = self._directory, os.path.abspath(directory)
        try:
            self._reopen(**fields)
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
        if self._handle.closed:
            raise ValueError("the model is closed")
        new = self._open({**self._fields, **fields})
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
        self._reopen(max_length=_native.positive(value, "max_seq_length"))

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
        return self._find_directory()

    def _find_directory(self) -> pathlib.Path:
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

    def to(self, device: Any = None, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Returns the model. Every device except the CPU raises ValueError, and a dtype raises NotImplementedError."""
        del non_blocking  # without effect
        _check_device(device)
        if dtype is not None:
            raise NotImplementedError(f"the data type of an open model cannot be changed to {dtype!r}; open the model "
                                      "again with the argument dtype, one of " + ", ".join(DTYPES))
        return self

    def cpu(self) -> Any:
        """Returns the model."""
        return self

    def eval(self) -> Any:
        """Returns the model."""
        return self

    if not TYPE_CHECKING:  # type checkers know that these attributes do not exist

        def __getattr__(self, name: str) -> Any:
            """Explains which attributes of sentence-transformers do not exist. hasattr() returns False for them."""
            if name in MISSING:
                raise MissingAttributeError(f"{type(self).__name__}.{name} of sentence-transformers does not exist in "
                                            f"aoe; {MISSING[name]}; docs/python.md lists all differences")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _check_device(device: Any) -> None:
    if device is not None and not str(device).startswith("cpu"):
        raise ValueError(f"device must be \"cpu\", not {device!r}: aoe computes on CPUs only")


def check_unsupported(**arguments: Any) -> None:
    """Raises NotImplementedError for the first argument of sentence-transformers that has another value than its
    default, because it would change the result."""
    for name, value in arguments.items():
        empty = isinstance(value, (dict, list, tuple)) and not value
        if value is not None and value is not False and not empty:
            raise NotImplementedError(f"{name}={value!r} is an option of sentence-transformers that aoe does not have; "
                                      "docs/python.md lists all differences")
