"""What a token and a second of compiling cost, and what a request comes to, in exact decimals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from types import MappingProxyType
from typing import Final

from policy.budget import NANO_USD

CURRENCY: Final = "USD"
PARTS: Final = ("prefill", "decode", "compile", "retry")
"""Of what a request costs."""
MAX_PRICE: Final = Decimal(1_000_000)
"""Dollars for a million tokens, or for a second of a processor; more is a slip of the keyboard."""
MAX_DECIMALS: Final = 9

_MILLION: Final = Decimal(1_000_000)
_EXACT: Final = Context(prec=60)
"""Prices have 16 digits at most and amounts as many: a product or a sum never rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Dollars for a million tokens of one model."""

    input_per_million: Decimal
    cached_input_per_million: Decimal
    output_per_million: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """What is known. A model that is not listed has no price, which is not the same as costing nothing."""

    models: Mapping[str, ModelPrice] = field(default_factory=lambda: MappingProxyType({}))
    compile_cpu_second: Decimal | None = None

    def quote(self, model: str | None) -> "Quote":
        """The prices that hold for one request from here on, whatever the table says when it ends."""
        return Quote(
            model=None if model is None else self.models.get(model), compile_cpu_second=self.compile_cpu_second
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """What a request used, or may use. Every `retry_…` is a part of its total."""

    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    """A part of `prompt_tokens`."""
    completion_tokens: int = 0
    compile_cpu_us: int = 0
    retry_prompt_tokens: int = 0
    retry_completion_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Dollars by part; `retry` is what attempts after the first cost, and in no other part."""

    prefill: Decimal
    decode: Decimal
    compile: Decimal
    retry: Decimal

    @property
    def total(self) -> Decimal:
        """All parts."""
        with localcontext(_EXACT):
            return self.prefill + self.decode + self.compile + self.retry

    def parts(self) -> Mapping[str, Decimal]:
        """By name."""
        return dict(zip(PARTS, (self.prefill, self.decode, self.compile, self.retry), strict=True))

    def members(self) -> dict[str, str]:
        """As answers show it."""
        named = {name: spelled(part) for name, part in self.parts().items()}
        return {"currency": CURRENCY, **named, "total": spelled(self.total)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The prices of one request; None where one is not known."""

    model: ModelPrice | None
    compile_cpu_second: Decimal | None

    def cost(self, used: Consumption) -> Cost | None:
        """What `used` comes to; None where something was used whose price is not known."""
        if (used.prompt_tokens or used.completion_tokens) and self.model is None:
            return None
        if used.compile_cpu_us and self.compile_cpu_second is None:
            return None
        zero = Decimal(0)
        model = self.model or ModelPrice(input_per_million=zero, cached_input_per_million=zero, output_per_million=zero)
        with localcontext(_EXACT):
            first_prompt = max(0, used.prompt_tokens - used.retry_prompt_tokens)
            cached = min(used.cached_prompt_tokens, first_prompt)
            retry_prompt = used.prompt_tokens - first_prompt
            prefill = (first_prompt - cached) * model.input_per_million + cached * model.cached_input_per_million
            decode = max(0, used.completion_tokens - used.retry_completion_tokens) * model.output_per_million
            retry = (
                retry_prompt * model.input_per_million
                + min(used.retry_completion_tokens, used.completion_tokens) * model.output_per_million
            )
            compiling = used.compile_cpu_us * (self.compile_cpu_second or zero)
            return Cost(
                prefill=prefill / _MILLION,
                decode=decode / _MILLION,
                compile=compiling / _MILLION,
                retry=retry / _MILLION,
            )

    def upper_bound(
        self, *, prompt_tokens: int, completion_tokens: int, context_tokens: int, compile_cpu_us: int
    ) -> Cost | None:
        """The most that one sequence can cost whose prompt and completion are no longer than that, nor both together
        than the context; None where a price is not known."""
        model = self.model
        prompt, completion = min(prompt_tokens, context_tokens), min(completion_tokens, context_tokens)
        if model is not None and model.output_per_million >= model.input_per_million:
            prompt = min(prompt, context_tokens - completion)
        else:
            completion = min(completion, context_tokens - prompt)
        return self.cost(Consumption(prompt_tokens=prompt, completion_tokens=completion, compile_cpu_us=compile_cpu_us))


def nano_usd(amount: Decimal) -> int:
    """In billionths of a dollar, rounded up: what is counted is never less than what was spent."""
    with localcontext(_EXACT):
        return int((amount * NANO_USD).to_integral_value(rounding=ROUND_CEILING))


def usd_of(nano: int) -> Decimal:
    """In dollars, exactly."""
    with localcontext(_EXACT):
        return Decimal(nano) / NANO_USD


def spelled(amount: Decimal) -> str:
    """In digits, without an exponent and without zeros that say nothing."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
