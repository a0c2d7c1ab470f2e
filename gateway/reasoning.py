"""What a request asks of the thought before its answer, whatever API it came through."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from gateway.errors import InvalidRequestError, RequestFault

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

EFFORT_TOKENS: Final[Mapping[Effort, int | None]] = {
    "minimal": 512,
    "low": 1024,
    "medium": 4096,
    "high": 16_384,
    "xhigh": 32_768,
    "max": None,
}
"""The most tokens that a thought of each effort has; None: as many as the answer's own limit leaves."""

NO_DEGREES: Final = "this model's thought is a part of its answer's grammar, which has no degrees of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtAsked:
    """A thought may stand before the answer. `budget_tokens` None: no budget but the answer's."""

    budget_tokens: int | None = None
    budget_param: str | None = None
    """Where the caller wrote a number of tokens, who then has a right to it; None: it follows from the effort."""
    effort_param: str | None = None
    """Where the effort stands, if it was told."""


def thought_asked(
    *, effort: Effort | None, effort_param: str, is_enabled: bool | None = None, budget_tokens: int | None = None
) -> ThoughtAsked | None:
    """What the fields of a request come to; None: no thought. A number of tokens says more than an effort does.

    Raises:
        InvalidRequestError: one of them asks for thought and another forbids it.
    """
    is_forbidden = is_enabled is False or effort == "none"
    if is_enabled is False and effort not in {None, "none"}:
        raise InvalidRequestError(
            RequestFault.CONFLICTING_PARAMETERS,
            f"`{effort_param}` asks for thought, and `chat_template_kwargs.enable_thinking` forbids it",
            param=effort_param,
        )
    if is_forbidden and not is_enabled:
        if budget_tokens:
            raise InvalidRequestError(
                RequestFault.CONFLICTING_PARAMETERS,
                "`thinking_token_budget` asks for thought, and another field forbids it",
                param="thinking_token_budget",
            )
        return None
    if budget_tokens is not None:
        return ThoughtAsked(budget_tokens=budget_tokens, budget_param="thinking_token_budget")
    if effort is not None and effort != "none":
        return ThoughtAsked(budget_tokens=EFFORT_TOKENS[effort], effort_param=effort_param)
    return ThoughtAsked() if is_enabled else None


def within(asked: ThoughtAsked, most: int | None) -> tuple[ThoughtAsked, dict[str, str]]:
    """The wish under a serving policy's limit, and what of a number that was sent has no effect, with the reason."""
    if most is None or (asked.budget_tokens is not None and asked.budget_tokens <= most):
        return asked, {}
    param = asked.budget_param
    notes = {} if param is None else {param: f"the serving policy allows thoughts of {most} tokens at most"}
    return replace(asked, budget_tokens=most), notes


def without_degrees(asked: ThoughtAsked) -> dict[str, str]:
    """What of the wish has no effect with a model that has no framing of its own, with the reason.

    Raises:
        InvalidRequestError: a number of tokens was promised to nobody, so it is not taken.
    """
    if asked.budget_param is not None:
        raise InvalidRequestError(
            RequestFault.UNSUPPORTED_PARAMETER,
            f"`{asked.budget_param}` is not supported for this model: {NO_DEGREES}",
            param=asked.budget_param,
        )
    return {} if asked.effort_param is None else {asked.effort_param: NO_DEGREES}
