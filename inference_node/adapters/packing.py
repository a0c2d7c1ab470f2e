"""A PEFT directory as one file to send: `python -m inference_node.adapters.packing ADAPTER_DIR MODEL_DIR OUT_FILE`.

It says for which base the adapter was trained, so it is made where both are: names of models do not identify them.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic_core import from_json
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from inference_node.adapters.adapter_file import BASE_MEMBER, CONFIG_MEMBER, adapter_digest
from inference_node.adapters.errors import AdapterError, AdapterFileError
from inference_node.adapters.lora_config import read_lora_config
from inference_node.snapshots.model_digest import model_digest

_CONFIG: Final = "adapter_config.json"
_TENSORS: Final = "adapter_model.safetensors"
_ANY_RANK: Final = 2**16
"""The node that it is sent to has its own limit."""


def pack_adapter(directory: Path, *, base_digest: str) -> tuple[str, bytes]:
    """The digest and the file of a PEFT directory.

    Raises:
        AdapterError: it is not whole, or asks for what is not implemented. Shapes are the node's to judge.
    """
    try:
        text = (directory / _CONFIG).read_text(encoding="utf-8")
        members = from_json(text, allow_inf_nan=False)
        tensors = load_file(directory / _TENSORS)
    except (OSError, ValueError, SafetensorError) as error:
        raise AdapterFileError(reason=f"{directory.name} has no readable {_CONFIG} and {_TENSORS}: {error}") from error
    if not isinstance(members, dict):
        raise AdapterFileError(reason=f"{_CONFIG} is not a JSON object")
    config = read_lora_config(members, max_rank=_ANY_RANK)
    digest = adapter_digest(config, tensors, base_digest)
    return digest, save(tensors, metadata={CONFIG_MEMBER: text, BASE_MEMBER: base_digest})


def main(arguments: Sequence[str]) -> int:
    """Write the file and print the digest to put it under."""
    if len(arguments) != 3:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    adapter, model, out = (Path(argument) for argument in arguments)
    try:
        digest, body = pack_adapter(adapter, base_digest=model_digest(model))
        out.write_bytes(body)
    except (AdapterError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{digest}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
