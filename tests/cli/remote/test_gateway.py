"""The connection: what is asked again and what is not, and what comes back from whoever listens there."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

from cli.remote.exits import CommandError, Exit
from cli.remote.gateway import MAX_ANSWER_BYTES, MAX_TRIES, Gateway

NOT_GZIP = httpx.ByteStream(b"not gzip")


class Script:
    """Answers one after another, and what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[httpx.Request] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def gateway(self) -> Gateway:
        return Gateway("http://gw", "sg_a_b", transport=httpx.MockTransport(self), sleep=self.waits.append)


def ok(**members: Any) -> httpx.Response:
    return httpx.Response(200, json=members)


def error(status: int, code: str, **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"error": {"code": code, "message": "so"}}, headers=sent)


def end_of(ask: Callable[[], object]) -> CommandError:
    with pytest.raises(CommandError) as caught:
        ask()
    return caught.value


def test_a_broken_connection_is_asked_again_under_one_idempotency_key() -> None:
    script = Script(httpx.ConnectError("refused"), httpx.ReadError("reset"), ok(done=True))
    with script.gateway() as gateway:
        answer = gateway.write("POST", "/v1/x", {"a": 1})
    assert answer.members.flag("done")
    assert len({request.headers["idempotency-key"] for request in script.asked}) == 1
    assert script.waits == sorted(script.waits)
    assert len(script.waits) == 2


def test_two_writes_have_two_keys() -> None:
    script = Script(ok())
    with script.gateway() as gateway:
        gateway.write("POST", "/v1/x", {})
        gateway.write("POST", "/v1/x", {})
    assert len({request.headers["idempotency-key"] for request in script.asked}) == 2


def test_nobody_there_is_said_after_some_tries() -> None:
    script = Script(httpx.ConnectError("refused"))
    with script.gateway() as gateway:
        said = end_of(lambda: gateway.get("/v1/x"))
    assert said.exit_code is Exit.TRY_AGAIN
    assert "http://gw does not answer" in str(said)
    assert "SCHEMAGATE_URL" in str(said)
    assert len(script.asked) == MAX_TRIES


def test_a_slow_gateway_is_not_asked_twice() -> None:
    script = Script(httpx.ReadTimeout("slow"))
    with script.gateway() as gateway:
        assert end_of(lambda: gateway.get("/v1/x")).exit_code is Exit.TRY_AGAIN
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "busy",
    [
        error(503, "store_unavailable", retry_after="1"),
        error(429, "rate_limit_exceeded", retry_after="2"),
        error(409, "idempotency_in_progress", retry_after="1", x_should_retry="false"),
        error(502, "backend_failed"),
    ],
)
def test_who_says_ask_again_is_asked_again(busy: httpx.Response) -> None:
    script = Script(busy, ok(done=True))
    with script.gateway() as gateway:
        assert gateway.get("/v1/x").flag("done")
    assert script.waits[0] >= float(busy.headers.get("retry-after", "0"))


@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [
        (error(429, "insufficient_quota", x_should_retry="false"), Exit.TRY_AGAIN),
        (error(429, "rate_limit_exceeded", retry_after="600"), Exit.TRY_AGAIN),
        (error(503, "x", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), Exit.TRY_AGAIN),
        (error(503, "x", retry_after="-1e400"), Exit.TRY_AGAIN),
        (error(503, "x", retry_after="nan"), Exit.TRY_AGAIN),
        (error(500, "internal_error"), Exit.TRY_AGAIN),
        (error(400, "invalid_schema"), Exit.NO),
        (error(400, "invalid_name"), Exit.USAGE),
        (error(401, "invalid_api_key"), Exit.FORBIDDEN),
        (error(403, "not_owner"), Exit.FORBIDDEN),
        (error(404, "contract_not_found"), Exit.NOT_FOUND),
        (error(404, "unknown_url"), Exit.TRY_AGAIN),
        (error(409, "incompatible"), Exit.NO),
        (error(409, "undecided"), Exit.UNDECIDED),
        (error(410, "contract_gone"), Exit.NOT_FOUND),
        (error(410, "sunset_revision"), Exit.NO),
        (error(412, "precondition_failed"), Exit.NO),
        (error(413, "body_too_large"), Exit.NO),
        (httpx.Response(301, headers={"location": "https://evil"}), Exit.TRY_AGAIN),
        (httpx.Response(404, text="<html>"), Exit.TRY_AGAIN),
        (httpx.Response(403, content=b"\xff"), Exit.TRY_AGAIN),
        (httpx.Response(200, text="<html>"), Exit.TRY_AGAIN),
        (httpx.Response(200, text="[]"), Exit.TRY_AGAIN),
        (httpx.Response(200, text="[" * 10_000), Exit.TRY_AGAIN),
        (
            httpx.Response(200, headers={"content-encoding": "gzip"}, stream=NOT_GZIP),
            Exit.TRY_AGAIN,
        ),
        (httpx.Response(400, json={"error": {"code": 7, "message": None}}), Exit.USAGE),
    ],
)
def test_each_answer_ends_with_its_status(answer: httpx.Response, exit_code: Exit) -> None:
    script = Script(answer)
    with script.gateway() as gateway:
        assert end_of(lambda: gateway.get("/v1/x")).exit_code is exit_code
    assert all(request.url.host == "gw" for request in script.asked)


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    def endless() -> Any:
        while True:
            yield b" " * 1_000_000

    script = Script(httpx.Response(200, content=endless()))
    with script.gateway() as gateway:
        assert str(MAX_ANSWER_BYTES) in str(end_of(lambda: gateway.get("/v1/x")))


