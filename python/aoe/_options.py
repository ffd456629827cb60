# SPDX-License-Identifier: MIT
"""Options of the commands of the program, as keyword arguments. `aoe options --json` prints the table: for each option
its type, range, choices and help text, and the struct and the field of the library that it sets. The package contains
this table as options.json; in the source tree, the program next to the library prints it. No option is repeated here.

    rows = table("train")                             # rows by keyword argument: rows["batch_size"]["min"]
    assign(options, rows["batch_size"], 32)           # options.batch_size = 32, after checks
"""
from __future__ import annotations

import ctypes
import difflib
import functools
import json
import math
import operator
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from . import _model, _native

Row = dict[str, Any]


def _lines() -> str:
    packaged = _native.HERE / "options.json"
    if packaged.exists():
        return packaged.read_text(encoding="utf-8")
    import subprocess

    program = pathlib.Path(_native.load().path).resolve().parent / "aoe"
    if not program.exists():
        raise ImportError(f"the table of options was found neither in {packaged} nor with the program {program}; "
                          "install the wheel of aoe-embeddings, or run `make` in the source tree")
    return subprocess.run([str(program), "options", "--json"], stdout=subprocess.PIPE, check=True,
                          encoding="utf-8").stdout


@functools.lru_cache(maxsize=None)
def _tables() -> dict[str, dict[str, Row]]:
    tables: dict[str, dict[str, Row]] = {}
    for line in _lines().splitlines():
        row = json.loads(line)
        row["name"] = row["option"].replace("-", "_")
        tables.setdefault(row["command"], {})[row["name"]] = row
    return tables


def table(command: str, without: Iterable[str] = ()) -> dict[str, Row]:
    """Returns the options of a command by the names of their keyword arguments, except those in `without`."""
    left_out = set(without)
    return {name: row for name, row in _tables()[command].items() if name not in left_out}


OTHER_NAMES = {  # keyword arguments of sentence-transformers whose replacement has no similar name
    "args": "the training arguments are keyword arguments here, such as epochs, lr and batch_size",
    "learning_rate": "use lr", "loss": "method selects the loss; docs/python.md contains a table",
    "evaluator": "the dev set may be an evaluator: dev of train, eval_dataset of Trainer",
    "gradient_checkpointing": "use recompute",
}


def check_names(given: Iterable[str], known: Iterable[str], function: str) -> None:
    """Raises TypeError, which names similar keyword arguments, for an unknown keyword argument."""
    names = list(known)
    for name in given:
        if name in names:
            continue
        if name in OTHER_NAMES:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; {OTHER_NAMES[name]}")
        plain = name.lower().replace("_", "")
        near = difflib.get_close_matches(name, names, 3, 0.6)
        near += [n for n in names if n not in near and len(plain) > 2 and
                 (plain in n.replace("_", "") or n.replace("_", "") in plain and len(n) > 3)]
        hint = f"; similar: {', '.join(near[:4])}" if near else f"; the arguments are {', '.join(names)}"
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def described(command: str, without: Iterable[str]) -> dict[str, Row]:
    """Returns the rows of `table` with the keys that help users."""
    keys = ("type", "default", "default_text", "choices", "min", "max", "methods", "requires", "excludes", "group",
            "help")
    return {name: {key: row.get(key) for key in keys if key in row or key != "methods"}
            for name, row in table(command, without).items()}


def check_together(rows: Mapping[str, Row], given: Mapping[str, Any], arguments: set[str],
                   method: str | None = None) -> None:
    """Raises ValueError for an option that the training method does not use, that excludes another one, or that has no
    effect without another one. given: the values that are not None; arguments: options that are given otherwise."""
    def is_set(name: str) -> bool:
        return name in arguments or given.get(name, False) is not False

    for name in given:
        row = rows[name]
        if not is_set(name):
            continue
        if row.get("methods") is not None and method not in row["methods"]:
            raise ValueError(f"{name} has no effect with method={method!r}; leave it out")
        requires, excludes = ((row[key] or "").replace("-", "_") for key in ("requires", "excludes"))
        if requires and not is_set(requires):
            raise ValueError(f"{name} has no effect without {requires}")
        if excludes and is_set(excludes):
            raise ValueError(f"{name} and {excludes} exclude each other; give only one of them")


