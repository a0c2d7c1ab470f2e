"""An artifact on the wire: framed, sized, authenticated. Bytes from a cache or a caller become an artifact only here.

Layout (integers big endian)::

    magic "SGAF" | version u8 | key id length u8 | key id | body length u32 | table length u32
    | body: JSON | table: empty | HMAC-SHA256 over everything before it

The table is where a later engine puts what it can use as it stands; so far it has to be empty. The signature is checked
before anything inside is looked at. No pickle, and nothing in a frame is ever executed.
"""

import hmac
import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any, Self, TypeVar

from compiler_pool.artifact import Artifact, ArtifactAddress
from compiler_pool.errors import FrameError
from policy.enforcement import KeywordStatus, ReportEntry
from policy.limits import EngineBudget
from policy.text_bounds import BoundedPlace, TextBounds, TextReport

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Above any grammar that the engine's own limits let through."""

_MAGIC = b"SGAF"
_VERSION = 2
"""2: the body says how the text is laid out and bounded."""
_LENGTHS = struct.Struct(">II")
_SIGNATURE_BYTES = sha256().digest_size
_MIN_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """Secrets by key id. The first signs; all open, so that a key can be changed without dropping a cache."""

    signing_id: str
    secrets: Mapping[str, bytes]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read `id:hex[,id:hex]`. Raises FrameError, without repeating any of it."""
        secrets: dict[str, bytes] = {}
        for part in text.split(","):
            key_id, colon, digits = part.strip().partition(":")
            if not colon or not key_id or len(key_id.encode()) > 255 or key_id in secrets:
                raise FrameError("artifact keys are written id:hex[,id:hex], each id once")
            try:
                secret = bytes.fromhex(digits)
            except ValueError:
                raise FrameError(f"the secret of artifact key {key_id!r} is not hexadecimal") from None
            if len(secret) < _MIN_SECRET_BYTES:
                raise FrameError(f"the secret of artifact key {key_id!r} is shorter than {_MIN_SECRET_BYTES} bytes")
            secrets[key_id] = secret
        return cls(signing_id=next(iter(secrets)), secrets=secrets)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.secrets)})"


def seal(artifact: Artifact, ring: KeyRing) -> bytes:
    """Frame an artifact under the ring's signing key. Raises FrameError over `MAX_FRAME_BYTES`."""
    key_id = ring.signing_id.encode()
    body = json.dumps(_body(artifact), separators=(",", ":"), ensure_ascii=False).encode()
    signed = _MAGIC + bytes([_VERSION, len(key_id)]) + key_id + _LENGTHS.pack(len(body), 0) + body
    frame = signed + hmac.digest(ring.secrets[ring.signing_id], signed, "sha256")
    if len(frame) > MAX_FRAME_BYTES:
        raise FrameError(f"artifact frame of {len(frame)} bytes; at most {MAX_FRAME_BYTES} are made")
    return frame


def open_frame(data: bytes, ring: KeyRing) -> Artifact:
    """The artifact in a frame that one of the ring's keys signed. Raises FrameError for anything else."""
    if len(data) > MAX_FRAME_BYTES:
        raise FrameError(f"artifact frame of {len(data)} bytes; at most {MAX_FRAME_BYTES} are read")
    start = len(_MAGIC) + 2
    if len(data) < start + _LENGTHS.size + _SIGNATURE_BYTES or not data.startswith(_MAGIC):
        raise FrameError("not an artifact frame")
    version, id_length = data[start - 2], data[start - 1]
    if version != _VERSION:
        raise FrameError(f"artifact frame of version {version}; this process reads version {_VERSION}")
    secret = ring.secrets.get(data[start : start + id_length].decode(errors="replace"))
    if secret is None:
        raise FrameError("artifact frame signed with a key that is not known here")
    signed, signature = data[:-_SIGNATURE_BYTES], data[-_SIGNATURE_BYTES:]
    if not hmac.compare_digest(hmac.digest(secret, signed, "sha256"), signature):
        raise FrameError("artifact frame with a wrong signature")
    try:
        body_length, table_length = _LENGTHS.unpack_from(signed, start + id_length)
    except struct.error:
        raise FrameError("artifact frame with lengths that do not fit it") from None
    at = start + id_length + _LENGTHS.size
    if table_length != 0 or at + body_length != len(signed):
        raise FrameError("artifact frame with lengths that do not fit it")
    return _artifact(signed[at:])


def _body(artifact: Artifact) -> dict[str, Any]:
    return {
        "address": asdict(artifact.address),
        "grammar": artifact.grammar,
        "engine_budget": asdict(artifact.engine_budget),
        "report": [[entry.pointer, entry.keyword, entry.status.value] for entry in artifact.report],
        "text": {
            "whitespace": artifact.text.whitespace,
            "bounds": asdict(artifact.text.bounds),
            "bounded": [[place.pointer, place.limit_name, place.limit] for place in artifact.text.bounded],
        },
        "compile_ms": artifact.compile_ms,
        "cpu_ms": artifact.cpu_ms,
    }


def _artifact(body: bytes) -> Artifact:
    """Signed by us, but perhaps by another revision of us: every member is still checked."""
    try:
        members = json.loads(body)  # noqa: TID251 - the signature was checked: we wrote it
        return Artifact(
            address=_strict(ArtifactAddress, members["address"], str),
            grammar=_of_type(members["grammar"], str),
            engine_budget=_strict(EngineBudget, members["engine_budget"], int),
            report=tuple(
                ReportEntry(pointer=pointer, keyword=keyword, status=KeywordStatus(status))
                for pointer, keyword, status in members["report"]
            ),
            text=_text(members["text"]),
            compile_ms=float(members["compile_ms"]),
            cpu_ms=float(members["cpu_ms"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FrameError(f"artifact frame with a body of another shape: {error!r}") from None


def _text(members: dict[str, Any]) -> TextReport:
    return TextReport(
        whitespace=_of_type(members["whitespace"], str),
        bounds=TextBounds(
            **{name: None if value is None else _of_type(value, int) for name, value in members["bounds"].items()}
        ),
        bounded=tuple(
            BoundedPlace(pointer=_of_type(pointer, str), limit_name=_of_type(name, str), limit=_of_type(limit, int))
            for pointer, name, limit in members["bounded"]
        ),
    )


Record = TypeVar("Record")
Member = TypeVar("Member")


def _strict(record: type[Record], members: dict[str, Any], kind: type[Any]) -> Record:
    names = {field.name for field in fields(record)}  # type: ignore[arg-type]
    if set(members) != names:
        raise ValueError(f"{record.__name__} has other members")
    return record(**{name: _of_type(value, kind) for name, value in members.items()})


def _of_type(value: Any, kind: type[Member]) -> Member:
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected")
    return value
