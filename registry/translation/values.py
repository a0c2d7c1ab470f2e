"""Keywords about single values: exclusive bounds that are booleans, `integer`, `format`."""

from registry.dialects import DEFINED_FORMATS
from registry.keywords import KNOWN_FORMATS
from registry.shapes import is_number
from registry.translation.rewriting import Rewriting

_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def translate_bounds(rewriting: Rewriting) -> None:
    """Draft 04 and OpenAPI 3.0: a boolean says whether the bound beside it is exclusive."""
    if not rewriting.dialect.is_draft_04_in_numbers:
        return
    for exclusive, bound in _BOUNDS.items():
        if exclusive not in rewriting:
            continue
        value = rewriting.members[exclusive]
        if is_number(value):
            reason = f"`{exclusive}` is a boolean, a number there is draft 06"
            rewriting.refuse_foreign(exclusive, reason, f"write `{bound}` with `{exclusive}: true`")
        elif not isinstance(value, bool):
            rewriting.refuse_shape(exclusive, "a boolean")
        elif not value:
            rewriting.set_aside(exclusive, "false says nothing, left out")
        elif bound not in rewriting:
            rewriting.refuse_shape(exclusive, f"beside the `{bound}` that it speaks of")
        else:
            rewriting.absorb(exclusive, f"true with {bound} -> {exclusive}")
            rewriting.rename(bound, exclusive, rewriting.members[bound])


def note_integers(rewriting: Rewriting) -> None:
    """Draft 04 does not count `1.0` as an integer. Where integers are generated, they have no fraction."""
    named = rewriting.members.get("type")
    if rewriting.dialect.is_draft_04_in_numbers and "integer" in (named if isinstance(named, list) else [named]):
        rewriting.note("integer also means numbers like 1.0; they are generated without a fraction", "type")


def note_formats(rewriting: Rewriting) -> None:
    """A format that the dialect leaves to extensions is the one that 2020-12 defines."""
    name = rewriting.members.get("format")
    if isinstance(name, str) and name in KNOWN_FORMATS - DEFINED_FORMATS[rewriting.dialect]:
        rewriting.note(f"{name} is not defined there; it is the format of 2020-12", "format")