def test_a_refusal_names_every_fault_and_its_place() -> None:
    faults: list[dict[str, Any]] = [
        {"code": "invalid_schema", "message": "first", "pointer": "/a"},
        {"code": "limit_exceeded", "message": "second", "pointer": "", "limit_name": "m", "limit": 3, "observed": 4},
    ]
    answer = httpx.Response(400, json={"error": {**faults[0], "errors": faults, "witness": "[1]"}})
    with Script(answer).gateway() as gateway:
        said = str(end_of(lambda: gateway.get("/v1/x")))
    assert said.splitlines() == [
        "invalid_schema: first",
        "  at /a",
        "  limit_exceeded: second (at the root, m is 3, the contract has 4)",
        "  document: [1]",
    ]


def test_preconditions_are_headers_and_the_etag_is_read() -> None:
    script = Script(httpx.Response(200, json={}, headers={"etag": '"4"'}))
    with script.gateway() as gateway:
        assert gateway.write("PUT", "/v1/x", {}, version=3).version == 4
        gateway.write("PUT", "/v1/x", {}, must_be_new=True)
    assert [request.headers.get("if-match") for request in script.asked] == ['"3"', None]
    assert [request.headers.get("if-none-match") for request in script.asked] == [None, "*"]


def test_numbers_are_sent_exactly() -> None:
    script = Script(ok())
    with script.gateway() as gateway:
        gateway.post("/v1/x", {"n": Decimal("0.1000000000000000000001")})
    assert script.asked[0].content == b'{"n":0.1000000000000000000001}'


def test_pages_are_followed_to_the_limit() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        start = int(request.url.params.get("cursor", "0"))
        end = min(start + int(request.url.params["limit"]), 250)
        return ok(data=[{"n": n} for n in range(start, end)], next_cursor=str(end) if end < 250 else None)

    with Gateway("http://gw/v1/", "sg_a_b", transport=httpx.MockTransport(answer)) as gateway:
        assert [each.number("n") for each in gateway.pages("/v1/x", {}, limit=120)] == list(range(120))
        assert len(list(gateway.pages("/v1/x", {}, limit=1_000))) == 250


def test_a_page_that_never_ends_ends_at_an_empty_one() -> None:
    script = Script(ok(data=[], next_cursor="again"))
    with script.gateway() as gateway:
        assert list(gateway.pages("/v1/x", {}, limit=1_000)) == []
    assert len(script.asked) == 1


def test_members_of_another_type_are_said() -> None:
    with Script(ok(a=1, b="x", c=[1], d=None, e=True)).gateway() as gateway:
        members = gateway.get("/v1/x")
    assert members.number("a") == 1
    assert members.optional_text("d") is None
    asks: list[Callable[[], object]] = [
        lambda: members.text("a"),
        lambda: members.number("b"),
        lambda: members.number("e"),
        lambda: members.flag("a"),
        lambda: members.member("c"),
        lambda: members.each("c"),
        lambda: members.each("a"),
        lambda: members.texts("c"),
        lambda: members.text("missing"),
    ]
    for ask in asks:
        assert end_of(ask).code == "unexpected_answer"


def test_an_error_is_one_json_value() -> None:
    with Script(error(409, "incompatible")).gateway() as gateway:
        said = end_of(lambda: gateway.get("/v1/x"))
    assert json.loads(json.dumps(said.as_json())) == {
        "error": {"code": "incompatible", "message": "incompatible: so", "exit": 1}
    }
