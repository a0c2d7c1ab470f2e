"""Exceptions of the compiler pool.

    CompilerPoolError
    ├── WorkerStartError       a worker would not start
    ├── TokenizerError         files that do not make a tokenizer whose bytes are known
    ├── FrameError             an artifact frame that is not ours, or no longer whole
    ├── RedisUrlError          a URL that does not say how to reach a Redis
    ├── UnknownTokenizerError  a tokenizer that no worker holds
    ├── DigestMismatchError    a contract that does not have the digest it was sent under
    └── PoolUnavailableError   the pool's service cannot be reached, or answered nonsense

What a contract did (refused, timed out, crashed its worker) is never an exception: it is an outcome.
"""


class CompilerPoolError(Exception):
    """Anything below."""


class WorkerStartError(CompilerPoolError):
    """`entry` did not become ready."""

    def __init__(self, reason: str, *, entry: str) -> None:
        self.reason, self.entry = reason, entry
        super().__init__(f"worker {entry}: {reason}")


class TokenizerError(CompilerPoolError):
    """The tokenizer at `path` cannot be used, because `reason`."""

    def __init__(self, reason: str, *, path: str) -> None:
        self.reason, self.path = reason, path
        super().__init__(f"tokenizer {path}: {reason}")


class FrameError(CompilerPoolError):
    """The bytes are not an artifact that one of our keys signed."""


class RedisUrlError(CompilerPoolError):
    """The URL is none, or asks for what the client does not know. Never repeats it: it may hold a password."""


class UnknownTokenizerError(CompilerPoolError):
    """No worker holds the tokenizer with this digest."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"no tokenizer here has digest {digest[:80]}")


class DigestMismatchError(CompilerPoolError):
    """The canonical text does not have the digest it was sent under."""

    def __init__(self, *, claimed: str, actual: str) -> None:
        self.claimed, self.actual = claimed, actual
        super().__init__(f"canonical_text has digest {actual}, not {claimed[:80]}")


class PoolUnavailableError(CompilerPoolError):
    """No answer, or none that can be believed."""
