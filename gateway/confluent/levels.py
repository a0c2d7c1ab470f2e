"""`/config`: the level of compatibility that a tenant's subjects keep, and that of one subject."""

from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import Call, admit, answer, confluent_router
from gateway.confluent.errors import SHOWN_CHARACTERS, ConfluentError, Fault, no_subject
from gateway.confluent.parameters import read_flag
from gateway.confluent.protocol import LevelAnswer, LevelUpdateAnswer
from gateway.confluent.requests import read_level_request
from gateway.confluent.views import plain_subject, subject_name
from registry.compatibility.modes import CompatibilityMode
from registry.contract import ContractKind
from registry.identifiers import ContractName
from registry.measuring import level_of
from registry.revision import Contract
from registry.store.records import ContractChanges

DEFAULT_LEVEL: Final = CompatibilityMode.BACKWARD
"""Confluent's, where neither the subject nor the tenant has one."""

router = confluent_router()


@router.get("/config")
async def get_level(request: Request) -> Response:
    """The tenant's level."""
    call = await admit(request, "config")
    return answer(call, LevelAnswer(compatibilityLevel=await _tenant_level(call)))


@router.put("/config")
async def set_level(request: Request) -> Response:
    """Set the tenant's level, which is part of its policy: an operator's business."""
    call = await admit(request, "config")
    level = read_level_request(await call.body(), lenient=call.is_lenient)
    await _set_tenant_level(call, level)
    return answer(call, LevelUpdateAnswer(compatibility=level))


@router.delete("/config")
async def clear_level(request: Request) -> Response:
    """Go back to the default; the level there was."""
    call = await admit(request, "config")
    former = await _tenant_level(call)
    await _set_tenant_level(call, None)
    return answer(call, LevelAnswer(compatibilityLevel=former))


@router.get("/config/{subject}")
async def get_subject_level(request: Request, subject: str) -> Response:
    """A subject's own level, or the tenant's where that is asked for."""
    call = await admit(request, "config")
    to_global = read_flag(request.query_params, "defaultToGlobal")
    contract = await _contract(call, subject)
    own = None if contract is None else contract.compatibility
    if own is not None:
        return answer(call, LevelAnswer(compatibilityLevel=own))
    if not to_global:
        raise _not_configured(subject)
    return answer(call, LevelAnswer(compatibilityLevel=await _tenant_level(call)))


@router.put("/config/{subject}")
async def set_subject_level(request: Request, subject: str) -> Response:
    """Set a subject's level. The subject has to be there: its level is kept with it."""
    call = await admit(request, "config")
    level = read_level_request(await call.body(), lenient=call.is_lenient)
    contract = await _contract(call, subject)
    if contract is None:
        raise no_subject(subject)
    changes = ContractChanges(compatibility=level)
    await call.catalogue.lifecycle.change_contract(call.actor, contract.name, changes, expected_version=None)
    return answer(call, LevelUpdateAnswer(compatibility=level))


@router.delete("/config/{subject}")
async def clear_subject_level(request: Request, subject: str) -> Response:
    """Let the tenant's level count for a subject; the level there was."""
    call = await admit(request, "config")
    contract = await _contract(call, subject)
    if contract is None or contract.compatibility is None:
        raise _not_configured(subject)
    changes = ContractChanges(compatibility=None)
    await call.catalogue.lifecycle.change_contract(
        call.actor, contract.name, changes, expected_version=contract.version
    )
    return answer(call, LevelAnswer(compatibilityLevel=contract.compatibility))


async def level_to_keep(call: Call, name: ContractName) -> CompatibilityMode:
    """The level that a registration under a name has to keep."""
    record = await call.catalogue.policies.policy(call.tenant)
    return level_of(await _contract(call, name), record.policy, DEFAULT_LEVEL) or DEFAULT_LEVEL


async def _tenant_level(call: Call) -> str:
    record = await call.catalogue.policies.policy(call.tenant)
    return record.policy.compatibility or DEFAULT_LEVEL


async def _set_tenant_level(call: Call, level: CompatibilityMode | None) -> None:
    record = await call.catalogue.policies.policy(call.tenant)
    policy = replace(record.policy, compatibility=None if level is None else level.value)
    # Who sets the rest of the policy at the same time must not lose it to us.
    await call.catalogue.policies.set_policy(call.actor, policy, expected_version=record.version)


async def _contract(call: Call, subject: str) -> Contract | None:
    name = subject_name(subject)
    contract = None if name is None else await call.catalogue.contracts.contract(call.tenant, name)
    is_subject = contract is not None and contract.kind is ContractKind.JSON_SCHEMA and contract.tombstoned_at is None
    return contract if is_subject else None


def _not_configured(subject: str) -> ConfluentError:
    shown = plain_subject(subject)[:SHOWN_CHARACTERS]
    message = f"Subject '{shown}' does not have subject-level compatibility configured"
    return ConfluentError(Fault.COMPATIBILITY_NOT_CONFIGURED, message)
