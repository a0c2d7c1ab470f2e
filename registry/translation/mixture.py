"""Documents that are exact one by one, and not together: what one dialect evaluates, another one asks about."""

from collections.abc import Iterator

from policy.rejection import Rejection, RejectionCode
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.pointers import join
from registry.references import CONTRACT, Bundle
from registry.schema_positions import SchemaObject
from registry.survey import Location, Survey
from registry.translation.recursion import RECURSIVE_ANCHOR


def mixture_rejections(bundle: Bundle) -> Iterator[Rejection]:
    """Why the documents in use cannot be read together. Pointers are into the translated contract.

    To be asked when all of them are loaded.
    """
    if all(
        dialect.is_2020_12 for survey in bundle.surveys.values() for dialect in survey.translation.dialects.values()
    ):
        return
    yield from _contains_rejections(bundle)
    yield from _recursion_rejections(bundle)


def _contains_rejections(bundle: Bundle) -> Iterator[Rejection]:
    """Only 2020-12 lets `contains` mark items for `unevaluatedItems`; within one document, translation sees to it."""
    finding = [(survey, at) for survey, at in _objects(bundle) if "contains" in _members(at)]
    asking = [(survey, at) for survey, at in _objects(bundle) if "unevaluatedItems" in _members(at)]
    for survey, at in asking:
        is_older = survey.translation.dialect_at(at.pointer) is Dialect.DRAFT_2019_09
        for other, found in finding:
            is_found_older = not other.translation.dialect_at(found.pointer).is_2020_12
            differs = is_older if not is_found_older else other.translation.counts_contains
            if differs:
                message = (
                    "Before 2020-12, `contains` does not count for `unevaluatedItems`, and dialects are mixed here."
                )
                yield _refused(survey, at, "unevaluatedItems", message)
                return


def _recursion_rejections(bundle: Bundle) -> Iterator[Rejection]:
    """2019-09 looks for roots that evaluation went through, 2020-12 for resources that it came into, wherever.

    The outermost of either kind are the same if the first that is come into is come into at its root: so a reference
    to a place within a resource that has the anchor may stand only in such a resource.
    """
    surveys = bundle.surveys.values()
    if sum(len(survey.dynamic_anchors.get(RECURSIVE_ANCHOR, ())) for survey in surveys) < 2:
        return
    for survey, at in _objects(bundle):
        if RECURSIVE_ANCHOR in bundle.dynamic_anchors(at):
            continue
        for keyword in ("$ref", "$dynamicRef"):
            reference = _members(at).get(keyword)
            if not isinstance(reference, str) or not bundle.has_read(reference, at=at):
                continue
            try:
                target = bundle.resolve(reference, at=at, pointer="")
            except ContractRejectedError:
                continue  # never reached, or it would have been refused
            anchor = bundle.dynamic_anchors(target).get(RECURSIVE_ANCHOR)
            if anchor is not None and anchor != (target.document, target.pointer):
                message = "Under 2019-09, `$recursiveRef` would not see the root of the resource that this leads into."
                yield _refused(survey, at, keyword, message)
                return


def _objects(bundle: Bundle) -> Iterator[tuple[Survey, Location]]:
    for survey in bundle.surveys.values():
        for at in survey.locations.values():
            if not isinstance(at.schema, bool):
                yield survey, at


def _members(at: Location) -> SchemaObject:
    return {} if isinstance(at.schema, bool) else at.schema


def _refused(survey: Survey, at: Location, keyword: str, message: str) -> Rejection:
    place = join(at.pointer, keyword) if survey.document == CONTRACT else ""
    where = "" if survey.document == CONTRACT else f"In {survey.document[:200]!r}: "
    return Rejection(
        code=RejectionCode.UNSUPPORTED_DIALECT,
        message=f"{where}{message} Write the schema in 2020-12.",
        pointer=place,
        keyword=keyword,
    )
