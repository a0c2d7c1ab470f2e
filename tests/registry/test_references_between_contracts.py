"""`schemagate:` references: pinned, private, and nothing but layout to the digest."""

from typing import Any

import pytest

from policy.limits import TENANT, ReferenceLimits
from policy.rejection import RejectionCode
from registry.contract import CanonicalContract, ContractDigest, JsonValue
from registry.contract_references import (
    ContractReference,
    contract_uri,
    read_contract_uri,
    referenced_contracts,
    seen_from,
)
from registry.errors import ContractRejectedError
from registry.identifiers import AliasName, ContractName, RevisionNumber, TenantId
from registry.json_schema import read_json_schema
from registry.naming import ByAlias, ByDigest, ByNumber
from registry.reference_closure import FoundContract, ReferenceClosure, references_of
from tests.registry.reading import LENIENT, STRICT, parsed, read, refusal, refusals

_HEX = "0123456789abcdef" * 4
_ADDRESS = {
    "type": "object",
    "properties": {"street_and_number": {"type": "string"}},
    "required": ["street_and_number"],
}


def number(name: str, revision: int, owner: str | None = None) -> ByNumber:
    tenant = None if owner is None else TenantId(owner)
    return ByNumber(name=ContractName(name), number=RevisionNumber(revision), owner=tenant)


def gathered(schema: Any, store: dict[str, Any], limits: ReferenceLimits = TENANT.references) -> ReferenceClosure:
    """The closure over a store that is a dictionary of texts by URI."""
    closure = references_of(parsed(schema), limits)
    while closure.wanted:
        uris = {reference: contract_uri(reference) for reference in closure.wanted}
        closure = closure.with_found(
            {
                reference: FoundContract(document=parsed(store[uri]), num_bytes=100)
                for reference, uri in uris.items()
                if uri in store
            }
        )
    return closure


def read_with(schema: Any, store: dict[str, Any]) -> CanonicalContract:
    documents = gathered(schema, store).documents
    return read_json_schema(parsed(schema), limits=TENANT.contract, policy=STRICT, documents=documents)


@pytest.mark.parametrize(
    ("uri", "reference"),
    [
        (f"schemagate:sha256:{_HEX}", ByDigest(digest=ContractDigest(f"sha256:{_HEX}"))),
        ("schemagate:invoice@1", number("invoice", 1)),
        ("schemagate:invoice.line-item_v2@12", number("invoice.line-item_v2", 12)),
        ("schemagate:acme/invoice@999999999", number("invoice", 999_999_999, "acme")),
    ],
)
def test_a_pinned_reference_has_one_spelling(uri: str, reference: ContractReference) -> None:
    assert read_contract_uri(uri) == reference
    assert contract_uri(reference) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "", "schemagate:", "invoice@1", "SCHEMAGATE:invoice@1", "schemagate:invoice@0", "schemagate:invoice@01",
        "schemagate:invoice@-1", "schemagate:invoice@1.0", "schemagate:invoice@1000000000", "schemagate:invoice@\u0661",
        "schemagate:/invoice@1", "schemagate:a/b/c@1", "schemagate://acme/invoice@1", "schemagate:acme%2Finvoice@1",
        "schemagate:invoice%401", "schemagate:../invoice@1", "schemagate: invoice@1", "schemagate:invoice@1 ",
        "schemagate:invoice@1?x", f"schemagate:sha256:{_HEX.upper()}", f"schemagate:sha256:{_HEX[:-1]}",
        f"schemagate:sha512:{_HEX}", f"schemagate:invoice@sha256:{_HEX}", "schemagate:invoice@1\n",
        "schemagate:" + "a" * 5000,
        "schemagate:invoice@Prod", "schemagate:é@1",
    ],
)  # fmt: skip
def test_any_other_spelling_is_no_reference(uri: str) -> None:
    assert read_contract_uri(uri) is None
    if uri.lower().startswith("schemagate:"):
        assert refusal({"items": {"$ref": uri}}) == ("unresolved_reference", "/items/$ref")


@pytest.mark.parametrize("uri", ["schemagate:invoice@prod", "schemagate:acme/invoice@canary", "schemagate:invoice"])
def test_a_reference_to_an_alias_is_refused_by_its_own_name(uri: str) -> None:
    assert isinstance(read_contract_uri(uri), ByAlias)
    for keyword in ("$ref", "$dynamicRef"):
        (found,) = refusals({"items": {keyword: f"{uri}#/$defs/x"}}, documents={uri: {"$defs": {"x": {}}}})
        assert (found.code, found.pointer) == ("movable_reference", f"/items/{keyword}")
        assert "number or a digest" in found.message


