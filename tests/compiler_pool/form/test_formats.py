"""Formats as languages: what the validator says is in a format is in its language, and the other way round."""

from random import Random

import pytest

from compiler_pool.form.formats.membership import in_format
from compiler_pool.form.formats.table import Fit, format_language
from compiler_pool.form.simplifying import simplified
from gateway.validation.formats.table import FORMATS
from registry.algebra.format_samples import format_samples
from registry.keywords import KNOWN_FORMATS
from tests.compiler_pool.form.walks import mutated, run_of, spending, walk


def test_every_format_that_the_validator_asserts_is_known() -> None:
    assert set(FORMATS) == set(KNOWN_FORMATS)
    for name in FORMATS:
        assert isinstance(format_language(name).fit, Fit)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_format_is_as_simple_as_it_gets(name: str) -> None:
    language = format_language(name).language
    assert simplified(language, spending()) == language


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_format_is_decided_as_the_validator_decides_it(name: str) -> None:
    known = format_language(name)
    run = run_of(known.language, format_samples(name))
    random = Random(name)
    texts = [*format_samples(name), *(walk(run, random) for _ in range(60))]
    texts += [mutated(text, random) for text in texts for _ in range(4)]
    held = set(filter(run.contains, texts))
    for text in texts:
        says = FORMATS[name](text)
        match known.fit:
            case Fit.EXACT:
                assert (text in held) == says, text
            case Fit.NARROWER:
                assert text not in held or says, text
            case Fit.WIDER:
                assert text in held or not says, text
    for text in texts:
        told = in_format(name, text)
        assert told is None or told is FORMATS[name](text), text
    assert any(in_format(name, text) is not None for text in texts)
    assert any(text in held for text in texts[: len(texts) // 5])
