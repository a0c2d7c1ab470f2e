"""`python -m registry.store.migrate URL`: bring a database up to this version, and do nothing else."""

import asyncio
import sys

from registry.errors import StoreUnavailableError
from registry.store.database import Database


async def _migrate(url: str) -> None:
    database = await Database.open(url)
    await database.close()


def main(arguments: list[str]) -> int:
    """0 when the database is at this version; 1, and why on the error stream, if it is not; 2 for a wrong call."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m registry.store.migrate URL\n")
        return 2
    try:
        asyncio.run(_migrate(arguments[0]))
    except StoreUnavailableError as error:
        reason = f": {error.__cause__}" if error.__cause__ is not None else ""
        sys.stderr.write(f"{error}{reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
