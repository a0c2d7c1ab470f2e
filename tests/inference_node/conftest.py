"""The real model, prepared once for all tests of the node."""

import os
from pathlib import Path

import pytest

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.prepare import prepare_default_model

_REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def model_directory() -> Path:
    cache = Path(os.environ.get("SCHEMAGATE_CACHE_DIR", _REPOSITORY / ".cache"))
    return prepare_default_model(cache, lambda line: None)


@pytest.fixture(scope="session")
def tokenizer(model_directory: Path) -> BoundTokenizer:
    return load_tokenizer(model_directory)
