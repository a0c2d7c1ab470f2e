"""The default model's GGUF file and the directory converted from it are one tokenizer."""

from pathlib import Path

from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.prepare import find_default_gguf


def test_a_gguf_file_and_its_conversion_have_one_digest(tokenizer: BoundTokenizer) -> None:
    from_gguf = load_tokenizer(find_default_gguf())
    assert from_gguf.identity.differences(tokenizer.identity) == ()
    assert from_gguf.digest == tokenizer.digest
    for text in ("Once upon a time", '{"a": [1, 2.5, "é e\u0301"]}', "\n\n  12345 中文"):
        assert from_gguf.encode_exact(text.encode()) == tokenizer.encode_exact(text.encode())


def test_the_default_tokenizer_lacks_tokens_for_some_control_bytes(model_directory: Path) -> None:
    tokenizer = load_tokenizer(model_directory)
    assert sorted(tokenizer.missing_bytes) == [0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xF1, 0xF2]
    assert tokenizer.is_faithful
