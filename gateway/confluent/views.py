"""Versions as answers, and finding them: what is not a version of the caller's own tenant is not there."""

from collections.abc import Sequence

from gateway.confluent.call import Call
from gateway.confluent.errors import no_schema, no_subject, no_version
from gateway.confluent.parameters import read_version
from gateway.confluent.protocol import SCHEMA_TYPE, ReferenceAnswer, VersionAnswer
from registry.contract_references import is_contract_uri
from registry.identifiers import ContractName, RevisionId
from registry.naming import read_name
from registry.revision import Revision
from registry.store.subjects import Standing, Version

_DEFAULT_CONTEXTS = (":.:", ":*:")
"""How clients spell the one context that there is."""


def subject_name(text: str) -> ContractName | None:
    """The contract that a subject is, if it can be one."""
    return read_name(plain_subject(text))


def plain_subject(text: str) -> str:
    """A subject, or the beginning of one, without its context."""
    for context in _DEFAULT_CONTEXTS:
        text = text.removeprefix(context)
    return text


async def find_version(call: Call, subject: str, version: str, *, standing: Standing) -> Version:
    """A version by subject and number, `latest` or `-1`.

    Raises:
        ConfluentError: the version cannot be one, or the subject or the version is not there.
    """
    number = read_version(version)
    name, store = subject_name(subject), call.catalogue.subjects.store
    found = None
    if name is not None:
        found = await store.version(call.tenant, name, number=number, standing=standing)
    if found is None:
        await require_subject(call, subject, standing=standing)
        raise no_version(version)
    return found


async def require_subject(call: Call, subject: str, *, standing: Standing) -> ContractName:
    """The subject's name, if it has any such version.

    Raises:
        ConfluentError: it has none.
    """
    name = subject_name(subject)
    if name is None or await call.catalogue.subjects.store.version(call.tenant, name, standing=standing) is None:
        raise no_subject(subject)
    return name


async def revision_of(call: Call, version: Version) -> Revision:
    """What a version says."""
    stored = await call.catalogue.contracts.revision_by_id(version.revision_id)
    if stored is None:
        raise no_schema(version.schema_id)
    return stored.revision


async def version_answer(call: Call, version: Version) -> VersionAnswer:
    """A version with its schema."""
    revision = await revision_of(call, version)
    answer = VersionAnswer(
        subject=version.subject,
        version=version.number,
        id=version.schema_id,
        guid=guid_of(version.revision_id),
        schemaType=SCHEMA_TYPE,
        schema=revision.source_text,
    )
    references = await references_of(call, revision)
    if references:
        answer["references"] = references
    if not version.is_live:
        answer["deleted"] = True
    return answer


async def references_of(call: Call, revision: Revision) -> list[ReferenceAnswer]:
    """The references that a Confluent client resolves for itself, those of references included.

    A `schemagate:` reference says in the text what it means, and is none of these.
    """
    pins = [pin for pin in revision.dependencies if not is_contract_uri(pin.uri)]
    if not pins:
        return []
    named = await call.catalogue.subjects.store.named(call.tenant, [pin.revision_id for pin in pins])
    return [
        ReferenceAnswer(name=pin.uri, subject=version.subject, version=version.number)
        for pin in pins
        if (version := named.get(pin.revision_id)) is not None
    ]


def numbers_of(versions: Sequence[Version]) -> list[int]:
    """The numbers of versions."""
    return [int(version.number) for version in versions]


def guid_of(revision_id: RevisionId) -> str:
    """A revision's own random id, spelled as a UUID."""
    digits = revision_id.removeprefix("rev_")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def revision_id_of(guid: str) -> RevisionId | None:
    """The revision that a UUID stands for, if it can be one."""
    digits = guid.replace("-", "").lower()
    is_uuid = len(digits) == 32 and all(digit in "0123456789abcdef" for digit in digits)
    return RevisionId(f"rev_{digits}") if is_uuid else None
