"""Which reader a path is for, and what its file and its declaration say together."""

from dataclasses import dataclass
from pathlib import Path

from compiler_pool.tokenizers.declaration import TokenizerDeclaration, read_declaration
from compiler_pool.tokenizers.gguf import read_gguf
from compiler_pool.tokenizers.hugging_face import read_hugging_face
from compiler_pool.tokenizers.tiktoken import read_tiktoken
from compiler_pool.tokenizers.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerSource:
    """A vocabulary as its files tell it, and what the operator declared of it."""

    vocabulary: Vocabulary
    declared: TokenizerDeclaration


def read_source(path: Path) -> TokenizerSource:
    """Read what is at `path`, told apart by its name's ending. Raises TokenizerError."""
    match path.suffix:
        case ".gguf" if not path.is_dir():
            return TokenizerSource(vocabulary=read_gguf(path), declared=read_declaration(path, has_ranks=False))
        case ".tiktoken" if not path.is_dir():
            declared = read_declaration(path, has_ranks=True)
            return TokenizerSource(vocabulary=read_tiktoken(path, declared), declared=declared)
        case _:
            return TokenizerSource(vocabulary=read_hugging_face(path), declared=read_declaration(path, has_ranks=False))
