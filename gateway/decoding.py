"""What decoding was like, as answers tell it."""

from collections.abc import Sequence

from gateway.outcome import Outcome
from gateway.protocol import DecodingMember, SpreadMember
from inference_node.protocol import Spread


def decoding_member(outcome: Outcome) -> DecodingMember | None:
    """A node's report of one choice. Numbers are rounded to what their measurement is good for."""
    report = outcome.decoding
    if report is None:
        return None
    return DecodingMember(
        picks=report.num_steps,
        forced_tokens=outcome.usage.forced_tokens,
        cached_prompt_tokens=cached_prompt_tokens([outcome]),
        drafted_tokens=report.drafted_tokens,
        accepted_draft_tokens=report.accepted_draft_tokens,
        preemptions=report.num_preemptions,
        mask_ms=_spread(report.mask_seconds, scale=1e3),
        allowed_tokens=_spread(report.allowed_tokens),
        pressure=_spread(report.pressure),
        pressure_by_field={pointer: round(pressure, 4) for pointer, pressure in report.pressure_by_field.items()},
    )


def cached_prompt_tokens(outcomes: Sequence[Outcome]) -> int:
    """Of the one prompt, those that did not have to be computed for any choice: where the first one computes it, the
    others find it."""
    reports = [(0 if each.decoding is None else each.decoding.cached_prompt_tokens, each.usage) for each in outcomes]
    return min(min(cached, usage.prompt_tokens) for cached, usage in reports)


def draft_tokens(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Drafts that were taken, and those that were not, of all choices."""
    reports = [each.decoding for each in outcomes if each.decoding is not None]
    accepted = sum(report.accepted_draft_tokens for report in reports)
    return accepted, max(0, sum(report.drafted_tokens for report in reports) - accepted)


def _spread(spread: Spread | None, *, scale: float = 1.0) -> SpreadMember | None:
    if spread is None:
        return None
    p50, p95, largest = (round(value * scale, 4) for value in (spread.p50, spread.p95, spread.max))
    return SpreadMember(p50=p50, p95=p95, max=largest)
