"""Each hostile contract ends in one of the verdicts that are right for it, and takes no worker along."""

from pathlib import Path

import pytest

from policy.limits import GOVERNED, TENANT, LimitClass
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.hostile.contract import LIMIT
from tests.hostile.contracts import hostile_contracts
from tests.hostile.judging import MAX_BODY_BYTES, Bench, contract_text

MAX_RESIDENT_BYTES = 256 * 1024 * 1024
"""Of a worker with a small tokenizer; its cap is a gibibyte above what it holds when idle."""


@pytest.mark.timeout(900)  # half a minute of CPU time, on a machine that may be busy
@pytest.mark.parametrize("limits", [TENANT, GOVERNED], ids=lambda limits: limits.name)
async def test_every_contract_ends_in_a_right_verdict_and_kills_nothing(limits: LimitClass, tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "tiny.json")
    wrong: dict[str, str] = {}
    async with Bench.open(tokenizer, limits=limits) as bench:
        for hostile in hostile_contracts():
            verdict = await bench.judge(hostile, limits)
            if verdict.word not in hostile.verdicts or verdict.killed_worker:
                wrong[hostile.name] = f"{verdict.word} {verdict.limit_name} {verdict.message}"
            assert verdict.peak_bytes <= MAX_RESIDENT_BYTES, hostile.name
        assert (wrong, bench.num_deaths) == ({}, 0)


def test_there_are_many_of_them_each_under_a_name_of_its_own() -> None:
    contracts = list(hostile_contracts())
    assert len({hostile.name for hostile in contracts}) == len(contracts) > 180
    assert {hostile.kind for hostile in contracts} == {
        "json_schema", "regex", "lark", "gbnf", "choice", "structural_tag", "tool_set",
    }  # fmt: skip


def test_a_contract_that_does_not_fit_a_body_is_refused_for_its_size() -> None:
    sizes = {hostile.name: len(contract_text(hostile)) for hostile in hostile_contracts() if LIMIT in hostile.verdicts}
    assert max(sizes.values()) > MAX_BODY_BYTES
