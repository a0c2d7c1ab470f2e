"""Which registered contracts one contract brings in, and they in turn: the whole of it, within limits.

A value that asks and is answered, so that whoever owns the store does the reading:

    closure = references_of(schema, limits)
    while closure.wanted:
        closure = closure.with_found(read them: those that exist and that this caller may see)
    read_json_schema(schema, …, documents=closure.documents)

A contract that was not found is simply missing: the reader refuses the reference to it, at its place, and only where
it is reached.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from policy.limits import ReferenceLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.contract_references import ContractReference, contract_uri, referenced_contracts
from registry.errors import ContractRejectedError


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundContract:
    """The text of a contract that was referred to, parsed.

    By digest it is the canonical text: the author's own spelling is not what a digest names.
    """

    document: JsonValue
    num_bytes: int
    """Of the text, before it was parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceClosure:
    """What was found so far, and what is wanted next."""

    limits: ReferenceLimits
    documents: Mapping[str, JsonValue]
    """By `schemagate:` URI."""
    wanted: tuple[ContractReference, ...]
    asked: frozenset[ContractReference]
    """All that is or was wanted."""
    depth: int
    """How many references one after another lead to what is wanted; 0 where nothing ever was."""
    num_bytes: int

    def with_found(self, found: Mapping[ContractReference, FoundContract]) -> "ReferenceClosure":
        """What these texts add. Anything that was not wanted is left out; what is wanted and not in `found` is missing.

        Raises `ContractRejectedError`: `limit_exceeded`.
        """
        texts = {contract_uri(reference): found[reference] for reference in self.wanted if reference in found}
        num_bytes = self.num_bytes + sum(text.num_bytes for text in texts.values())
        _check("max_referenced_bytes", self.limits.max_referenced_bytes, num_bytes)
        referred = [
            reference for uri, text in texts.items() for reference in referenced_contracts(text.document, document=uri)
        ]
        grown = replace(
            self, documents={**self.documents, **{u: t.document for u, t in texts.items()}}, num_bytes=num_bytes
        )
        return _asking(grown, referred)


def references_of(schema: JsonValue, limits: ReferenceLimits) -> ReferenceClosure:
    """The closure of a contract's own references, none of them found yet. Raises `ContractRejectedError`."""
    empty = ReferenceClosure(limits=limits, documents={}, wanted=(), asked=frozenset(), depth=0, num_bytes=0)
    return _asking(empty, referenced_contracts(schema))


def _asking(closure: ReferenceClosure, referred: Iterable[ContractReference]) -> ReferenceClosure:
    wanted = tuple(reference for reference in dict.fromkeys(referred) if reference not in closure.asked)
    asked = closure.asked.union(wanted)
    depth = closure.depth + 1 if wanted else closure.depth
    _check("max_referenced_contracts", closure.limits.max_referenced_contracts, len(asked))
    _check("max_reference_depth", closure.limits.max_reference_depth, depth)
    return replace(closure, wanted=wanted, asked=asked, depth=depth)


def _check(name: str, limit: int, observed: int) -> None:
    if observed > limit:
        rejection = Rejection(
            code=RejectionCode.LIMIT_EXCEEDED,
            message="The contract brings in too much by references to other contracts.",
            keyword="$ref",
            limit_name=name,
            limit=limit,
            observed=observed,
        )
        raise ContractRejectedError((rejection,))
