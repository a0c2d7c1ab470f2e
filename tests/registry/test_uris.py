import pytest

from registry.uris import resolve_uri


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("..", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../../../g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
        ("./../g", "http://a/b/g"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
    ],
)  # fmt: skip
def test_references_resolve_as_rfc_3986_section_5_4_lists(reference: str, target: str) -> None:
    assert resolve_uri("http://a/b/c/d;p?q", reference) == (target, "")


def test_fragments_are_kept_apart() -> None:
    assert resolve_uri("urn:uuid:deadbeef", "#/a%25b") == ("urn:uuid:deadbeef", "/a%25b")
    assert resolve_uri("", "item.json#x") == ("item.json", "x")
    assert resolve_uri("http://a", "b") == ("http://a/b", "")
