"""Prompts under real contracts whose answers repeat some of what stands before them, as many answers do."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.conform.corpora import CorpusCase, _text, bench_cases
from compiler_pool.compiler import RefusedContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer
from gateway.validation.judge import Judge
from inference_node.prompt import PromptEncoder
from inference_node.protocol import ChatMessage
from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import TENANT
from policy.text_bounds import TextBounds
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json

KINDS: Final = ("document", "call", "manifest", "free")
"""A document to give back, a function to call, a Kubernetes manifest to change, and a contract with nothing to copy."""

_BOUNDS: Final = TextBounds(max_digits=12, max_string_length=60, max_items=6, max_depth=8)
"""So that a small model comes to an end; the same for all who are compared."""

_SOURCES: Final = {
    "document": ("Github_easy", "Github_medium", "Snowplow", "WashingtonPost", "JsonSchemaStore"),
    "call": ("Glaiveai2K", "BFCL"),
    "manifest": ("Kubernetes",),
    "free": ("Glaiveai2K", "Github_easy", "Github_trivial"),
}
_SYSTEM: Final = "You answer with one JSON value and nothing else."


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A schema as the product compiles it, and who judges what comes out."""

    grammar: str
    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request."""

    name: str
    kind: str
    prompt_ids: Sequence[int]
    contract: Contract


def compiled(schema_text: str, tokenizer: BoundTokenizer, *, bounds: TextBounds = _BOUNDS) -> Contract | None:
    """The contract; None where it is refused or cannot be judged."""
    policy = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION, bounds=bounds)
    try:
        schema = parse_json(schema_text, max_bytes=1 << 20, max_nesting=64)
        canonical = read_json_schema(schema, limits=TENANT.contract, policy=policy)
    except ContractRejectedError:
        return None
    made = compile_contract("json_schema", canonical.text, tokenizer=tokenizer, policy=policy, limits=TENANT)
    judge = Judge.prepare(canonical.text)
    if isinstance(made, RefusedContract) or not isinstance(judge, Judge):
        return None
    return Contract(grammar=made.grammar, judge=judge)


def cases(
    tokenizer: BoundTokenizer,
    prompts: PromptEncoder,
    *,
    per_kind: int,
    max_prompt_tokens: int,
    seed: int = 0,
    bounds: TextBounds = _BOUNDS,
) -> Iterator[Case]:
    """So many of each kind, in a seeded order of the corpus's schemas; those that are refused are passed over."""
    corpus = list(bench_cases())
    for kind in KINDS:
        draw = random.Random(f"{seed} {kind}")
        found = 0
        for case in draw.sample(corpus, len(corpus)):
            if found == per_kind:
                break
            instance = _instance(case)
            if instance is None or not case.id.startswith(_SOURCES[kind]):
                continue
            messages = [
                ChatMessage(role="system", content=_SYSTEM),
                ChatMessage(role="user", content=_request(kind, case, instance)),
            ]
            prompt_ids = prompts.encode(messages)
            if len(prompt_ids) > max_prompt_tokens:
                continue
            contract = compiled(case.schema_text(), tokenizer, bounds=bounds)
            if contract is not None:
                found += 1
                yield Case(name=f"{kind} {case.id}", kind=kind, prompt_ids=prompt_ids, contract=contract)


def _instance(case: CorpusCase) -> "JsonValue | None":
    """A valid instance that holds something."""
    valid = (json.loads(_text(data)) for data, is_valid in case.instances if is_valid)
    return next((value for value in valid if isinstance(value, dict | list) and len(json.dumps(value)) >= 40), None)


def _request(kind: str, case: CorpusCase, instance: Any) -> str:
    shown = json.dumps(instance, separators=(",", ":"), ensure_ascii=False)
    match kind:
        case "document":
            return f"Give this document back as it is:\n{shown}"
        case "call":
            name = case.id.split("---")[-1]
            said = "; ".join(f"{path} is {value}" for path, value in _leaves(instance))
            return f"Call the function {name}. Parameters: {_names(instance)}. I want it such that {said}."
        case "manifest":
            return f"Here is a manifest:\n{shown}\nAdd the label app=web where labels may stand, and give it all back."
        case _:
            return "Make up an example for an answer."


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, member in value.items():
                yield from _leaves(member, f"{path} {name}".strip())
        case list():
            for member in value:
                yield from _leaves(member, path)
        case _:
            yield path, str(value)


def _names(value: Any) -> str:
    return ", ".join(value) if isinstance(value, dict) else "a list"
