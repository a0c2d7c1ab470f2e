"""`/schemas`: schemas by id or by their global id, and every version in one list."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import Call, admit, answer, answer_text, confluent_router
from gateway.confluent.errors import ConfluentError, Fault, no_schema
from gateway.confluent.parameters import MAX_LISTED, read_flag, read_id, read_standing, read_window, refuse_formats
from gateway.confluent.protocol import SCHEMA_TYPE, SchemaAnswer, SubjectVersionAnswer, VersionAnswer
from gateway.confluent.views import (
    guid_of,
    plain_subject,
    references_of,
    revision_id_of,
    revision_of,
    version_answer,
)
from registry.identifiers import ContractName, SchemaId
from registry.store.subjects import Standing, Version

MAX_SCHEMAS: Final = 1000
"""Schemas in one answer of `GET /schemas`, each with its text."""

MAX_SCHEMA_CHARACTERS: Final = 16 * 1024 * 1024
"""Of all schemas in one answer of `GET /schemas`: what one caller may have put together in memory."""

router = confluent_router()


@router.get("/schemas/types")
async def get_types(request: Request) -> Response:
    """The types of schema that are kept."""
    return answer(await admit(request, "schemas"), [SCHEMA_TYPE])


@router.get("/schemas")
async def list_schemas(request: Request) -> Response:
    """Versions with their schemas."""
    call, query = await admit(request, "schemas"), request.query_params
    refuse_formats(query)
    window = read_window(query)
    versions = await call.catalogue.subjects.store.listed(
        call.tenant,
        prefix=plain_subject(query.get("subjectPrefix", "")),
        standing=read_standing(query),
        latest_only=read_flag(query, "latestOnly", "latest_only"),
        offset=window.offset,
        limit=window.rows(MAX_SCHEMAS),
    )
    answers: list[VersionAnswer] = []
    num_characters = 0
    for version in window.complete(versions, MAX_SCHEMAS):
        one = await version_answer(call, version)
        num_characters += len(one["schema"])
        if num_characters > MAX_SCHEMA_CHARACTERS:
            message = f"These schemas have more than {MAX_SCHEMA_CHARACTERS} characters; ask for fewer with limit."
            raise ConfluentError(Fault.NOT_PERMITTED, message)
        answers.append(one)
    return answer(call, answers)


@router.get("/schemas/ids/{schema_id}")
async def get_schema(request: Request, schema_id: str) -> Response:
    """A schema by id, whether or not its versions have been deleted since: what was written stays readable."""
    call = await admit(request, "schemas")
    refuse_formats(request.query_params)
    version = await _version_with(call, schema_id)
    return answer(call, await _schema_answer(call, version))


@router.get("/schemas/ids/{schema_id}/schema")
async def get_schema_text(request: Request, schema_id: str) -> Response:
    """Its text alone."""
    call = await admit(request, "schemas")
    refuse_formats(request.query_params)
    revision = await revision_of(call, await _version_with(call, schema_id))
    return answer_text(call, revision.source_text)


@router.get("/schemas/ids/{schema_id}/subjects")
async def get_schema_subjects(request: Request, schema_id: str) -> Response:
    """The subjects that have a version with that id."""
    call = await admit(request, "schemas")
    window = read_window(request.query_params)
    subjects = dict.fromkeys(version.subject for version in await _uses(call, schema_id))
    return answer(call, window.part(tuple(subjects)))


@router.get("/schemas/ids/{schema_id}/versions")
async def get_schema_versions(request: Request, schema_id: str) -> Response:
    """The versions that have that id."""
    call = await admit(request, "schemas")
    versions = read_window(request.query_params).part(await _uses(call, schema_id))
    return answer(call, [SubjectVersionAnswer(subject=each.subject, version=each.number) for each in versions])


@router.get("/schemas/guids/{guid}")
async def get_schema_by_guid(request: Request, guid: str) -> Response:
    """A schema by its global id."""
    call = await admit(request, "schemas")
    refuse_formats(request.query_params)
    revision_id, store = revision_id_of(guid), call.catalogue.subjects.store
    named = {} if revision_id is None else await store.named(call.tenant, [revision_id])
    found = None
    if revision_id in named:
        # A draft is no version yet, and one that was permanently deleted none any more.
        known = named[revision_id]
        found = await store.version(call.tenant, known.subject, number=known.number, standing=Standing.ANY)
    if found is None:
        raise no_schema(guid)
    schema = await _schema_answer(call, found)
    schema["id"] = found.schema_id
    return answer(call, schema)


async def _version_with(call: Call, schema_id: str) -> Version:
    """A version with that id: of the subject that is named, if it has one; a live one before a retired one."""
    number = read_id(schema_id)
    if number is None:
        raise no_schema(schema_id)
    store, named = call.catalogue.subjects.store, _named_subject(call)
    found: tuple[Version, ...] = ()
    if named is not None:
        found = await store.uses(call.tenant, SchemaId(number), standing=Standing.ANY, subject=named, limit=1)
    # The subject is a hint: who reads a message need not know under which subject its schema was registered.
    found = found or await store.uses(call.tenant, SchemaId(number), standing=Standing.ANY, limit=1)
    if not found:
        raise no_schema(schema_id)
    return found[0]


async def _uses(call: Call, schema_id: str) -> tuple[Version, ...]:
    standing, named = read_standing(call.request.query_params), _named_subject(call)
    await _version_with(call, schema_id)
    number = SchemaId(int(schema_id))
    uses = await call.catalogue.subjects.store.uses(
        call.tenant, number, standing=standing, subject=named, limit=MAX_LISTED + 1
    )
    return tuple(sorted(uses, key=lambda use: (use.subject, use.number)))


def _named_subject(call: Call) -> ContractName | None:
    """The subject of the query; a name that can be no subject's is looked for all the same, and not found."""
    named = call.request.query_params.get("subject", "")
    return ContractName(plain_subject(named)) if named else None


async def _schema_answer(call: Call, version: Version) -> SchemaAnswer:
    revision = await revision_of(call, version)
    schema = SchemaAnswer(schema=revision.source_text, schemaType=SCHEMA_TYPE, guid=guid_of(version.revision_id))
    references = await references_of(call, revision)
    if references:
        schema["references"] = references
    if _named_subject(call) == version.subject:
        schema["subject"], schema["version"], schema["id"] = version.subject, version.number, version.schema_id
    return schema
