"""Random walks through the masks of all corpora: `python -m tests.differential.walks --texts 100000 --tokenizer FILE`.

Every schema that is taken gets as many walks as make up the texts together. Each must end where the grammar accepts,
and the validator must agree; a repeated name among undeclared ones, and a number of more digits than any reader takes,
are counted apart: no grammar of the engine's own numbers and names can keep them out, and the validator does.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from llguidance import LLMatcher

from compiler_pool.compiler import RefusedContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import engine_limits
from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Unjudged, Valid
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED
from policy.rejection import RejectionCode
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import NUMBER_LIMIT_NAME, parse_json
from tests.differential.children import Died, outcomes
from tests.differential.corpus_schemas import corpus_schemas, remote_documents
from tests.differential.run import tokenizer_at
from tests.differential.walking import Ended, Stuck, Unfinished, Walker

POLICY: Final = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)
_MAX_TOKENS: Final = 1_000
_HURRY_AFTER: Final = 40
_CPU_SECONDS: Final = 120.0


@dataclass(slots=True, kw_only=True)
class Walked:
    """What came of the walks through one schema."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class SchemaWalks:
    """Walks through schemas as the product compiles them."""

    def __init__(self, tokenizer: BoundTokenizer, documents: Mapping[str, JsonValue]) -> None:
        self._tokenizer = tokenizer
        self._walker = Walker(tokenizer)
        self._documents = documents

    def walk(self, schema_text: str, num_texts: int) -> Walked:
        """Walk through one schema, seeded by the number of each text; nothing if the schema is refused."""
        walked = Walked()
        try:
            schema = parse_json(schema_text, max_bytes=1 << 26, max_nesting=200)
            contract = read_json_schema(
                schema, limits=UNLIMITED.contract, policy=POLICY, documents=dict(self._documents)
            )
        except ContractRejectedError as error:
            walked.counts[f"refused {error.rejections[0].code}"] += 1
            return walked
        compiled = compile_contract(
            "json_schema", contract.text, tokenizer=self._tokenizer, policy=POLICY, limits=UNLIMITED
        )
        if isinstance(compiled, RefusedContract):
            walked.counts[f"refused {compiled.rejections[0].code}"] += 1
            return walked
        judge = Judge.prepare(contract.text)
        assert isinstance(judge, Judge), judge
        walked.counts["schemas"] += 1
        matcher = self._engine(compiled.grammar)
        for at in range(num_texts):
            # Copies use up the lexer that they share.
            matcher = matcher if at % 64 else self._engine(compiled.grammar)
            walk = self._walker.walk(matcher, random.Random(at), hurry_after=_HURRY_AFTER, at_most=_MAX_TOKENS)
            walked.counts["texts"] += 1
            match walk:
                case Ended(text=text):
                    _judge(walked, judge, text)
                case Unfinished(text=text):
                    walked.counts["unfinished"] += 1
                    walked.wrong.append(f"unfinished: {text[:200]!r}")
                case Stuck(text=text, why=why):
                    walked.counts["dead ends"] += 1
                    walked.wrong.append(f"dead end: {why} behind {text[:200]!r}")
        return walked

    def _engine(self, grammar: str) -> LLMatcher:
        return LLMatcher(self._tokenizer.engine, grammar, log_level=0, limits=engine_limits(UNLIMITED.engine))


def _judge(walked: Walked, judge: Judge, text: bytes) -> None:
    verdict = judge.judge(text)
    match verdict:
        case Valid():
            walked.counts["valid"] += 1
        case Invalid() if verdict.keyword == RejectionCode.DUPLICATE_NAME:
            walked.counts["with a repeated name"] += 1
        case Invalid() if verdict.keyword == NUMBER_LIMIT_NAME:
            walked.counts["with an endless number"] += 1
        case Invalid():
            walked.counts["invalid"] += 1
            walked.wrong.append(f"invalid: {text[:300]!r}: {verdict.keyword} at {verdict.pointer!r}")
        case Unjudged():
            walked.counts["unjudged"] += 1
            walked.wrong.append(f"unjudged: {verdict.message}")


def main() -> int:
    """Walk, print what is wrong, then the counts. 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer file; by default a tiny one")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="only schemas whose name has this in it")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after so many, with the counts so far")
    arguments = parser.parse_args()
    schemas = [one for one in corpus_schemas() if arguments.only in one[0]]
    texts_each = -(-arguments.texts // len(schemas))

    def start() -> Callable[[tuple[str, str]], Walked]:
        walks = SchemaWalks(tokenizer_at(arguments.tokenizer), remote_documents())
        return lambda schema: walks.walk(schema[1], texts_each)

    counts: Counter[str] = Counter()
    num_wrong, started = 0, time.monotonic()
    for (name, _), walked in outcomes(start, schemas, jobs=arguments.jobs, cpu_seconds=_CPU_SECONDS):
        if time.monotonic() - started > 60 * arguments.minutes:
            break
        wrong = [walked.why] if isinstance(walked, Died) else walked.wrong
        if not isinstance(walked, Died):
            counts.update(walked.counts)
            if walked.counts["texts"] and counts["schemas"] % 100 == 0:
                seconds = time.monotonic() - started
                print(f"-- {counts['texts']} texts of {counts['schemas']} schemas in {seconds:.0f} s", file=sys.stderr)
        num_wrong += len(wrong)
        for line in wrong[:2]:
            print(f"{name}: {line}", flush=True)
    print(f"# {time.monotonic() - started:.0f} s, {texts_each} texts each of {len(schemas)} schemas")
    for what, number in sorted(counts.items()):
        print(f"{what}\t{number}")
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
