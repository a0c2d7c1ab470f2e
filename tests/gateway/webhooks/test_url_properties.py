"""No text leads elsewhere than it was read: what other readers of URLs make of an accepted one is the same."""

import string
from urllib.parse import urlsplit

import httpx
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.webhooks.origins import BadUrlError, read_url

HOSTS = st.one_of(
    st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.integers(0, 2**33).map(str),
    st.text(alphabet=string.printable + "①。ａ", max_size=12),  # noqa: RUF001 - what some readers take for others
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["http", "https", "HTTP", "hTTps", "ftp"]),
        HOSTS,
        st.one_of(st.just(""), st.integers(0, 70_000).map(lambda port: f":{port}")),
        st.one_of(st.just(""), st.text(alphabet="/?#@:\\a.%20&=;", max_size=12)),
    ),
)


@given(TEXTS)
@example("https://rules.example\\@evil.example/")
@example("https://rules.example/@evil.example")
@example("http://127.1/")
@example("http://0x7f000001/")
def test_other_readers_read_the_same_host_and_port(text: str) -> None:
    try:
        url = read_url(text)
    except BadUrlError:
        return
    origin = url.origin
    for host, port, scheme in (
        (httpx.URL(text).host, httpx.URL(text).port, httpx.URL(text).scheme),
        (urlsplit(text).hostname, urlsplit(text).port, urlsplit(text).scheme),
    ):
        assert scheme == origin.scheme
        assert port in {origin.port, None}
        address = origin.address
        if address is None:
            assert host == origin.host
        else:
            assert str(type(address)(host or "")) == origin.host
    assert url.target.startswith("/")
    assert not set(url.target) & set(" \r\n\t\\#")
