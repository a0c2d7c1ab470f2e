"""The real model, prepared once for all tests of the node."""

import os
from pathlib import Path

from inference_node.process_settings import OPENMP_WAITING

# Before torch is loaded, as the node's own process does.
os.environ.update(OPENMP_WAITING | os.environ)

import pytest

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.decoder import Decoder
from inference_node.prepare import prepare_default_model
from tests.inference_node.model_worlds import load_decoder, tiny_config, write_model

_REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def model_directory() -> Path:
    cache = Path(os.environ.get("SCHEMAGATE_CACHE_DIR", _REPOSITORY / ".cache"))
    return prepare_default_model(cache, lambda line: None)


@pytest.fixture(scope="session")
def tokenizer(model_directory: Path) -> BoundTokenizer:
    return load_tokenizer(model_directory)


@pytest.fixture(scope="session")
def tiny_directory(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer Llama with random weights over the real vocabulary: quick, as unpredictable as samplers need."""
    return write_model(tmp_path_factory.mktemp("tiny") / "tiny", model_directory, tiny_config())


@pytest.fixture(scope="session")
def tiny_decoder(tiny_directory: Path) -> Decoder:
    return load_decoder(tiny_directory)
