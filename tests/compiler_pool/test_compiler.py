"""The compile as a whole: verdicts, places, costs, and contracts made to hurt."""

from dataclasses import replace
from importlib.metadata import version

import pytest

from compiler_pool.compiler import Compilation, CompiledContract, RefusedContract, compile_contract
from compiler_pool.engine import ENGINE, ENGINE_VERSION
from compiler_pool.trial import CompileFailed, Passed, TrialFailed, try_grammar
from policy.capability import LLGUIDANCE_1_9_1, Capability
from policy.enforcement import EnforcementPolicy, KeywordStatus
from policy.limits import TENANT, UNLIMITED, LimitClass
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.json_schema import read_json_schema
from tests.compiler_pool.tiny_tokenizer import tiny_tokenizer


def _compile(text: str, limits: LimitClass = UNLIMITED) -> Compilation:
    return compile_contract("json_schema", text, tokenizer=tiny_tokenizer(), policy=EnforcementPolicy(), limits=limits)


def _rejection(text: str, limits: LimitClass = UNLIMITED) -> Rejection:
    compilation = _compile(text, limits)
    assert isinstance(compilation, RefusedContract), compilation
    return compilation.rejections[0]


def test_the_engine_that_artifacts_name_is_the_one_installed() -> None:
    assert version(ENGINE) == ENGINE_VERSION


def test_a_contract_becomes_a_grammar_with_report_and_cost() -> None:
    compilation = _compile('{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}', TENANT)
    assert isinstance(compilation, CompiledContract)
    assert compilation.grammar.startswith("start: n0\n")
    assert {entry.pointer for entry in compilation.report} == {
        "/type",
        "/properties",
        "/properties/a/type",
        "/required",
    }
    assert TENANT.trial.num_idle_steps < len(compilation.passed.mask_seconds) <= TENANT.trial.num_steps
    assert 0 < compilation.passed.compile_seconds < compilation.cpu_seconds


def test_the_same_contract_is_tried_the_same_way_twice() -> None:
    text = '{"type":"array","items":{"enum":["a","b",1,null]}}'
    first, second = _compile(text), _compile(text)
    assert isinstance(first, CompiledContract)
    assert isinstance(second, CompiledContract)
    assert first.grammar == second.grammar


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ('{"allOf":[{"type":"string"},{"const":3}]}', {"/allOf/0/type", "/allOf/1/const"}),
        (
            '{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"const":3}]}},"required":["a"]}',
            {"/type", "/required", "/properties/a/allOf/0/type", "/properties/a/allOf/1/const"},
        ),
        ('{"type":"integer","minimum":5,"maximum":4}', {"/type", "/minimum", "/maximum"}),
        ('{"type":"string","minLength":3,"pattern":"^..$"}', {"/type", "/minLength", "/pattern"}),
    ],
)
def test_a_schema_without_values_is_refused_with_what_conflicts(text: str, pointers: set[str]) -> None:
    rejection = _rejection(text)
    assert rejection.code is RejectionCode.UNSATISFIABLE
    assert set(rejection.conflicts) == pointers
    assert rejection.pointer in pointers


def test_patterns_of_names_that_overlap_are_written_by_the_form() -> None:
    compilation = _compile('{"patternProperties":{"a":{"type":"integer"},"b":{"minimum":1}}}')
    assert isinstance(compilation, CompiledContract)
    assert {entry.status for entry in compilation.report} == {KeywordStatus.ENFORCED}


def test_members_are_counted_where_they_are_optional() -> None:
    compilation = _compile('{"allOf":[{"minProperties":1},{"properties":{"a":{}}}]}')
    assert isinstance(compilation, CompiledContract)
    report = {entry.pointer: entry.status for entry in compilation.report}
    assert report["/allOf/0/minProperties"] is KeywordStatus.ENFORCED