def test_an_alias_is_no_reference_that_a_store_is_asked_for() -> None:
    alias = ByAlias(name=ContractName("invoice"), alias=AliasName("prod"))
    assert read_contract_uri("schemagate:invoice@prod") == alias
    assert referenced_contracts({"$ref": "schemagate:invoice@prod"}) == ()


def test_references_are_found_in_schema_positions_only() -> None:
    schema = {
        "$ref": "schemagate:a@1#/$defs/x",
        "properties": {"$ref": {"$dynamicRef": "schemagate:b@2#name"}},
        "items": [{"$ref": "schemagate:c@3"}],
        "dependencies": {"p": {"$ref": "schemagate:d@4"}},
        "additionalItems": {"$ref": "schemagate:e@5"},
        "components": {"schemas": {"X": {"$ref": "schemagate:f@6"}}},
        "$defs": {"x": {"allOf": [{"$ref": "schemagate:acme/g@7"}, {"$ref": "schemagate:a@1"}]}},
        "enum": [{"$ref": "schemagate:no@1"}],
        "const": {"$ref": "schemagate:no@2"},
        "examples": [{"$ref": "schemagate:no@3"}],
        "x-note": {"$ref": "schemagate:no@4"},
    }
    expected = {number(name, n) for name, n in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 6)]}
    found = referenced_contracts(parsed(schema))
    assert set(found) == expected | {number("g", 7, "acme")}
    assert len(found) == 7
    assert referenced_contracts(True) == ()


def test_a_name_without_an_owner_is_of_the_owner_of_the_text() -> None:
    assert seen_from("", number("a", 1)) == number("a", 1)
    assert seen_from("schemagate:x@1", number("a", 1)) == number("a", 1)
    assert seen_from("schemagate:acme/x@1", number("a", 1)) == number("a", 1, "acme")
    assert seen_from("schemagate:acme/x@1", number("a", 1, "other")) == number("a", 1, "other")
    assert referenced_contracts({"$ref": "schemagate:a@1"}, document="schemagate:acme/x@1") == (number("a", 1, "acme"),)


def test_two_owners_may_mean_two_contracts_by_one_name() -> None:
    store: dict[str, Any] = {
        "schemagate:base@1": {"type": "string"},
        "schemagate:acme/base@1": {"type": "null"},
        "schemagate:acme/list@1": {"items": {"$ref": "schemagate:base@1"}},
    }
    schema = {"properties": {"mine": {"$ref": "schemagate:base@1"}, "theirs": {"$ref": "schemagate:acme/list@1"}}}
    expected = {"properties": {"mine": {"type": "string"}, "theirs": {"items": {"type": "null"}}}}
    assert read_with(schema, store).schema == expected


def test_the_digest_is_that_of_the_contract_written_in_one_text() -> None:
    store: dict[str, Any] = {
        "schemagate:address@3": {"$ref": "#/$defs/it", "$defs": {"it": {"title": "An address", **_ADDRESS}}},
        "schemagate:acme/address@1": _ADDRESS,
    }
    inline = read({"properties": {"from": _ADDRESS, "to": _ADDRESS}})
    store[f"schemagate:{read(_ADDRESS).digest}"] = read(_ADDRESS).text.encode()
    for uri in store:
        outer = {"properties": {"from": {"$ref": uri}, "to": {"$ref": uri}}}
        contract = read_with(outer, store)
        assert contract.text == inline.text
        assert contract.digest == inline.digest
        assert contract.documents == (uri,)
    assert inline.documents == ()


def test_fragments_lead_to_definitions_and_anchors_of_a_revision() -> None:
    store = {"schemagate:types@1": {"$defs": {"a": {"type": "null"}, "b": {"$anchor": "b", "type": "string"}}}}
    schema = {"prefixItems": [{"$ref": "schemagate:types@1#/$defs/a"}, {"$ref": "schemagate:types@1#b"}]}
    assert read_with(schema, store).schema == {"prefixItems": [{"type": "null"}, {"type": "string"}]}
    for fragment in ("/$defs/c", "c", "/$defs"):
        with pytest.raises(ContractRejectedError) as caught:
            read_with({"not": {"$ref": f"schemagate:types@1#{fragment}"}}, store)
        assert caught.value.rejections[0].code is RejectionCode.UNRESOLVED_REFERENCE


def test_a_contract_of_an_older_dialect_is_referred_to_as_its_author_wrote_it() -> None:
    older = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {
            "pair": {"items": [{"type": "null"}, {"$ref": "#text"}], "additionalItems": False},
            "text": {"$id": "#text", "type": "string"},
        },
    }
    schema = {
        "properties": {
            "pair": {"$ref": "schemagate:old@1#/definitions/pair"},
            "first": {"$ref": "schemagate:old@1#/definitions/pair/items/0"},
            "text": {"$ref": "schemagate:old@1#text"},
        }
    }
    assert read_with(schema, {"schemagate:old@1": older}).schema == {
        "properties": {
            "pair": {"items": False, "prefixItems": [{"type": "null"}, {"type": "string"}]},
            "first": {"type": "null"},
            "text": {"type": "string"},
        }
    }


