"""One contract, and what is asked of it: of either grammar, of the form's speller, of the algebra, of the validator.

What is found is a `Finding`; none means that they agree. Nothing here decides who is right.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from llguidance import LLMatcher

from cli.conform.serialise import Serialiser
from compiler_pool.compiler import RefusedContract, compile_contract
from compiler_pool.form.speller import SearchSpentError, Speller
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.free_json import bounds_for
from compiler_pool.lark.writer import write_form
from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import SchemaForm, schema_form
from compiler_pool.tokenizer import BoundTokenizer
from compiler_pool.trial import engine_limits
from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Unjudged, Valid
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.limits import GOVERNED, UNLIMITED
from policy.rejection import Rejection, RejectionCode
from policy.text_bounds import TextBounds
from registry.algebra.keyword_formulas import KeywordFormulas
from registry.algebra.terms import Terms, UnreadableContractError
from registry.algebra.truth import Truth, format_not_known
from registry.contract import CanonicalContract, JsonValue
from registry.parsing import NUMBER_LIMIT_NAME
from registry.pointers import tokens_of
from registry.text import canonical_json
from tests.differential.findings import Examined
from tests.differential.repeated_names import declared_names, repeated_names
from tests.differential.text_limits import is_within

STRICT: Final = EnforcementPolicy()
LIMITS: Final = replace(UNLIMITED, expansion=GOVERNED.expansion)
"""No limit on what may be asked, but on what an answer may cost: about two seconds."""
_SETTLED: Final = frozenset({KeywordStatus.ENFORCED, KeywordStatus.ANNOTATION})
_BY_SIZE: Final = frozenset({RejectionCode.LIMIT_EXCEEDED, RejectionCode.UNSUPPORTED_KEYWORD})


class ContractQuestions:
    """One contract that was read, and what is asked of it."""

    def __init__(
        self,
        *,
        tokenizer: BoundTokenizer,
        source: JsonValue,
        contract: CanonicalContract,
        judge: Judge,
        values: list[JsonValue],
        examined: Examined,
        bounds: TextBounds,
    ) -> None:
        self._tokenizer = tokenizer
        self._source = source
        self._contract = contract
        self._judge = judge
        self._values = values
        self._forms: dict[EnforcementPolicy, SchemaForm | Refused] = {}
        self._spellers: dict[EnforcementPolicy, Speller] = {}
        self._is_of_form = False
        self.strict = replace(STRICT, bounds=bounds)
        self.checked = replace(self.strict, allow_checked_after=True)
        self._bounds = bounds_for(contract.schema, bounds)
        self.examined = examined
        self._verdicts = [judge.judge_value(value) for value in values]
        for verdict in self._verdicts:
            if isinstance(verdict, Unjudged):
                examined.counts["unjudged"] += 1
        self._num_valid = sum(isinstance(verdict, Valid) for verdict in self._verdicts)
        examined.counts["values"] += len(values)
        examined.counts["valid values"] += self._num_valid

    def _form(self, policy: EnforcementPolicy) -> SchemaForm | Refused:
        if policy not in self._forms:
            made = schema_form(self._contract.schema, limits=LIMITS, policy=policy)
            self._forms[policy] = made
            if isinstance(made, SchemaForm):
                self._spellers[policy] = Speller(made.form, ExpansionSpending(LIMITS.expansion))
        return self._forms[policy]

    @property
    def is_same_grammar(self) -> bool:
        """Whether the product tried the form's grammar, so that asking both is asking one twice."""
        return self._is_of_form

    @property
    def has_inabilities(self) -> bool:
        """Whether the form is refused, but for nothing that a policy could not leave to the validator."""
        form = self._form(self.strict)
        codes = {rejection.code for rejection in form.rejections} if isinstance(form, Refused) else set()
        return codes == {RejectionCode.UNSUPPORTED_KEYWORD}

    def product(self) -> LLMatcher | None:
        """The engine on the grammar that the product makes under the strict policy."""
        policy = self.strict
        compiled = compile_contract(
            "json_schema", self._contract.text, tokenizer=self._tokenizer, policy=policy, limits=LIMITS
        )
        if isinstance(compiled, RefusedContract):
            self._refused("product", compiled.rejections)
            return None
        self._check_report("product", compiled.report, policy)
        self._is_of_form = True
        return self._engine(compiled.grammar, "product")

    def of_form(self, policy: EnforcementPolicy) -> LLMatcher | None:
        """The engine on the form's own grammar."""
        form = self._form(policy)
        if isinstance(form, Refused):
            self._refused("form", form.rejections)
            return None
        self._check_report("form", form.report, policy)
        return self._engine(write_form(form.form, max_digits=form.max_digits).text(), "form")

    def _engine(self, grammar: str, path: str) -> LLMatcher | None:
        matcher = LLMatcher(self._tokenizer.engine, grammar, log_level=0, limits=engine_limits(LIMITS.engine))
        if matcher.is_error():
            self.examined.find("engine refuses", path, matcher.get_error()[:400])
            return None
        return matcher

    def _refused(self, path: str, rejections: Sequence[Rejection]) -> None:
        for rejection in rejections:
            what = rejection.limit_name or rejection.keyword or ""
            self.examined.counts[f"{path} refused: {rejection.code} {what}".strip()] += 1
            if not exists(self._contract.schema, rejection.pointer):
                self.examined.find("pointer", path, f"{rejection.code} at {rejection.pointer!r}")
            elif not exists(self._source, self._contract.source_pointer(rejection.pointer)):
                told = self._contract.source_pointer(rejection.pointer)
                self.examined.find("pointer", path, f"{rejection.code} at {told!r} of what the caller wrote")
            if rejection.code is RejectionCode.UNSATISFIABLE:
                for value, verdict in zip(self._values, self._verdicts, strict=True):
                    if isinstance(verdict, Valid):
                        self.examined.find("called unsatisfiable", path, f"is valid: {canonical_json(value)}")
                        break
            elif rejection.code is RejectionCode.TRIAL_FAILED and "limits" in rejection.message:
                # It fits the compiler's limits and not the engine's: found before anybody relies on the grammar.
                self._is_of_form = True
            elif rejection.code not in _BY_SIZE:
                self.examined.find("refused", path, f"{rejection.code} {rejection.message}")

    def _check_report(self, path: str, report: Sequence[ReportEntry], policy: EnforcementPolicy) -> None:
        for entry in report:
            is_left = entry.status is KeywordStatus.CHECKED_AFTER and policy.allow_checked_after
            if entry.status not in _SETTLED and not is_left:
                self.examined.find("report", path, f"{entry.pointer!r} is {entry.status}")
        pointers = Counter(entry.pointer for entry in report)
        for pointer, times in pointers.items():
            if times > 1:
                self.examined.find("report", path, f"{pointer!r} is there {times} times")
            if not exists(self._contract.schema, pointer):
                self.examined.find("report", path, f"{pointer!r} is not in the schema")

    def ask_all(self, matcher: LLMatcher, path: str, policy: EnforcementPolicy) -> None:
        """Whether each value is generable exactly if it is valid; under a policy that checks afterwards, if."""
        for value, verdict in zip(self._values, self._verdicts, strict=True):
            if isinstance(verdict, Unjudged):
                continue
            is_generable = any(self._consumes(matcher, text) for text in self._spellings(value, policy))
            if matcher.is_error():
                self.examined.find("engine error", path, f"{matcher.get_error()[:200]} at {canonical_json(value)}")
                return
            if is_generable and isinstance(verdict, Invalid) and not policy.allow_checked_after:
                self.examined.find("INVALID GENERABLE", path, f"{canonical_json(value)}: {verdict.keyword}")
            if not is_generable and isinstance(verdict, Valid):
                if not is_within(value, self._bounds):
                    self.examined.counts["valid and out of bounds"] += 1
                    continue
                kind = "valid not generable" + (" under checked" if policy.allow_checked_after else "")
                self.examined.find(kind, path, canonical_json(value))

    def _spellings(self, value: JsonValue, policy: EnforcementPolicy) -> Iterator[bytes]:
        """Likeliest first: by the schema, then by the form."""
        yield from Serialiser(self._contract.schema, self._judge.admits).candidates(value)
        self._form(policy)
        if policy in self._spellers:
            try:
                text = self._spellers[policy].spell(value)
            except (SearchSpentError, ExpansionSpentError):
                return
            if text is not None:
                yield text.encode()

    def _consumes(self, prototype: LLMatcher, text: bytes) -> bool:
        tokens = self._tokenizer.encode_exact(text)
        matcher = prototype.deep_copy()
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    def ask_speller(self) -> None:
        """Form, algebra and validator: three judges of each value, none of whom knows a grammar."""
        self._form(self.strict)
        speller = self._spellers.get(self.strict)
        if speller is None:
            return
        terms = Terms()
        try:
            (root,) = terms.read(self._contract.schema)
        except UnreadableContractError:
            return
        truth = Truth(terms, KeywordFormulas(terms), format_not_known)
        for value, verdict in zip(self._values, self._verdicts, strict=True):
            if isinstance(verdict, Unjudged):
                continue
            is_valid = isinstance(verdict, Valid)
            try:
                has_text = speller.spell(value) is not None
            except (SearchSpentError, ExpansionSpentError):
                self.examined.counts["searches spent"] += 1
                continue
            if has_text != is_valid and (has_text or is_within(value, self._bounds)):
                kind = "the form has an invalid value" if has_text else "the form lacks a valid value"
                self.examined.find(kind, "form", canonical_json(value))
            allowed = truth.allows(root, value)
            if allowed is not None and allowed != is_valid:
                self.examined.find("the algebra is wrong", "truth", f"{canonical_json(value)} is valid: {is_valid}")

    def judge_text(self, text: bytes, path: str) -> None:
        """A text that a walk ended in."""
        verdict = self._judge.judge(text)
        match verdict:
            case Valid():
                self.examined.counts["walks valid"] += 1
            case Unjudged():
                self.examined.counts["walks unjudged"] += 1
            case Invalid() if verdict.keyword == RejectionCode.DUPLICATE_NAME:
                self.examined.counts["walks with a repeated name"] += 1
                # One place may declare what another one leaves open; a name that is declared everywhere is at fault.
                if repeated_names(text) & declared_names(self._contract.schema):
                    self.examined.counts["walks that repeat a name which is declared somewhere"] += 1
            case Invalid() if verdict.keyword == NUMBER_LIMIT_NAME:
                # The engine's own numbers have no bound; a text with such a number is no answer.
                self.examined.counts[f"walks with an endless number, {path}"] += 1
            case Invalid():
                self.examined.find("WALK INVALID", path, f"{text!r}: {verdict.keyword} at {verdict.pointer!r}")


def exists(schema: JsonValue, pointer: str) -> bool:
    """Whether an RFC 6901 pointer leads to something."""
    value = schema
    for token in tokens_of(pointer):
        match value:
            case dict() if token in value:
                value = value[token]
            case list() if token.isdecimal() and int(token) < len(value):
                value = value[int(token)]
            case _:
                return False
    return True
