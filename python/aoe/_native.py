# SPDX-License-Identifier: MIT
"""The C library: its functions, structs and enums, and the errors that its functions return.

abi.txt, the record of the binary interface that `make abi` compares with the library, is read when the package is
imported. Types are created when they are used first. The record is part of the package, so that the Python code never
repeats a declaration of the headers.

    lib = load()                                  # the library; a function is an attribute: lib.aoe_version()
    o = options("aoe_embedder_options", threads=2)   # a struct with its defaults, then some fields
    check(lib.aoe_embedder_create, ctypes.byref(e), model, ctypes.byref(o))   # adds the aoe_error and raises it
"""
from __future__ import annotations

import ctypes
import operator
import os
import pathlib
import re
import sys
import threading
import weakref
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
AUTO = 0x7FFFFFFF  # AOE_AUTO: the library chooses the value

_BASIC: dict[str, Any] = {
    "void": None, "char": ctypes.c_char, "int": ctypes.c_int, "unsigned int": ctypes.c_uint, "float": ctypes.c_float,
    "double": ctypes.c_double, "size_t": ctypes.c_size_t, "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
}  # fmt: skip


class Lock:
    """A lock that is free in a child process, even if another thread held it when the process was forked."""

    _all: "weakref.WeakSet[Lock]" = weakref.WeakSet()

    def __init__(self) -> None:
        self._lock = threading.RLock()
        Lock._all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._lock.release()

    @staticmethod
    def after_fork() -> None:
        for lock in list(Lock._all):
            lock._lock = threading.RLock()


os.register_at_fork(after_in_child=Lock.after_fork)


class AoeError(RuntimeError):
    """An error of the library. `code` is the name of its code, such as "EFORMAT"."""

    code = ""


class AoeValueError(AoeError, ValueError):
    """An argument is out of range, a value is not finite, or a file is malformed."""


class AoeFileNotFoundError(AoeError, FileNotFoundError):
    """There is no such file, directory or model."""


class AoeFileExistsError(AoeError, FileExistsError):
    """The output exists."""


class AoeOSError(AoeError, OSError):
    """Input or output failed, or the disk is full."""


class AoeMemoryError(AoeError, MemoryError):
    """The machine has not enough memory."""


class AoeUnsupportedError(AoeError, NotImplementedError):
    """The library does not support a feature of a file or of a model."""


_ERRORS: dict[str, type[AoeError]] = {
    "EARG": AoeValueError, "EFORMAT": AoeValueError, "ENUMERIC": AoeValueError, "EMISMATCH": AoeValueError,
    "ENOMEM": AoeMemoryError, "EIO": AoeOSError, "ENOSPC": AoeOSError, "ENOENT": AoeFileNotFoundError,
    "EEXIST": AoeFileExistsError, "EUNSUPPORTED": AoeUnsupportedError,
}  # fmt: skip


