"""Ways of splitting that GGUF files name are those that the published files spell out."""

import os
from pathlib import Path

import pytest

from compiler_pool.tokenizers.reading import parse_object, read_text
from compiler_pool.tokenizers.splitting import SPLITTINGS

_SHARED = Path(os.environ.get("SCHEMAGATE_CORPORA", Path(__file__).parents[4] / "shared" / "corpora")).parent


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "published"), [("qwen2", "qwen3"), ("gpt-4o", "gpt-oss")])
def test_a_named_way_has_the_published_pattern(name: str, published: str) -> None:
    path = _SHARED / "tokenizers" / f"{published}.json"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    steps = parse_object(read_text(path), path)["pre_tokenizer"]["pretokenizers"]
    assert SPLITTINGS[name][0] == steps[0]


def test_every_way_ends_in_the_byte_level_alphabet() -> None:
    assert all(steps[-1]["type"] == "ByteLevel" for steps in SPLITTINGS.values())
