"""Which tokens end a turn or a text: all of them, wherever they are told."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from compiler_pool.errors import TokenizerError

WELL_KNOWN_ENDS: Final = (
    "<|im_end|>", "<|return|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|call|>",
    "<end_of_turn>", "<|END_OF_TURN_TOKEN|>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "</s>", "<eos>",
)  # fmt: skip
"""Names that end a turn or a text wherever a model has a token of that name.

Configuration files often name one and leave out what the chat template ends a turn with; a mask that lacks an end
makes the model go on.
"""


def end_ids(named: Iterable[int], names: Mapping[str, int], table: tuple[bytes, ...], *, path: str) -> tuple[int, ...]:
    """The named ids first, then well-known ones. Raises TokenizerError: there is none, or one is no token."""
    ends = tuple(dict.fromkeys([*named, *(names[name] for name in WELL_KNOWN_ENDS if name in names)]))
    if not ends:
        raise TokenizerError("no end-of-sequence token is named or known", path=path)
    for index in ends:
        if not 0 <= index < len(table) or not table[index]:
            raise TokenizerError(f"end-of-sequence id {index} is no token of the table", path=path)
    return ends


def ids_in(value: Any, *, path: str) -> list[int]:
    """The ids of a configuration's `eos_token_id`: absent, one, or a list. Raises TokenizerError."""
    ids = [] if value is None else value if isinstance(value, list) else [value]
    if not all(type(index) is int for index in ids):
        raise TokenizerError(f"eos_token_id is {repr(value)[:80]}, not an integer or a list of them", path=path)
    return ids
