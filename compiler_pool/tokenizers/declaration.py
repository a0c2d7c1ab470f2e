"""What an operator declares of a tokenizer, in a file beside it.

For a directory it is `schemagate.json` inside it; for a file `NAME.EXT` it is `NAME.schemagate.json` beside it. It lies
with the tokenizer because pool and node must both go by it: what is declared is part of the digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.reading import parse_object, read_text
from compiler_pool.tokenizers.vocabulary import MAX_TOKENS

_FOR_ALL: Final = frozenset({"granted_special_tokens", "end_tokens", "vocabulary_size"})
_FOR_RANKS: Final = frozenset({"pattern", "special_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerDeclaration:
    """By default nothing is granted and nothing added.

    `granted_special_tokens` are names that a grammar may mention; `end_tokens` are names of further ends;
    `vocabulary_size` is the width of the model's logits, where no other file tells it. `pattern` and `special_tokens`
    complete tiktoken's ranks and are refused for other sources, whose files tell them.
    """

    granted_special_tokens: tuple[str, ...] = ()
    end_tokens: tuple[str, ...] = ()
    vocabulary_size: int | None = None
    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None


def declaration_file(path: Path) -> Path:
    """Where the declaration of the tokenizer at `path` is, if there is one."""
    return path / "schemagate.json" if path.is_dir() else path.with_suffix(".schemagate.json")


def read_declaration(path: Path, *, has_ranks: bool) -> TokenizerDeclaration:
    """What is declared for the tokenizer at `path`. Raises TokenizerError for unknown keys and wrong values."""
    file = declaration_file(path)
    if not file.is_file():
        return TokenizerDeclaration()
    members = parse_object(read_text(file), file)
    allowed = _FOR_ALL | _FOR_RANKS if has_ranks else _FOR_ALL
    for key in members:
        if key not in allowed:
            raise TokenizerError(f"{file.name}: {key[:80]!r} is none of {sorted(allowed)}", path=str(file))
    return TokenizerDeclaration(
        granted_special_tokens=_names(members, "granted_special_tokens", file),
        end_tokens=_names(members, "end_tokens", file),
        vocabulary_size=_size(members.get("vocabulary_size"), file),
        pattern=_pattern(members.get("pattern"), file),
        special_tokens=_special_tokens(members.get("special_tokens"), file),
    )


def _names(members: Mapping[str, Any], key: str, file: Path) -> tuple[str, ...]:
    names = members.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TokenizerError(f"{file.name}: {key} is not a list of token names", path=str(file))
    return tuple(dict.fromkeys(names))


def _size(value: Any, file: Path) -> int | None:
    if value is None or (type(value) is int and 0 < value <= MAX_TOKENS):
        return value
    raise TokenizerError(f"{file.name}: vocabulary_size is not an integer up to {MAX_TOKENS}", path=str(file))


def _pattern(value: Any, file: Path) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise TokenizerError(f"{file.name}: pattern is not the text of a regular expression", path=str(file))


def _special_tokens(value: Any, file: Path) -> Mapping[str, int] | None:
    if value is None or (isinstance(value, dict) and all(name and type(index) is int for name, index in value.items())):
        return value
    raise TokenizerError(f"{file.name}: special_tokens is not an object of ids by name", path=str(file))
