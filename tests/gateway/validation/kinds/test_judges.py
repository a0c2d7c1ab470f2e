"""The judge of each kind, from canonical text to verdict."""

import pytest

from gateway.validation.job import JudgeJob, pack_job, unpack_job
from gateway.validation.judge import DocumentLimits
from gateway.validation.kinds.judges import prepare_judge
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED
from registry.contract import ContractKind, JsonValue
from registry.reading import read_contract

TAGS: JsonValue = {
    "type": "structural_tag",
    "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
    "triggers": ["<f"],
}


ANY: JsonValue = {"type": "any_text"}


def tag(begin: str, content: JsonValue, end: JsonValue) -> JsonValue:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def verdict(kind: str, value: JsonValue, document: bytes) -> Verdict:
    contract = read_contract(ContractKind(kind), value, limits=UNLIMITED.contract, policy=EnforcementPolicy())
    judge = prepare_judge(contract.kind, contract.text)
    assert not isinstance(judge, Unjudged), judge
    return judge.judge(document)


@pytest.mark.parametrize(
    ("kind", "value", "valid", "invalid"),
    [
        ("regex", "a+$", b"aa", b"aa\n"),
        ("choice", ["x", ""], b"", b" "),
        ("lark", 'start: "a" start | "b"', b"aab", b"aa"),
        ("gbnf", 'root ::= "a" root | "b"', b"aab", b"aa"),
        ("structural_tag", TAGS, b"x<f>12</f>y", b"x<f>1.5</f>"),
        (
            "tool_set",
            [{"type": "function", "name": "f"}],
            b'{"name":"f","arguments":{}}',
            b'{"name":"g","arguments":{}}',
        ),
    ],
)
def test_a_text_is_valid_or_the_kind_is_named_that_it_breaks(
    kind: str, value: JsonValue, valid: bytes, invalid: bytes
) -> None:
    assert verdict(kind, value, valid) == Valid()
    refused = verdict(kind, value, invalid)
    assert isinstance(refused, Invalid)
    assert refused.pointer == ""
    assert kind in {"tool_set", refused.keyword}


@pytest.mark.parametrize("kind", ["regex", "choice", "lark", "gbnf", "structural_tag"])
def test_bytes_that_are_no_text_are_invalid(kind: str) -> None:
    values: dict[str, JsonValue] = {
        "regex": "[^]*",
        "choice": ["\u00ff"],
        "lark": "start: /(?s:.)*/",
        "gbnf": "root ::= .*",
        "structural_tag": {"type": "structural_tag", "format": {"type": "any_text"}},
    }
    refused = verdict(kind, values[kind], b"\xff")
    assert isinstance(refused, Invalid)
    assert refused.keyword == "invalid_encoding"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("regex", "("),
        ("choice", "["),
        ("lark", "start"),
        ("gbnf", "root ::= ("),
        ("structural_tag", "[]"),
        ("structural_tag", '{"format":{"type":"token"}}'),
        ("tool_set", "{}"),
        (
            "tool_set",
            '[{"format":{"definition":"start: \\"a\\"","syntax":"lark","type":"grammar"},"name":"c","type":"custom"}]',
        ),
    ],
)
def test_what_is_no_contract_of_its_kind_has_no_judge(kind: str, text: str) -> None:
    assert isinstance(prepare_judge(ContractKind(kind), text), Unjudged)


def test_a_document_over_its_limit_is_not_judged() -> None:
    judge = prepare_judge(ContractKind.REGEX, "a*", limits=DocumentLimits(max_document_bytes=4))
    assert not isinstance(judge, Unjudged)
    refused = judge.judge(b"aaaaa")
    assert isinstance(refused, Unjudged)
    assert refused.reason is UnjudgedReason.DOCUMENT_LIMIT


def test_json_inside_that_cannot_be_judged_leaves_the_text_without_a_verdict() -> None:
    judge = prepare_judge(ContractKind.LARK, 'start: %json {"items":{"$ref":"#"}} "!"')
    assert not isinstance(judge, Unjudged)
    deep = b"[" * 600 + b"]" * 600 + b"!"
    assert isinstance(judge.judge(deep), Unjudged)


def test_free_text_ends_at_the_first_mark_and_holds_none_that_is_excluded() -> None:
    inner: JsonValue = {"type": "any_text", "excludes": ["no"], "max_chars": 4}
    tag: JsonValue = {"type": "tag", "begin": "(", "content": inner, "end": [")", "]"]}
    contract: JsonValue = {"type": "structural_tag", "format": tag}
    for text, is_valid in {
        "(yes)": True,
        "(n]": True,
        "(no)": False,
        "(a)b)": False,
        "(12345)": False,
        "(a": False,
    }.items():
        assert isinstance(verdict("structural_tag", contract, text.encode()), Valid) is is_valid, text


@pytest.mark.parametrize(
    ("tree", "valid", "invalid"),
    [
        (tag("{", tag("a", ANY, ""), ">"), ["{a>", "{ab>"], ["{a>b>", "{a>>"]),
        (
            {"type": "sequence", "elements": [ANY, tag("", {"type": "const_string", "value": "x"}, ">")]},
            ["ax>"],
            ["xx>"],
        ),
        (
            {
                "type": "triggered_tags",
                "triggers": ["<"],
                "tags": [tag("<", ANY, "")],
                "stop_after_first": True,
            },
            ["a<b", "a<", "a"],
            [],
        ),
        (
            {
                "type": "sequence",
                "elements": [
                    {
                        "type": "triggered_tags",
                        "triggers": ["<"],
                        "tags": [tag("<", ANY, "")],
                        "stop_after_first": True,
                    },
                    {"type": "const_string", "value": "!"},
                ],
            },
            ["a<b!", "a!"],
            ["a<b!!", "a!<!"],
        ),
    ],
)
def test_a_tag_without_begin_or_end_begins_or_ends_as_what_stands_there(
    tree: JsonValue, valid: list[str], invalid: list[str]
) -> None:
    contract: JsonValue = {"type": "structural_tag", "format": tree}
    for text in (*valid, *invalid):
        assert isinstance(verdict("structural_tag", contract, text.encode()), Valid) is (text in valid), text


def test_a_job_says_its_kind() -> None:
    job = JudgeJob(
        contract_digest="sha256:1", kind=ContractKind.GBNF, canonical_text='root ::= "\u00e9"', document=b"\xff"
    )
    assert unpack_job(pack_job(job)) == job
