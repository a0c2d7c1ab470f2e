"""Walks through a sample of the corpora end in valid texts."""

from collections import Counter
from itertools import islice

import pytest

from cli.conform.corpora import CorpusMissingError
from tests.differential.corpus_schemas import corpus_schemas, remote_documents
from tests.differential.run import tokenizer_at
from tests.differential.walks import SchemaWalks

_EVERY = 16


@pytest.mark.corpus
def test_walks_through_the_corpora_end_accepting_and_valid() -> None:
    try:
        schemas = list(islice(corpus_schemas(), 5, None, _EVERY))
    except CorpusMissingError as error:
        pytest.skip(str(error))
    walks = SchemaWalks(tokenizer_at(None), remote_documents())
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for name, text in schemas:
        walked = walks.walk(text, 2)
        counts.update(walked.counts)
        # A walk that is cut off says nothing; that it may end in time is left to the long run.
        wrong += [f"{name}: {what}" for what in walked.wrong if not what.startswith("unfinished")]
    assert wrong == []
    assert counts["valid"] > len(schemas)
    assert counts["unfinished"] < len(schemas) // 10
