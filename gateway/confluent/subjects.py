"""`/subjects`, read: which there are, their versions, what a version says, and who refers to it."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import admit, answer, answer_text, confluent_router
from gateway.confluent.parameters import read_standing, read_window, refuse_formats
from gateway.confluent.views import (
    find_version,
    numbers_of,
    plain_subject,
    require_subject,
    revision_of,
    version_answer,
)
from registry.store.subjects import Standing

router = confluent_router()


@router.get("/subjects")
async def list_subjects(request: Request) -> Response:
    """Subjects by name."""
    call, query = await admit(request, "subjects"), request.query_params
    window = read_window(query)
    names = await call.catalogue.subjects.store.subjects(
        call.tenant,
        prefix=plain_subject(query.get("subjectPrefix", "")),
        standing=read_standing(query),
        offset=window.offset,
        limit=window.rows(),
    )
    return answer(call, window.complete(names))


@router.get("/subjects/{subject}/versions")
async def list_versions(request: Request, subject: str) -> Response:
    """The numbers of a subject's versions."""
    call, query = await admit(request, "subjects"), request.query_params
    standing, window = read_standing(query), read_window(query)
    name = await require_subject(call, subject, standing=standing)
    versions = await call.catalogue.subjects.store.versions(
        call.tenant, name, standing=standing, offset=window.offset, limit=window.rows()
    )
    return answer(call, numbers_of(window.complete(versions)))


@router.get("/subjects/{subject}/versions/{version}")
async def get_version(request: Request, subject: str, version: str) -> Response:
    """A version with its schema."""
    call, query = await admit(request, "subjects"), request.query_params
    refuse_formats(query)
    found = await find_version(call, subject, version, standing=_readable(read_standing(query)))
    return answer(call, await version_answer(call, found))


@router.get("/subjects/{subject}/versions/{version}/schema")
async def get_version_text(request: Request, subject: str, version: str) -> Response:
    """The schema's text alone."""
    call, query = await admit(request, "subjects"), request.query_params
    refuse_formats(query)
    found = await find_version(call, subject, version, standing=_readable(read_standing(query)))
    return answer_text(call, (await revision_of(call, found)).source_text)


@router.get("/subjects/{subject}/versions/{version}/referencedby")
async def list_referring(request: Request, subject: str, version: str) -> Response:
    """The ids of the schemas that refer to a version, directly or through others."""
    call, window = await admit(request, "subjects"), read_window(request.query_params)
    found = await find_version(call, subject, version, standing=Standing.ANY)
    ids = await call.catalogue.subjects.store.dependents(
        call.tenant, found.revision_id, offset=window.offset, limit=window.rows()
    )
    return answer(call, window.complete(ids))


def _readable(standing: Standing) -> Standing:
    """Asked for one version, `deleted` adds the retired; there is no list of which they could be the only ones."""
    return Standing.LIVE if standing is Standing.LIVE else Standing.ANY
