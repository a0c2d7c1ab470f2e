"""What the second tier of the cache is asked to do, and why it may not answer: the words of its metrics."""

from enum import StrEnum


class Operation(StrEnum):
    """One command each."""

    GET = "get"
    PUT = "put"
    KEEP = "keep"
    DROP = "drop"
    TAKE = "take"
    RENEW = "renew"
    RELEASE = "release"


class Silence(StrEnum):
    """Why there is no answer."""

    OPEN = "open"
    """Not asked: it failed a moment ago."""
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    REFUSED = "refused"
    """It answered with an error: out of memory, read-only, no permission."""
    WRONG_TYPE = "wrong_type"
    """The name holds something that is not ours; says nothing of the server."""
