"""The compiler pool as its callers see it."""

from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from compiler_pool.errors import PoolUnavailableError
from compiler_pool.protocol import (
    Busy,
    CompileAnswer,
    CompileOutcome,
    CompileRequest,
    PoolFault,
    PoolIdentity,
    UsesReport,
)

_GRACE_SECONDS = 1.0
"""Past a request's own deadline, for the answer to travel."""
_USES_SECONDS = 5.0
_MAX_ANSWER_BYTES = 64 * 1024 * 1024


class PoolClient:
    """Speaks to one pool over a client that its owner opens, bounds and closes."""

    def __init__(self, base_url: str, http: httpx.AsyncClient) -> None:
        self._base_url, self._http = base_url.rstrip("/"), http

    async def identity(self) -> PoolIdentity:
        """Which engine and tokenizers the pool compiles for. Raises PoolUnavailableError."""
        response = await self._send(self._http.build_request("GET", f"{self._base_url}/v1/identity"))
        if response.status_code != httpx.codes.OK:
            raise PoolUnavailableError(f"identity answered {response.status_code}")
        return _read(PoolIdentity, response)

    async def compile(self, request: CompileRequest) -> CompileOutcome | Busy:
        """Compile a contract. Cancelling the call closes the connection, and the pool drops the job.

        Raises PoolUnavailableError: unreachable, silent past the deadline, an answer that is none, or a refusal of the
        request as such (an unknown tokenizer, a digest that does not fit), which no repetition of it can mend.
        """
        timeout = httpx.Timeout(request.deadline_seconds + _GRACE_SECONDS)
        built = self._http.build_request(
            "POST",
            f"{self._base_url}/v1/compile",
            content=_spelled(request),
            headers={"content-type": "application/json"},
            timeout=timeout,
        )
        response = await self._send(built)
        if response.status_code == httpx.codes.OK:
            return _read(CompileAnswer, response).result
        if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            return _read(Busy, response)
        fault = _read(PoolFault, response)
        raise PoolUnavailableError(f"the pool does not take the request: {fault.code}: {fault.message}")

    async def report_uses(self, report: UsesReport) -> None:
        """Tell how often artifacts were used that the pool was not asked for. Raises PoolUnavailableError."""
        built = self._http.build_request(
            "POST",
            f"{self._base_url}/v1/uses",
            content=report.model_dump_json().encode(),
            headers={"content-type": "application/json"},
            timeout=_USES_SECONDS,
        )
        response = await self._send(built)
        if response.status_code != httpx.codes.NO_CONTENT:
            raise PoolUnavailableError(f"uses answered {response.status_code}")

    async def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._http.send(request, stream=True)
            try:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_ANSWER_BYTES:
                        raise PoolUnavailableError("the pool's answer is too long")
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise PoolUnavailableError(f"{type(error).__name__}: {error}") from error
        return httpx.Response(response.status_code, content=bytes(body))


def _spelled(request: CompileRequest) -> bytes:
    # A pool of an older version refuses members that it does not know: the newest is sent only where it says something.
    excluded = {"urgency"} if request.urgency == "answer" else None
    return request.model_dump_json(exclude=excluded).encode()


Answer = TypeVar("Answer", bound=BaseModel)


def _read(model: type[Answer], response: httpx.Response) -> Answer:
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        raise PoolUnavailableError(f"an answer of {response.status_code} that is not a {model.__name__}") from error
