"""`schemagate contract diff`: what one contract allows or forbids that another does not."""

from enum import StrEnum
from typing import Annotated

import typer

from cli.contract.definition_file import Definition
from cli.contract.local_comparison import compare_here, refers_to_others
from cli.contract.options import Dialect, UnknownFormat, UnknownKeyword
from cli.contract.review import print_review
from cli.contract.sides import Registered, Side, read_side
from cli.contract.terms import Terms
from cli.remote.exits import Exit, ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json
from registry.contract import JsonValue


class Required(StrEnum):
    """What `--require` asks."""

    CONSUMER_SAFE = "consumer-safe"
    PRODUCER_SAFE = "producer-safe"
    BOTH = "both"


@ending
def diff_command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="invoice@prod, invoice@3, sha256:…, or a file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="As OLD. ./name is always a file.")],
    require: Annotated[
        Required | None, typer.Option("--require", help="End with 1 if this is not so, with 3 if it is not decided.")
    ] = None,
    dialect: Dialect = None,
    unknown_keyword: UnknownKeyword = None,
    unknown_format: UnknownFormat = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Review a change: what it allows or forbids, with examples. Two files are compared here, without a gateway."""
    sides = read_side(old), read_side(new)
    terms = Terms(dialect=dialect, unknown_keyword=unknown_keyword, unknown_format=unknown_format)
    comparison = _compare_here(sides, terms)
    if comparison is None:
        asked: dict[str, JsonValue] = {"old": _sent(sides[0], terms), "new": _sent(sides[1], terms)}
        comparison = connected(url, api_key).post("/v1/contracts/diff", asked)
    if as_json:
        print_json(comparison.value)
    else:
        print_review(comparison, old=old, new=new)
    code = Exit.FINE if require is None else _exit(comparison, require)
    if code is not Exit.FINE:
        raise typer.Exit(int(code))


def _compare_here(sides: tuple[Side, Side], terms: Terms) -> Members | None:
    """The comparison of two files that stand for themselves; None where the registry has to be asked."""
    old, new = sides
    if not isinstance(old, Definition) or not isinstance(new, Definition):
        return None
    if refers_to_others(old) or refers_to_others(new):
        return None
    return compare_here(old, new, terms)


def _sent(side: Side, terms: Terms) -> JsonValue:
    match side:
        case Registered():
            return side.reference
        case Definition():
            return {
                "kind": side.kind.value,
                "definition": side.value,
                **terms.for_kind(side.kind).reading_members(),
            }


def _exit(comparison: Members, require: Required) -> Exit:
    names = {
        Required.CONSUMER_SAFE: ("consumer_safe",),
        Required.PRODUCER_SAFE: ("producer_safe",),
        Required.BOTH: ("consumer_safe", "producer_safe"),
    }[require]
    verdicts = {comparison.member(name).text("verdict") for name in names}
    if "unsafe" in verdicts:
        return Exit.NO
    return Exit.FINE if verdicts == {"safe"} else Exit.UNDECIDED
