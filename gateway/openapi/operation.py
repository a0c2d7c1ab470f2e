"""One operation as it is described: what a route takes and gives, beyond what its path and its docstring say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
CONFLUENT: Final = "application/vnd.schemaregistry.v1+json"

GUARDED: Final = frozenset({400, 401, 403, 429, 503})
"""Whatever needs a key may end so: the query, the key, its scope, the tenant's limits, the store."""
BODY: Final = frozenset({408, 413, 415})
"""Whatever reads a body."""
NAMED: Final = frozenset({404, 410})
"""Whatever is named in a path."""
WRITE: Final = BODY | frozenset({409, 412})
"""Whatever changes something: in conflict, or not as it was expected to be."""
DECODING: Final = BODY | frozenset({404, 409, 410, 422, 502, 504})
"""Whatever resolves a contract, and decodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. `shape` is a type that pydantic describes; None: no body, or one that is no JSON."""

    shape: Any = None
    media_types: tuple[str, ...] = (JSON,)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What is taken and given. `body` is a pydantic model, or the name of a body that is put together by hand."""

    tag: str
    answers: Mapping[int, Answer]
    faults: frozenset[int] = GUARDED
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    body: Any = None
    is_body_required: bool = True
    is_open: bool = False
    """Whether nobody is asked for a key."""
    fault_shape: str = "Error"


Operations = Mapping[tuple[str, str], Operation]
"""By method and path, as the router has them."""


def answers(shape: Any, *, status: int = 200, headers: tuple[str, ...] = ()) -> dict[int, Answer]:
    """One answer with a JSON body."""
    return {status: Answer(shape=shape, headers=headers)}


def no_answer(*, status: int = 204) -> dict[int, Answer]:
    """One answer without a body."""
    return {status: Answer(media_types=())}


def reading(
    tag: str, shape: Any, *, query: tuple[str, ...] = (), headers: tuple[str, ...] = (), named: bool = False
) -> Operation:
    """A GET. `named`: of something whose name stands in the path."""
    return Operation(
        tag=tag,
        answers=answers(shape, headers=headers),
        query=query,
        faults=GUARDED | (NAMED if named else frozenset()),
    )


def writing(
    tag: str,
    given: Mapping[int, Answer],
    *,
    body: Any = None,
    required: bool = True,
    query: tuple[str, ...] = (),
    headers: tuple[str, ...] = ("Idempotency-Key",),
) -> Operation:
    """Whatever changes something."""
    return Operation(
        tag=tag,
        answers=given,
        faults=GUARDED | WRITE | NAMED,
        query=query,
        headers=headers,
        body=body,
        is_body_required=required,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The operations of one part of the API, with the words for its tag."""

    tag: str
    description: str
    operations: Operations = field(default_factory=dict)
