"""A contract that a command line names: registered, or in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cli.contract.definition_file import Definition, read_definition, stem_and_kind
from registry.naming import read_reference
from registry.serving import reference_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A reference, with its alias spelled out."""

    reference: str


Side: TypeAlias = Definition | Registered


def read_side(text: str) -> Side:
    """A reference where the text can be nothing else, then a file that is there, then a reference again."""
    path = Path(text)
    reference = read_reference(text)
    if reference is not None and ("@" in text or text.startswith("sha256:")):
        return Registered(reference=reference_text(reference))
    try:
        is_there = path.exists()
    except (OSError, ValueError):
        is_there = False
    if is_there or reference is None or stem_and_kind(text) is not None:
        # A name that ends like a file's and is none would only be looked up as a contract by mistake.
        return read_definition(path)
    return Registered(reference=reference_text(reference))
