"""A saved sequence as bytes, and back: framed, sized, authenticated, digested.

Layout (integers big endian)::

    magic "SGSS" | version u8 | key id length u8 | key id | header length u32 | payload length u64
    | header: JSON | HMAC-SHA256 over everything before it | payload: keys and values

The payload's SHA-256 is in the header, so the signature covers it, and a blob is refused before its payload is looked
at. Whoever holds a blob can go on with the sequence on a node that knows the key, and can read its tokens: it is
signed, not encrypted. No pickle, and nothing in a blob is ever executed.
"""

import hmac
import struct
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import torch
from pydantic import ValidationError

from compiler_pool.frame import KeyRing
from inference_node.errors import RefusedRequestError
from inference_node.protocol import NodeFault
from inference_node.snapshots.protocol import VERSION, IncludedKeysValues, RecomputedKeysValues, SnapshotHeader

_MAGIC: Final = b"SGSS"
_LENGTHS: Final = struct.Struct(">IQ")
_SIGNATURE_BYTES: Final = sha256().digest_size
_START: Final = len(_MAGIC) + 2
MAX_HEADER_BYTES: Final = 16 * 1024 * 1024
"""A million tokens of context, each of up to seven digits, twice."""

_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A header and the keys and values that it speaks of, on the CPU, [layers, tokens, keys | values]."""

    header: SnapshotHeader
    keys_values: torch.Tensor


def sealed(snapshot: Snapshot, ring: KeyRing, *, max_bytes: int) -> bytes:
    """The bytes of a snapshot, signed with the ring's signing key. Can take as long as digesting them: not for a loop.

    Raises:
        RefusedRequestError: `body_too_large`, over `max_bytes`.
    """
    header = snapshot.header.model_dump_json().encode()
    payload = _bytes_of(snapshot.keys_values) if isinstance(snapshot.header.keys_values, IncludedKeysValues) else b""
    key_id = ring.signing_id.encode()
    prefix = _MAGIC + bytes([VERSION, len(key_id)]) + key_id + _LENGTHS.pack(len(header), len(payload))
    num_bytes = len(prefix) + len(header) + _SIGNATURE_BYTES + len(payload)
    if num_bytes > max_bytes or len(header) > MAX_HEADER_BYTES:
        raise _too_large(num_bytes, max_bytes)
    signature = hmac.digest(ring.secrets[ring.signing_id], prefix + header, "sha256")
    return b"".join([prefix, header, signature, payload])


def opened(data: bytes, ring: KeyRing, *, max_bytes: int) -> Snapshot:
    """The snapshot in bytes that one of the ring's keys signed. Time and memory are linear in their length.

    Raises:
        RefusedRequestError: `body_too_large`; `snapshot_version`, written by another version; `snapshot_damaged`,
            anything else.
    """
    if len(data) > max_bytes:
        raise _too_large(len(data), max_bytes)
    if len(data) < _START + _LENGTHS.size + _SIGNATURE_BYTES or not data.startswith(_MAGIC):
        raise _damaged("not a saved sequence")
    version, id_length = data[_START - 2], data[_START - 1]
    if version != VERSION:
        message = f"a saved sequence of version {version}; this node reads version {VERSION}"
        raise RefusedRequestError(NodeFault(code="snapshot_version", message=message, limit=VERSION, observed=version))
    secret = ring.secrets.get(data[_START : _START + id_length].decode(errors="replace"))
    if secret is None:
        raise _damaged("signed with a key that is not known here")
    view = memoryview(data)
    header_at = _START + id_length + _LENGTHS.size
    try:
        header_length, payload_length = _LENGTHS.unpack_from(data, _START + id_length)
    except struct.error:
        raise _damaged("cut short") from None
    signature_at = header_at + header_length
    payload_at = signature_at + _SIGNATURE_BYTES
    if header_length > MAX_HEADER_BYTES or payload_at + payload_length != len(data):
        raise _damaged("its lengths do not fit it")
    signature = hmac.digest(secret, view[:signature_at], "sha256")
    if not hmac.compare_digest(signature, data[signature_at:payload_at]):
        raise _damaged("its signature is wrong")
    header = _header(data[header_at:signature_at])
    return Snapshot(header=header, keys_values=_tensor(header.keys_values, view[payload_at:]))


def described(keys_values: torch.Tensor) -> IncludedKeysValues | RecomputedKeysValues:
    """What a header says of keys and values that go along; of those of no tokens, that they do not."""
    num_layers, num_tokens, width = keys_values.shape
    if num_tokens == 0:
        return RecomputedKeysValues()
    return IncludedKeysValues.model_validate(
        {
            "dtype": _NAMES[keys_values.dtype],
            "num_layers": num_layers,
            "num_tokens": num_tokens,
            "width": width,
            "sha256": sha256(_bytes_of(keys_values)).hexdigest(),
        }
    )


def _header(data: bytes) -> SnapshotHeader:
    """Signed by us, but perhaps by another revision of us: every member is still checked."""
    try:
        return SnapshotHeader.model_validate_json(data)
    except ValidationError as error:
        raise _damaged(f"a header of another shape ({error.error_count()} faults)") from None


def _tensor(said: IncludedKeysValues | RecomputedKeysValues, payload: memoryview) -> torch.Tensor:
    if isinstance(said, RecomputedKeysValues):
        if payload:
            raise _damaged("its lengths do not fit it")
        return torch.empty((0, 0, 0))
    dtype = _DTYPES[said.dtype]
    if said.num_layers * said.num_tokens * said.width * dtype.itemsize != len(payload):
        raise _damaged("its lengths do not fit it")
    if sha256(payload).hexdigest() != said.sha256:
        raise _damaged("keys and values of another digest")
    # A copy of its own: the bytes of a request are not for writing, and go when it has been answered.
    return torch.frombuffer(bytearray(payload), dtype=dtype).view(said.num_layers, said.num_tokens, said.width)


def _bytes_of(keys_values: torch.Tensor) -> memoryview:
    """The numbers as they lie in memory, without a copy where they lie in order."""
    return keys_values.contiguous().view(torch.uint8).numpy().data.cast("B")


def _too_large(num_bytes: int, max_bytes: int) -> RefusedRequestError:
    message = f"a saved sequence of {num_bytes} bytes, of at most {max_bytes}; without keys and values it is smaller"
    return RefusedRequestError(NodeFault(code="body_too_large", message=message, limit=max_bytes, observed=num_bytes))


def _damaged(reason: str) -> RefusedRequestError:
    return RefusedRequestError(NodeFault(code="snapshot_damaged", message=f"not a usable saved sequence: {reason}"))
