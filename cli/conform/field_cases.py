"""Cases from public reports, held against this compiler: `python -m cli.conform.field_cases FILE --tokenizer PATH`.

Prints a table, a row for each case, and ends with status 1 if one is not as expected. A valid instance that is not
generated is told in the row, and is no fault: texts have one order of members and one spelling. An invalid one that is
generated is one, and so is a verdict of the validator other than the case's.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from cli.conform.answer import ConformAnswer, ConformVerdict
from cli.conform.session import Session, Settings
from compiler_pool.tokenizer import load_tokenizer
from gateway.compatibility.judges import GatewayJudges
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT, LimitClass
from policy.text_bounds import DEFAULT_MAX_DIGITS, TextBounds
from registry.compatibility.comparison import ContractText, compare
from registry.compatibility.verdicts import Direction, Safe, Unsafe
from registry.contract import ContractKind
from registry.errors import ContractRejectedError
from registry.reading import read_contract

_POLICY: Final = EnforcementPolicy(bounds=TextBounds(max_digits=DEFAULT_MAX_DIGITS))
_TEXTS: Final = ("text", "content", "answer", "arguments")
_LIMITS: Final = frozenset({"limit_exceeded", "compile_timeout"})


@dataclass(slots=True, kw_only=True)
class FieldOutcome:
    """What became of one case."""

    id: str
    kind: str
    expected: str
    words: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def row(self) -> str:
        """Its row of the table."""
        return f"| {self.id} | {self.kind} | {self.expected} | {'; '.join(self.words + self.faults)} |"


class FieldRun:
    """Runs cases on one tokenizer, with the code of the product, under the limits of a tenant."""

    def __init__(self, tokenizer: Path, limits: LimitClass = TENANT) -> None:
        self._settings = Settings(tokenizer=load_tokenizer(tokenizer), limits=limits, policy=_POLICY, documents={})

    def outcome(self, case: Mapping[str, Any]) -> FieldOutcome:
        """Hold one case against what it expects."""
        kind = case["input"]["kind"]
        found = FieldOutcome(id=case["id"], kind=kind, expected=case["expected"].get("admission", ""))
        match kind:
            case "json_schema":
                self._schema(case, found)
            case "json_schema_set" | "regex_set":
                self._set(case, found, "json_schema" if kind == "json_schema_set" else "regex")
            case "grammar":
                self._grammar(case, found)
            case "structural_tag" | "tools":
                value = case["input"].get(kind, case["input"].get("definition"))
                self._contract(case, found, "structural_tag" if kind == "structural_tag" else "tool_set", value)
            case "registry_pairs":
                _pairs(case, found)
            case "request_sketch":
                self._sketch(case, found)
            case _:
                found.faults.append("FAULT: a kind that is not known here")
        return found

    def _schema(self, case: Mapping[str, Any], found: FieldOutcome) -> None:
        self._contract(case, found, "json_schema", case["input"]["schema"])
        for size, grown in _GROWN.get(case["id"], ()):
            answer = self._ask("json_schema", grown(size), (), "text")
            is_right = answer.verdict is ConformVerdict.ACCEPTED or answer.code in _LIMITS
            _say(found, is_right, f"grown to {size}: {_verdict(answer)}")

    def _contract(self, case: Mapping[str, Any], found: FieldOutcome, kind: str, value: Any) -> None:
        form = "json" if case["instances_are"] == "json" else "text"
        instances = [*case["valid"], *case["invalid"], *case.get("policy_invalid", ())]
        answer = self._ask(kind, value, instances, form)
        expected = case["expected"]
        if answer.verdict is not ConformVerdict.ACCEPTED:
            may_refuse = expected["admission"] in {"exact_or_typed_rejection", "accept_or_limit", "reject"}
            pointer = expected.get("reject", {}).get("pointer", answer.pointer)
            _say(found, may_refuse and answer.pointer == pointer, _verdict(answer))
            return
        _say(found, expected["admission"] != "reject", "accepted")
        num_valid, num_judged = len(case["valid"]), len(case["valid"]) + len(case["invalid"])
        given = list(zip(instances, answer.instances, strict=True))
        num_generated = sum(each.generable for _, each in given[:num_valid])
        found.words.append(f"{num_generated} of {num_valid} valid generated")
        wrong = [text for text, each in given[:num_valid] if each.valid is not True]
        wrong += [text for text, each in given[num_valid:num_judged] if each.generable or each.valid is not False]
        # Whatever else must not come out: it is not generated, or not delivered, and then that is said.
        wrong += [text for text, each in given[num_judged:] if each.generable and each.valid is not False]
        refused = [text for text, each in given[num_judged:] if each.generable and each.valid is False]
        found.words.append(f"{len(given) - num_valid - len(refused)} others not")
        found.words += [f"generated and then refused: `{text}`" for text in refused]
        found.faults += [f"FAULT: {json.dumps(each)[:80]}" for each in wrong]

    def _set(self, case: Mapping[str, Any], found: FieldOutcome, kind: str) -> None:
        also = case["expected"].get("unsatisfiable_also", {}).get("contracts", ())
        for value in case["valid"]:
            answer = self._ask(kind, value, (), "text")
            _say(found, answer.verdict is ConformVerdict.ACCEPTED, _verdict(answer))
        for value in (*case["invalid"], *also):
            answer = self._ask(kind, value, (), "text")
            is_typed = answer.verdict is ConformVerdict.REJECTED and bool(answer.message)
            _say(found, is_typed, _verdict(answer))

    def _grammar(self, case: Mapping[str, Any], found: FieldOutcome) -> None:
        dialect = case["input"]["dialect"]
        self._contract(case, found, dialect, case["input"]["grammar"])
        for text in case["input"].get("also_refuse", ()):
            answer = self._ask(dialect, text, (), "text")
            _say(found, answer.verdict is ConformVerdict.REJECTED, _verdict(answer))

    def _sketch(self, case: Mapping[str, Any], found: FieldOutcome) -> None:
        """What a sketch says about its contract: that it is taken, and which texts are complete under it."""
        given = case["input"]
        contracts = [each["contract"] for each in (given, *given.get("parallel", ())) if "contract" in each]
        contracts += [each["parameters"] for each in (given["tool"],) if "tool" in given] if "tool" in given else []
        if not contracts:
            found.words.append("not about a contract")
            return
        texts = [text for item in case["valid"] if _is_complete(item) for text in _texts(item)]
        others = [text for item in case["invalid"] if _is_complete(item) for text in _texts(item)]
        others = [text for text in others if text not in texts] if len(contracts) == 1 else []
        for contract in contracts:
            answer = self._ask("json_schema", contract, [*texts, *others], "text")
            _say(found, answer.verdict is ConformVerdict.ACCEPTED, _verdict(answer))
            for text, each in zip([*texts, *others], answer.instances, strict=True):
                is_right = each.valid is (text in texts) and (each.generable or text not in texts)
                words = "complete" if each.valid else "not complete"
                _say(found, is_right, f"`{text[:40]}` is {words}")

    def _ask(self, kind: str, value: Any, instances: Sequence[Any], form: str) -> ConformAnswer:
        member = "schema" if kind == ContractKind.JSON_SCHEMA else "definition"
        line = {
            "id": None,
            "contract": {"kind": kind, member: value},
            "instances": [{form: each} for each in instances],
        }
        session = Session(self._settings)
        taken = session.take_contract(json.dumps(line).encode())
        if taken.answer.verdict is not ConformVerdict.ACCEPTED or not instances:
            return taken.answer
        return replace(taken.answer, instances=session.try_instances().instances)


def _pairs(case: Mapping[str, Any], found: FieldOutcome) -> None:
    mode = case["input"]["mode"].split()[0]
    directions = {"BACKWARD": [Direction.PRODUCER_SAFE], "FORWARD": [Direction.CONSUMER_SAFE]}.get(mode, [*Direction])
    for pair, is_safe in [*((each, True) for each in case["valid"]), *((each, False) for each in case["invalid"])]:
        try:
            old, new = (_text(pair[side]) for side in ("old", "new"))
        except ContractRejectedError as error:
            _say(found, False, f"rejected: {error.rejections[0].message}")
            continue
        comparison = compare(old, new, GatewayJudges())
        answers = [comparison.answer(direction) for direction in directions]
        witnesses = [
            f"`{answer.witness_text}` at {answer.new_pointer}" for answer in answers if isinstance(answer, Unsafe)
        ]
        is_right = all(isinstance(answer, Safe) for answer in answers) if is_safe else bool(witnesses)
        _say(found, is_right, f"incompatible: {witnesses[0]}" if witnesses else "compatible")


def _text(schema: Any) -> ContractText:
    read = read_contract(ContractKind.JSON_SCHEMA, schema, limits=TENANT.contract, policy=_POLICY)
    return ContractText(kind=read.kind.value, text=read.text)


def _say(found: FieldOutcome, is_right: bool, words: str) -> None:
    if is_right:
        found.words.append(words)
    else:
        found.faults.append(f"FAULT: {words}")


def _verdict(answer: ConformAnswer) -> str:
    if answer.verdict is ConformVerdict.ACCEPTED:
        return "accepted"
    return f"{answer.code} at `{answer.pointer}`" if answer.pointer else f"{answer.code}"


def _is_complete(item: Mapping[str, Any]) -> bool:
    return str(item.get("class", "")).split(" ")[0] == "complete"


def _texts(item: Mapping[str, Any]) -> Iterator[str]:
    """The texts that an item calls complete, of an answer or of a message in it."""
    for holder in (item, item.get("message") or {}):
        yield from (holder[name] for name in _TEXTS if isinstance(holder.get(name), str))


def _nested_oneof(depth: int) -> Any:
    """Each level by a reference: written out, 24 of them are a gigabyte."""
    named: dict[str, Any] = {"f0": {"type": "integer"}}
    for level in range(depth):
        inner = {"$ref": f"#/$defs/f{level}"}
        member = {"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": False}
        named[f"f{level + 1}"] = {"oneOf": [member, {"type": "array", "items": inner, "maxItems": 2}]}
    return {"$defs": named, "$ref": f"#/$defs/f{depth}"}


def _labels(count: int) -> Any:
    label = {"enum": [f"label-{number:04}" for number in range(count)]}
    return {"type": "object", "properties": {"label": label}, "required": ["label"], "additionalProperties": False}


_GROWN: Final[Mapping[str, tuple[tuple[int, Callable[[int], Any]], ...]]] = {
    "nested-oneof-blowup": tuple((size, _nested_oneof) for size in (8, 12, 16, 24)),
    "big-enum": tuple((size, _labels) for size in (100, 500, 5000)),
}
"""How cases are enlarged that say so in words."""


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    arguments = parser.parse_args()
    sys.setrecursionlimit(20_000)
    run = FieldRun(arguments.tokenizer)
    lines = arguments.file.read_text(encoding="utf-8").splitlines()
    outcomes = [run.outcome(json.loads(line)) for line in lines]  # noqa: TID251 - a corpus on our own disk
    print("| case | kind | expected | outcome |\n|---|---|---|---|")
    for outcome in outcomes:
        print(outcome.row)
    num_faults = sum(bool(outcome.faults) for outcome in outcomes)
    print(f"\n{len(outcomes)} cases, {num_faults} not as expected")
    return 1 if num_faults else 0


if __name__ == "__main__":
    sys.exit(main())
