"""What one child of conform knows: its settings, and the contract it has taken last.

The stages are the product's own: `registry` reads and names the contract, `compiler_pool` lowers, compiles and tries
it, `inference_node.grammar` matches, `gateway.validation` judges.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cli.conform.answer import ConformAnswer, ConformVerdict, InstanceAnswer, MaskTimes
from cli.conform.form_spelling import FormSpelling, Spellings
from cli.conform.lines import line_id
from cli.conform.request import (
    ConformRequest,
    Instance,
    KindContract,
    LineRefusedError,
    SchemaTextContract,
    TextInstance,
    read_request,
)
from cli.conform.serialise import Serialiser
from cli.conform.trial_run import TrialRun
from cli.conform.wire import ContractAnswer, InstancesAnswer
from compiler_pool.compiler import RefusedContract, compile_contract
from compiler_pool.tokenizer import BoundTokenizer
from gateway.validation.judge import Judge
from gateway.validation.kinds.judges import DocumentJudge, prepare_judge
from gateway.validation.verdict import Invalid, Unjudged, Valid, Verdict
from inference_node.grammar import Prototype
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.limits import LimitClass
from policy.rejection import Rejection
from policy.text_bounds import TextReport
from registry.contract import CanonicalContract, JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.parsing import parse_json
from registry.reading import read_contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every line of a run has in common. `documents` are approved for references, by absolute URI."""

    tokenizer: BoundTokenizer
    limits: LimitClass
    policy: EnforcementPolicy
    documents: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """An accepted contract that waits for its instances."""

    contract: CanonicalContract
    grammar: str
    instances: tuple[Instance, ...]


