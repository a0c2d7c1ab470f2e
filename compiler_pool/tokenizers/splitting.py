"""How the byte-level vocabularies of GGUF files split text before merging.

A GGUF file names its way of splitting (`tokenizer.ggml.pre`) and leaves the rest to whoever reads it. Named here are
those whose published `tokenizer.json` says the same as llama.cpp does.
"""

from typing import Any, Final

_CONTRACTIONS: Final = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_OTHERS: Final = r" ?[^\s\p{L}\p{N}]+"
_SPACES: Final = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER: Final = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"
_LOWER: Final = r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_LEAD: Final = r"[^\r\n\p{L}\p{N}]?"


def _by_pattern(pattern: str) -> list[dict[str, Any]]:
    return [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    ]


_GPT_2: Final = [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}]
_SINGLE_DIGITS: Final = [{"type": "Digits", "individual_digits": True}, *_GPT_2]
_LLAMA_3: Final = _by_pattern(rf"{_CONTRACTIONS}|{_LEAD}\p{{L}}+|\p{{N}}{{1,3}}|{_OTHERS}[\r\n]*|{_SPACES}")
_QWEN_2: Final = _by_pattern(rf"{_CONTRACTIONS}|{_LEAD}\p{{L}}+|\p{{N}}|{_OTHERS}[\r\n]*|{_SPACES}")
_GPT_4O: Final = _by_pattern(
    rf"{_LEAD}[{_UPPER}]*[{_LOWER}]+{_CONTRACTIONS}?|{_LEAD}[{_UPPER}]+[{_LOWER}]*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_OTHERS}[\r\n/]*|{_SPACES}"
)

SPLITTINGS: Final[dict[str, list[dict[str, Any]]]] = {
    "gpt-2": _GPT_2,
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "command-r": _SINGLE_DIGITS,
    "llama-bpe": _LLAMA_3,
    "llama3": _LLAMA_3,
    "llama-v3": _LLAMA_3,
    "qwen2": _QWEN_2,
    "gpt-4o": _GPT_4O,
}
"""Steps of a `tokenizer.json`'s pre-tokenizer, by GGUF's name."""

IGNORES_MERGES: Final = frozenset({"llama-bpe", "llama3", "llama-v3", "gpt-4o"})
"""Ways that take what is split off as one token where the vocabulary has it, whatever the merges say."""