def test_what_no_grammar_says_is_left_to_the_validator_where_policy_allows_it() -> None:
    text = '{"items":{"type":"string"},"type":"array","uniqueItems":true}'
    rejection = _rejection(text)
    assert (rejection.code, rejection.pointer) == (RejectionCode.UNSUPPORTED_KEYWORD, "/uniqueItems")
    checked = compile_contract(
        "json_schema",
        text,
        tokenizer=tiny_tokenizer(),
        policy=EnforcementPolicy(allow_checked_after=True),
        limits=TENANT,
    )
    assert isinstance(checked, CompiledContract)
    report = {entry.pointer: entry.status for entry in checked.report}
    assert report["/uniqueItems"] is KeywordStatus.CHECKED_AFTER
    assert report["/items/type"] is KeywordStatus.ENFORCED


_RESTRICTING = {
    "type": '"array"', "minimum": "1", "maximum": "1", "exclusiveMinimum": "1", "exclusiveMaximum": "1",
    "minLength": "1", "maxLength": "1", "required": '["a"]', "properties": '{"a":{"type":"null"}}',
    "additionalProperties": "false", "minProperties": "2", "maxProperties": "1", "dependentRequired": '{"a":["b"]}',
    "dependentSchemas": '{"a":{"required":["b"]}}', "items": "false", "prefixItems": "[false]", "minItems": "1",
    "maxItems": "1", "allOf": '[{"minimum":1},{"multipleOf":2}]', "anyOf": '[{"type":"null"},{"minimum":1}]',
    "oneOf": '[{"required":["a"]},{"required":["b"]}]', "if": '{"type":"null"},"then":false',
    "then": 'false,"if":{"type":"null"}', "else": 'false,"if":{"type":"null"}',
}  # fmt: skip


@pytest.mark.parametrize("keyword", [key for key, row in LLGUIDANCE_1_9_1.rows.items() if row is Capability.ENFORCED])
def test_what_the_matrix_promises_is_enforced(keyword: str) -> None:
    compilation = _compile(f'{{"{keyword}":{_RESTRICTING[keyword]}}}')
    assert isinstance(compilation, CompiledContract)
    assert {entry.status for entry in compilation.report} == {KeywordStatus.ENFORCED}


def test_a_kind_that_is_not_known_is_refused_by_name() -> None:
    compilation = compile_contract(
        "yaml", "a: 1", tokenizer=tiny_tokenizer(), policy=EnforcementPolicy(), limits=TENANT
    )
    assert isinstance(compilation, RefusedContract)
    assert compilation.rejections[0].code is RejectionCode.UNSUPPORTED_KIND


def _optional(count: int) -> str:
    return "{" + ",".join(f'"p{at}":{{"type":"integer"}}' for at in range(count)) + "}"


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"string","pattern":"^((a{1,30}){1,30}){1,30}$"}',
        f'{{"type":"object","properties":{_optional(700)},"additionalProperties":false}}',
        f'{{"anyOf":[{",".join(f"""{{"required":["r{at}"]}}""" for at in range(1500))}]}}',
        '{"enum":[' + ",".join(f'"{at:05d}{"x" * 40}"' for at in range(900)) + "]}",
        '{"type":"string","pattern":"^(' + "|".join(f"w{at:04d}" for at in range(3000)) + ')$"}',
        '{"$ref":"#/$defs/d0","$defs":{' + ",".join(
            f'"d{at}":{{"items":{{"$ref":"#/$defs/d{at + 1}"}}}}' for at in range(150)
        ) + ',"d150":{}}}',
        '{"type":"array","items":{"type":"string","maxLength":9999},"maxItems":9999}',
    ],
)  # fmt: skip
def test_a_hostile_contract_ends_in_a_verdict(text: str) -> None:
    compilation = _compile(text, TENANT)
    if isinstance(compilation, CompiledContract):
        assert compilation.passed.worst_mask_seconds <= TENANT.trial.max_step_seconds
    else:
        assert compilation.rejections[0].code in {
            RejectionCode.COMPILE_REFUSED,
            RejectionCode.LIMIT_EXCEEDED,
            RejectionCode.TRIAL_FAILED,
        }


