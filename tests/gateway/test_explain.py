"""`POST /v1/contracts/explain`: everything about a contract, and nothing generated."""

from pathlib import Path

from compiler_pool.protocol import (
    BoundedPlaceWire,
    Compiled,
    CompileRequest,
    ReportEntryWire,
    TextBoundsWire,
    TextReportWire,
)
from tests.gateway.twins import MODEL, TOKENIZER, NodeTwin, PoolTwin, compiled, gateway_with

EXPLAIN = "/v1/contracts/explain"
SCHEMA = {
    "title": "Invoice",
    "type": "object",
    "properties": {"id": {"type": "string", "maxLength": 8, "description": "an id"}},
    "required": ["id"],
    "additionalProperties": False,
}


async def test_a_contract_is_explained_without_a_generation(tmp_path: Path) -> None:
    def reports(request: CompileRequest) -> Compiled:
        return compiled(
            request,
            [
                ReportEntryWire(pointer="/type", keyword="type", status="enforced"),
                ReportEntryWire(pointer="/properties/id/maxLength", keyword="maxLength", status="checked_after"),
            ],
        )

    node = NodeTwin()
    async with gateway_with(tmp_path, node=node, pool=PoolTwin(answer=reports)) as world:
        response = await world.client.post(EXPLAIN, json={"contract": {"kind": "json_schema", "schema": SCHEMA}})
        again = await world.client.post(EXPLAIN, json={"contract": {"kind": "json_schema", "schema": SCHEMA}})
    answer = response.json()
    assert response.status_code == 200
    assert answer["digest"].startswith("sha256:")
    assert answer["annotation_digest"].startswith("sha256:")
    assert (answer["model"], answer["tokenizer_digest"]) == (MODEL, TOKENIZER)
    assert answer["policy"] == {"allow_checked_after": True, "unknown_keyword": "reject", "unknown_format": "reject"}
    by_pointer = {entry["pointer"]: entry["status"] for entry in answer["report"]}
    assert by_pointer["/title"] == "annotation"
    assert by_pointer["/properties/id/description"] == "annotation"
    assert by_pointer["/properties/id/maxLength"] == "checked_after"
    assert answer["summary"] == {"enforced": 1, "checked_after": 1, "annotation": 2}
    limits = {limit["name"]: limit for limit in answer["limits"]}
    assert limits["max_contract_bytes"]["limit"] == 65536
    assert limits["max_contract_bytes"]["observed"] == answer["profile"]["contract_bytes"] > 0
    assert limits["max_length"]["observed"] == 8
    assert limits["max_pattern_bytes"]["observed"] is None
    assert answer["limit_class"] == "tenant"
    assert (answer["cache"], answer["compile_cpu_ms"], answer["cost"]["trial_ms"]) == ("compiled", 6, 3)
    assert (again.json()["cache"], again.json()["compile_cpu_ms"]) == ("l1", 0)
    assert "decode" not in answer["timings"]
    assert node.requests == []


async def test_the_installations_bounds_reach_the_pool_and_what_they_narrow_comes_back(tmp_path: Path) -> None:
    def reports(request: CompileRequest) -> Compiled:
        place = BoundedPlaceWire(pointer="/properties/n", limit_name="max_digits", limit=9)
        return compiled(request).model_copy(
            update={"text": TextReportWire(bounds=request.policy.bounds, bounded=[place])}
        )

    pool = PoolTwin(answer=reports)
    schema = {"$ref": "#/definitions/n", "definitions": {"n": {"properties": {"n": {"type": "number"}}}}}
    async with gateway_with(tmp_path, pool=pool, max_digits=9, max_items=5) as world:
        body = {"contract": {"kind": "json_schema", "schema": schema}}
        answers = [(await world.client.post(EXPLAIN, json=body)).json() for _ in range(2)]
    assert pool.requests[0].policy.bounds == TextBoundsWire(max_digits=9, max_items=5, max_undeclared=0)
    for answer in answers:
        assert answer["text"] == {
            "whitespace": "none",
            "max_digits": 9,
            "max_string_length": None,
            "max_items": 5,
            "max_depth": None,
            "max_undeclared": 0,
            "bounded": [{"pointer": "/definitions/n/properties/n", "limit_name": "max_digits", "limit": 9}],
        }


async def test_annotations_do_not_change_a_contracts_identity_but_have_their_own(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        one, two = [
            (await world.client.post(EXPLAIN, json={"contract": {"kind": "json_schema", "schema": schema}})).json()
            for schema in (SCHEMA, SCHEMA | {"title": "Bill"})
        ]
    assert one["digest"] == two["digest"]
    assert one["annotation_digest"] != two["annotation_digest"]


async def test_explaining_warms_the_generation_that_follows(tmp_path: Path) -> None:
    from tests.gateway.twins import says, strict

    pool = PoolTwin()
    node = NodeTwin(script=lambda _: says('{"id":"x"}'))
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        sent = strict(SCHEMA)["response_format"]
        explained = await world.client.post(EXPLAIN, json={"response_format": sent})
        answered = await world.client.post("/v1/chat/completions", json=strict(SCHEMA))
    assert answered.json()["schemagate"]["artifact_key"] == explained.json()["artifact_key"]
    assert answered.json()["schemagate"]["cache"] == "l1"
    assert len(pool.requests) == 1


async def test_a_contract_that_would_be_refused_is_refused_here_in_the_same_words(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        body = {"contract": {"kind": "json_schema", "schema": {"properties": {"a": {"maxLenght": 1}}}}}
        response = await world.client.post(EXPLAIN, json=body)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "unknown_keyword")
    assert (error["pointer"], error["param"]) == ("/properties/a/maxLenght", "contract.schema.properties.a.maxLenght")


async def test_a_model_that_does_not_exist_is_404(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        body = {"contract": {"kind": "json_schema", "schema": {}}, "model": "nobody"}
        response = await world.client.post(EXPLAIN, json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")


async def test_without_a_node_there_is_no_tokenizer_to_compile_for(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(is_down=True)) as world:
        response = await world.client.post(EXPLAIN, json={"contract": {"kind": "json_schema", "schema": {}}})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "backend_failed")


async def test_a_contract_of_another_kind_is_explained_by_its_definition(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        body = {"contract": {"kind": "choice", "definition": ["b", "a"]}}
        explained = await world.client.post(EXPLAIN, json=body)
        refused = await world.client.post(EXPLAIN, json={"contract": {"kind": "choice", "definition": ["a", 1]}})
    assert explained.status_code == 200, explained.text
    assert explained.json()["contract"]["kind"] == "choice"
    assert (pool.requests[0].kind, pool.requests[0].canonical_text) == ("choice", '["a","b"]')
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["pointer"]) == (400, "invalid_schema", "/1")
    assert error["param"] == "contract.definition[1]"
