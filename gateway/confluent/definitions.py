"""From a schema as a Confluent client sends it to what the registry's services are asked to read."""

import asyncio
from collections.abc import Mapping
from typing import Final

from gateway.confluent.call import Call
from gateway.confluent.errors import SHOWN_CHARACTERS, ConfluentError, Fault
from gateway.confluent.requests import SchemaReference, SchemaRequest, read_schema_request
from gateway.confluent.views import plain_subject, subject_name
from policy.enforcement import EnforcementPolicy
from policy.limits import GOVERNED, TENANT
from registry.contract import ContractKind, JsonValue
from registry.identifiers import ContractName
from registry.naming import ByNumber
from registry.parsing import parse_json
from registry.registration import Registration
from registry.revision import RevisionState
from registry.store.subjects import Standing
from registry.uris import resolve_uri

POLICY: Final = EnforcementPolicy()
"""What is registered here is strict: everything that it says is enforced, or it is refused."""

_INLINE_CHARACTERS: Final = 16 * 1024
"""A longer schema is parsed beside the event loop."""
_MAX_BYTES: Final = max(limits.contract.max_contract_bytes for limits in (TENANT, GOVERNED))
_MAX_NESTING: Final = max(limits.contract.max_nesting for limits in (TENANT, GOVERNED))
"""Of whichever class; the reader holds the contract against the limits of its own."""


async def read_registration(call: Call, subject: str) -> Registration:
    """The schema in the call's body, as a revision of a subject.

    Raises:
        ConfluentError: the subject cannot be one, or the body asks for what is not done here.
        ContractRejectedError: the text is not JSON as it is read here.
    """
    request = read_schema_request(await call.body(), lenient=call.is_lenient)
    name = require_name(subject)
    definition = await _parsed(call, request.text)
    return Registration(
        name=name,
        kind=ContractKind.JSON_SCHEMA,
        definition=definition,
        policy=POLICY,
        state=RevisionState.ACTIVE,
        references=await _references(call, request, definition),
    )


def require_name(subject: str) -> ContractName:
    """The contract that a subject is. Raises `ConfluentError`."""
    name = subject_name(subject)
    if name is None:
        shown = plain_subject(subject)[:SHOWN_CHARACTERS]
        message = (
            f"The specified subject '{shown}' is not a valid subject: it begins with a letter or digit and has up to "
            "127 more of letters, digits, '.', '_' and '-'; 'explain', 'diff' and 'check' are taken."
        )
        raise ConfluentError(Fault.INVALID_SUBJECT, message)
    return name


async def _parsed(call: Call, text: str) -> JsonValue:
    def parse() -> JsonValue:
        return parse_json(text, max_bytes=_MAX_BYTES, max_nesting=_MAX_NESTING, bytes_limit_name="max_contract_bytes")

    if len(text) <= _INLINE_CHARACTERS:
        return parse()
    async with call.services.turns.of(call.tenant):
        return await asyncio.to_thread(parse)


async def _references(call: Call, request: SchemaRequest, definition: JsonValue) -> Mapping[str, ByNumber]:
    """Every named reference, pinned to the version that it means now, under the URI that its name means here."""
    base = definition.get("$id") if isinstance(definition, dict) else None
    root, _ = resolve_uri("", base if isinstance(base, str) else "")
    pinned: dict[str, ByNumber] = {}
    for reference in request.references:
        uri, fragment = resolve_uri(root, reference.name)
        if fragment or not uri:
            shown = reference.name[:SHOWN_CHARACTERS]
            message = f"The reference '{shown}' is not the name of a whole schema: leave the fragment to '$ref'."
            raise ConfluentError(Fault.INVALID_SCHEMA, message)
        if uri in pinned:
            raise ConfluentError(Fault.INVALID_SCHEMA, f"Two references mean '{uri[:SHOWN_CHARACTERS]}'.")
        pinned[uri] = await _pin(call, reference)
    return pinned


async def _pin(call: Call, reference: SchemaReference) -> ByNumber:
    name, found = subject_name(reference.subject), None
    if name is not None:
        found = await call.catalogue.subjects.store.version(
            call.tenant, name, number=reference.version, standing=Standing.LIVE
        )
    if found is None:
        subject, version = reference.subject[:SHOWN_CHARACTERS], reference.version or "latest"
        message = f"No schema reference found for subject '{subject}' and version {version}."
        raise ConfluentError(Fault.INVALID_SCHEMA, message)
    return ByNumber(name=found.subject, number=found.number)
