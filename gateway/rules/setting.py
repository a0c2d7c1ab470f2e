"""What is asked of a document of rules when it is set: it compiles, and its webhooks can be asked at all."""

from collections.abc import Sequence
from typing import Final, Protocol, assert_never

from gateway.errors import InvalidRequestError, RequestFault
from gateway.rules.documents import places, require_distinct_names, rule_set_of
from gateway.rules.errors import RulesUncheckedError
from gateway.rules.job import Refusal
from gateway.rules.protocol import RuleSetSent
from gateway.rules.rule_set import Target, Webhook
from gateway.rules.verdict import RuleFault

_RETRY_SECONDS: Final = 1.0


class Checker(Protocol):
    """Compiles expressions (`gateway.rules.processes`)."""

    async def check(self, expressions: Sequence[tuple[Target, str]]) -> tuple[Refusal | None, ...] | RuleFault:
        """What is wrong with each, or why that could not be found out."""
        ...


class Reach(Protocol):
    """Knows where webhooks may lead (`gateway.webhooks.client`)."""

    def fault_of(self, webhook: Webhook, tenant: str) -> RuleFault | None:
        """Why this one cannot be asked."""
        ...


async def require_usable(sent: RuleSetSent, tenant: str, *, checker: Checker, reach: Reach) -> None:
    """Refuse a document under which answers could only fail.

    Raises:
        InvalidRequestError: two rules of one name, an expression that does not compile, a webhook that is not listed.
        RulesUncheckedError: the expressions could not be compiled in time.
    """
    require_distinct_names(sent)
    rule_set = rule_set_of(sent)
    for number, webhook in enumerate(rule_set.webhooks):
        fault = reach.fault_of(webhook, tenant)
        if fault is not None:
            raise _refused_webhook(fault, number)
    if not rule_set.rules:
        return
    refusals = await checker.check([(rule.target, rule.cel) for rule in rule_set.rules])
    match refusals:
        case RuleFault():
            raise RulesUncheckedError(retry_after_seconds=_RETRY_SECONDS)
        case tuple():
            for place, refusal in zip(places(sent), refusals, strict=True):
                if refusal is not None:
                    raise _refused_expression(refusal, f"{place}.cel")
        case _:
            assert_never(refusals)


def _refused_expression(refusal: Refusal, param: str) -> InvalidRequestError:
    where = f" (line {refusal.line}, column {refusal.column})" if refusal.line else ""
    message = f"`{param}` is no rule: {refusal.message}{where}"
    return InvalidRequestError(RequestFault.INVALID_VALUE, message, param=param)


def _refused_webhook(fault: RuleFault, number: int) -> InvalidRequestError:
    place = f"webhooks[{number}]"
    if fault is RuleFault.NO_SECRET:
        message = f"`{place}.name` is refused: the installation keeps no secret to sign this webhook's requests with"
        return InvalidRequestError(RequestFault.INVALID_VALUE, message, param=f"{place}.name")
    message = f"`{place}.url` is refused: its origin is not among those that this installation lets webhooks lead to"
    return InvalidRequestError(RequestFault.INVALID_VALUE, message, param=f"{place}.url")