def test_a_contract_that_was_not_found_is_refused_where_it_is_reached() -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read_with({"items": {"$ref": "schemagate:gone@1"}}, {})
    (found,) = caught.value.rejections
    assert (found.code, found.pointer) == ("remote_reference", "/items/$ref")
    assert read_with({"$defs": {"x": {"$ref": "schemagate:gone@1"}}}, {}).text == "true"


def test_a_contract_that_is_read_by_nobody_is_no_dependency() -> None:
    store: dict[str, Any] = {
        "schemagate:a@1": {"$ref": "schemagate:b@1", "$defs": {"unused": {"$ref": "schemagate:c@1"}}},
        "schemagate:b@1": {"type": "null"},
        "schemagate:c@1": {"type": "string"},
    }
    contract = read_with({"items": {"$ref": "schemagate:a@1"}}, store)
    assert contract.documents == ("schemagate:a@1", "schemagate:b@1")


def test_two_revisions_with_one_id_live_side_by_side() -> None:
    name = "https://example.com/invoice"
    store: dict[str, Any] = {
        "schemagate:invoice@1": {"$id": name, "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "null"}}},
        "schemagate:invoice@2": {
            "$id": name,
            "items": {"$ref": f"{name}#/$defs/x"},
            "$defs": {"x": {"type": "string"}},
        },
    }
    schema = {"$id": name, "prefixItems": [{"$ref": "schemagate:invoice@1"}, {"$ref": "schemagate:invoice@2"}]}
    assert read_with(schema, store).schema == {
        "prefixItems": [{"items": {"type": "null"}}, {"items": {"type": "string"}}]
    }


def test_names_in_a_contract_are_its_own() -> None:
    outer = {"$defs": {"t": {"$id": "http://example.com/t", "type": "null"}}}
    inner = {"$id": "http://example.com/root", "$defs": {"s": {"$id": "s", "type": "string"}}}
    # What an embedding contract calls `t` is no `t` to the embedded one,
    with pytest.raises(ContractRejectedError) as caught:
        read_with({"$ref": "schemagate:a@1", **outer}, {"schemagate:a@1": {"items": {"$ref": "http://example.com/t"}}})
    assert caught.value.rejections[0].code is RejectionCode.REMOTE_REFERENCE
    # nor the other way round.
    schema = {"properties": {"p": {"$ref": "schemagate:a@1"}, "q": {"$ref": "http://example.com/s"}}}
    with pytest.raises(ContractRejectedError) as caught:
        read_with(schema, {"schemagate:a@1": inner})
    assert [(found.code, found.pointer) for found in caught.value.rejections] == [
        ("remote_reference", "/properties/q/$ref")
    ]


@pytest.mark.parametrize(
    "identifier",
    ["schemagate:a@1", "schemagate:acme/a@1", f"schemagate:sha256:{_HEX}", "schemagate:x", "SchemaGate:a@1"],
)
def test_no_schema_calls_itself_what_only_the_registry_gives(identifier: str) -> None:
    assert refusal({"$id": identifier}) == ("invalid_schema", "/$id")
    assert refusal({"$defs": {"x": {"$id": identifier}}}) == ("invalid_schema", "/$defs/x/$id")
    documents = {"schemagate:b@1": {"$defs": {"x": {"$id": identifier}}}, "http://example.com/": {"$id": identifier}}
    for uri in documents:
        assert refusal({"not": {"$ref": uri}}, documents=documents) == ("invalid_schema", "/not/$ref")


def test_a_relative_id_cannot_land_on_another_contract() -> None:
    documents: dict[str, Any] = {
        "schemagate:b@1": {"$defs": {"x": {"$id": "a@1", "type": "string"}}, "$ref": "schemagate:a@1"},
        "schemagate:a@1": {"type": "null"},
    }
    assert refusal({"not": {"$ref": "schemagate:b@1"}}, documents=documents) == ("invalid_schema", "/not/$ref")


def test_a_relative_reference_stays_within_its_contract() -> None:
    documents: dict[str, Any] = {
        "schemagate:b@1": {"items": {"$ref": "a@1"}, "$defs": {"x": {"$id": "x", "type": "string"}}},
        "schemagate:c@1": {"items": {"$ref": "x"}, "$defs": {"x": {"$id": "x", "type": "string"}}},
        "schemagate:a@1": {"type": "null"},
    }
    assert refusal({"not": {"$ref": "schemagate:b@1"}}, documents=documents) == ("remote_reference", "/not/$ref")
    assert read({"not": {"$ref": "schemagate:c@1"}}, documents=documents).text == '{"not":{"items":{"type":"string"}}}'


def test_a_contract_can_be_extended_through_its_dynamic_anchors() -> None:
    store: dict[str, Any] = {
        "schemagate:list@1": {"items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
        "schemagate:strings@1": {
            "$ref": "schemagate:list@1", "$defs": {"own": {"$dynamicAnchor": "item", "type": "string"}},
        },
    }  # fmt: skip
    schema = {"prefixItems": [{"$ref": "schemagate:strings@1"}, {"$ref": "schemagate:list@1"}]}
    assert read_with(schema, store).schema == {"prefixItems": [{"items": {"type": "string"}}, {"items": True}]}


def test_a_cycle_between_contracts_without_a_finite_value_is_refused() -> None:
    guarded: dict[str, Any] = {
        "schemagate:a@1": {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "schemagate:b@1"}}},
        "schemagate:b@1": {"type": "array", "prefixItems": [{"$ref": "schemagate:a@1"}], "minItems": 1},
    }
    with pytest.raises(ContractRejectedError) as caught:
        read_with({"$ref": "schemagate:a@1"}, guarded)
    assert caught.value.rejections[0].code is RejectionCode.UNSATISFIABLE
    idle: dict[str, Any] = {
        "schemagate:a@1": {"allOf": [{"$ref": "schemagate:b@1"}]},
        "schemagate:b@1": {"$ref": "schemagate:a@1"},
    }
    with pytest.raises(ContractRejectedError) as caught:
        read_with({"items": {"$ref": "schemagate:a@1"}}, idle)
    assert [(r.code, r.pointer) for r in caught.value.rejections] == [("unguarded_ref_cycle", "/items/$ref")]