def test_a_grammar_that_leads_nowhere_fails_its_trial() -> None:
    # A condition that only the end checks: the engine walks into it and finds nothing to say.
    grammar = 'start: "a" b::0x0\nb::_ : "c" %if is_ones([0:1])\n'
    outcome = try_grammar(grammar, tiny_tokenizer(), engine=TENANT.engine, trial=TENANT.trial)
    assert isinstance(outcome, TrialFailed | CompileFailed)


def test_a_grammar_that_trips_a_limit_while_decoding_fails_its_trial() -> None:
    engine = replace(TENANT.engine, step_max_items=1)
    outcome = try_grammar('start: %json {"type":"array"}', tiny_tokenizer(), engine=engine, trial=TENANT.trial)
    assert outcome == TrialFailed(reason="engine_limit")


def test_a_step_over_the_budget_fails_the_trial_with_its_time() -> None:
    trial = replace(TENANT.trial, max_step_seconds=0.0)
    outcome = try_grammar('start: %json {"type":"array"}', tiny_tokenizer(), engine=TENANT.engine, trial=trial)
    assert isinstance(outcome, TrialFailed)
    assert outcome.reason == "first_mask_too_slow"
    assert outcome.observed_seconds is not None
    assert outcome.observed_seconds > 0


def test_text_that_is_no_grammar_fails_to_compile() -> None:
    outcome = try_grammar("start: nothing", tiny_tokenizer(), engine=TENANT.engine, trial=TENANT.trial)
    assert isinstance(outcome, CompileFailed)


def test_a_finite_grammar_is_walked_to_its_end_many_times() -> None:
    outcome = try_grammar('start: "yes" | "no"', tiny_tokenizer(), engine=TENANT.engine, trial=TENANT.trial)
    assert isinstance(outcome, Passed)
    # Two masks are all there is to see: the first, and the one of an end.
    assert TENANT.trial.num_idle_steps < len(outcome.mask_seconds) < 2 * TENANT.trial.num_idle_steps


def test_a_grammar_that_would_be_too_long_to_write_is_refused_by_its_limit() -> None:
    letters = ",".join(f'"p{at}":{{"type":"string","pattern":"^w{at}\\\\p{{L}}$"}}' for at in range(170))
    text = f'{{"type":"object","properties":{{{letters}}},"additionalProperties":false}}'
    rejection = _rejection(text, TENANT)
    assert (rejection.code, rejection.limit_name) == (RejectionCode.LIMIT_EXCEEDED, "max_expression_bytes")


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[@$!%*?&])[A-Za-z\d@$!%*?&]{8,32}$",
        r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{8,64}$",
        r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[^A-Za-z0-9]).{8,}$",
    ],
)
def test_rules_for_passwords_stay_within_what_a_tenant_may_spend(pattern: str) -> None:
    contract = read_json_schema(
        {"type": "string", "pattern": pattern}, limits=TENANT.contract, policy=EnforcementPolicy()
    )
    assert isinstance(_compile(contract.text, TENANT), CompiledContract)


def test_a_union_as_data_model_libraries_write_it_is_enforced() -> None:
    cat: JsonValue = {"properties": {"kind": {"const": "cat"}}, "required": ["kind"], "type": "object"}
    dog: JsonValue = {"properties": {"kind": {"const": "dog"}}, "required": ["kind"], "type": "object"}
    contract = read_json_schema(
        {"oneOf": [cat, dog], "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}}},
        limits=TENANT.contract,
        policy=EnforcementPolicy(),
    )
    assert [entry.pointer for entry in contract.annotations] == ["/discriminator"]
    assert isinstance(_compile(contract.text, TENANT), CompiledContract)
