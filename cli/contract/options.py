"""Options that several commands have which take a contract's text."""

from typing import Annotated

import typer

from cli.contract.terms import Terms, read_level
from policy.enforcement import Unknown
from registry.contract import ContractKind
from registry.revision import ContractClass, Visibility

Kind = Annotated[ContractKind | None, typer.Option("--kind", help="Of a file whose name does not say it.")]
Dialect = Annotated[str | None, typer.Option("--dialect", help="Of a JSON Schema that does not say it.")]
Team = Annotated[str | None, typer.Option("--team", help="Owns the contract; said with its first revision.")]
VisibilityOption = Annotated[
    Visibility | None, typer.Option("--visibility", help="shared: every tenant may use it. First revision only.")
]
ClassOption = Annotated[
    ContractClass | None, typer.Option("--class", help="governed: larger limits, always two persons.")
]
Level = Annotated[
    str | None, typer.Option("--compatibility", help="What every revision must keep: Confluent's names or plain words.")
]
Description = Annotated[str | None, typer.Option("--description", help="What the contract is for.")]
CheckedAfter = Annotated[
    bool | None,
    typer.Option(
        "--allow-checked-after/--strict", help="Whether a keyword may be left to the validator.", show_default=False
    ),
]
UnknownKeyword = Annotated[
    Unknown | None, typer.Option("--unknown-keyword", help="What a keyword outside the specification is.")
]
UnknownFormat = Annotated[
    Unknown | None, typer.Option("--unknown-format", help="What a format outside the specification is.")
]


def read_terms(
    *,
    kind: ContractKind | None,
    dialect: str | None,
    allow_checked_after: bool | None,
    unknown_keyword: Unknown | None,
    unknown_format: Unknown | None,
    team: str | None = None,
    visibility: Visibility | None = None,
    contract_class: ContractClass | None = None,
    compatibility: str | None = None,
    description: str | None = None,
    message: str | None = None,
) -> Terms:
    """What the options say. Raises `CommandError`."""
    return Terms(
        kind=kind,
        dialect=dialect,
        team=team,
        visibility=visibility,
        contract_class=contract_class,
        compatibility=None if compatibility is None else read_level(compatibility, place="--compatibility"),
        description=description,
        message=message,
        allow_checked_after=allow_checked_after,
        unknown_keyword=unknown_keyword,
        unknown_format=unknown_format,
    )
