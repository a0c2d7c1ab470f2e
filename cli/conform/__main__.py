"""`python -m cli.conform`: the same as `schemagate conform`."""

import typer

from cli.conform.command import conform_command

if __name__ == "__main__":
    typer.run(conform_command)