class Interface:
    """The record of the binary interface, and the ctypes types that were created from it."""

    def __init__(self, record: str) -> None:
        self.lines: dict[str, list[str]] = {}
        lines: list[str] = []
        for line in record.split("\n"):
            if line.startswith("    "):
                lines.append(line[4:])
            elif line and not line.startswith("#"):
                lines = self.lines[line] = []
        self.types: dict[str, Any] = {}
        self.enums: dict[str, dict[str, int]] = {}
        self.lock = Lock()  # threads must not create a type twice, or see one without its fields

    def enum(self, name: str) -> dict[str, int]:
        """Returns the values of an enum, by name."""
        if name not in self.enums:
            pairs = (line.split() for line in self.lines["enum " + name])
            self.enums[name] = {key: int(value) for key, value in pairs}
        return self.enums[name]

    def prototype(self, text: str) -> tuple[Any, list[Any]]:
        """Returns the types of the result and of the arguments of "RESULT (ARGUMENT, ...)"."""
        result, arguments = text[:-1].split(" (", 1)
        parts = [] if arguments == "void" else arguments.split(", ")
        return self.type(result), [self.type(part) for part in parts]

    def type(self, text: str) -> Any:
        """Returns the ctypes type of a C type of the record."""
        with self.lock:
            if text not in self.types:
                self.types[text] = self.create(text)
            return self.types[text]

    def create(self, text: str) -> Any:
        if text in _BASIC:
            return _BASIC[text]
        if "struct " + text in self.lines:
            struct: Any = type(text, (ctypes.Structure,), {})
            self.types[text] = struct  # its fields may contain pointers to it
            fields = self.lines["struct " + text]
            if not fields or not fields[0].startswith("size "):
                return struct  # opaque
            parsed = [re.fullmatch(r"(\d+) (\w+): (.*)", line) for line in fields[1:]]
            struct._fields_ = [(field[2], self.type(field[3])) for field in parsed if field]
            if ctypes.sizeof(struct) != int(fields[0].split()[1]):
                raise ImportError(f"the fields of the struct {text} need {ctypes.sizeof(struct)} bytes in this Python, "
                                  f"but {fields[0].split()[1]} in abi.txt, the record of the library; install the "
                                  "wheel of aoe-embeddings for this platform again")
            return struct
        if "enum " + text in self.lines:
            return ctypes.c_uint if all(v >= 0 for v in self.enum(text).values()) else ctypes.c_int
        if "typedef " + text in self.lines:
            return self.type(self.lines["typedef " + text][0])
        if text.endswith("]"):
            element, count = text[:-1].rsplit("[", 1)
            return self.type(element) * int(count)
        if text.endswith(")"):
            result, arguments = self.prototype(text)
            return ctypes.CFUNCTYPE(result, *arguments)
        if text.endswith("*"):
            target = text[:-1].strip()
            target = target[:-5].strip() if target.endswith("const") else target
            target = target[6:] if target.startswith("const ") else target
            if target == "char":
                return ctypes.c_char_p
            known = target.endswith("*") or target in _BASIC or "struct " + target in self.lines
            if target == "void" or not known:
                return ctypes.c_void_p  # the type is private
            if "struct " + target in self.lines and not self.lines["struct " + target]:
                return ctypes.c_void_p
            return ctypes.POINTER(self.type(target))
        raise ImportError(f"abi.txt, the record of the library, does not define the type {text}; the file is damaged "
                          "or belongs to another version: install the wheel of aoe-embeddings again, or run `make "
                          "abi-record` in the source tree")


class Library:
    """The shared library. Its functions are attributes, with the types of the record."""

    def __init__(self, path: str, interface: Interface) -> None:
        self._dll = ctypes.CDLL(path)
        self._interface = interface
        self.path = path

    def __getattr__(self, name: str) -> Any:
        lines = self._interface.lines.get("function " + name)
        if lines is None:
            raise AttributeError(name)
        function = getattr(self._dll, name)
        function.restype, function.argtypes = self._interface.prototype(lines[0])
        setattr(self, name, function)
        return function


_lock = Lock()
_library: Library | None = None
_interface: Interface | None = None


def _places() -> list[tuple[pathlib.Path, pathlib.Path]]:
    """Returns the places of the library and its record: only $AOE_LIBRARY, or the package and the source tree."""
    root = HERE.parent.parent
    places = [(HERE / "lib" / "libaoe.so.0", HERE / "abi.txt"),
              (root / "build" / "libaoe.so", root / "tools" / "abi.txt")]
    if os.environ.get("AOE_LIBRARY"):
        path, record = pathlib.Path(os.environ["AOE_LIBRARY"]), HERE / "abi.txt"
        if not path.exists():
            raise ImportError(f"the environment variable AOE_LIBRARY is {path}, but this file does not exist; correct "
                              "it, or unset it to use the library of the package")
        return [(path, record if record.exists() else root / "tools" / "abi.txt")]
    return places


def program() -> str:
    """Returns the path of the program aoe of the package or of the source tree."""
    places = [HERE / "bin" / "aoe", HERE.parent.parent / "build" / "aoe"]
    for path in places:
        if path.exists():
            return str(path)
    raise ImportError("the program aoe was not found in " + ", ".join(str(path) for path in places) +
                      "; install the wheel of aoe-embeddings, or run `make` in the source tree")


def interface() -> Interface:
    """Returns the record of the binary interface."""
    load()
    assert _interface is not None
    return _interface


def load() -> Library:
    """Returns the library, which is opened by the first call."""
    global _library, _interface
    with _lock:
        if _library is None:
            for path, record in _places():
                if path.exists() and record.exists():
                    _interface = Interface(record.read_text(encoding="ascii"))
                    _library = Library(str(path), _interface)
                    break
            else:
                raise ImportError("libaoe.so was not found in " + ", ".join(str(path) for path, _ in _places()) +
                                  "; install the wheel of aoe-embeddings, or run `make lib` in the source tree")
        return _library


def enum(name: str) -> dict[str, int]:
    """Returns the values of an enum of the library, by name."""
    return interface().enum(name)


