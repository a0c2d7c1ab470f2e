"""Options that every command has which asks a gateway."""

from typing import Annotated

import typer

from cli.remote.exits import at_end
from cli.remote.gateway import Gateway

DEFAULT_URL = "http://127.0.0.1:8080"

Url = Annotated[str, typer.Option("--url", envvar="SCHEMAGATE_URL", help="Where the gateway listens.")]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="SCHEMAGATE_API_KEY",
        show_envvar=True,
        help="Prefer the environment: a command line is visible to other users.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON value on stdout instead of text.")]
Reason = Annotated[str, typer.Option("--reason", help="Kept in the audit.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")]


def connected(url: str, api_key: str) -> Gateway:
    """The gateway that the options name; its connections are closed with the command. Raises `CommandError`."""
    gateway = Gateway(url, api_key)
    at_end(gateway.close)
    return gateway
