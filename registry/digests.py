"""Content identity: what is hashed, exactly."""

from hashlib import sha256
from typing import Final

from registry.contract import AnnotationDigest, ContractDigest, ContractKind

_CONTRACT: Final = b"schemagate contract 1\n"
_ANNOTATIONS: Final = b"schemagate annotations 1\n"


def contract_digest(kind: ContractKind, canonical_text: str) -> ContractDigest:
    """SHA-256 over the line `schemagate contract 1`, the kind on a line, and the canonical text in UTF-8."""
    content = _CONTRACT + kind.value.encode() + b"\n" + canonical_text.encode()
    return ContractDigest(f"sha256:{sha256(content).hexdigest()}")


def annotation_digest(text: str) -> AnnotationDigest:
    """SHA-256 over the line `schemagate annotations 1` and the annotation document in UTF-8."""
    return AnnotationDigest(f"sha256:{sha256(_ANNOTATIONS + text.encode()).hexdigest()}")
