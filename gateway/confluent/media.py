"""The media types of Confluent's API: which of them a body may have, and which one an answer gets."""

from typing import Final

V1: Final = "application/vnd.schemaregistry.v1+json"
UNVERSIONED: Final = "application/vnd.schemaregistry+json"
JSON: Final = "application/json"

REQUEST_TYPES: Final = frozenset({V1, UNVERSIONED, JSON, "application/octet-stream", ""})
"""What a body may say it is. The last two are what Confluent's own clients send where they set nothing."""

_OFFERED: Final = (V1, UNVERSIONED, JSON)
"""In order of preference, where the caller has none."""
_WILDCARDS: Final = {"*/*", "application/*"}


def answer_type(accept: str | None) -> str | None:
    """The media type to answer with; None if the caller takes none that there is.

    A type refused by `q=0` is not offered. Among several the caller's weights decide, then our order.
    """
    if accept is None or not accept.strip():
        return V1
    weights = dict(_weighted(part) for part in accept.split(","))
    wild = max((weights[wildcard] for wildcard in _WILDCARDS & weights.keys()), default=0.0)
    best = max(_OFFERED, key=lambda offered: weights.get(offered, wild))
    return best if weights.get(best, wild) > 0 else None


def _weighted(part: str) -> tuple[str, float]:
    media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                weight = float(value)
            except ValueError:
                return media_type, 0.0
            return media_type, weight if 0.0 <= weight <= 1.0 else 0.0
    return media_type, 1.0
