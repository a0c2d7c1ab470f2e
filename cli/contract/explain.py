"""`schemagate contract explain`: would it be enforced, where, and at what cost? Nothing is generated."""

from decimal import Decimal
from typing import Annotated

import typer

from cli.contract.definition_file import Definition
from cli.contract.sides import Registered, read_side
from cli.remote.exits import ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table
from registry.contract import JsonValue
from registry.text import canonical_number

_STYLES = {"enforced": "green", "checked_after": "yellow", "annotation": "dim", "rejected": "red"}


@ending
def explain_command(
    what: Annotated[str, typer.Argument(metavar="REF|FILE", help="invoice@prod, sha256:…, or a file.")],
    model: Annotated[str, typer.Option("--model", help="Whose tokenizer; without one, the first that is served.")] = "",
    strict: Annotated[
        bool,
        typer.Option("--strict/--allow-checked-after", help="Of a file; a revision has the policy it came with."),
    ] = True,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Report what becomes of every keyword, what the contract uses of each limit, and what compiling it costs."""
    body: dict[str, JsonValue] = {} if not model else {"model": model}
    match read_side(what):
        case Registered(reference=reference):
            body["contract"] = reference
        case Definition() as definition:
            body["contract"] = {"kind": definition.kind.value, "schema": definition.value}
            body["strict"] = strict
    answer = connected(url, api_key).post("/v1/contracts/explain", body)
    if as_json:
        print_json(answer.value)
    else:
        _print(answer, what)


def _print(answer: Members, what: str) -> None:
    summary = answer.member("summary")
    counts = {name: summary.number(name) for name in ("enforced", "checked_after", "annotation")}
    say(f"{what}: {', '.join(f'{count} {name}' for name, count in counts.items())}", style="bold")
    say(f"  digest     {answer.text('digest')}")
    say(f"  tokenizer  {answer.text('model')}, {answer.text('tokenizer_digest')}")
    say(f"  artifact   {answer.text('artifact_key')} ({answer.text('cache')})")
    for text in answer.texts("transformations"):
        say(f"  translated {text}")
    say()
    report = answer.each("report")
    table(
        ("KEYWORD", "STATUS", "AT"),
        [(entry.text("keyword"), entry.text("status"), entry.text("pointer")) for entry in report],
        styles=[_STYLES.get(entry.text("status"), "") for entry in report],
    )
    say()
    for line in _text_lines(answer.member("text")):
        say(line)
    used = [limit for limit in answer.each("limits") if limit.value.get("observed")]
    table(
        (f"LIMIT ({answer.text('limit_class')})", "USED", "OF"),
        [(limit.text("name"), _number(limit, "observed"), _number(limit, "limit")) for limit in used],
    )
    say()
    cost = answer.member("cost")
    names = {"cpu_ms": "CPU time", "compile_ms": "compiling", "trial_ms": "trial", "first_mask_ms": "first mask"}
    shown = ", ".join(f"{words} {_rounded(cost, name)} ms" for name, words in names.items())
    say(f"cost: {shown}; worst mask {_rounded(cost, 'worst_mask_us')} µs")


def _text_lines(text: Members) -> list[str]:
    """How generated text is laid out, and where it is held to a bound that the contract does not set."""
    layout = "without white space" if text.text("whitespace") == "none" else text.text("whitespace")
    names = ("max_digits", "max_string_length", "max_items", "max_depth", "max_undeclared")
    bounds = [f"{name} {_number(text, name)}" for name in names if text.value.get(name) is not None]
    lines = [f"text: {', '.join([layout, *bounds])}"]
    lines += [
        f"  held to {place.text('limit_name')} {_number(place, 'limit')} at {place.text('pointer') or 'the root'}"
        for place in text.each("bounded")
    ]
    return [*lines, ""]


def _number(members: Members, name: str) -> str:
    found = members.value.get(name)
    return canonical_number(found) if isinstance(found, int | Decimal) else "-"


def _rounded(members: Members, name: str) -> str:
    found = members.value.get(name)
    return f"{found:.1f}" if isinstance(found, int | Decimal) else "-"