def test_the_closure_asks_for_each_contract_once_and_counts_its_depth() -> None:
    store = {f"schemagate:c@{n}": {"items": {"$ref": f"schemagate:c@{n + 1}"}} for n in range(1, 4)}
    store["schemagate:c@4"] = {"items": {"$ref": "schemagate:c@1"}}
    closure = gathered({"prefixItems": [{"$ref": "schemagate:c@1"}, {"$ref": "schemagate:c@1#/items"}]}, store)
    assert list(closure.documents) == list(store)
    assert (closure.depth, closure.num_bytes, closure.wanted) == (4, 400, ())
    assert gathered({"type": "null"}, store).depth == 0


@pytest.mark.parametrize(
    ("limits", "name", "limit", "observed"),
    [
        (ReferenceLimits(max_referenced_contracts=2, max_referenced_bytes=9999, max_reference_depth=9),
         "max_referenced_contracts", 2, 3),
        (ReferenceLimits(max_referenced_contracts=9, max_referenced_bytes=250, max_reference_depth=9),
         "max_referenced_bytes", 250, 300),
        (ReferenceLimits(max_referenced_contracts=9, max_referenced_bytes=9999, max_reference_depth=2),
         "max_reference_depth", 2, 3),
    ],
)  # fmt: skip
def test_a_closure_past_a_limit_is_refused_by_its_name(
    limits: ReferenceLimits, name: str, limit: int, observed: int
) -> None:
    store: dict[str, Any] = {f"schemagate:c@{n}": {"items": {"$ref": f"schemagate:c@{n + 1}"}} for n in range(1, 3)}
    store["schemagate:c@3"] = {"type": "null"}
    with pytest.raises(ContractRejectedError) as caught:
        gathered({"$ref": "schemagate:c@1"}, store, limits)
    (found,) = caught.value.rejections
    assert (found.code, found.limit_name, found.limit, found.observed) == ("limit_exceeded", name, limit, observed)


def test_what_was_not_wanted_is_not_taken() -> None:
    closure = references_of({"$ref": "schemagate:a@1"}, TENANT.references)
    strange: JsonValue = {"type": "null"}
    closure = closure.with_found({number("b", 1): FoundContract(document=strange, num_bytes=10)})
    assert (dict(closure.documents), closure.wanted, closure.num_bytes) == ({}, (), 0)


def test_faults_of_a_referenced_contract_are_told_at_the_reference() -> None:
    documents = {"schemagate:a@1": {"properties": {"p": {"minimun": 1}}}}
    (found,) = refusals({"items": {"$ref": "schemagate:a@1"}}, documents=documents)
    assert (found.code, found.pointer, found.suggestion) == ("unknown_keyword", "/items/$ref", "minimum")
    read({"items": {"$ref": "schemagate:a@1"}}, documents=documents, policy=LENIENT)
