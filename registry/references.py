"""Where references lead, within the contract and the documents that were approved beside it. Nothing is fetched."""

from collections.abc import Mapping

from policy.enforcement import EnforcementPolicy
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.pointers import join, percent_decoded, tokens_of
from registry.survey import Location, Survey, survey_document
from registry.uris import resolve_uri

CONTRACT = ""
"""The document that the caller sent; its URI is empty until an `$id` gives it one."""

_SHOWN = 200


class Bundle:
    """The contract and its approved documents, each surveyed when a reference first needs it."""

    def __init__(self, contract: Survey, documents: Mapping[str, JsonValue], policy: EnforcementPolicy) -> None:
        self._policy = policy
        self._documents = documents
        self._surveys: dict[str, Survey] = {CONTRACT: contract}
        self._resources: dict[str, tuple[Survey, str]] = {}
        self._enter(contract, "")

    @property
    def root(self) -> Location:
        """The contract's own root schema."""
        return self._surveys[CONTRACT].locations[""]

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The dialects of all documents in use, the contract's first, each once."""
        return tuple(dict.fromkeys(survey.dialect for survey in self._surveys.values()))

    def dialect_at(self, location: Location) -> Dialect:
        """The dialect of the document that holds `location`."""
        return self._surveys[location.document].dialect

    def location(self, document: str, pointer: str) -> Location:
        """A subschema by its place."""
        return self._surveys[document].locations[pointer]

    def resolve(self, reference: str, *, base: str, pointer: str) -> Location:
        """What `reference` means where `base` is the base. `pointer` is the caller's, for refusals.

        Raises `ContractRejectedError`: outside the bundle, pointing at nothing, or at something that is no schema.
        """
        uri, fragment = resolve_uri(base, reference)
        if uri not in self._resources:
            self._load(uri, reference, pointer)
        survey, root = self._resources[uri]
        name = percent_decoded(fragment)
        if name is None:
            raise _unresolved(reference, "its fragment is not UTF-8", pointer)
        if not name:
            target = root
        elif name.startswith("/"):
            target = join(root, *tokens_of(name))
        else:
            anchored = survey.anchors.get((uri, name)) or survey.anchors.get((_own_base(survey, root), name))
            if anchored is None:
                raise _unresolved(reference, "there is no such anchor", pointer)
            target = anchored
        location = survey.locations.get(target)
        if location is None:
            reason = "that is not a schema" if _exists(survey.value, target) else "there is nothing"
            raise _unresolved(reference, reason, pointer)
        return location

    def dynamic_target(self, reference: str, *, base: str, pointer: str) -> Location:
        """What a `$dynamicRef` means, where that is certain without knowing how evaluation got there.

        It is, if the reference does not end at a `$dynamicAnchor` of its own name, or if no other place in the bundle
        has that name. Otherwise `unsupported_keyword`. Call again once all references are resolved.
        """
        target = self.resolve(reference, base=base, pointer=pointer)
        name = percent_decoded(resolve_uri(base, reference)[1])
        schema = target.schema
        if isinstance(schema, bool) or schema.get("$dynamicAnchor") != name:
            return target
        places = [p for survey in self._surveys.values() for p in survey.dynamic_anchors.get(str(name), ())]
        if len(places) == 1:
            return target
        message = f"Which of {len(places)} `$dynamicAnchor`s {reference[:_SHOWN]!r} means depends on the way there."
        rejection = Rejection(
            code=RejectionCode.UNSUPPORTED_KEYWORD, message=message, pointer=pointer, keyword="$dynamicRef"
        )
        raise ContractRejectedError((rejection,))

    def _load(self, uri: str, reference: str, pointer: str) -> None:
        if uri not in self._documents:
            message = f"The reference {reference[:_SHOWN]!r} leads out of the contract, and nothing is fetched."
            rejection = Rejection(code=RejectionCode.REMOTE_REFERENCE, message=message, pointer=pointer, keyword="$ref")
            raise ContractRejectedError((rejection,))
        survey = survey_document(self._documents[uri], document=uri, policy=self._policy)
        if survey.rejections:
            raise ContractRejectedError(
                tuple(
                    Rejection(
                        code=fault.code,
                        message=f"In {uri[:_SHOWN]!r} at {fault.pointer or 'its root'!r}: {fault.message}",
                        pointer=pointer,
                        keyword=fault.keyword,
                        suggestion=fault.suggestion,
                    )
                    for fault in survey.rejections
                )
            )
        self._surveys[uri] = survey
        self._enter(survey, pointer)

    def _enter(self, survey: Survey, pointer: str) -> None:
        for uri, root in survey.resources.items():
            known = self._resources.get(uri)
            if known is not None and (known[0] is not survey or known[1] != root):
                message = f"Two resources are called {uri[:_SHOWN]!r}."
                rejection = Rejection(
                    code=RejectionCode.INVALID_SCHEMA, message=message, pointer=pointer, keyword="$id"
                )
                raise ContractRejectedError((rejection,))
            self._resources[uri] = (survey, root)


def _own_base(survey: Survey, root: str) -> str:
    """The URI under which the resource at `root` enters its anchors: its `$id`, whatever it was fetched as."""
    return survey.locations[root].base


def _exists(value: JsonValue, pointer: str) -> bool:
    for token in tokens_of(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit() and int(token[:9]) < len(value):
            value = value[int(token[:9])]
        else:
            return False
    return True


def _unresolved(reference: str, reason: str, pointer: str) -> ContractRejectedError:
    message = f"The reference {reference[:_SHOWN]!r} leads nowhere: {reason}."
    rejection = Rejection(code=RejectionCode.UNRESOLVED_REFERENCE, message=message, pointer=pointer, keyword="$ref")
    return ContractRejectedError((rejection,))
