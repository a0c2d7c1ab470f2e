"""`schemagate policy`: a tenant's rules for its own registry."""

from typing import Annotated, Final

import typer

from cli.contract.change import UNSET
from cli.contract.terms import read_level
from cli.contract.wording import level_words
from cli.remote.exits import CommandError, Exit, ending
from cli.remote.members import Members
from cli.remote.options import DEFAULT_URL, ApiKey, AsJson, Url, connected
from cli.remote.printing import print_json, say, table
from policy.governance import PromotionSafety
from registry.contract import JsonValue

app = typer.Typer(no_args_is_help=True, help="Rules for registering and promoting contracts.")

_RULES: Final = (
    "require_signature",
    "two_person_promotion",
    "promotion_safety",
    "compatibility",
    "allow_governed",
    "protected_aliases",
)


@app.command("show")
@ending
def show(url: Url = DEFAULT_URL, api_key: ApiKey = "", as_json: AsJson = False) -> None:
    """Show the rules in force."""
    _print(connected(url, api_key).get("/v1/policy"), as_json=as_json)


@app.command("set")
@ending
def set_rules(
    require_signature: Annotated[
        bool | None,
        typer.Option(
            "--require-signature/--no-require-signature", help="Protected aliases name signed revisions only."
        ),
    ] = None,
    two_person: Annotated[
        bool | None, typer.Option("--two-person/--no-two-person", help="They move only with an approver.")
    ] = None,
    promotion_safety: Annotated[
        PromotionSafety | None, typer.Option("--promotion-safety", help="What has to be proved before they move.")
    ] = None,
    compatibility: Annotated[
        str | None, typer.Option("--compatibility", help="The level of contracts without their own, or `unset`.")
    ] = None,
    allow_governed: Annotated[
        bool | None, typer.Option("--allow-governed/--no-allow-governed", help="Whether contracts may be governed.")
    ] = None,
    protect: Annotated[list[str] | None, typer.Option("--protect", help="An alias that the rules hold for.")] = None,
    unprotect: Annotated[list[str] | None, typer.Option("--unprotect", help="One for which they do not.")] = None,
    if_version: Annotated[int | None, typer.Option("--if-version", min=0, help="Only if it is this version.")] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
    as_json: AsJson = False,
) -> None:
    """Change the rules that are said; the others stay. Takes an operator."""
    said: dict[str, JsonValue] = {}
    if require_signature is not None:
        said["require_signature"] = require_signature
    if two_person is not None:
        said["two_person_promotion"] = two_person
    if promotion_safety is not None:
        said["promotion_safety"] = promotion_safety.value
    if compatibility is not None:
        is_unset = compatibility == UNSET
        said["compatibility"] = None if is_unset else read_level(compatibility, place="--compatibility").value
    if allow_governed is not None:
        said["allow_governed"] = allow_governed
    if not said and not protect and not unprotect:
        raise CommandError("say what is to change", exit_code=Exit.USAGE, code="nothing_to_change")
    gateway = connected(url, api_key)
    present = gateway.get("/v1/policy")
    aliases = (set(present.texts("protected_aliases")) | set(protect or ())) - set(unprotect or ())
    held = {name: present.value.get(name) for name in _RULES}
    body: dict[str, JsonValue] = {**held, **said, "protected_aliases": [*sorted(aliases)]}
    # What was not said is sent back as it was read; the version keeps it from undoing somebody else's change.
    version = present.number("version") if if_version is None else if_version
    _print(gateway.write("PUT", "/v1/policy", body, version=version).members, as_json=as_json)


def _print(policy: Members, *, as_json: bool) -> None:
    if as_json:
        print_json(policy.value)
        return
    held = {**policy.value, "compatibility": level_words(policy.optional_text("compatibility"))}
    rows = [(name.replace("_", " "), _words(held.get(name))) for name in _RULES]
    table(("RULE", "NOW"), rows)
    version, changed_by = policy.number("version"), policy.optional_text("changed_by")
    say()
    say("the default" if version == 0 else f"version {version}, set by {changed_by}")


def _words(value: JsonValue) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or "-"
        case _:
            return str(value)
