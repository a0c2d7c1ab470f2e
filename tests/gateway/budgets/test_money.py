"""What has no price is not served where money is limited; what has one is told to the last digit."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from structlog.testing import capture_logs

from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.budgets.answers import duration
from gateway.budgets.desk import RequestDemand
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.settings import BudgetSettings
from policy.prices import Consumption, ModelPrice, Quote
from tests.gateway.twins import MODEL, NodeTwin, chat, gateway_with, says, strict

CHAT = "/v1/chat/completions"
BUDGETS = f"/v1/admin/tenants/{BOOTSTRAP_TENANT}/budgets"
PRICES = {
    "compile_cpu_second": "0.5",
    "models": {MODEL: {"input_per_million": "1.25", "output_per_million": 10}},
}


def priced(**prices: Any) -> BudgetSettings:
    return BudgetSettings.model_validate({"prices": prices or PRICES})


def objects() -> NodeTwin:
    return NodeTwin(script=lambda _: says('"', "a", '"'))


async def test_an_answer_says_what_each_part_of_it_cost(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=objects(), budgets=priced()) as world:
        with capture_logs() as lines:
            cold = await world.client.post(CHAT, json=strict({"type": "string"}))
            warm = await world.client.post(CHAT, json=strict({"type": "string"}, stream=True))
        metrics = (await world.client.get("/metrics")).text
    # 5 tokens at 1.25 and 3 at 10 for a million, 6 ms of compiling at half a dollar a second.
    assert cold.json()["schemagate"]["cost"] == {
        "currency": "USD",
        "prefill": "0.00000625",
        "decode": "0.00003",
        "compile": "0.003",
        "retry": "0",
        "total": "0.00303625",
    }
    assert '"compile":"0"' in warm.text
    assert '"total":"0.00003625"' in warm.text
    audit = [line for line in lines if line["event"] == "request"]
    assert audit[0]["cost"]["total"] == "0.00303625"
    assert 'schemagate_gateway_cost_micro_usd_total{part="compile"} 3000.0' in metrics
    assert 'schemagate_gateway_cost_micro_usd_total{part="prefill"} 12.5' in metrics
    assert "schemagate_gateway_accepted_objects_total 2.0" in metrics


async def test_an_answer_that_is_not_complete_costs_and_is_no_accepted_object(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("1", end="dead_end", accepting=False))
    async with gateway_with(tmp_path, node=node, budgets=priced()) as world:
        failed = await world.client.post(CHAT, json=strict({"type": "string"}))
        metrics = (await world.client.get("/metrics")).text
    assert failed.status_code == 422
    assert failed.json()["schemagate"]["cost"]["decode"] == "0.00001"
    assert 'schemagate_gateway_cost_micro_usd_total{part="decode"} 10.0' in metrics
    assert "schemagate_gateway_accepted_objects_total 0.0" in metrics


async def test_without_a_price_the_cost_is_null(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=objects()) as world:
        answer = await world.client.post(CHAT, json=strict({"type": "string"}))
    assert answer.json()["schemagate"]["cost"] is None


@pytest.mark.parametrize(
    ("prices", "param"),
    [
        ({"models": {"another": {"input_per_million": 1, "output_per_million": 1}}, "compile_cpu_second": 0}, "model"),
        ({"models": PRICES["models"]}, None),
    ],
    ids=["of the model", "of compiling"],
)
async def test_where_money_is_limited_an_unknown_price_is_a_denial(
    tmp_path: Path, prices: dict[str, Any], param: str | None
) -> None:
    node = objects()
    async with gateway_with(tmp_path, node=node, budgets=priced(**prices)) as world:
        await world.client.put(BUDGETS, json={"windows": [{"period": "month", "max_usd": 1000}]})
        denied = await world.client.post(CHAT, json=strict({"type": "string"}))
        still = await world.client.get("/v1/usage")
    error = denied.json()["error"]
    assert (denied.status_code, error["code"], error["param"]) == (403, "price_unknown", param)
    assert denied.headers["x-should-retry"] == "false"
    assert node.requests == []
    assert still.status_code == 200


async def test_money_that_is_used_up_is_told_in_dollars_and_not_to_be_tried_again(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("a", "b", "c", end="end_of_sequence", accepting=None))
    ledger = MemoryBudgetLedger()
    async with gateway_with(tmp_path, node=node, ledger=ledger, budgets=priced()) as world:
        # 34 tokens of prompt and 5 of answer at most, and nothing to compile.
        await world.client.put(BUDGETS, json={"windows": [{"seconds": 60, "max_usd": "0.0001"}]})
        first = await world.client.post(CHAT, json=chat(max_tokens=5))
        second = await world.client.post(CHAT, json=chat(max_tokens=5))
    error = second.json()["error"]
    assert first.status_code == 200
    assert (second.status_code, error["code"], error["limit_name"]) == (429, "insufficient_quota", "money")
    assert (error["limit"], error["observed"]) == ("0.0001", "0.00012875")
    assert second.headers["x-should-retry"] == "false"
    assert "retry-after" not in second.headers
    assert ledger.spent_of(BOOTSTRAP_TENANT).nano_usd == 36_250


@pytest.mark.parametrize(
    "prices",
    [
        {"models": {"m": {"input_per_million": 1}}},
        {"models": {"m": {"input_per_million": -1, "output_per_million": 1}}},
        {"models": {"m": {"input_per_million": 0.1, "output_per_million": 1}}},
        {"models": {"m": {"input_per_million": "1e2", "output_per_million": 1}}},
        {"currency": "EUR"},
        {"model": {}},
    ],
)
def test_a_table_that_cannot_be_meant_stops_the_start(prices: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BudgetSettings.model_validate({"prices": prices})


def test_prices_are_read_from_a_file_exactly(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"models": {"m": {"input_per_million": 0.1, "output_per_million": "0.30"}}}')
    price = BudgetSettings.model_validate({"prices": str(file)}).prices.models["m"]
    assert (price.input_per_million, price.output_per_million) == (Decimal("0.1"), Decimal("0.30"))


_COUNTS = st.integers(0, 40)


@given(_COUNTS, _COUNTS, st.integers(1, 30), st.integers(1, 3), st.data())
def test_no_request_within_its_demand_costs_more_than_is_reserved(
    prompt: int, completion: int, context: int, attempts: int, data: st.DataObject
) -> None:
    demand = RequestDemand(
        model="m", prompt_tokens=prompt, completion_tokens=completion, context_tokens=context, num_attempts=attempts
    )
    price = ModelPrice(input_per_million=Decimal(3), cached_input_per_million=Decimal(1), output_per_million=Decimal(2))
    quote = Quote(model=price, compile_cpu_second=None)
    first_prompt = data.draw(st.integers(0, min(prompt, context)))
    first_answer = data.draw(st.integers(0, min(completion, context - first_prompt)))
    again = [
        (tokens, data.draw(st.integers(0, min(completion, context - tokens))))
        for tokens in data.draw(st.lists(st.integers(0, context), max_size=attempts - 1))
    ]
    used = Consumption(
        prompt_tokens=first_prompt + sum(tokens for tokens, _ in again),
        completion_tokens=first_answer + sum(tokens for _, tokens in again),
        retry_prompt_tokens=sum(tokens for tokens, _ in again),
        retry_completion_tokens=sum(tokens for _, tokens in again),
    )
    cost, most = quote.cost(used), demand.cost(quote)
    assert cost is not None
    assert most is not None
    assert cost.total <= most.total
    assert used.prompt_tokens + used.completion_tokens <= demand.tokens


@pytest.mark.parametrize(
    ("milliseconds", "spelled"),
    [
        (0, "0s"),
        (1, "1ms"),
        (999, "999ms"),
        (1_000, "1s"),
        (59_001, "1m0s"),
        (3_600_000, "1h0m0s"),
        (90_061_000, "25h1m1s"),
    ],
)
def test_durations_are_spelled_as_clients_read_them(milliseconds: int, spelled: str) -> None:
    assert duration(milliseconds) == spelled