class Session:
    """Call order: `take_contract`, and if it was accepted, `try_instances`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._taken: _Taken | None = None

    def take_contract(self, line: bytes) -> ContractAnswer:
        """Read a line and compile its contract."""
        self._taken = None
        name = line_id(line)
        started = time.thread_time()
        try:
            request = read_request(line)
        except LineRefusedError as error:
            return _rejected(name, error.code, error.pointer, error.message, num_instances=error.num_instances)
        num_instances = len(request.instances)
        try:
            contract = self._read_contract(request)
        except ContractRejectedError as error:
            report = tuple(_rejection_entries(error.rejections))
            first = error.rejections[0]
            return _rejected(
                name,
                first.code,
                first.pointer,
                first.message,
                num_instances=num_instances,
                report=report,
                compile_ms=_ms(time.thread_time() - started),
            )
        return self._compile(name, request, contract)

    def try_instances(self) -> InstancesAnswer:
        """Try the instances of the contract that was taken."""
        taken = self._taken
        assert taken is not None
        self._taken = None
        settings = self._settings
        prototype = Prototype.build(settings.tokenizer, taken.grammar, settings.limits.engine)
        run = TrialRun(tokenizer=settings.tokenizer, prototype=prototype)
        run.start()
        judge = prepare_judge(taken.contract.kind, taken.contract.text)
        serialiser = Serialiser(taken.contract.schema, judge.admits if isinstance(judge, Judge) else _admits_nothing)
        spellings = Spellings(serialiser, FormSpelling(taken.contract.schema, settings.limits, settings.policy))
        instances = tuple(_try_instance(instance, run, judge, spellings) for instance in taken.instances)
        return InstancesAnswer(instances=instances, mask_us=MaskTimes.of(run.mask_us), first_mask_ms=run.first_mask_ms)

    def _read_contract(self, request: ConformRequest) -> CanonicalContract:
        limits = self._settings.limits.contract
        if isinstance(request.contract, KindContract):
            return read_contract(
                request.contract.kind,
                request.contract.value,
                limits=limits,
                policy=self._settings.policy,
                documents=self._settings.documents,
            )
        if isinstance(request.contract, SchemaTextContract):
            schema = parse_json(
                request.contract.schema_text,
                max_bytes=limits.max_contract_bytes,
                max_nesting=limits.max_nesting,
                bytes_limit_name="max_contract_bytes",
            )
        else:
            schema = request.contract.schema
        return read_json_schema(schema, limits=limits, policy=self._settings.policy, documents=self._settings.documents)

    def _compile(self, name: str | None, request: ConformRequest, contract: CanonicalContract) -> ContractAnswer:
        settings = self._settings
        compilation = compile_contract(
            contract.kind.value,
            contract.text,
            tokenizer=settings.tokenizer,
            policy=settings.policy,
            limits=settings.limits,
        )
        report = (
            *(
                ReportEntry(pointer=contract.source_pointer(entry.pointer), keyword=entry.keyword, status=entry.status)
                for entry in compilation.report
            ),
            *contract.annotations,
        )
        if isinstance(compilation, RefusedContract):
            first = compilation.rejections[0]
            return _rejected(
                name,
                first.code,
                contract.source_pointer(first.pointer),
                first.message,
                num_instances=len(request.instances),
                report=report,
                contract_digest=contract.digest,
                compile_ms=_ms(compilation.cpu_seconds),
            )
        self._taken = _Taken(contract=contract, grammar=compilation.grammar, instances=request.instances)
        answer = ConformAnswer(
            id=name,
            verdict=ConformVerdict.ACCEPTED,
            report=report,
            text=_traced(compilation.text, contract),
            contract_digest=contract.digest,
            compile_ms=_ms(compilation.lower_seconds + compilation.passed.compile_seconds),
            first_mask_ms=_ms(compilation.passed.first_mask_seconds),
        )
        return ContractAnswer(answer=answer, num_instances=len(request.instances))


def _traced(text: TextReport, contract: CanonicalContract) -> TextReport:
    places = (replace(place, pointer=contract.source_pointer(place.pointer)) for place in text.bounded)
    return replace(text, bounded=tuple(places))


def _try_instance(
    instance: Instance, run: TrialRun, judge: DocumentJudge | Unjudged, spellings: Spellings
) -> InstanceAnswer:
    if isinstance(instance, TextInstance):
        data = instance.text.encode()
        is_generable = run.consumes(data)
        verdict = judge if isinstance(judge, Unjudged) else judge.judge(data)
    else:
        assert isinstance(judge, Judge | Unjudged), "only schemas are asked about values"
        is_generable = any(run.consumes(candidate) for candidate in spellings.of(instance.value))
        verdict = judge if isinstance(judge, Unjudged) else judge.judge_value(instance.value)
    return InstanceAnswer(generable=is_generable, valid=_validity(verdict))


def _validity(verdict: Verdict) -> bool | None:
    match verdict:
        case Valid():
            return True
        case Invalid():
            return False
        case Unjudged():
            return None


def _rejected(
    name: str | None,
    code: str,
    pointer: str,
    message: str,
    *,
    num_instances: int,
    report: tuple[ReportEntry, ...] = (),
    contract_digest: str | None = None,
    compile_ms: float = 0.0,
) -> ContractAnswer:
    """Nothing is generable under a contract that is refused, and nobody was asked what is valid."""
    answer = ConformAnswer(
        id=name,
        verdict=ConformVerdict.REJECTED,
        code=code,
        pointer=pointer,
        message=message,
        report=report,
        contract_digest=contract_digest,
        compile_ms=compile_ms,
        instances=(InstanceAnswer(generable=False, valid=None),) * num_instances,
    )
    return ContractAnswer(answer=answer, num_instances=num_instances)


def _rejection_entries(rejections: Iterable[Rejection]) -> Iterable[ReportEntry]:
    for rejection in rejections:
        if rejection.keyword is not None:
            yield ReportEntry(pointer=rejection.pointer, keyword=rejection.keyword, status=KeywordStatus.REJECTED)


def _admits_nothing(_value: JsonValue, _subschema: JsonValue) -> bool:
    return False


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
