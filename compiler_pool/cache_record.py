"""A cache entry as it lies where others can write: bound to its key, authenticated, bounded.

Layout (integers big endian)::

    magic "SGCR" | version u8 | key id length u8 | key id | kind u8 | CPU milliseconds f64 | artifact key, 32 bytes
    | two lengths u32 | artifact frame and its cost, or nothing and a refusal | HMAC-SHA256 over everything before it

Refusals are signed like artifacts: an unsigned one would let whoever can write there refuse every tenant's contracts.
The artifact key is inside the signature, so a record that was moved under another key is told apart. The magic differs
from that of artifact frames, so neither passes for the other.
"""

import hmac
import struct
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache import CachedFrame, CachedRefusal, CacheEntry
from compiler_pool.errors import FrameError
from compiler_pool.frame import KeyRing, open_frame

_MAGIC: Final = b"SGCR"
_VERSION: Final = 1
_START: Final = len(_MAGIC) + 2
_HEAD: Final = struct.Struct(">Bd32sII")
_SIGNATURE_BYTES: Final = sha256().digest_size
_FRAME, _REFUSAL = 1, 2


class RecordFault(StrEnum):
    """Why a record is not used."""

    MALFORMED = "malformed"
    """Not a record of this version."""
    TRUNCATED = "truncated"
    OVERSIZED = "oversized"
    FOREIGN_KEY = "foreign_key"
    """Signed with a key that is not known here."""
    TAMPERED = "tampered"
    """The signature is not that of these bytes."""
    WRONG_ADDRESS = "wrong_address"
    """A record of ours, for another contract, tenant, tokenizer, policy, or version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """The bytes are no entry for this address."""

    fault: RecordFault


def seal_record(address: ArtifactAddress, entry: CacheEntry, ring: KeyRing) -> bytes:
    """The entry under the ring's signing key, for `address` only."""
    if isinstance(entry, CachedFrame):
        kind, first, second = _FRAME, entry.frame, entry.cost
    else:
        kind, first, second = _REFUSAL, b"", entry.answer
    key_id = ring.signing_id.encode()
    head = _HEAD.pack(kind, entry.cpu_ms, bytes.fromhex(address.key), len(first), len(second))
    signed = _MAGIC + bytes([_VERSION, len(key_id)]) + key_id + head + first + second
    return signed + hmac.digest(ring.secrets[ring.signing_id], signed, "sha256")


def open_record(data: bytes, address: ArtifactAddress, ring: KeyRing, *, max_bytes: int) -> CacheEntry | Unusable:
    """The entry in a record that one of the ring's keys signed for `address`. Never raises."""
    if len(data) > max_bytes:
        return Unusable(fault=RecordFault.OVERSIZED)
    if not data.startswith(_MAGIC[: len(data)]) or (len(data) >= _START and data[_START - 2] != _VERSION):
        return Unusable(fault=RecordFault.MALFORMED)
    if len(data) < _START or len(data) < (at := _START + data[_START - 1]) + _HEAD.size:
        return Unusable(fault=RecordFault.TRUNCATED)
    kind, cpu_ms, key, first_length, second_length = _HEAD.unpack_from(data, at)
    # Lengths are not believed yet: they only tell a record that was cut from one that was changed.
    start, end = at + _HEAD.size, at + _HEAD.size + first_length + second_length
    if len(data) < end + _SIGNATURE_BYTES:
        return Unusable(fault=RecordFault.TRUNCATED)
    secret = ring.secrets.get(data[_START:at].decode(errors="replace"))
    if secret is None:
        return Unusable(fault=RecordFault.FOREIGN_KEY)
    signed, signature = data[:end], data[end:]
    if not hmac.compare_digest(hmac.digest(secret, signed, "sha256"), signature):
        return Unusable(fault=RecordFault.TAMPERED)
    if key != bytes.fromhex(address.key):
        return Unusable(fault=RecordFault.WRONG_ADDRESS)
    first, second = signed[start : start + first_length], signed[start + first_length :]
    if kind == _REFUSAL and not first:
        return CachedRefusal(answer=second, cpu_ms=cpu_ms)
    if kind == _FRAME:
        return _frame(CachedFrame(frame=first, cost=second, cpu_ms=cpu_ms), address, ring)
    return Unusable(fault=RecordFault.MALFORMED)


def _frame(entry: CachedFrame, address: ArtifactAddress, ring: KeyRing) -> CacheEntry | Unusable:
    """The frame goes to nodes as it is, so it has to hold by itself, and for the same address."""
    try:
        artifact = open_frame(entry.frame, ring)
    except FrameError:
        return Unusable(fault=RecordFault.MALFORMED)
    return entry if artifact.address == address else Unusable(fault=RecordFault.WRONG_ADDRESS)
