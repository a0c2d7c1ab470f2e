"""Ranks as tiktoken publishes them: one line per token, its bytes in base64 and its id, which is its rank.

The file tells neither the special tokens nor the pattern that splits text before merging: both are declared beside it.
"""

import base64
import binascii
from pathlib import Path
from typing import Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.declaration import TokenizerDeclaration, declaration_file
from compiler_pool.tokenizers.reading import read_bytes
from compiler_pool.tokenizers.vocabulary import MAX_TOKENS, EngineRanks, Vocabulary, table_of

_MAX_ID_DIGITS: Final = 9


def read_tiktoken(path: Path, declared: TokenizerDeclaration) -> Vocabulary:
    """The vocabulary of a ranks file and its declaration. Raises TokenizerError."""
    if declared.pattern is None or not declared.special_tokens:
        raise TokenizerError(
            f"ranks need a pattern and special_tokens in {declaration_file(path).name} beside them", path=str(path)
        )
    ranks = _ranks(read_bytes(path), path)
    as_bytes = {rank: data for data, rank in ranks.items()}
    if len(as_bytes) != len(ranks):
        raise TokenizerError("two tokens have one rank", path=str(path))
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:  # merging begins with single bytes, and the engine's code for it dies of one that is not there
        raise TokenizerError(f"no token for byte 0x{missing[0]:02x}: ranks begin with all 256", path=str(path))
    for name, index in declared.special_tokens.items():
        if index in as_bytes:
            raise TokenizerError(f"id {index} is a rank and the special token {name[:80]!r}", path=str(path))
        try:
            as_bytes[index] = name.encode()
        except UnicodeEncodeError as error:
            raise TokenizerError(f"a special token's name is no text: {error}", path=str(path)) from error
    return Vocabulary(
        name=path.stem,
        path=str(path),
        table=table_of(as_bytes, path=str(path)),
        names=declared.special_tokens,
        normaliser="null",
        keeps_text=True,
        named_ends=(),
        width=None,
        engine=EngineRanks(ranks=ranks, special_tokens=declared.special_tokens, pattern=declared.pattern),
    )


def _ranks(content: bytes, path: Path) -> dict[bytes, int]:
    lines = content.split(b"\n", MAX_TOKENS + 1)
    if len(lines) > MAX_TOKENS + 1:
        raise TokenizerError(f"more than {MAX_TOKENS} lines", path=str(path))
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        spelled, _, rank = line.strip().partition(b" ")
        try:
            data = base64.b64decode(spelled, validate=True)
        except binascii.Error as error:
            raise TokenizerError(f"line {number} does not begin with base64: {error}", path=str(path)) from error
        if not data or not rank.isdigit() or len(rank) > _MAX_ID_DIGITS:
            raise TokenizerError(f"line {number} is not a token's bytes and its rank", path=str(path))
        if data in ranks:
            raise TokenizerError(f"line {number} gives a token a second rank", path=str(path))
        ranks[data] = int(rank)
    return ranks
