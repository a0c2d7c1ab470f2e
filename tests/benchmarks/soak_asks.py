"""What the soak asks for: contracts, with judges that share nothing with the grammar engine, and requests by number.

One number is always the same request, so that whatever else happens its tokens can be compared with those of the first
time that it came to its end.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.conform.corpora import bench_cases
from compiler_pool.tokenizer import BoundTokenizer
from gateway.validation.verdict import Valid
from inference_node.sampling import SamplingChoice
from policy.limits import TENANT, EngineBudget
from tests.benchmarks.determinism_runs import SCHEMAS
from tests.benchmarks.drafting_cases import compiled
from tests.inference_node import poison

MAX_PROMPT_TOKENS: Final = 90
_WORDS: Final = (
    "the", "sea", "was", "cold", "and", "a", "keeper", "counted", "{a:1}", "[3,", "4]", "lights", "until", "red", "or",
    "blue", "came", "back", "at", "08:30",
)  # fmt: skip
_CORPUS: Final = ("Github_trivial", "Github_easy", "Glaiveai2K", "Kubernetes", "Snowplow")
_MAX_GRAMMAR_CHARACTERS: Final = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakContract:
    """A grammar, and who says whether a text is whole by other means."""

    name: str
    grammar: str
    is_whole: Callable[[str], bool]
    budget: EngineBudget = TENANT.engine
    may_fail: bool = False
    """Whether `grammar_failed` can be its own doing."""
    may_stick: bool = False
    """Whether it has a dead end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. `thought_tokens` None: no thought; -1: one without a budget."""

    number: int
    prompt_ids: Sequence[int]
    prompt_text: str
    contract: SoakContract | None
    choice: SamplingChoice
    max_tokens: int
    stop: Sequence[str]
    num_top_logprobs: int | None
    adapter: int | None
    thought_tokens: int | None


def contracts(tokenizer: BoundTokenizer, *, num_schemas: int) -> list[SoakContract]:
    """Expressions, choices, schemas as the product compiles them, and some that are hostile."""
    lark = [
        ("object", 'start: "{\\"name\\":\\"" /[a-z ]{1,12}/ "\\",\\"age\\":" /[1-9][0-9]{0,2}/ "}"',
         r'\{"name":"[a-z ]{1,12}","age":[1-9][0-9]{0,2}\}'),
        ("list", 'start: "[" N ("," N){2,6} "]"\nN: /-?[0-9]{1,6}/', r"\[-?[0-9]{1,6}(,-?[0-9]{1,6}){2,6}\]"),
        ("choice", 'start: "red" | "green" | "blue" | "ultraviolet light"', "red|green|blue|ultraviolet light"),
        ("words", "start: /[a-z]{3,8}( [a-z]{3,8}){2,9}\\./", r"[a-z]{3,8}( [a-z]{3,8}){2,9}\."),
        ("open end", "start: /[ab,]{1,40}/", "[ab,]{1,40}"),
        ("one sentence", 'start: "nothing else, and no other word can be said here"',
         "nothing else, and no other word can be said here"),
        ("characters", "start: /[à-ÿ☃😀-😎]{1,12}/", "[à-ÿ☃😀-😎]{1,12}"),
        ("slow", "start: /([a-z]*[0-9][a-z0-9]{12}|[a-z0-9]*x[a-z0-9]{14})-/",
         "([a-z]*[0-9][a-z0-9]{12}|[a-z0-9]*x[a-z0-9]{14})-"),
    ]  # fmt: skip
    made = [SoakContract(name=name, grammar=grammar, is_whole=_matching(pattern)) for name, grammar, pattern in lark]
    stuck = 'start: "x" (A B | "z")\nA: "a"\nB: /b/ & /c/'
    made.append(SoakContract(name="dead end", grammar=stuck, is_whole=_matching("xz"), may_stick=True))
    line = r"[a-z]{3,8}"
    rows = rf'[a-su-z](\{{"word":"{line}","last":"{line}"\}}){{6,9}}\.|t[ab]*a[ab]{{900}}'
    made.append(
        SoakContract(
            name="poison", grammar=poison.GRAMMAR, is_whole=_matching(rows), budget=poison.BUDGET, may_fail=True
        )
    )
    made += [_of_schema(tokenizer, str(at), json.dumps(schema)) for at, schema in enumerate(SCHEMAS) if schema]
    return made + _of_corpus(tokenizer, num_schemas)


def ask(
    number: int, tokenizer: BoundTokenizer, among: Sequence[SoakContract], *, max_tokens: int, num_adapters: int
) -> Ask:
    """The request of a number."""
    draw = random.Random(number)
    contract = draw.choice(among) if draw.random() < 0.85 else None
    # Beginnings in common, so that blocks are shared.
    shared = random.Random(number % 5).choices(_WORDS, k=24) if draw.random() < 0.6 else []
    text = " ".join([*shared, *draw.choices(_WORDS, k=draw.randint(1, 40))])
    thought = draw.random()
    return Ask(
        number=number,
        prompt_ids=tokenizer.encode_exact(text.encode())[:MAX_PROMPT_TOKENS],
        prompt_text=text,
        contract=contract,
        choice=_choice(draw),
        max_tokens=draw.randint(1, max_tokens),
        stop=draw.sample([",", "a", "}", "ee", ' "', "1", "."], k=draw.randint(1, 2)) if draw.random() < 0.2 else [],
        num_top_logprobs=draw.randint(0, 3) if draw.random() < 0.15 else None,
        adapter=draw.randrange(num_adapters) if num_adapters and draw.random() < 0.3 else None,
        thought_tokens=None if thought < 0.8 else draw.choice([-1, 0, 1, 5, 12]),
    )


def with_plain_prompt(one: Ask, prompt_ids: Sequence[int]) -> Ask:
    """The same over other tokens."""
    return replace(one, prompt_ids=prompt_ids)


def _choice(draw: random.Random) -> SamplingChoice:
    seed = draw.getrandbits(32)
    if draw.random() < 0.3:
        return SamplingChoice(temperature=0.0, top_p=1.0, seed=seed, damping=draw.choice([0.0, 0.0, 1.5]))
    return SamplingChoice(
        temperature=draw.choice([0.7, 1.0, 1.5]),
        top_p=draw.choice([1.0, 1.0, 0.9]),
        seed=seed,
        top_k=draw.choice([0, 0, 50]),
    )


def _matching(pattern: str) -> Callable[[str], bool]:
    known = re.compile(pattern)
    return lambda text: known.fullmatch(text) is not None


def _of_schema(tokenizer: BoundTokenizer, name: str, schema_text: str) -> SoakContract:
    contract = compiled(schema_text, tokenizer)
    assert contract is not None, f"schema {name} is refused"
    judge = contract.judge
    return SoakContract(
        name=f"schema {name}",
        grammar=contract.grammar,
        is_whole=lambda text: isinstance(judge.judge(text.encode()), Valid),
    )


def _of_corpus(tokenizer: BoundTokenizer, count: int) -> list[SoakContract]:
    found: list[SoakContract] = []
    if not count:
        return found
    corpus = [case for case in bench_cases() if case.id.startswith(_CORPUS)]
    for case in random.Random(0).sample(corpus, len(corpus)):
        contract = compiled(case.schema_text(), tokenizer)
        if contract is None or len(contract.grammar) > _MAX_GRAMMAR_CHARACTERS:
            continue
        judge = contract.judge
        found.append(
            SoakContract(
                name=case.id,
                grammar=contract.grammar,
                is_whole=lambda text, judge=judge: isinstance(judge.judge(text.encode()), Valid),  # type: ignore[misc]  # mypy infers no type of a default in a lambda
            )
        )
        if len(found) == count:
            break
    return found
