"""Rules in processes of their own: whatever a rule does, others go on, and it is never taken for a yes."""

from collections.abc import AsyncIterator

import pytest

from gateway.rules.finished import Finished, FinishedCall, FinishedObject, RuleContext
from gateway.rules.job import CheckJob, EvaluationJob, Refusal, pack_job, unpack_job
from gateway.rules.processes import RuleProcesses
from gateway.rules.rule_set import Rule, RuleKind, Target
from gateway.rules.verdict import Failed, NotApplicable, Passed, RuleFault, Undecided

CONTEXT = RuleContext(
    tenant="acme",
    team=None,
    principal="ada",
    roles=("caller",),
    contract_name="invoice",
    contract_revision=3,
    contract_alias="prod",
    contract_digest="sha256:" + "0" * 64,
    contract_kind="json_schema",
    model="m",
    request_id="req_1",
)


def rule(cel: str, *, target: Target = Target.OBJECT) -> Rule:
    """A rule of any name."""
    return Rule(name="r", kind=RuleKind.SEMANTIC, target=target, cel=cel, message="no")


def whole(text: str, *, is_json: bool = True) -> Finished:
    """An answer's object."""
    return FinishedObject(text=text, is_json=is_json)


@pytest.fixture
async def processes() -> AsyncIterator[RuleProcesses]:
    started = RuleProcesses(num_workers=1, seconds=0.3)
    yield started
    await started.close()


async def test_each_rule_has_its_own_verdict(processes: RuleProcesses) -> None:
    rules = [
        rule("object.a == 1 && contract.alias == 'prod'"),
        rule("object.a == 2"),
        rule("object.b == 2"),
        rule("object.a"),
        rule("true &&"),
        rule("call.name == 'f'", target=Target.CALL),
    ]
    verdicts = await processes.evaluate(rules, [whole('{"a": 1}')], CONTEXT)
    assert verdicts == (
        Passed(),
        Failed(message=""),
        Undecided(fault=RuleFault.EVALUATION),
        Undecided(fault=RuleFault.NOT_BOOLEAN),
        Undecided(fault=RuleFault.UNREADABLE),
        NotApplicable(),
    )


async def test_every_call_has_to_pass(processes: RuleProcesses) -> None:
    rules = [rule("call.arguments.n < 10", target=Target.CALL), rule("object == ''")]
    good = FinishedCall(name="f", text='{"n": 1}', is_json=True)
    bad = FinishedCall(name="f", text='{"n": 10}', is_json=True)
    assert await processes.evaluate(rules, [good, good], CONTEXT) == (Passed(), NotApplicable())
    assert await processes.evaluate(rules, [good, bad], CONTEXT) == (Failed(message=""), NotApplicable())


async def test_text_that_is_no_json_is_a_string(processes: RuleProcesses) -> None:
    answered = await processes.evaluate([rule("object.startsWith('a')")], [whole("a 1", is_json=False)], CONTEXT)
    assert answered == (Passed(),)


@pytest.mark.parametrize(
    "text", ['{"a": 9223372036854775808}', '{"a": "x\\u0000y"}', '{"a": 0.12345678901234567890123}']
)
async def test_an_answer_that_cel_would_change_is_undecided(processes: RuleProcesses, text: str) -> None:
    answered = await processes.evaluate([rule("true"), rule("has(object.b)")], [whole(text)], CONTEXT)
    assert answered == (Undecided(fault=RuleFault.UNREPRESENTABLE),) * 2


async def test_a_rule_that_takes_all_time_or_memory_is_killed_and_the_next_one_finds_a_process(
    processes: RuleProcesses,
) -> None:
    grow = "object.a" + ".replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa')" * 8 + ".size() > 1"
    killed = await processes.evaluate([rule("true"), rule(grow)], [whole('{"a": "a"}')], CONTEXT)
    assert killed in ((Undecided(fault=RuleFault.TIME),) * 2, (Undecided(fault=RuleFault.CRASHED),) * 2)
    assert await processes.evaluate([rule("object.a == 'a'")], [whole('{"a": "a"}')], CONTEXT) == (Passed(),)


async def test_expressions_are_checked_where_they_run(processes: RuleProcesses) -> None:
    refusals = await processes.check([(Target.OBJECT, "object.a == 1"), (Target.CALL, "object.a == 1")])
    assert isinstance(refusals, tuple)
    assert refusals[0] is None
    assert isinstance(refusals[1], Refusal)
    assert (refusals[1].line, refusals[1].column) == (1, 7)


def test_a_job_arrives_as_it_was_sent() -> None:
    parts = (whole('{"ä": 1}'), FinishedCall(name="f😀", text="x", is_json=False))
    job = EvaluationJob(
        expressions=((Target.OBJECT, "object.ä == 1"),), finished=parts, circumstances={"caller": {"roles": ["a"]}}
    )
    assert unpack_job(pack_job(job)) == job
    check = CheckJob(expressions=((Target.CALL, "true"),))
    assert unpack_job(pack_job(check)) == check
