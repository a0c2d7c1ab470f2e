"""Whatever a schema says, neither the registry nor the judge opens a socket or a file because of it."""

import builtins
import http.client
import io
import json
import os
import pathlib
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any, NoReturn

import pytest

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason
from policy.limits import UNLIMITED
from registry.contract_references import referenced_contracts
from registry.errors import ContractRejectedError
from tests.registry.reading import LENIENT, STRICT, parsed, read

_PLACES = (
    "http://127.0.0.1/x", "http://localhost:1234/x", "http://example.com/", "https://example.com/x.json",
    "HTTP://EXAMPLE.COM", "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/meta/core", "http://json-schema.org/draft-07/schema",
    "ftp://example.com/x", "file:///etc/passwd", "file:/etc/passwd", "file://localhost/etc/passwd",
    "FILE:///etc/hostname", "/etc/passwd", "etc/passwd", "../../../../etc/passwd", "./x.json", "x.json",
    "pyproject.toml", "registry/../pyproject.toml", "//example.com/x", "//127.0.0.1", "///etc/passwd",
    r"\\host\share\x", "data:application/json,{}", "data:application/json;base64,e30=", "jar:file:///x.jar!/y.json",
    "urn:uuid:6f9619ff-8b86-d011-b42d-00cf4fc964ff", "tag:example.com,2026:x", "package://x/y", "about:blank",
    "javascript:0", "ldap://127.0.0.1/", "gopher://127.0.0.1:70/_", "unix:/var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/x", "http://[::1]/x", "http://2130706433/x",
    "http://user:pass@127.0.0.1/", "http://127.0.0.1%00.example.com/", "%2e%2e/%2e%2e/etc/passwd",
    "file:%2F%2F%2Fetc%2Fpasswd", "http:%2F%2F127.0.0.1", "%66%69%6c%65:///etc/passwd", "?x", "x?y", "http:", "file:",
    ":", "::", "C:/Windows/win.ini", "C:\\Windows\\win.ini", "schemagate:x@1", "schemagate:x@prod",
    "schemagate://127.0.0.1/x@1", "schemagate:file:///etc/passwd", " http://127.0.0.1/", "\thttp://127.0.0.1/",
)  # fmt: skip
_FRAGMENTS = ("", "#", "#/", "#/$defs/x", "#anchor", "#%2F..%2Fetc")


_DOORS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (socket, ("socket", "create_connection", "getaddrinfo", "gethostbyname", "socketpair")),
    (builtins, ("open",)),
    (io, ("open", "open_code", "FileIO")),
    (os, ("open", "popen", "listdir", "scandir", "system", "readlink")),
    (pathlib.Path, ("open", "read_text", "read_bytes", "resolve", "exists", "iterdir")),
    (urllib.request, ("urlopen", "urlretrieve", "build_opener")),
    (http.client, ("HTTPConnection", "HTTPSConnection")),
)


class OpenedError(AssertionError):
    """Something was opened."""


def _blocked(*_args: object, **_kwargs: object) -> NoReturn:
    raise OpenedError


@contextmanager
def nothing_opens() -> Iterator[None]:
    """No socket, no name look-up, no file. What is needed lazily (modules, formats) is loaded before."""
    read({"pattern": r"^\p{L}+$", "format": "date", "items": {"$ref": "#"}})
    warm = Judge.prepare(
        '{"format":"uri","pattern":"a","items":{"$ref":"#/$defs/d0"},"$defs":{"d0":{"format":"date"}}}'
    )
    assert isinstance(warm, Judge)
    warm.judge(b'["http://a/"]')
    with pytest.MonkeyPatch.context() as patch:
        for module, names in _DOORS:
            for name in names:
                patch.setattr(module, name, _blocked)
        yield


