"""Names of things that could be swapped by mistake."""

from typing import NewType

KeyId = NewType("KeyId", str)
"""The public half of an API key; safe to log."""

RequestId = NewType("RequestId", str)
"""`req_<32 hex>`: ours, made for every request, never the caller's."""

TenantPartition = NewType("TenantPartition", str)
"""HMAC of a tenant id: separates caches without naming the tenant."""
