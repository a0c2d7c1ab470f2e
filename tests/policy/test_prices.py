from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from policy.prices import Consumption, ModelPrice, PriceTable, Quote, nano_usd, spelled, usd_of

SMALL = ModelPrice(
    input_per_million=Decimal("0.15"), cached_input_per_million=Decimal("0.075"), output_per_million=Decimal("0.6")
)
TABLE = PriceTable(models={"small": SMALL}, compile_cpu_second=Decimal("0.00002"))


def test_every_part_has_its_price_and_the_total_is_their_sum() -> None:
    cost = TABLE.quote("small").cost(
        Consumption(
            prompt_tokens=1_000,
            cached_prompt_tokens=400,
            completion_tokens=50,
            compile_cpu_us=6_000,
            retry_prompt_tokens=300,
            retry_completion_tokens=20,
        )
    )
    assert cost is not None
    assert cost.members() == {
        "currency": "USD",
        "prefill": "0.000075",  # 300 at 0.15 and 400 at 0.075
        "decode": "0.000018",
        "compile": "0.00000012",
        "retry": "0.000057",
        "total": "0.00015012",
    }


def test_what_has_no_price_is_not_free() -> None:
    assert TABLE.quote("large").cost(Consumption(prompt_tokens=1)) is None
    assert PriceTable(models={"small": SMALL}).quote("small").cost(Consumption(compile_cpu_us=1)) is None
    assert PriceTable().quote(None).cost(Consumption()) is not None


def test_money_is_counted_in_billionths_and_rounded_up() -> None:
    assert nano_usd(Decimal("0.0000000001")) == 1
    assert nano_usd(Decimal("1.000000001")) == 1_000_000_001
    assert usd_of(1_000_000_001) == Decimal("1.000000001")
    assert [spelled(Decimal(text)) for text in ("1E+3", "0.100", "0E-9", "12")] == ["1000", "0.1", "0", "12"]


_PRICES = st.decimals(0, 100, places=3)


@given(
    st.builds(ModelPrice, input_per_million=_PRICES, cached_input_per_million=_PRICES, output_per_million=_PRICES),
    st.integers(1, 50), st.integers(0, 60), st.integers(0, 60), st.data(),
)  # fmt: skip
def test_no_sequence_within_its_bounds_costs_more_than_the_upper_bound(
    price: ModelPrice, context: int, most_prompt: int, most_completion: int, data: st.DataObject
) -> None:
    quote = Quote(model=price, compile_cpu_second=Decimal(1))
    bound = quote.upper_bound(
        prompt_tokens=most_prompt, completion_tokens=most_completion, context_tokens=context, compile_cpu_us=9
    )
    prompt = data.draw(st.integers(0, min(context, most_prompt)))
    completion = data.draw(st.integers(0, min(context - prompt, most_completion)))
    cost = quote.cost(Consumption(prompt_tokens=prompt, completion_tokens=completion, compile_cpu_us=9))
    assert cost is not None
    assert bound is not None
    assert cost.total <= bound.total
