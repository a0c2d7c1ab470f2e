"""How what an installation, a tenant and a family of contracts say about serving becomes one policy.

What a level says binds every level below it: those may only tighten it. What it leaves unsaid, a level below decides;
what none says is the default of `policy.serving`. A family is `name`, or `prefix.*` for all names below a prefix.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from policy.serving import Downgrade, Floor, HostedTools, RunningTwin, ServingPolicy, StreamMode

_STRICTEST_FIRST: Final = (
    (Floor.STRICT, Floor.CHECKED),
    (Downgrade.NONE, Downgrade.VALIDATE, Downgrade.REPAIR),
    (StreamMode.HOLD_BACK, StreamMode.PROVISIONAL),
    (HostedTools.REFUSE, HostedTools.IGNORE),
)
ANY_BELOW: Final = ".*"
"""How the name of a family ends that stands for all names below a prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidPolicy:
    """What one level says of the members of `ServingPolicy`; None: nothing."""

    floor: Floor | None = None
    models: frozenset[str] | None = None
    allow_tools: bool | None = None
    allow_streaming: bool | None = None
    allow_reasoning: bool | None = None
    max_thinking_tokens: int | None = None
    allow_refusal: bool | None = None
    allow_inline: bool | None = None
    downgrade: Downgrade | None = None
    max_repairs: int | None = None
    stream_mode: StreamMode | None = None
    hosted_tools: HostedTools | None = None
    running_twin: RunningTwin | None = None
    fail_open_webhooks: frozenset[str] | None = None


def effective(levels: Iterable[SaidPolicy]) -> ServingPolicy:
    """The policy that `levels` come to, the widest first: installation, tenant, families from wide to narrow."""
    said = SaidPolicy()
    for level in levels:
        said = _under(said, level)
    values = {each.name: getattr(said, each.name) for each in fields(SaidPolicy)}
    return replace(ServingPolicy(), **{name: value for name, value in values.items() if value is not None})


def _under(above: SaidPolicy, below: SaidPolicy) -> SaidPolicy:
    return SaidPolicy(
        **{each.name: _met(getattr(above, each.name), getattr(below, each.name)) for each in fields(SaidPolicy)}
    )


def _met(above: Any, below: Any) -> Any:
    """The stricter of two; of two that are equally strict (`RunningTwin`), the one that was said closer by."""
    if above is None or below is None:
        return above if below is None else below
    for order in _STRICTEST_FIRST:
        if above in order and below in order:
            return min(above, below, key=order.index)
    match above, below:
        case frozenset(), frozenset():
            return above & below
        case bool(), bool():
            return above and below
        case int(), int():
            return min(above, below)
        case _:
            return below


def families_of(name: str, *, owner: str | None = None) -> tuple[str, ...]:
    """The families that a contract is of, from wide to narrow.

    Another tenant's contract is of families under its owner's name only: nobody else's names choose a tenant's rules.
    """
    prefix = "" if owner is None else f"{owner}/"
    parts = name.split(".")
    wide = [".".join(parts[:end]) for end in range(1, len(parts))]
    return (*(f"{prefix}{each}{ANY_BELOW}" for each in wide), prefix + name)
