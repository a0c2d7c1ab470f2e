"""Values of policy on the wire, and back."""

from compiler_pool.protocol import BoundedPlaceWire, PolicyWire, TextBoundsWire, TextReportWire
from policy.enforcement import EnforcementPolicy, Unknown
from policy.text_bounds import BoundedPlace, TextBounds, TextReport


def policy_of(wire: PolicyWire) -> EnforcementPolicy:
    """The policy that a request named."""
    return EnforcementPolicy(
        allow_checked_after=wire.allow_checked_after,
        unknown_keyword=Unknown(wire.unknown_keyword),
        unknown_format=Unknown(wire.unknown_format),
        bounds=_bounds_of(wire.bounds),
    )


def policy_wire(policy: EnforcementPolicy) -> PolicyWire:
    """A policy as a request names it."""
    return PolicyWire(
        allow_checked_after=policy.allow_checked_after,
        unknown_keyword="reject" if policy.unknown_keyword is Unknown.REJECT else "annotation",
        unknown_format="reject" if policy.unknown_format is Unknown.REJECT else "annotation",
        bounds=_bounds_wire(policy.bounds),
    )


def text_of(wire: TextReportWire) -> TextReport:
    """What a pool said about a contract's text."""
    return TextReport(
        whitespace=wire.whitespace,
        bounds=_bounds_of(wire.bounds),
        bounded=tuple(
            BoundedPlace(pointer=place.pointer, limit_name=place.limit_name, limit=place.limit)
            for place in wire.bounded
        ),
    )


def text_wire(text: TextReport) -> TextReportWire:
    """What is said about a contract's text."""
    return TextReportWire(
        whitespace="none",
        bounds=_bounds_wire(text.bounds),
        bounded=[
            BoundedPlaceWire(pointer=place.pointer, limit_name=place.limit_name, limit=place.limit)
            for place in text.bounded
        ],
    )


def _bounds_of(wire: TextBoundsWire) -> TextBounds:
    return TextBounds(**wire.model_dump())


def _bounds_wire(bounds: TextBounds) -> TextBoundsWire:
    return TextBoundsWire(**dict(bounds.named()))
