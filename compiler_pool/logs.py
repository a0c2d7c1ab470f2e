"""Log lines of every service: one JSON object a line on stderr, times in UTC."""

import json
import logging
import sys
from contextlib import suppress

import structlog


class _Line:
    """Where one of our loggers ends: a line on stderr. `add_logger_name` reads its name."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def msg(self, line: str) -> None:
        """Write it, whole: two threads' lines never mix. Nobody fails because nobody reads what it says."""
        with suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = exception = fatal = msg


_ENCODER = json.JSONEncoder(default=repr)
"""Made once: the library's renderer makes one for each line."""


def _rendered(_logger: object, _method: str, event: structlog.typing.EventDict) -> str:
    return _ENCODER.encode(event)


def configure_logging() -> None:
    """Once a process; the standard library's loggers come out in the same shape."""
    stamped: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    # Our own lines do not pass through the standard library, which costs more than all the rest of a line: a request
    # writes one.
    structlog.configure(
        processors=[*stamped, _rendered],
        logger_factory=_Line,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    rendered: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.JSONRenderer(),
    ]
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=stamped, processors=rendered))
    logging.basicConfig(handlers=[lines], level=logging.INFO, force=True)
    for noisy in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
