"""Random GBNF texts and structural tags over a few characters, small enough to try every short text on them."""

from itertools import product
from typing import Any

from hypothesis import strategies as st

from registry.contract import JsonValue

RULES = ("root", "a0", "a1")


def short_texts(alphabet: str, longest: int) -> list[str]:
    """Every text up to a length."""
    return ["".join(letters) for size in range(longest + 1) for letters in product(alphabet, repeat=size)]


def _sequences(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.tuples(items, st.sampled_from(["", "", "", "*", "?", "{1,2}"])).map("".join)
    return st.lists(repeated, min_size=1, max_size=3).map(" ".join)


def _alternatives(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(_sequences(items), min_size=1, max_size=3).map(" | ".join)


_literals = st.text("abe", min_size=1, max_size=3).map(lambda text: f'"{text}"')
_leaves = st.one_of(_literals, st.sampled_from(["[ab]", "[^a]", "[a-z]", ".", *RULES]))
_items = st.recursive(_leaves, lambda inner: _alternatives(inner).map(lambda body: f"({body})"), max_leaves=6)

gbnf_texts: st.SearchStrategy[str] = st.tuples(*(_alternatives(_items) for _ in RULES)).map(
    lambda bodies: "\n".join(f"{name} ::= {body}" for name, body in zip(RULES, bodies, strict=True))
)

_SCHEMAS: list[JsonValue] = [{"type": "integer"}, {"const": "a"}, {"type": "array", "maxItems": 0}]
_simple_formats = st.one_of(
    st.text("ab<>", min_size=1, max_size=2).map(lambda text: {"type": "const_string", "value": text}),
    st.sampled_from(["a*", "[ab]", "b+a?", "<?"]).map(lambda pattern: {"type": "regex", "pattern": pattern}),
    st.fixed_dictionaries(
        {"type": st.just("any_text")},
        optional={"excludes": st.sampled_from([["b"], ["ab"], ["<<"]]), "max_chars": st.integers(0, 2)},
    ),
    st.sampled_from(_SCHEMAS).map(lambda schema: {"type": "json_schema", "json_schema": schema}),
)


def _tag(begin: st.SearchStrategy[str], content: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    ends = st.sampled_from([">", "/", "ba", [">", "/"]])
    return st.fixed_dictionaries({"type": st.just("tag"), "begin": begin, "content": content, "end": ends})


def _triggered(content: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def begins(trigger: str) -> st.SearchStrategy[str]:
        return st.sampled_from(["", "a", "ab"]).map(lambda more: trigger + more)

    def of(triggers: tuple[str, ...]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {
                "type": st.just("triggered_tags"),
                "triggers": st.just([*triggers]),
                "tags": st.tuples(*(_tag(begins(trigger), content) for trigger in triggers)).map(list),
            },
            optional={"at_least_one": st.booleans(), "stop_after_first": st.booleans(), "excludes": st.just(["bb"])},
        )

    return st.sampled_from([("<",), ("<a", "<b"), ("a<",)]).flatmap(of)


def _formats(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"type": st.sampled_from(["sequence", "or"]), "elements": several}),
        st.fixed_dictionaries({"type": st.sampled_from(["optional", "star", "plus"]), "content": inner}),
        _tag(st.sampled_from(["<a", "<b", "<", "a<"]), inner),
        _triggered(inner),
    )


structural_tags: st.SearchStrategy[Any] = st.recursive(_simple_formats, _formats, max_leaves=5).map(
    lambda tree: {"type": "structural_tag", "format": tree}
)
