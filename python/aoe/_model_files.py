# SPDX-License-Identifier: MIT
"""Files of model directories that Python reads and writes itself: settings, and the padding of the tokenizer."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

# tokenizers of transformers that return no token_type_ids, unless tokenizer_config.json lists them
WITHOUT_TYPES = ("Roberta", "MPNet", "XLMRoberta", "Camembert", "DistilBert", "T5", "MT5", "GPT2", "Llama", "Gemma",
                 "Qwen2", "ModernBert", "Bart", "Longformer", "BigBird", "CodeGen", "Bloom", "GPTNeoX", "Mistral")


SETTINGS = ("aoe.json", "config_sentence_transformers.json")  # the first one takes precedence


def read_json(path: pathlib.Path) -> dict[str, Any]:
    """Returns the object in a JSON file; {}: the file does not exist."""
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return value


def update_json(path: pathlib.Path, values: dict[str, Any]) -> None:
    """Sets keys of a JSON file, and removes those whose value is None. A file without keys is not created."""
    before = read_json(path)
    after = {key: value for key, value in {**before, **values}.items() if value is not None or key not in values}
    if after != before:
        path.write_text(json.dumps(after, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def save_directory(source: pathlib.Path, path: str | os.PathLike[str], write: Callable[[pathlib.Path], None]) -> None:
    """Copies a model directory to `path` and calls write(directory) to change its settings. The directory is complete
    or not there. Raises FileExistsError if `path` exists and is not an empty directory."""
    target = pathlib.Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{target} exists; choose another path, or remove it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=target.name + ".", dir=target.parent) as folder:
        part = pathlib.Path(folder) / "model"
        shutil.copytree(source, part)
        write(part)
        if target.exists():
            target.rmdir()
        part.rename(target)


def link_directory(source: pathlib.Path, target: pathlib.Path, values: dict[str, Any]) -> None:
    """Fills the empty directory `target` with links to the files of a model directory, and with copies of the files of
    settings, in which keys are set, or removed if the value is None."""
    for path in source.iterdir():
        if path.name in SETTINGS:
            shutil.copyfile(path, target / path.name)
            update_json(target / path.name, values)
        else:
            (target / path.name).symlink_to(path.absolute(), path.is_dir())


class Padding:
    """How the tokenizer of transformers fills the rows of a batch. id: the padding token; left: whether it is put
    before the text; types: whether the batch has token_type_ids. directories: those of the model and, for adapters, of
    its base model; the first one with a tokenizer is used."""

    def __init__(self, directories: list[pathlib.Path]) -> None:
        files = ("tokenizer_config.json", "tokenizer.json", "vocab.txt")
        directory = next((d for d in directories if any((d / name).exists() for name in files)), directories[0])
        config = read_json(directory / "tokenizer_config.json")
        token = config.get("pad_token") or read_json(directory / "special_tokens_map.json").get("pad_token")
        token = token.get("content") if isinstance(token, dict) else token
        own = read_json(directory / "tokenizer.json").get("padding") or {}
        ids = _special_ids(directory)
        known = [ids[name] for name in (token, "[PAD]", "<pad>") if name in ids]
        self.id = int(known[0] if known else own.get("pad_id", 0))
        self.left = (config.get("padding_side") or own.get("direction", "right")).lower() == "left"
        names = config.get("model_input_names")
        kind = str(config.get("tokenizer_class", "")).removesuffix("Fast").removesuffix("Tokenizer")
        self.types = "token_type_ids" in names if names else kind not in WITHOUT_TYPES


def _special_ids(directory: pathlib.Path) -> dict[str, int]:
    """Returns the ids of the added tokens, or of all tokens in vocab.txt."""
    added = {item["content"]: item["id"] for item in read_json(directory / "tokenizer.json").get("added_tokens", ())}
    words = directory / "vocab.txt"
    if added or not words.exists():
        return added
    return {line: i for i, line in enumerate(words.read_text(encoding="utf-8").split("\n"))}
