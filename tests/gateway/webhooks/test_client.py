"""Questions to webhooks: signed, to checked addresses only, with a bounded and strictly read answer."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from gateway.rules.rule_set import RuleKind, Target, Webhook
from gateway.rules.verdict import Failed, Passed, RuleFault, Undecided
from gateway.webhooks.client import CallBounds, WebhookClient, trusted_authorities
from gateway.webhooks.origins import IpAddress, ListedTargets, Origin
from tests.gateway.webhooks.certificates import Authority
from tests.gateway.webhooks.target import Target as Service
from tests.gateway.webhooks.target import serving

SECRET = b"one secret that is long enough, 32"
OTHER = b"the next secret, long enough as well"
BOUNDS = CallBounds(max_calls=8, max_calls_of_tenant=2)


def webhook(url: str, **members: Any) -> Webhook:
    """A webhook of the tenant `acme`."""
    values: dict[str, Any] = {
        "name": "ledger",
        "kind": RuleKind.SEMANTIC,
        "target": Target.OBJECT,
        "url": url,
        "timeout_seconds": 5.0,
        "fail_open": False,
    }
    return Webhook(**values | members)


@asynccontextmanager
async def asking(
    *origins: str,
    networks: Sequence[str] = (),
    secrets: Sequence[bytes] = (SECRET,),
    leads_to: Sequence[str] | None = None,
    bounds: CallBounds = BOUNDS,
    ca_file: Path | None = None,
) -> AsyncIterator[WebhookClient]:
    """A client; `leads_to` are the addresses of every name."""

    async def resolve(origin: Origin) -> Sequence[IpAddress]:
        assert leads_to is not None, f"{origin} is not to be looked up"
        return [ip_address(address) for address in leads_to]

    client = WebhookClient(
        targets=ListedTargets.read(origins, networks),
        secrets={"acme/ledger": secrets},
        trusted=trusted_authorities(ca_file),
        bounds=bounds,
        resolve=resolve,
    )
    try:
        yield client
    finally:
        await client.close()


async def test_a_question_is_posted_signed_and_answered() -> None:
    service = Service()
    async with serving(service) as url, asking(url) as client:
        assert await client.ask(webhook(f"{url}/check?x=1"), "acme", b'{"object":1}') == Passed()
        service.body = [b'{"valid": false, "message": "the ledger is ', b'closed"}']
        assert await client.ask(webhook(url), "acme", b"{}") == Failed(message="the ledger is closed")
    assert service.bodies == [b'{"object":1}', b"{}"]
    assert service.paths == ["/check?x=1", "/"]
    headers = service.sent_headers[0]
    assert headers["host"] == url.removeprefix("http://")
    assert headers["content-type"] == "application/json"
    stamp, mark = headers["x-schemagate-signature"].split(",")
    seconds = stamp.removeprefix("t=")
    assert abs(int(seconds) - datetime.now(UTC).timestamp()) < 60
    expected = hmac.new(SECRET, f"{seconds}.".encode() + b'{"object":1}', sha256).hexdigest()
    assert mark == f"v1={expected}"


async def test_while_a_secret_changes_both_sign() -> None:
    service = Service()
    async with serving(service) as url, asking(url, secrets=[SECRET, OTHER]) as client:
        assert await client.ask(webhook(url), "acme", b"{}") == Passed()
    stamp, *marks = service.sent_headers[0]["x-schemagate-signature"].split(",")
    signed = stamp.removeprefix("t=").encode() + b".{}"
    assert marks == [f"v1={hmac.new(secret, signed, sha256).hexdigest()}" for secret in (SECRET, OTHER)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"true",
        b"[]",
        b"{}",
        b'{"valid": "true"}',
        b'{"valid": 1}',
        b'{"valid": null}',
        b'{"valid": true, "valid": false}',
        b'{"valid": true, "more": 1}',
        b'{"valid": true, "message": 1}',
        b'{"valid": true, "message": null}',
        b'{"valid": true} trailing',
        b'\xef\xbb\xbf{"valid": true}',
        b'{"valid": NaN}',
        b'{"valid": true, "message": "\\ud800"}',
        b"\xff\xfe",
    ],
)
async def test_what_is_not_exactly_an_answer_is_none(body: bytes) -> None:
    service = Service(body=[body])
    async with serving(service) as url, asking(url) as client:
        assert await client.ask(webhook(url), "acme", b"{}") == Undecided(fault=RuleFault.BAD_ANSWER)


async def test_a_message_is_one_bounded_line() -> None:
    service = Service(body=[b'{"valid": false, "message": "a\\r\\nb\\u0000\\u001b[31m', b"x" * 2000, b'"}'])
    async with serving(service) as url, asking(url) as client:
        verdict = await client.ask(webhook(url), "acme", b"{}")
    assert isinstance(verdict, Failed)
    assert verdict.message.startswith("a  b  [31mxxx")
    assert len(verdict.message) <= 500


@pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 308, 400, 401, 404, 500, 503])
async def test_any_status_but_200_is_no_answer_and_nobody_is_followed(status: int) -> None:
    elsewhere, service = Service(), Service(status=status)
    async with serving(elsewhere) as other, serving(service) as url, asking(url, other) as client:
        service.headers["location"] = f"{other}/"
        if status == 204:
            service.body = []
        assert await client.ask(webhook(url), "acme", b"{}") == Undecided(fault=RuleFault.BAD_ANSWER)
    assert elsewhere.bodies == []


async def test_an_endless_answer_is_left_after_64_kib() -> None:
    service = Service(body=[b'{"valid": true, "message": "'] + [b"x" * 16384] * 200)
    async with serving(service) as url, asking(url) as client:
        assert await client.ask(webhook(url), "acme", b"{}") == Undecided(fault=RuleFault.BAD_ANSWER)


async def test_a_packed_answer_is_not_unpacked() -> None:
    service = Service(headers={"content-type": "application/json", "content-encoding": "gzip"})
    async with serving(service) as url, asking(url) as client:
        assert await client.ask(webhook(url), "acme", b"{}") == Undecided(fault=RuleFault.BAD_ANSWER)
    assert service.sent_headers[0]["accept-encoding"] == "identity"


async def test_a_webhook_that_drips_is_silent_when_its_time_is_over() -> None:
    never = asyncio.Event()
    service = Service(body=[b'{"valid"', never])
    async with serving(service) as url, asking(url) as client:
        asked = webhook(url, timeout_seconds=0.2)
        async with asyncio.timeout(10):
            assert await client.ask(asked, "acme", b"{}") == Undecided(fault=RuleFault.SILENT)
        never.set()


async def test_nobody_there_is_unreachable() -> None:
    service = Service()
    async with serving(service) as url:
        pass
    async with asking(url) as client:
        assert await client.ask(webhook(url), "acme", b"{}") == Undecided(fault=RuleFault.UNREACHABLE)


async def test_an_origin_that_is_not_listed_is_never_connected_to() -> None:
    service = Service()
    async with serving(service) as url, asking("https://rules.example.com") as client:
        for other in (url, url.replace("127.0.0.1", "2130706433"), url.replace("127.0.0.1", "[::ffff:127.0.0.1]")):
            assert await client.ask(webhook(other), "acme", b"{}") == Undecided(fault=RuleFault.REFUSED_ADDRESS)
            assert client.fault_of(webhook(other), "acme") is RuleFault.REFUSED_ADDRESS
    assert service.bodies == []


async def test_a_listed_name_that_leads_inside_is_refused_unless_its_network_is_listed() -> None:
    service = Service()
    async with serving(service) as url:
        port = url.rpartition(":")[2]
        named = f"http://rules.example.com:{port}"
        for addresses in (["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], []):
            async with asking(named, leads_to=addresses) as client:
                assert await client.ask(webhook(named), "acme", b"{}") == Undecided(fault=RuleFault.REFUSED_ADDRESS)
        assert service.bodies == []
        async with asking(named, networks=["127.0.0.0/8"], leads_to=["127.0.0.1"]) as client:
            assert await client.ask(webhook(named), "acme", b"{}") == Passed()
    assert service.sent_headers[0]["host"] == f"rules.example.com:{port}"


async def test_a_name_is_looked_up_once_and_the_checked_address_is_used() -> None:
    service = Service()
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    asked: list[Origin] = []

    async def resolve(origin: Origin) -> Sequence[IpAddress]:
        asked.append(origin)
        return [ip_address(address) for address in answers[len(asked) - 1]]

    async with serving(service) as url:
        named = url.replace("127.0.0.1", "rules.example.com")
        client = WebhookClient(
            targets=ListedTargets.read([named], ["127.0.0.0/8"]),
            secrets={"acme/ledger": [SECRET]},
            trusted=trusted_authorities(None),
            bounds=BOUNDS,
            resolve=resolve,
        )
        assert await client.ask(webhook(named), "acme", b"{}") == Passed()
        assert len(asked) == 1
        assert await client.ask(webhook(named), "acme", b"{}") == Undecided(fault=RuleFault.REFUSED_ADDRESS)
        await client.close()
    assert len(service.bodies) == 1


async def test_another_address_of_the_name_is_tried_where_one_takes_no_connection() -> None:
    service = Service()
    async with serving(service) as url:
        named = url.replace("127.0.0.1", "rules.example.com")
        async with asking(named, networks=["127.0.0.0/8", "::1/128"], leads_to=["::1", "127.0.0.1"]) as client:
            assert await client.ask(webhook(named), "acme", b"{}") == Passed()


async def test_without_a_secret_nothing_is_asked() -> None:
    service = Service()
    async with serving(service) as url, asking(url) as client:
        assert await client.ask(webhook(url), "other", b"{}") == Undecided(fault=RuleFault.NO_SECRET)
        assert await client.ask(webhook(url, name="stock"), "acme", b"{}") == Undecided(fault=RuleFault.NO_SECRET)
        assert client.fault_of(webhook(url), "acme") is None
    assert service.bodies == []


async def test_one_tenant_waits_for_its_own_questions_only() -> None:
    gate = asyncio.Event()
    slow, quick = Service(body=[gate, b'{"valid": true}']), Service()
    async with serving(slow) as slow_url, serving(quick) as quick_url:
        client = WebhookClient(
            targets=ListedTargets.read([slow_url, quick_url], []),
            secrets={"acme/ledger": [SECRET], "other/ledger": [SECRET]},
            trusted=trusted_authorities(None),
            bounds=CallBounds(max_calls=4, max_calls_of_tenant=1),
        )
        async with asyncio.TaskGroup() as group:
            first = group.create_task(client.ask(webhook(slow_url), "acme", b"{}"))
            await slow.has_asked.wait()
            behind = await client.ask(webhook(quick_url, timeout_seconds=0.1), "acme", b"{}")
            other = await client.ask(webhook(quick_url), "other", b"{}")
            gate.set()
        await client.close()
    assert behind == Undecided(fault=RuleFault.BUSY)
    assert (other, first.result()) == (Passed(), Passed())


async def test_over_tls_the_certificate_is_the_names_and_not_the_addresses(tmp_path: Path) -> None:
    authority, stranger = Authority.made(tmp_path / "ca"), Authority.made(tmp_path / "stranger")
    unreachable = Undecided(fault=RuleFault.UNREACHABLE)
    for signed_by, name, expected in (
        (authority, "rules.example", Passed()),
        (authority, "other.example", unreachable),
        (authority, "127.0.0.1", unreachable),
        (stranger, "rules.example", unreachable),
    ):
        service = Service()
        certificate, key = signed_by.certificate(name)
        async with serving(service, ssl_certfile=certificate, ssl_keyfile=key) as url:
            named = f"https://rules.example:{url.rpartition(':')[2]}"
            async with asking(
                named, networks=["127.0.0.0/8"], leads_to=["127.0.0.1"], ca_file=authority.file
            ) as client:
                assert await client.ask(webhook(named), "acme", b"{}") == expected, name
        assert len(service.bodies) == (1 if expected == Passed() else 0)
