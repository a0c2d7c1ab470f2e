"""Callers that never think: each sends its next request when its last answer is complete, over one connection kept.

    python -m tests.benchmarks.gateway_overhead.load --url U --key K --model M --callers N --seconds S [--stream]

Prints one JSON object: microseconds of every answer and of its first byte, how many there were, and what went wrong.
An answer counts only if it is a 200 that ends with `stop`.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

from tests.benchmarks.gateway_overhead.workload import request_body

_MARK = re.compile(rb'"finish_reason": ?"stop"')


@dataclass(slots=True, kw_only=True)
class Tally:
    """What all callers saw, from the end of the warm-up to the end."""

    answer_us: list[int] = field(default_factory=list)
    first_byte_us: list[int] = field(default_factory=list)
    num_sent: int = 0
    """Warm-up included: what the server's CPU time is divided by."""
    faults: list[str] = field(default_factory=list)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


class Caller(asyncio.Protocol):
    """One caller on one connection."""

    def __init__(self, message: bytes, tally: Tally, *, measured_from: float, until: float) -> None:
        self._message, self._tally, self._measured_from, self._until = message, tally, measured_from, until
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._began = self._first = 0.0
        self._body: list[bytes] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # not a subclass of it, under uvloop
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._first = 0.0
        self._body.clear()
        self._began = time.perf_counter()
        self._transport.write(self._message)

    def data_received(self, data: bytes) -> None:
        if not self._first:
            self._first = time.perf_counter()
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        now = time.perf_counter()
        tally = self._tally
        tally.num_sent += 1
        body = b"".join(self._body)
        status = self._parser.get_status_code()
        if status != 200 or _MARK.search(body) is None:
            tally.faults.append(f"{status}: {body[:300]!r}")
            self._end()
            return
        if self._began >= self._measured_from:
            tally.answer_us.append(round((now - self._began) * 1e6))
            tally.first_byte_us.append(round((self._first - self._began) * 1e6))
        if now >= self._until:
            self._end()
        else:
            self._parser = httptools.HttpResponseParser(self)
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            self._tally.faults.append(f"the connection was closed: {error}")
            self.over.set_result(None)

    def _end(self) -> None:
        assert self._transport is not None
        if not self.over.done():
            self.over.set_result(None)
        self._transport.close()


async def run(
    url: str, key: str, model: str, *, callers: int, seconds: float, warm_up_seconds: float, stream: bool
) -> Tally:
    """Let `callers` ask for so many seconds after the warm-up."""
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    assert host is not None
    assert port is not None
    body = request_body(model=model, stream=stream)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\naccept: */*\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    message = head.encode() + body
    tally = Tally()
    now = time.perf_counter()
    begin, until = now + warm_up_seconds, now + warm_up_seconds + seconds
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Caller(message, tally, measured_from=begin, until=until), host, port)
        for _ in range(callers)
    ]
    async with asyncio.timeout(warm_up_seconds + seconds + 60):
        await asyncio.gather(*(caller.over for _, caller in made))
    tally.wall_seconds = time.perf_counter() - begin
    tally.cpu_seconds = time.process_time()
    return tally


def main() -> None:
    """Run once and print the tally."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warm-up-seconds", type=float, default=0.5)
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        tally = runner.run(
            run(
                options.url,
                options.key,
                options.model,
                callers=options.callers,
                seconds=options.seconds,
                warm_up_seconds=options.warm_up_seconds,
                stream=options.stream,
            )
        )
    json.dump(asdict(tally), sys.stdout)


if __name__ == "__main__":
    main()
