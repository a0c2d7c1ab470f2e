"""What the grammar generates for a format, the judge accepts: one specification, spelled twice, compared here."""

import re

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.lowering.formats import FORMATS as GENERATED
from gateway.validation.formats.table import FORMATS as JUDGED

_RANGE = r"\\x\{[0-9A-Fa-f]+\}-\\x\{[0-9A-Fa-f]+\}"


def _in_python(pattern: str) -> str:
    """The compiler's syntax in the standard library's. Of a list of ranges beyond ASCII only the first is drawn from,
    because drawing from all is slow; their ends are tried one by one below."""
    first_only = re.sub(f"({_RANGE})(?:{_RANGE})+", r"\1", pattern)
    return re.sub(r"\\x\{([0-9A-Fa-f]+)\}", lambda match: rf"\U{int(match.group(1), 16):08x}", first_only)


@pytest.mark.parametrize("name", sorted(GENERATED))
def test_every_string_of_the_grammar_is_in_the_format(name: str) -> None:
    expression = re.compile(_in_python(GENERATED[name]), re.DOTALL)

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.from_regex(expression, fullmatch=True))
    def check(text: str) -> None:
        assert JUDGED[name](text)

    check()


@pytest.mark.parametrize("name", ["iri", "iri-reference", "uri", "uri-template"])
@pytest.mark.parametrize("template", ["a:{}", "a://{}", "a:b?{}", "a:b#{}", "x{}"])
def test_both_sides_agree_on_every_end_of_every_range(name: str, template: str) -> None:
    ends = {int(end, 16) for end in re.findall(r"\\x\{([0-9A-Fa-f]+)\}", GENERATED["iri"])}
    for code_point in sorted({*range(0x80), *(near for end in ends for near in (end - 1, end, end + 1))}):
        if 0xD800 <= code_point <= 0xDFFF or code_point > 0x10FFFF:
            continue
        text = template.format(chr(code_point))
        assert JUDGED[name](text) is (re2.fullmatch(GENERATED[name], text) is not None), ascii(text)
