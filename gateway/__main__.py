"""`python -m gateway`: the gateway on its own, settings from the environment."""

import sys

import uvicorn
from pydantic import ValidationError

from gateway.app import create_app
from gateway.logs import configure_logging
from gateway.settings import GatewaySettings


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    configure_logging()
    try:
        settings = GatewaySettings()
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            name = "SCHEMAGATE_GATEWAY_" + "_".join(str(part) for part in fault["loc"]).upper()
            print(f"{name}: {fault['msg']}", file=sys.stderr)
        return 2
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    uvicorn.Server(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