def find(struct: Any, type_name: str) -> Any:
    """Returns the struct with this type: `struct`, or the first one nested in it; None if there is none."""
    if type(struct).__name__ == type_name:
        return struct
    for field, kind in struct._fields_:
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure):
            found = find(getattr(struct, field), type_name)
            if found is not None:
                return found
    return None


def place(struct: Any, path: str) -> tuple[Any, str]:
    """Returns the nested struct and the field of a path such as "objective.w_ibn"."""
    *outer, field = path.split(".")
    for name in outer:
        struct = getattr(struct, name)
    return struct, field


# ------------------------------------------------------------ values


def _flag(row: Row, value: Any) -> Any:
    if not isinstance(value, bool):
        raise TypeError(f"{row['name']} must be True or False, not {value!r}")
    if value:
        return row["sets"]
    has_opposite = row["sets"] and "no_" + row["name"] in _tables()[row["command"]]
    return 0 if has_opposite else None


def _limits(row: Row, value: Any) -> Any:
    low, high = row.get("min"), row.get("max")
    if value == row["default"] or not (low is not None and value < low or high is not None and value > high):
        return value
    if row["type"] == "integer" and not row["min"] and high is None:
        return value
    upper = "" if high is None else f" and at most {high:g}"
    raise ValueError(f"{row['name']} must be at least {low:g}{upper}, not {value!r}")


