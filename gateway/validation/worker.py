"""The judging process: `compiler_pool.child` runs `build` once, then its callable for each document."""

import sys
from collections import OrderedDict
from collections.abc import Callable

from compiler_pool.job import JsonLike
from gateway.validation.job import ContractNeeded, pack_verdict, unpack_job
from gateway.validation.judge import DocumentLimits
from gateway.validation.kinds.judges import DocumentJudge, prepare_judge
from gateway.validation.verdict import Unjudged

MAX_PREPARED_CONTRACTS = 64
"""Per process, least recently used first to go; a prepared contract is about ten times its text."""

MAX_FRAMES = 20_000
"""Interpreter frames of one judgement: about five for each level of the document and each reference followed. The
stack that `gateway.validation.service` gives a judge holds them; past them the judgement ends as `Unjudged`."""


def build(config: dict[str, JsonLike]) -> Callable[[bytes], bytes]:
    """A job that judges one document. `config`: `max_document_bytes`, `max_nesting`."""
    max_document_bytes, max_nesting = config["max_document_bytes"], config["max_nesting"]
    assert isinstance(max_document_bytes, int)
    assert isinstance(max_nesting, int)
    sys.setrecursionlimit(MAX_FRAMES)
    limits = DocumentLimits(max_document_bytes=max_document_bytes, max_nesting=max_nesting)
    prepared: OrderedDict[str, DocumentJudge | Unjudged] = OrderedDict()

    def judge(payload: bytes) -> bytes:
        job = unpack_job(payload)
        judge_or_not = prepared.get(job.contract_digest)
        if judge_or_not is None:
            if job.canonical_text is None:
                return pack_verdict(ContractNeeded())
            judge_or_not = prepared[job.contract_digest] = prepare_judge(job.kind, job.canonical_text, limits=limits)
            if len(prepared) > MAX_PREPARED_CONTRACTS:
                prepared.popitem(last=False)
        prepared.move_to_end(job.contract_digest)
        verdict = judge_or_not if isinstance(judge_or_not, Unjudged) else judge_or_not.judge(job.document)
        return pack_verdict(verdict)

    return judge
