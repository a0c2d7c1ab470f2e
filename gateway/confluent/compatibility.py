"""`POST /compatibility/…`: whether a schema could be registered. Only a proof is a yes."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.confluent.call import Call, admit, answer, confluent_router
from gateway.confluent.definitions import read_registration, require_name
from gateway.confluent.errors import no_version
from gateway.confluent.levels import level_to_keep
from gateway.confluent.parameters import read_flag, read_version
from gateway.confluent.protocol import CompatibilityAnswer
from registry.comparison import InlineDefinition
from registry.compatibility.modes import (
    CompatibilityMode,
    Compatible,
    Incompatible,
    ModeVerdict,
    Undecided,
    directions,
    judge_mode,
)
from registry.naming import ByNumber
from registry.store.subjects import Standing

router = confluent_router()


@router.post("/compatibility/subjects/{subject}/versions/{version}")
async def compare_with_version(request: Request, subject: str, version: str) -> Response:
    """Whether a schema keeps the subject's level against one version.

    Against the latest of a subject that has none there is nothing to break, and everything is compatible.
    """
    call = await admit(request, "compatibility")
    number, name = read_version(version), require_name(subject)
    registration = await read_registration(call, subject)
    level = await level_to_keep(call, name)
    found = await call.catalogue.subjects.store.version(call.tenant, name, number=number, standing=Standing.LIVE)
    if found is None and number is not None:
        raise no_version(version)
    candidate = InlineDefinition(
        kind=registration.kind,
        definition=registration.definition,
        policy=registration.policy,
        references=registration.references,
    )
    if found is None or not directions(level):
        # Nothing is compared, and a schema that cannot be registered is refused all the same.
        await call.catalogue.comparisons.check(call.actor, registration, level=CompatibilityMode.NONE)
        return _answer(call, Compatible())
    old = ByNumber(name=found.subject, number=found.number)
    comparison = await call.catalogue.comparisons.compare(call.tenant, old, candidate)
    return _answer(call, judge_mode(level, [(found.number, comparison)]))


@router.post("/compatibility/subjects/{subject}/versions")
async def compare_with_subject(request: Request, subject: str) -> Response:
    """Whether a schema keeps the subject's level against all the versions that the level asks for."""
    call = await admit(request, "compatibility")
    name = require_name(subject)
    registration = await read_registration(call, subject)
    level = await level_to_keep(call, name)
    outcome = await call.catalogue.comparisons.check(call.actor, registration, level=level)
    return _answer(call, outcome.verdict)


def _answer(call: Call, verdict: ModeVerdict) -> Response:
    verbose = read_flag(call.request.query_params, "verbose")
    compatible = CompatibilityAnswer(is_compatible=isinstance(verdict, Compatible))
    if verbose:
        compatible["messages"] = _messages(verdict)
    return answer(call, compatible)


def _messages(verdict: ModeVerdict) -> list[str]:
    match verdict:
        case Compatible():
            return []
        case Incompatible(version=version, direction=direction, unsafe=unsafe):
            place = f"old schema at {unsafe.old_pointer or 'its root'}, new at {unsafe.new_pointer or 'its root'}"
            return [
                f"Not {direction} against version {version}: {unsafe.message} ({place})",
                f"A document that shows it: {unsafe.witness_text}",
            ]
        case Undecided(version=version, direction=direction, unknown=unknown):
            question = f"Whether it is {direction} against version {version}"
            why = f"({unknown.reason}: {unknown.message})"
            return [f"{question} could not be decided, which is not taken for compatible {why}"]
