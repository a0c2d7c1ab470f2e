"""Where a webhook may lead: to listed origins, and to no address of this installation under any spelling."""

from ipaddress import ip_address

import pytest

from gateway.webhooks.origins import BadUrlError, ListedTargets, Origin, is_public, read_origin, read_url


@pytest.mark.parametrize(
    ("text", "origin", "target"),
    [
        ("https://rules.example.com", Origin(scheme="https", host="rules.example.com", port=443), "/"),
        (
            "https://rules.example.com/a/b?c=%20d",
            Origin(scheme="https", host="rules.example.com", port=443),
            "/a/b?c=%20d",
        ),
        ("HTTPS://Rules.Example.COM:8443/A", Origin(scheme="https", host="rules.example.com", port=8443), "/A"),
        ("http://127.0.0.1:9000?x=1", Origin(scheme="http", host="127.0.0.1", port=9000), "/?x=1"),
        ("http://[::0001]:9000/", Origin(scheme="http", host="::1", port=9000), "/"),
        ("http://localhost:9000/", Origin(scheme="http", host="localhost", port=9000), "/"),
    ],
)
def test_a_url_is_an_origin_and_what_is_asked_there(text: str, origin: Origin, target: str) -> None:
    url = read_url(text)
    assert (url.origin, url.target) == (origin, target)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rules.example.com",
        "ftp://rules.example.com/",
        "file:///etc/passwd",
        "https://user@rules.example.com/",
        "https://user:secret@rules.example.com/",
        "https://rules.example.com@evil.example/",
        "https://rules.example.com/#fragment",
        "https://rules.example.com\\@evil.example/",
        "https://rules.example.com /",
        "https://rules.example.com/\n",
        "https://rules.example.com/a b",
        "https://rules.example.com:0/",
        "https://rules.example.com:65536/",
        "https://rules.example.com:/",
        "https://rüles.example.com/",
        "https://rules%2eexample.com/",
        "https://.example.com/",
        "https://rules..example.com/",
        "https://rules.example.com./",
        "https://-rules.example.com/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1.2/",
        "http://rules.example.1/",
        "http://[127.0.0.1]x/",
        "http://[::1%eth0]/",
        "http://[::g]/",
        "http://①②⑦.0.0.1/",
    ],
)
def test_what_another_reader_could_read_otherwise_is_refused(text: str) -> None:
    with pytest.raises(BadUrlError):
        read_url(text)


def test_an_origin_has_no_path() -> None:
    assert read_origin("https://rules.example.com/") == read_origin("https://RULES.example.com:443")
    with pytest.raises(BadUrlError):
        read_origin("https://rules.example.com/path")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "2001:db8::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:0001::",
        "2002:0a00:0001::1",
        "2001:0:7f00:1::1",
        "fec0:0:0:ffff::1",
        "192.0.0.8",
        "192.88.99.1",
        "3fff::1",
    ],
)
def test_addresses_of_this_installation_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946"])
def test_addresses_of_the_world_are_public(address: str) -> None:
    assert is_public(ip_address(address))


NAMED = read_origin("https://rules.example.com")


@pytest.mark.parametrize(
    ("addresses", "networks", "expected"),
    [
        (["93.184.216.34"], [], True),
        (["10.1.2.3"], [], False),
        (["10.1.2.3"], ["10.1.0.0/16"], True),
        (["10.2.2.3"], ["10.1.0.0/16"], False),
        (["93.184.216.34", "10.1.2.3"], [], False),
        (["93.184.216.34", "10.1.2.3"], ["10.1.0.0/16"], True),
        (["::ffff:10.1.2.3"], ["10.1.0.0/16"], False),
        (["fd00::1"], ["fd00::/8"], True),
        ([], [], False),
    ],
)
def test_a_name_may_lead_to_public_and_to_listed_addresses(
    addresses: list[str],
    networks: list[str],
    expected: bool,  # noqa: FBT001 - a test's own table
) -> None:
    targets = ListedTargets.read(["https://rules.example.com"], networks)
    assert targets.may_reach(NAMED, [ip_address(address) for address in addresses]) is expected


def test_an_origin_that_is_not_listed_is_not_reached() -> None:
    targets = ListedTargets.read(["https://rules.example.com", "http://127.0.0.1:9000"], [])
    public = [ip_address("93.184.216.34")]
    for other in ("http://rules.example.com", "https://rules.example.com:8443", "https://evil.example"):
        assert not targets.may_reach(read_origin(other), public)
    local = read_origin("http://127.0.0.1:9000")
    assert targets.may_reach(local, [ip_address("127.0.0.1")])
    assert not targets.may_reach(read_origin("http://127.0.0.1:9001"), [ip_address("127.0.0.1")])
