"""Hugging Face's files: a model directory, or a bare `tokenizer.json`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.end_tokens import ids_in
from compiler_pool.tokenizers.reading import parse_object, read_optional_object, read_text
from compiler_pool.tokenizers.token_table import read_token_table
from compiler_pool.tokenizers.vocabulary import EngineDocument, Vocabulary

_FOR_TRAINING: Final = ("truncation", "padding")
"""Members that cut or fill up what is encoded. The engine would obey them inside forced text."""


def read_hugging_face(path: Path) -> Vocabulary:
    """The vocabulary at `path`. Raises TokenizerError.

    Ends are the union of `generation_config.json`, `config.json` and `tokenizer_config.json`.
    """
    directory, file = (path, path / "tokenizer.json") if path.is_dir() else (None, path)
    text = read_text(file)
    document = parse_object(text, file)
    table = read_token_table(document, path=str(path))
    config = read_optional_object(directory, "config.json")
    return Vocabulary(
        name=path.resolve().name if directory else path.stem,
        path=str(path),
        table=table.token_bytes,
        names=table.ids_by_name,
        normaliser=table.normaliser,
        keeps_text=table.keeps_text,
        named_ends=tuple(_named_ends(directory, config, table.ids_by_name, path)),
        width=_width(config, path),
        engine=EngineDocument(text=_for_the_engine(document, text)),
        spoken=table.spoken,
    )


def _for_the_engine(document: dict[str, Any], text: str) -> str:
    model = document["model"]
    if not model.get("dropout") and not any(document.get(member) for member in _FOR_TRAINING):
        return text.lstrip()  # the engine takes text that does not begin with a brace for a name
    plain = document | dict.fromkeys(_FOR_TRAINING) | {"model": model | {"dropout": None}}
    return json.dumps(plain, ensure_ascii=False)


def _named_ends(directory: Path | None, config: Mapping[str, Any], names: Mapping[str, int], path: Path) -> list[int]:
    ends: list[int] = []
    generation = read_optional_object(directory, "generation_config.json")
    for source in (generation, config, _text_config(config, path)):
        ends += ids_in(source.get("eos_token_id"), path=str(path))
    token = read_optional_object(directory, "tokenizer_config.json").get("eos_token")
    name = token.get("content") if isinstance(token, dict) else token
    if isinstance(name, str) and name in names:
        ends.append(names[name])
    return ends


def _width(config: Mapping[str, Any], path: Path) -> int | None:
    value = config.get("vocab_size", _text_config(config, path).get("vocab_size"))
    if value is not None and type(value) is not int:
        raise TokenizerError(f"config.json's vocab_size is {repr(value)[:80]}, not an integer", path=str(path))
    return value


def _text_config(config: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The part of a multimodal model's configuration that speaks of its text model."""
    part = config.get("text_config") or {}
    if not isinstance(part, dict):
        raise TokenizerError("config.json's text_config is not an object", path=str(path))
    return part