def _integer(row: Row, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{row['name']} must be an integer, not {value!r}")
    if not 0 <= number < 2**64:
        raise ValueError(f"{row['name']} must be an integer from 0 to 2**64 - 1, not {value!r}")
    return int(_limits(row, number))


def _number(row: Row, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise TypeError(f"{row['name']} must be a finite number, not {value!r}")
    return float(_limits(row, number))


def one_of(name: str, value: Any, choices: list[str]) -> int:
    """Returns the index of a choice. Raises ValueError, which names the choices."""
    if value in choices:
        return choices.index(value)
    near = difflib.get_close_matches(str(value), choices, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}{hint}")


def _names(row: Row, value: Any) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else list(value)
    return [str(part).strip() for part in parts]


def _set(row: Row, value: Any) -> int:
    choices, bits = row["choices"], 0
    singles = [name for name in choices if name != "all"]
    for name in _names(row, value):
        bits |= 2**len(singles) - 1 if name == "all" and "all" in choices else 1 << one_of(row["name"], name, singles)
    return bits


def _item(value: Any, separator: str) -> str:
    if isinstance(value, (tuple, list)):
        return separator.join(_item(part, separator) for part in value)
    if value is None:
        return "drop"
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


def text_of(row: Row, value: Any) -> str:
    """Returns the text of an option: a string as it is; a list or a dictionary in the form of the program, such as
    "text1=a,text2=b" for {"text1": "a", "text2": "b"}."""
    name, pattern = row["name"], str(row["value"])
    if row["type"] == "model":
        return directory_of(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if pattern == "TEMPLATE" and isinstance(value, str):
        return template(value)
    if not isinstance(value, str) and any(mark in pattern for mark in ",+="):
        separator = "=" if "=" in pattern else ":"
        if isinstance(value, Mapping):
            if separator not in pattern:
                raise TypeError(f"{name} must be a string or a list, not a dictionary")
            value = list(value.items())
        if isinstance(value, (int, float)):
            value = [value]
        if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{name} must be a string, a list or a dictionary ({pattern}), not {value!r}")
        items = [_item(item, separator) for item in value]
        for item in items:
            if "," in item:
                raise ValueError(f"{name}: {item!r} contains a comma, which separates the items of a list")
        return ("+" if "+" in pattern else ",").join(items)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    return value


def directory_of(model: Any) -> str:
    """Returns the directory of a model: of an open model, of a name as in SentenceTransformer, or of the default
    model (None). A model that is not in the cache is downloaded."""
    if isinstance(model, _model.Model):
        if model._handle.borrowed:
            raise ValueError("the model of a running training has no directory")
        return str(model.directory)
    if model is not None and not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"a model must be a name, a directory or an open model, not {type(model).__name__}")
    found = _model.find(model, None, False, None)
    if found is not None:
        return found
    buffer = ctypes.create_string_buffer(4096)
    _native.check(_native.load().aoe_default_model, buffer, len(buffer))
    return os.fsdecode(buffer.value)


def template(prompt: str) -> str:
    """Returns the template of a prompt: a prompt without {text} is put before the text, as in sentence-transformers."""
    return prompt if "{text}" in prompt or not prompt else prompt + "{text}"


def to_bytes(text: str, what: str) -> bytes:
    """Returns the bytes of a text option. Raises ValueError for a NUL character."""
    if "\0" in text:
        raise ValueError(f"{what} must not contain a NUL character")
    return os.fsencode(text)


def numbers(name: str, text: str, separator: str) -> list[tuple[str, str]]:
    """Divides "a:b,c" into [("a", "b"), ("c", "")]."""
    found = []
    for item in text.split(","):
        first, _, second = item.partition(separator)
        if not first.strip():
            raise ValueError(f"{name}: {text!r} is not a list of numbers")
        found.append((first.strip(), second.strip()))
    return found


def _parsed(struct: Any, field: str, row: Row, text: str) -> None:
    """Sets a field whose value has a form of its own."""
    name, value = row["name"], getattr(struct, field)
    try:
        if field == "lr_steps":
            steps = numbers(name, text, ":")
            if len(steps) > len(value):
                raise ValueError(f"more than {len(value)} changes")
            for i, (step, lr) in enumerate(steps):
                value[i].step, value[i].lr = int(step), float(lr)
            struct.n_lr_steps = len(steps)
        elif field == "recall_at":
            at = [int(first) for first, _ in numbers(name, text, ":")]
            if not at or len(at) > len(value) or min(at) < 1:
                raise ValueError(f"expected up to {len(value)} positive numbers")
            value[:len(at)] = at
            struct.n_recall = len(at)
        elif field == "dense_weight":
            dense, lexical = (float(first) for first, _ in numbers(name, text, ":"))
            struct.dense_weight, struct.lexical_weight = dense, lexical
        elif field == "delimiter":
            one = "\t" if text == "tab" else text
            if len(one) != 1 or not one.isascii():
                raise ValueError("expected one ASCII character")
            struct.delimiter = one.encode()
        else:
            raise NotImplementedError(f"{name} cannot be set")
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name}={text!r} is not {row['value']}: {error}") from None


def assign(struct: Any, row: Row, value: Any) -> None:
    """Sets the field of an option in `struct`, which is the struct of the row or contains it. Raises TypeError or
    ValueError, which name the keyword argument. The struct keeps the bytes of a text alive."""
    target = find(struct, row["struct"])
    if target is None:
        raise ValueError(f"{row['name']} has no field in {type(struct).__name__}")
    target, field = place(target, row["field"])
    kind, old = row["type"], getattr(target, field)
    if kind == "flag":
        new = _flag(row, value)
        if new is not None:
            setattr(target, field, new)
    elif kind in ("integer", "number"):
        setattr(target, field, _integer(row, value) if kind == "integer" else _number(row, value))
    elif kind == "choice":
        setattr(target, field, one_of(row["name"], value, row["choices"]))
    elif kind == "set":
        setattr(target, field, _set(row, value))
    elif field == "views":
        views = _names(row, value)
        if len(views) != len(old):
            raise ValueError(f"{row['name']} needs {len(old)} views, not {len(views)}")
        for i, view in enumerate(views):
            _native.check(_native.load().aoe_view_parse, ctypes.byref(old[i]), to_bytes(view, "a view"))
    elif field == "pooling":
        pooling = ctypes.c_uint()
        _native.check(_native.load().aoe_pooling_parse, ctypes.byref(pooling),
                      to_bytes(text_of(row, value), "pooling"))
        setattr(target, field, pooling.value)
    elif dict(target._fields_)[field] is ctypes.c_char_p:
        setattr(target, field, to_bytes(text_of(row, value), row["name"]))
    else:
        _parsed(target, field, row, text_of(row, value))
