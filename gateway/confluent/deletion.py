"""`DELETE /subjects/…`: soft deletion is a tombstone, permanent deletion a tombstone that is not listed any more.

Nothing is destroyed: the bytes stay for the audit, and numbers and ids are not given out again.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import Call, admit, answer, confluent_router
from gateway.confluent.errors import ConfluentError, Fault, no_subject
from gateway.confluent.parameters import read_flag
from gateway.confluent.views import find_version, numbers_of, subject_name
from registry.identifiers import ContractName
from registry.store.subjects import Standing, Version

REASON: Final = "deleted through the Confluent API"

router = confluent_router()


@router.delete("/subjects/{subject}")
async def delete_subject(request: Request, subject: str) -> Response:
    """Retire a subject with all its versions, or hide one that is retired; the numbers of the versions concerned."""
    call = await admit(request, "deletion")
    permanent = read_flag(request.query_params, "permanent")
    name, live = await _live_versions(call, subject)
    if permanent:
        if live:
            message = f"Subject '{name}' was not deleted first before being permanently deleted"
            raise ConfluentError(Fault.SUBJECT_NOT_SOFT_DELETED, message)
        return answer(call, list(await call.catalogue.subjects.hide(call.actor, name)))
    if not live:
        message = f"Subject '{name}' was soft deleted. Set permanent=true to delete permanently"
        raise ConfluentError(Fault.SUBJECT_SOFT_DELETED, message)
    await call.catalogue.lifecycle.tombstone_contract(call.actor, name, reason=REASON)
    return answer(call, numbers_of(live))


@router.delete("/subjects/{subject}/versions/{version}")
async def delete_version(request: Request, subject: str, version: str) -> Response:
    """Retire one version, or hide one that is retired; its number."""
    call = await admit(request, "deletion")
    permanent = read_flag(request.query_params, "permanent")
    found = await find_version(call, subject, version, standing=Standing.ANY)
    named = f"Subject '{found.subject}' Version {found.number}"
    if permanent:
        if found.is_live:
            message = f"{named} was not deleted first before being permanently deleted"
            raise ConfluentError(Fault.VERSION_NOT_SOFT_DELETED, message)
        await call.catalogue.subjects.hide(call.actor, found.subject, found.number)
    elif not found.is_live:
        message = f"{named} was soft deleted. Set permanent=true to delete permanently"
        raise ConfluentError(Fault.VERSION_SOFT_DELETED, message)
    else:
        await call.catalogue.lifecycle.tombstone_revision(call.actor, found.subject, found.number, reason=REASON)
    return answer(call, int(found.number))


async def _live_versions(call: Call, subject: str) -> tuple[ContractName, tuple[Version, ...]]:
    name, store = subject_name(subject), call.catalogue.subjects.store
    if name is None or await store.version(call.tenant, name, standing=Standing.ANY) is None:
        raise no_subject(subject)
    return name, await store.versions(call.tenant, name, standing=Standing.LIVE)
