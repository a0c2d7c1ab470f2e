"""Options of the commands about tenants and keys."""

from dataclasses import dataclass
from typing import Annotated

import typer

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="SCHEMAGATE_GATEWAY_DATABASE_URL",
        help="The gateway's database, as SQLAlchemy spells it; without one, that of `schemagate up`.",
    ),
]
PepperText = Annotated[
    str | None,
    typer.Option(
        envvar="SCHEMAGATE_GATEWAY_KEY_PEPPER",
        help="The gateway's key pepper; without one, that of `schemagate up`. Prefer the environment: a command line "
        "is visible to other users.",
    ),
]
# No variable names it: a variable that is set for other commands must not turn these to another place.
AdminUrl = Annotated[
    str | None, typer.Option("--url", help="Ask the admin API of this gateway instead of opening a database.")
]
AdminKey = Annotated[
    str,
    typer.Option(
        "--api-key", envvar="SCHEMAGATE_API_KEY", help="An operator's key, for --url. Prefer the environment."
    ),
]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Whose key it is; needed with --url.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the work is done, as the options say."""

    database_url: str | None = None
    pepper: str | None = None
    url: str | None = None
    api_key: str = ""
