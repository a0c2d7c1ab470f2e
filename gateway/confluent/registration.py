"""`POST /subjects/…`: registering a schema, and asking whether it is registered."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import admit, answer, confluent_router
from gateway.confluent.definitions import read_registration
from gateway.confluent.errors import ConfluentError, Fault, no_schema
from gateway.confluent.levels import DEFAULT_LEVEL
from gateway.confluent.parameters import read_flag, read_standing, refuse_formats
from gateway.confluent.protocol import RegisteredAnswer
from gateway.confluent.views import guid_of, require_subject, version_answer
from registry.compatibility.modes import CompatibilityMode
from registry.revision import RevisionState
from registry.sources import source_digest
from registry.store.records import Registered, Sameness
from registry.text import canonical_json

router = confluent_router()

_VERSIONS = frozenset({RevisionState.ACTIVE, RevisionState.DEPRECATED})


@router.post("/subjects/{subject}/versions")
async def register_schema(request: Request, subject: str) -> Response:
    """Register a schema, or find the version that it is already: by its text, or by its meaning with `normalize`."""
    call = await admit(request, "registration")
    normalize = read_flag(request.query_params, "normalize")
    registration = await read_registration(call, subject)
    outcome = await call.catalogue.registrar.register(
        call.actor,
        registration,
        same=Sameness.CONTENT if normalize else Sameness.SOURCE,
        default_level=DEFAULT_LEVEL,
        revive=True,
    )
    assert outcome.stored is not None, "only a dry run stores nothing"
    stored = outcome.stored
    _refuse_unless_a_version(stored)
    revision = stored.revision
    return answer(
        call,
        RegisteredAnswer(
            id=revision.schema_id, version=revision.number, guid=guid_of(revision.revision_id), subject=revision.name
        ),
    )


@router.post("/subjects/{subject}")
async def find_schema(request: Request, subject: str) -> Response:
    """The version that a schema is, with its schema."""
    call, query = await admit(request, "registration"), request.query_params
    refuse_formats(query)
    normalize, standing = read_flag(query, "normalize"), read_standing(query)
    registration = await read_registration(call, subject)
    name = await require_subject(call, subject, standing=standing)
    store = call.catalogue.subjects.store
    async with call.services.turns.of(call.tenant):
        text = await asyncio.to_thread(canonical_json, registration.definition)
    source = source_digest(registration.kind, text, dialect=None, references=registration.references)
    found = await store.version(call.tenant, name, standing=standing, source_digest=source)
    if found is None and normalize:
        read = await call.catalogue.registrar.check(call.actor, registration, level=CompatibilityMode.NONE)
        found = await store.version(call.tenant, name, standing=standing, digest=read.contract.digest)
    if found is None:
        raise no_schema()
    return answer(call, await version_answer(call, found))


def _refuse_unless_a_version(stored: Registered) -> None:
    """A draft, or a revision after its sunset, has this content already; neither is a version that a client may use."""
    if stored.status.state not in _VERSIONS:
        revision = stored.revision
        message = (
            f"Version {revision.number} of subject '{revision.name}' has this schema and is {stored.status.state}; "
            "a draft is activated, and a retired schema replaced, through /v1/contracts."
        )
        raise ConfluentError(Fault.NOT_PERMITTED, message)
