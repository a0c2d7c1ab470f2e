"""The stage clock, settings, and the owner of tasks."""

import asyncio

import pytest
import structlog
from pydantic import ValidationError

from gateway.settings import GatewaySettings
from gateway.stages import Stage, StageClock
from gateway.tasks import TaskOwner
from policy.text_bounds import DEFAULT_MAX_DIGITS, TextBounds

PEPPER = "a pepper only for tests"


def test_overhead_is_everything_but_decoding() -> None:
    clock = StageClock()
    clock.add(Stage.DECODE, 100.0)
    clock.add(Stage.PARSE, 0.002)
    clock.add(Stage.PARSE, 0.001)
    assert clock.overhead_seconds == pytest.approx(clock.elapsed_seconds - 100.0, abs=1.0)
    assert clock.seconds[Stage.PARSE] == pytest.approx(0.003)
    assert list(clock.seconds) == [Stage.PARSE, Stage.DECODE]
    assert clock.server_timing().startswith("parse;dur=3, decode;dur=100000, total;dur=")


def test_a_stage_is_timed_however_it_ends() -> None:
    clock = StageClock()
    with pytest.raises(ZeroDivisionError), clock.time(Stage.COMPILE):
        raise ZeroDivisionError
    assert Stage.COMPILE in clock.seconds


def test_node_urls_are_a_comma_separated_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_NODE_URLS", "http://a:1/, http://b:2")
    assert GatewaySettings(key_pepper=PEPPER).node_urls == ("http://a:1", "http://b:2")
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_NODE_URLS", " , ")
    with pytest.raises(ValidationError, match="at least one"):
        GatewaySettings(key_pepper=PEPPER)


def test_text_is_bounded_in_digits_unless_an_operator_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    default = TextBounds(max_digits=DEFAULT_MAX_DIGITS, max_undeclared=0)
    assert GatewaySettings(key_pepper=PEPPER).text_bounds == default
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_MAX_DIGITS", "0")
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_UNDECLARED_MEMBERS", "any")
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_MAX_ITEMS", "50")
    assert GatewaySettings(key_pepper=PEPPER).text_bounds == TextBounds(max_items=50)
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_MAX_DEPTH", "-1")
    with pytest.raises(ValidationError):
        GatewaySettings(key_pepper=PEPPER)


def test_a_pepper_is_required_long_and_never_shown() -> None:
    with pytest.raises(ValidationError):
        GatewaySettings()
    with pytest.raises(ValidationError):
        GatewaySettings(key_pepper="short")
    assert PEPPER not in repr(GatewaySettings(key_pepper=PEPPER))


async def test_the_owner_logs_what_escapes_and_ends_what_runs() -> None:
    owner = TaskOwner()

    async def fails() -> None:
        raise RuntimeError("escaped")

    with structlog.testing.capture_logs() as lines:
        failed = owner.start(fails(), name="fails")
        endless = owner.start(asyncio.Event().wait(), name="endless")
        await asyncio.wait([failed])
        await owner.close()
    assert endless.cancelled()
    assert [line["task"] for line in lines] == ["fails"]
