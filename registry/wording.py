"""Whether a member of a schema object is a keyword, written as it should be; if not, what its author may have meant."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from policy.enforcement import EnforcementPolicy, Unknown
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.keywords import ALWAYS_FOREIGN, FOREIGN, KNOWN_FORMATS, RESERVED, SHAPES, VENDOR_ANNOTATIONS
from registry.pointers import join
from registry.shapes import shape_fault

_SPECIFIED_VOCABULARIES: Final = frozenset(
    f"https://json-schema.org/draft/{edition}/vocab/{name}"
    for edition in ("2019-09", "2020-12")
    for name in ("core", "applicator", "unevaluated", "validation", "meta-data", "format", "format-annotation",
                 "format-assertion", "content")
)  # fmt: skip
_MAX_GUESSED_LENGTH: Final = 40
_KEYWORDS_BY_LOWER: Final = {keyword.lower(): keyword for keyword in SHAPES}
_SHOWN: Final = 80


def judge_member(
    keyword: str, schema: Mapping[str, JsonValue], pointer: str, policy: EnforcementPolicy
) -> Rejection | None:
    """Why the member is refused, if it is."""
    value = schema[keyword]
    place = join(pointer, keyword)
    if keyword in RESERVED:
        message = f"`{keyword}` steers the engine and is never a caller's to set."
        return Rejection(code=RejectionCode.RESERVED_KEYWORD, message=message, pointer=place, keyword=keyword)
    if keyword in SHAPES:
        return _judge_known(keyword, value, place, policy)
    if is_annotation_by_name(keyword):
        return None
    if keyword in ALWAYS_FOREIGN:
        return _foreign(keyword, ALWAYS_FOREIGN[keyword], place)
    if policy.unknown_keyword is Unknown.ANNOTATION:
        return None
    if keyword in FOREIGN:
        return _foreign(keyword, FOREIGN[keyword], place)
    guess = closest(keyword, _KEYWORDS_BY_LOWER)
    return Rejection(
        code=RejectionCode.UNKNOWN_KEYWORD,
        message=f"`{keyword[:_SHOWN]}` is not a keyword of JSON Schema 2020-12" + _did_you_mean(guess),
        pointer=place,
        keyword=keyword,
        suggestion=guess,
    )


def is_annotation_by_name(keyword: str) -> bool:
    """Whether the name alone says that no instance is restricted: `x-…`, or one that a known tool writes."""
    return (keyword.startswith("x-") and keyword not in RESERVED) or keyword in VENDOR_ANNOTATIONS


def closest(word: str, known_by_lower: Mapping[str, str]) -> str | None:
    """The known word that `word` is most likely a slip of."""
    if len(word) > _MAX_GUESSED_LENGTH:
        return None
    found = get_close_matches(word.lower(), known_by_lower, n=1, cutoff=0.8)
    return known_by_lower[found[0]] if found else None


def _judge_known(keyword: str, value: JsonValue, place: str, policy: EnforcementPolicy) -> Rejection | None:
    if keyword in {"exclusiveMinimum", "exclusiveMaximum"} and isinstance(value, bool):
        return _foreign(keyword, "a boolean there is draft 04 or OpenAPI 3.0; write the bound itself", place)
    fault = shape_fault(keyword, value)
    if fault is not None:
        return Rejection(code=RejectionCode.INVALID_SCHEMA, message=f"{fault}.", pointer=place, keyword=keyword)
    if keyword == "format" and isinstance(value, str) and value not in KNOWN_FORMATS:
        return _judge_unknown_format(value, place, policy)
    if keyword == "$vocabulary" and isinstance(value, dict):
        strange = [uri for uri, demanded in value.items() if demanded and uri not in _SPECIFIED_VOCABULARIES]
        if strange:
            message = f"The vocabulary {strange[0][:200]!r} is demanded and not known."
            return Rejection(code=RejectionCode.UNSUPPORTED_DIALECT, message=message, pointer=place, keyword=keyword)
    return None


def _judge_unknown_format(value: str, place: str, policy: EnforcementPolicy) -> Rejection | None:
    if policy.unknown_format is Unknown.ANNOTATION:
        return None
    guess = closest(value, {known: known for known in KNOWN_FORMATS})
    return Rejection(
        code=RejectionCode.UNKNOWN_FORMAT,
        message=f"The format {value[:_SHOWN]!r} is not one of JSON Schema 2020-12" + _did_you_mean(guess),
        pointer=place,
        keyword="format",
        suggestion=guess,
    )


def _did_you_mean(guess: str | None) -> str:
    return f"; did you mean `{guess}`?" if guess else "."


def _foreign(keyword: str, advice: str, place: str) -> Rejection:
    return Rejection(
        code=RejectionCode.FOREIGN_DIALECT_KEYWORD,
        message=f"`{keyword}` is not 2020-12: {advice}.",
        pointer=place,
        keyword=keyword,
    )
