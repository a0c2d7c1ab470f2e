"""The documents that a contract may refer to beside itself: an allowlist, never a way to the network or the disk."""

from collections.abc import Mapping
from typing import TypeAlias

from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource

from registry.contract import JsonValue

ApprovedDocuments: TypeAlias = Registry[JsonValue]


def approved_documents(documents: Mapping[str, JsonValue]) -> ApprovedDocuments:
    """A registry of exactly these documents, by absolute URI.

    To it they are opaque: it reads no `$id` in them, so that none can answer for another. The names within a document
    are the survey's business, which has limits and says where they count.
    """
    retrieving: ApprovedDocuments = Registry(retrieve=_refuse)  # type: ignore[call-arg]
    return retrieving.with_resources((uri, Resource.opaque(contents)) for uri, contents in documents.items())


def approved_document(approved: ApprovedDocuments, uri: str) -> JsonValue:
    """The document of that very URI. Raises `NoSuchResource`."""
    return approved.get_or_retrieve(uri).value.contents


def _refuse(uri: str) -> Resource[JsonValue]:
    """Nothing is fetched because a schema says so."""
    raise NoSuchResource(uri)
