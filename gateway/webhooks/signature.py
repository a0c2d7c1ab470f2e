"""How a webhook knows that a request is the gateway's, whole, and of now."""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

SIGNATURE_HEADER: Final = "X-Schemagate-Signature"
MIN_SECRET_CHARACTERS: Final = 32
MAX_LIVE_SECRETS: Final = 2
"""While one takes the other's place, requests carry a signature by each."""


def signature(secrets: Sequence[bytes], body: bytes, *, unix_seconds: int) -> str:
    """`t=<seconds>,v1=<hex>[,v1=<hex>]`: HMAC-SHA256 over the seconds in decimal, a point, and the body's bytes."""
    signed = b"%d." % unix_seconds + body
    return ",".join([f"t={unix_seconds}", *(f"v1={hmac.new(key, signed, sha256).hexdigest()}" for key in secrets)])
