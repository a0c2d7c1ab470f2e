"""The judge: one contract's canonical text, any number of documents, one verdict each.

It runs in a process that may be killed (`gateway.validation.service`), because the time a judgement takes is the
product of two texts that strangers wrote. It shares nothing with the compiler but the canonical text and the
translation of patterns; it retrieves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema.exceptions import UnknownType
from referencing.exceptions import Unresolvable

from gateway.validation.applicators import admits
from gateway.validation.errors import UnjudgeableError, UnjudgeablePatternError
from gateway.validation.evaluator import evaluator_for
from gateway.validation.keywords import Evaluator
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import NUMBER_LIMIT_NAME, parse_json

_MIB = 1024 * 1024

MAX_CONTRACT_BYTES = 32 * _MIB
"""The registry has measured the contract against its caller's limits; this one only stops a confusion of parts."""

MAX_CONTRACT_NESTING = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Limits on one finished object."""

    max_document_bytes: int = 8 * _MIB
    """A context of 128 k tokens is well below 1 MiB of text."""
    max_nesting: int = 512
    """Deeper is a runaway recursion of the model, not an answer."""


DEFAULT_LIMITS = DocumentLimits()


class Judge:
    """A prepared contract. Not safe for use from two threads."""

    __slots__ = ("_evaluator", "_limits")

    def __init__(self, evaluator: Evaluator, limits: DocumentLimits) -> None:
        self._evaluator = evaluator
        self._limits = limits

    @classmethod
    def prepare(
        cls,
        schema_text: str,
        *,
        limits: DocumentLimits = DEFAULT_LIMITS,
        documents: Mapping[str, JsonValue] | None = None,
    ) -> "Judge | Unjudged":
        """Read a contract. `documents` are the only others it may refer to; a canonical contract needs none."""
        try:
            schema = parse_json(schema_text, max_bytes=MAX_CONTRACT_BYTES, max_nesting=MAX_CONTRACT_NESTING)
            if not isinstance(schema, dict | bool):
                return Unjudged(reason=UnjudgedReason.CONTRACT, message="a schema is an object or a boolean")
            return cls(evaluator_for(schema, documents or {}), limits)
        except ContractRejectedError as error:
            return Unjudged(reason=UnjudgedReason.CONTRACT, message=error.rejections[0].message)
        except UnjudgeableError as error:
            return Unjudged(reason=UnjudgedReason.CONTRACT, message=str(error))

    def judge(self, document: bytes) -> Verdict:
        """The verdict on a JSON text."""
        limits = self._limits
        try:
            value = parse_json(document, max_bytes=limits.max_document_bytes, max_nesting=limits.max_nesting)
        except ContractRejectedError as error:
            rejection = error.rejections[0]
            # An endless number is the document's fault, and trying again would not mend it; size is ours to bound.
            is_number = rejection.limit_name == NUMBER_LIMIT_NAME
            if rejection.code is RejectionCode.LIMIT_EXCEEDED and not is_number:
                return Unjudged(reason=UnjudgedReason.DOCUMENT_LIMIT, message=rejection.message)
            keyword = NUMBER_LIMIT_NAME if is_number else rejection.code.value
            return Invalid(pointer=rejection.pointer, keyword=keyword, message=rejection.message)
        return self.judge_value(value)

    def admits(self, value: JsonValue, subschema: JsonValue) -> bool:
        """Whether one of the contract's own subschemas accepts the value. False where it cannot be judged."""
        try:
            return admits(self._evaluator, value, subschema)
        except (UnjudgeableError, Unresolvable, UnknownType):
            return False
        except BaseException as fault:
            if not _is_too_deep(fault):
                raise
            return False

    def judge_value(self, value: JsonValue) -> Verdict:
        """The verdict on a parsed document, which must come from `registry.parsing`: exact numbers, no floats."""
        try:
            # The first error in the schema's own order: stable, and it spares the rest of the work.
            error = next(self._evaluator.iter_errors(value), None)
        except UnjudgeablePatternError as fault:
            return Unjudged(reason=UnjudgedReason.PATTERN, message=str(fault))
        except UnjudgeableError as fault:
            return Unjudged(reason=UnjudgedReason.CONTRACT, message=str(fault))
        except Unresolvable:
            return Unjudged(reason=UnjudgedReason.REFERENCE, message="a reference leads outside the contract")
        except UnknownType:
            return Unjudged(reason=UnjudgedReason.CONTRACT, message="the contract names a type that JSON has not")
        except BaseException as fault:
            if not _is_too_deep(fault):
                raise
            return Unjudged(reason=UnjudgedReason.DEPTH, message="document and contract recurse too deep together")
        if error is None:
            return Valid()
        keyword = str(error.validator) if error.validator is not None else "false"
        message = error.message if error.validator is not None else "nothing is allowed here"
        return Invalid(pointer=_pointer(error.absolute_path), keyword=keyword, message=message)


def _is_too_deep(fault: BaseException) -> bool:
    """Where the last frame is taken inside of the native maps that references are looked up in, they make a panic of
    the same, which is no Exception to Python. A look-up changes nothing in them."""
    return isinstance(fault, RecursionError) or (
        type(fault).__name__ == "PanicException" and RecursionError.__name__ in str(fault)
    )


def _pointer(path: Any) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
