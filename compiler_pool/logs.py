"""Log lines of every service: one JSON object a line on stderr, times in UTC."""

import logging
import sys

import structlog


def configure_logging() -> None:
    """Once a process; the standard library's loggers come out in the same shape."""
    stamped: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*stamped, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
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