def struct(name: str) -> Any:
    """Returns a struct of the library, in which only struct_size is set, also in nested structs."""
    value = interface().type(name)()
    _set_sizes(value)
    return value


def _set_sizes(value: Any) -> None:
    for field, kind in value._fields_:
        if field == "struct_size":
            value.struct_size = ctypes.sizeof(value)
        elif isinstance(kind, type) and issubclass(kind, ctypes.Structure):
            _set_sizes(getattr(value, field))


def options(name: str, **fields: Any) -> Any:
    """Returns a struct of options with its defaults, and then sets the given fields; a value None is left out."""
    value = struct(name)
    getattr(load(), name + "_fill")(ctypes.byref(value))
    kinds = dict(type(value)._fields_)
    for field, content in fields.items():
        if content is not None:
            _check_range(field, content, kinds[field])
            setattr(value, field, c_string(content, field) if isinstance(content, str) else content)
    return value


def _check_range(field: str, content: Any, kind: Any) -> None:
    """Raises ValueError for an integer that does not fit in a field, because ctypes would take its lowest bits."""
    if hasattr(content, "__index__") and getattr(kind, "_type_", None) in tuple("bBhHiIlLqQ"):
        bits, signed = 8 * ctypes.sizeof(kind), kind(-1).value < 0
        least, most = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
        if not least <= operator.index(content) <= most:
            raise ValueError(f"{field} must be an integer from {least} to {most}, not {content}")


def error_of(code: int, message: str) -> AoeError:
    """Returns the exception for a code of the library."""
    names = {value: name[4:] for name, value in enum("aoe_code").items()}
    name = names.get(code, str(code))
    error = _ERRORS.get(name, AoeError)(message)
    error.code = name
    return error


def check(function: Any, *arguments: Any) -> None:
    """Calls a function of the library whose last argument is an aoe_error, and raises its error. The library runs
    without the global interpreter lock."""
    error = interface().type("aoe_error")()
    code = function(*arguments, ctypes.byref(error))
    if code:
        raise error_of(code, error.message.decode("utf-8", "replace"))


class Callbacks:
    """Functions that the library calls. An exception in one of them ends the call of the library, if the function can
    do this, and is raised again afterwards. Ctrl-C is such an exception.

    with Callbacks() as callbacks:
        options.progress = callbacks.add("aoe_progress_fn", function, 1)
        check(...)
    """

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.raised: BaseException | None = None

    def __enter__(self) -> "Callbacks":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def add(self, type_name: str, function: Any, after_exception: Any = None) -> Any:
        """Returns a C function of this type, which calls `function`. After an exception it returns
        `after_exception`."""
        return self.add_type(interface().type(type_name), function, after_exception)

    def add_type(self, kind: Any, function: Any, after_exception: Any = None) -> Any:
        """The same with a ctypes type."""

        def call(*arguments: Any) -> Any:
            if self.raised is not None:
                return after_exception
            try:
                return function(*arguments)
            except BaseException as error:  # ctypes would print and discard it
                self.raised = error
                return after_exception

        callback = kind(call)
        self.kept.append(callback)
        return callback


def to_bytes(text: object, what: str = "text") -> bytes:
    """Returns the UTF-8 bytes of a string. Raises TypeError for other types, and ValueError for lone surrogates."""
    if not isinstance(text, str):
        raise TypeError(f"a {what} must be a string, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a {what} contains the lone surrogate {text[error.start]!r} at index {error.start}; "
                         "it is not valid Unicode") from None


def positive(value: Any, what: str) -> int:
    """Returns an integer of Python or numpy. Raises TypeError for other types, and ValueError for values below 1."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a positive integer, not {value!r:.60} of type {type(value).__name__}")
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{what} must be a positive integer, not {number}")
    return number


def path_bytes(path: Any, what: str = "path") -> bytes:
    """Returns the bytes of a path that C reads until its NUL byte. Raises ValueError if it contains U+0000."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise ValueError(f"a {what} must not contain U+0000: {path!r:.60}")
    return data


def c_string(text: object, what: str) -> bytes:
    """Returns the UTF-8 bytes of a string that C reads until its NUL byte. Raises ValueError if it contains U+0000."""
    data = to_bytes(text, what)
    if b"\0" in data:
        raise ValueError(f"a {what} must not contain U+0000: {text!r:.60}")
    return data


if sys.maxsize < 2**32:
    raise ImportError("aoe needs a 64-bit system")
