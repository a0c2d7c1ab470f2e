"""In which order rules are asked, what is not asked any more, and whose silence may be forgiven."""

from collections.abc import Sequence
from typing import Any

import pytest

from gateway.metrics import GatewayMetrics
from gateway.rules.finished import Finished, FinishedCall, FinishedObject
from gateway.rules.job import CelVerdict
from gateway.rules.members import verdict_word
from gateway.rules.rule_set import Rule, RuleKind, RuleSet, Target, Webhook
from gateway.rules.service import OutputRules
from gateway.rules.verdict import Failed, NotApplicable, Passed, RuleFault, RulesVerdict, Undecided
from gateway.webhooks.client import WebhookVerdict
from registry.parsing import parse_json
from tests.gateway.rules.test_processes import CONTEXT

OBJECT = FinishedObject(text='{"id":9007199254740993,"price":1.10}', is_json=True)
SILENT = Undecided(fault=RuleFault.SILENT)
NO = Failed(message="no")


class Expressions:
    """Answers by the text of a rule, and tells what was asked."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked

    async def evaluate(
        self,
        rules: Sequence[Rule],
        finished: Sequence[Finished],
        context: Any,
    ) -> tuple[CelVerdict, ...]:
        self._asked += [rule.name for rule in rules]
        targets = {part.target for part in finished}
        said: dict[str, CelVerdict] = {"true": Passed(), "false": Failed(message=""), "?": SILENT}
        return tuple(said[rule.cel] if rule.target in targets else NotApplicable() for rule in rules)


class Webhooks:
    """Answers by the name of a webhook, and tells what was asked."""

    def __init__(self, asked: list[str], **verdicts: WebhookVerdict) -> None:
        self._asked = asked
        self._verdicts = verdicts
        self.bodies: list[bytes] = []

    async def ask(self, webhook: Webhook, tenant: str, body: bytes) -> WebhookVerdict:
        assert tenant == "acme"
        self._asked.append(webhook.name)
        self.bodies.append(body)
        return self._verdicts.get(webhook.name, Passed())


def rule(name: str, cel: str, kind: RuleKind = RuleKind.SEMANTIC) -> Rule:
    return Rule(name=name, kind=kind, target=Target.OBJECT, cel=cel, message=f"{name} says no")


def webhook(name: str, kind: RuleKind = RuleKind.SEMANTIC, **members: Any) -> Webhook:
    values: dict[str, Any] = {"target": Target.OBJECT, "url": "https://rules.example", "timeout_seconds": 1.0}
    return Webhook(name=name, kind=kind, **{"fail_open": False} | values | members)


AUTHORISATION = RuleKind.AUTHORISATION


async def check(
    planned: RuleSet,
    *finished: Finished,
    fail_open: frozenset[str] = frozenset(),
    **verdicts: WebhookVerdict,
) -> tuple[RulesVerdict, list[str], list[bytes]]:
    """The verdict, who was asked in which order, and what webhooks were sent."""
    asked: list[str] = []
    webhooks = Webhooks(asked, **verdicts)
    settings: Any = None
    service = OutputRules(
        settings=settings, expressions=Expressions(asked), webhooks=webhooks, metrics=GatewayMetrics()
    )
    verdict = await service.check(planned, finished or (OBJECT,), CONTEXT, fail_open=fail_open)
    return verdict, asked, webhooks.bodies


def words(verdict: RulesVerdict) -> list[tuple[str, str]]:
    return [(result.name, verdict_word(result.verdict)) for result in verdict.results]


ALL = RuleSet(
    rules=(rule("a1", "true", AUTHORISATION), rule("s1", "true"), rule("s2", "true")),
    webhooks=(webhook("aw", AUTHORISATION), webhook("sw")),
)


async def test_meaning_comes_first_and_authorisation_is_a_step_of_its_own() -> None:
    verdict, asked, _ = await check(ALL)
    assert asked == ["a1", "s1", "s2", "sw", "aw"]
    assert words(verdict) == [(name, "passed") for name in ("s1", "s2", "sw", "a1", "aw")]
    assert verdict.deciding is None


async def test_after_a_failure_nothing_is_sent_anywhere_and_authorisation_is_still_evaluated() -> None:
    planned = RuleSet(rules=(rule("s1", "false"), rule("a1", "false", AUTHORISATION)), webhooks=ALL.webhooks)
    verdict, _, bodies = await check(planned)
    assert words(verdict) == [("s1", "failed"), ("sw", "not_asked"), ("a1", "failed"), ("aw", "not_asked")]
    assert bodies == []
    assert verdict.deciding is not None
    assert (verdict.deciding.name, verdict.deciding.verdict) == ("s1", Failed(message="s1 says no"))


async def test_a_rule_without_a_verdict_stops_what_would_be_sent_too() -> None:
    planned = RuleSet(rules=(rule("s1", "?"),), webhooks=ALL.webhooks)
    verdict, _, bodies = await check(planned)
    assert words(verdict) == [("s1", "unjudged"), ("sw", "not_asked"), ("aw", "not_asked")]
    assert bodies == []
    assert verdict.deciding is not None


async def test_a_webhook_that_says_no_keeps_authorisation_from_being_asked() -> None:
    verdict, asked, _ = await check(ALL, sw=NO)
    assert asked == ["a1", "s1", "s2", "sw"]
    assert words(verdict)[-1] == ("aw", "not_asked")
    assert verdict.deciding is not None
    assert verdict.deciding.name == "sw"


@pytest.mark.parametrize(
    ("is_marked", "is_listed", "said", "word"),
    [
        (True, True, SILENT, "failed_open"),
        (True, False, SILENT, "unjudged"),
        (False, True, SILENT, "unjudged"),
        (True, True, NO, "failed"),
        (True, True, Passed(), "passed"),
    ],
)
async def test_silence_is_forgiven_only_where_rule_and_policy_agree(
    is_marked: bool,  # noqa: FBT001 - a column of the table
    is_listed: bool,  # noqa: FBT001 - as above
    said: WebhookVerdict,
    word: str,
) -> None:
    planned = RuleSet(webhooks=(webhook("sw", fail_open=is_marked),))
    verdict, _, _ = await check(planned, fail_open=frozenset({"sw"} if is_listed else {"other"}), sw=said)
    assert words(verdict) == [("sw", word)]
    assert (verdict.deciding is None) == (word in {"failed_open", "passed"})


async def test_a_webhook_is_sent_the_object_byte_for_byte_with_who_asks() -> None:
    _, _, bodies = await check(RuleSet(webhooks=(webhook("sw"),)))
    assert bodies[0].endswith(b',"object":{"id":9007199254740993,"price":1.10}}')
    assert parse_json(bodies[0], max_bytes=10_000, max_nesting=10) == {
        "validator": "sw",
        "kind": "semantic",
        "request_id": "req_1",
        "caller": {"tenant": "acme", "team": None, "principal": "ada", "roles": ["caller"]},
        "contract": {
            "name": "invoice",
            "revision": 3,
            "alias": "prod",
            "digest": "sha256:" + "0" * 64,
            "kind": "json_schema",
        },
        "object": {"id": 9007199254740993, "price": parse_json("1.1", max_bytes=9, max_nesting=1)},
    }


async def test_each_call_is_asked_about_and_text_is_sent_as_a_string() -> None:
    planned = RuleSet(webhooks=(webhook("cw", target=Target.CALL), webhook("ow")))
    calls = [FinishedCall(name='f"', text='{"n":1}', is_json=True), FinishedCall(name="g", text='a"b', is_json=False)]
    verdict, asked, bodies = await check(planned, *calls)
    assert asked == ["cw", "cw"]
    assert words(verdict) == [("cw", "passed"), ("ow", "not_applicable")]
    assert bodies[0].endswith(b',"call":{"name":"f\\"","arguments":{"n":1}}}')
    assert bodies[1].endswith(b',"call":{"name":"g","arguments":"a\\"b"}}')


async def test_without_rules_nobody_is_asked() -> None:
    verdict, asked, _ = await check(RuleSet())
    assert (verdict.results, asked, verdict.deciding) == ((), [], None)