def schemas(place: str) -> Iterator[dict[str, Any]]:
    """Every way in which a schema can name a place."""
    for fragment in _FRAGMENTS:
        uri = place + fragment
        yield {"$ref": uri}
        yield {"items": {"$dynamicRef": uri}}
        yield {"$id": "http://127.0.0.1/base/", "properties": {"p": {"$ref": uri}}}
        yield {"$id": "file:///etc/", "not": {"allOf": [{"$ref": uri}]}}
        yield {"$id": uri, "$ref": "other"}
        yield {"$id": uri, "$ref": "#/$defs/x", "$defs": {"x": {"$id": "y", "$ref": "z"}}}
        yield {"$defs": {"x": {"$ref": uri}}, "$ref": "#/$defs/x"}
        yield {"$schema": uri}
        yield {"$defs": {"x": {"$id": "x", "$schema": uri}}, "$ref": "x"}
        yield {"$vocabulary": {uri: True}}
        yield {"$recursiveRef": uri}
        yield {"contentSchema": {"$ref": uri}, "contentMediaType": uri}
        yield {"format": uri, "$comment": uri, "examples": [{"$ref": uri}]}
        yield {"type": "object", "discriminator": {"mapping": {"a": uri}}, "externalDocs": {"url": uri}}


def test_the_block_blocks() -> None:
    attempts: list[Callable[[], object]] = [
        lambda: open("x"),  # noqa: SIM115, PTH123
        lambda: io.open("x"),  # noqa: SIM115, UP020
        lambda: os.open("x", os.O_RDONLY),
        lambda: socket.socket(),  # noqa: PLW0108
        lambda: pathlib.Path("x").read_text(),
        lambda: urllib.request.urlopen("http://127.0.0.1"),
    ]
    with nothing_opens():
        for attempt in attempts:
            with pytest.raises(OpenedError):
                attempt()


@pytest.mark.parametrize("place", _PLACES)
def test_reading_a_contract_opens_nothing(place: str) -> None:
    num_refused = 0
    with nothing_opens():
        for schema, policy in product(schemas(place), (STRICT, LENIENT)):
            try:
                contract = read(schema, limits=UNLIMITED, policy=policy)
            except ContractRejectedError:
                num_refused += 1
                continue
            # What is read is whole: no reference in its text leads out of it.
            assert all(target.startswith("#/$defs/d") for target in references(json.loads(contract.text)))
            referenced_contracts(parsed(schema))
    assert num_refused >= 2 * 5 * len(_FRAGMENTS)


@pytest.mark.parametrize("place", _PLACES)
def test_judging_opens_nothing(place: str) -> None:
    with nothing_opens():
        for schema in schemas(place):
            judge = Judge.prepare(json.dumps(schema))
            if isinstance(judge, Unjudged):
                assert judge.reason is UnjudgedReason.CONTRACT
                continue
            for document in (b'"s"', b'["s"]', b'{"p":{"p":1}}'):
                judge.judge(document)


@pytest.mark.parametrize("place", _PLACES)
def test_what_could_not_be_looked_up_passes_nothing(place: str) -> None:
    with nothing_opens():
        for fragment in ("", "#/$defs/x", "#anchor"):
            judge = Judge.prepare(json.dumps({"$ref": place + fragment}))
            assert isinstance(judge, Judge)
            verdict = judge.judge(b"1")
            if "json-schema.org" in place:  # the library carries these, and 1 is no schema
                assert isinstance(verdict, Invalid | Unjudged)
                continue
            assert isinstance(verdict, Unjudged)
            assert verdict.reason in {UnjudgedReason.REFERENCE, UnjudgedReason.DEPTH}


def test_approved_documents_are_the_only_others() -> None:
    documents: dict[str, Any] = {
        "http://127.0.0.1/a": {"$ref": "b"},
        "http://127.0.0.1/c": {"items": {"$ref": "file:///etc/passwd"}},
    }
    with nothing_opens():
        for uri in documents:
            with pytest.raises(ContractRejectedError) as caught:
                read({"$ref": uri}, documents=documents)
            assert [found.code.value for found in caught.value.rejections] == ["remote_reference"]
        documents["http://127.0.0.1/b"] = {"type": "null"}
        assert read({"$ref": "http://127.0.0.1/a"}, documents=documents).text == '{"type":"null"}'


def references(schema: Any) -> Iterator[str]:
    """All `$ref`s in a JSON value."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for member in schema.values():
            yield from references(member)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)
