"""Stage 11: the independent judge is asked about what is given out, and about the text that it was read from."""

from typing import Protocol

import structlog

from gateway.answer import Answer
from gateway.composition.composition import Composition
from gateway.outcome import BoundContract, TakenContract
from gateway.validation.verdict import Invalid, Valid, Verdict
from policy.enforcement import KeywordStatus
from registry.contract import ContractKind

_log = structlog.get_logger(__name__)


class Validator(Protocol):
    """The independent judge of finished objects (`gateway.validation.service`)."""

    @property
    def num_ready(self) -> int:
        """Judges that could take an object now or soon."""
        ...

    async def validate(
        self, canonical_text: str, contract_digest: str, document: bytes, *, seconds: float, kind: ContractKind
    ) -> Verdict:
        """The verdict on `document` within `seconds` of CPU time; never an exception for what a document does."""
        ...


class AnswerJudge:
    """Judges whole answers."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator

    async def verdict(
        self, bound: BoundContract, composition: Composition, text: str, answer: Answer, *, is_closed: bool
    ) -> Verdict:
        """`Valid` only if every part that is given out satisfies its own contract, and the whole text the one that was
        enforced. Pointers lead into the part at fault: a JSON answer, or the arguments of a call."""
        verdict: Verdict = Valid()
        if not is_closed:
            message = "the text does not end where its structure does"
            verdict = Invalid(pointer="", keyword=bound.contract.kind.value, message=message)
        if answer.content is None and answer.refusal is None and not answer.calls:
            verdict = Invalid(pointer="", keyword=bound.contract.kind.value, message="the text says nothing")
        if composition.is_composed:
            if isinstance(verdict, Valid) and answer.content is not None and composition.answer is not None:
                verdict = await self._judged(composition.answer, answer.content)
            for number, call in enumerate(answer.calls):
                taken = composition.tools.get(call.name)
                if isinstance(verdict, Valid) and taken is not None:
                    verdict = _in_call(await self._judged(taken, call.text), number, is_custom=call.is_custom)
        if isinstance(verdict, Valid):
            verdict = await self._judged(bound.taken, text)
        _report_disagreement(bound, verdict)
        return verdict

    async def verdict_alone(self, taken: TakenContract, text: str) -> Verdict:
        """What a text is that no grammar enforced."""
        return await self._judged(taken, text)

    async def _judged(self, taken: TakenContract, text: str) -> Verdict:
        contract = taken.contract
        seconds = taken.limits.validation_seconds
        return await self._validator.validate(
            contract.text, contract.digest, text.encode(), seconds=seconds, kind=contract.kind
        )


def _in_call(verdict: Verdict, number: int, *, is_custom: bool) -> Verdict:
    if not isinstance(verdict, Invalid):
        return verdict
    place = "custom/input" if is_custom else "function/arguments"
    pointer = f"/tool_calls/{number}/{place}{verdict.pointer}"
    return Invalid(pointer=pointer, keyword=verdict.keyword, message=verdict.message)


def _report_disagreement(bound: BoundContract, verdict: Verdict) -> None:
    """A grammar that enforces everything and a judge that refuses: one of the two is wrong, and we must know."""
    if isinstance(verdict, Invalid) and not bound.counts.get(KeywordStatus.CHECKED_AFTER):
        _log.error(
            "the judge refuses what the grammar enforced",
            contract_digest=bound.contract.digest,
            artifact_key=bound.key,
            keyword=verdict.keyword,
        )
