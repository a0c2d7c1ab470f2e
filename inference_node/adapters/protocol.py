"""Wire types of adapters.

`PUT /v1/adapters/{digest}` (body: one safetensors file, see `adapter_file.py`), `GET /v1/adapters`,
`DELETE /v1/adapters/{digest}`. Faults: 409 `adapter_required` (not here), 409 `adapter_in_use`, 422
`adapter_mismatch` (another base, other shapes, or what this node does not implement, by its name), 400
`malformed_request` (no whole adapter, or another digest than the path's), 413, and 503 `overloaded` where every slot is
in use.
"""

from inference_node.protocol import Count, Wire


class AdapterStored(Wire):
    """200 of `PUT /v1/adapters/{digest}`."""

    digest: str
    already_present: bool


class AdapterRemoved(Wire):
    """200 of `DELETE /v1/adapters/{digest}`."""

    digest: str


class StoredAdapter(Wire):
    """An adapter that the node has. `bytes` is what its products take on the device."""

    digest: str
    rank: Count
    bytes: int
    running_sequences: Count


class StoredAdapters(Wire):
    """200 of `GET /v1/adapters`, the most recently used first. `base_digest` is what a file has to name."""

    base_digest: str
    max_adapters: Count
    adapters: list[StoredAdapter]
