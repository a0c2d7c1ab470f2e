"""One schema, examined: both grammars on each value and in walks, strict first and then with checks afterwards."""

import random
from collections.abc import Sequence

from llguidance import LLMatcher

from compiler_pool.tokenizer import BoundTokenizer
from gateway.validation.judge import Judge
from gateway.validation.verdict import Unjudged
from policy.rejection import Rejection
from policy.text_bounds import UNBOUNDED, TextBounds
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from registry.text import canonical_json
from tests.differential.contract_questions import LIMITS, STRICT, ContractQuestions, exists
from tests.differential.findings import Examined
from tests.differential.walking import Ended, Stuck, Unfinished, Walker


class Examiner:
    """Examines schemas on one tokenizer."""

    def __init__(
        self, tokenizer: BoundTokenizer, *, num_walks: int = 4, paths: Sequence[str] = ("product", "form")
    ) -> None:
        self._tokenizer = tokenizer
        self._walker = Walker(tokenizer)
        self._num_walks = num_walks
        self._paths = paths

    def examine(
        self, schema: JsonValue, values: Sequence[JsonValue], *, seed: int, bounds: TextBounds = UNBOUNDED
    ) -> Examined:
        """Everything there is to ask of one schema, for texts within a policy's bounds."""
        examined = Examined()
        try:
            contract = read_json_schema(schema, limits=LIMITS.contract, policy=STRICT)
        except ContractRejectedError as error:
            self._refused(examined, "reading", schema, error.rejections)
            return examined
        judge = Judge.prepare(contract.text)
        if isinstance(judge, Unjudged):
            examined.find("unjudged contract", "validator", judge.message)
            return examined
        one = ContractQuestions(
            tokenizer=self._tokenizer,
            source=schema,
            contract=contract,
            judge=judge,
            values=[_read(value) for value in values],
            examined=examined,
            bounds=bounds,
        )
        for path in self._paths:
            matcher = one.product() if path == "product" else one.of_form(one.strict)
            if matcher is None:
                self._checked(one, path)
                continue
            examined.counts[f"{path} accepted"] += 1
            if path == "form" and "product" in self._paths and one.is_same_grammar:
                continue
            one.ask_all(matcher, path, one.strict)
            self._walk(one, matcher, path, seed)
        one.ask_speller()
        return examined

    def _checked(self, one: ContractQuestions, path: str) -> None:
        """What is refused under strict may be let through for the validator to check; then it is only wider."""
        matcher = one.of_form(one.checked) if path == "form" and one.has_inabilities else None
        if matcher is not None:
            one.examined.counts[f"{path} accepted under checked"] += 1
            one.ask_all(matcher, path, one.checked)

    def _walk(self, one: ContractQuestions, matcher: LLMatcher, path: str, seed: int) -> None:
        for at in range(self._num_walks):
            walk = self._walker.walk(matcher, random.Random(seed * 1000 + at))
            one.examined.counts["walks"] += 1
            match walk:
                case Ended(text=text):
                    one.judge_text(text, path)
                case Unfinished(text=text):
                    one.examined.counts["walks unfinished"] += 1
                case Stuck(text=text, why=why):
                    one.examined.find("dead end", path, f"{why} behind {text!r}")

    def _refused(self, examined: Examined, path: str, schema: JsonValue, rejections: Sequence[Rejection]) -> None:
        for rejection in rejections:
            examined.counts[f"{path} refused: {rejection.code}"] += 1
            if not exists(schema, rejection.pointer):
                examined.find("pointer", path, f"{rejection.code} at {rejection.pointer!r}")


def _read(value: JsonValue) -> JsonValue:
    """The value as a parser has it: integral numbers as integers, nothing shared."""
    return parse_json(canonical_json(value), max_bytes=1 << 24, max_nesting=200)
