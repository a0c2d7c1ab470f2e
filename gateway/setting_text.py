"""Settings that are JSON: written out, or in a file that the setting names."""

from pathlib import Path
from typing import Any

from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_MAX_BYTES = 1024 * 1024
_MAX_NESTING = 16


def json_setting(value: Any) -> Any:
    """What a setting's text holds; anything that is no text, or none at all, is left to validation."""
    if not isinstance(value, str) or not (text := value.strip()):
        return value
    data = text.encode() if text[0] in "[{" else _file(Path(text))
    try:
        return parse_json(data, max_bytes=_MAX_BYTES, max_nesting=_MAX_NESTING)
    except ContractRejectedError as error:
        # Never the text itself: it may hold keys.
        raise ValueError(f"it is not JSON: {error.rejections[0].message}") from None


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it is neither JSON nor a file that can be read ({error.strerror})") from None
