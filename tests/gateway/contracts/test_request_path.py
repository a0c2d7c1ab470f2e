"""A contract named in a request: resolved once, before anything else, and told in the answer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from compiler_pool.protocol import CompileRequest
from tests.gateway.contracts.world import INVOICE, NARROWER, WIDER, error_of, registry
from tests.gateway.twins import NodeTwin, PoolTwin, chat, compiled, says, strict, until

CHAT = "/v1/chat/completions"
EXPLAIN = "/v1/contracts/explain"


def node_saying(text: str) -> NodeTwin:
    return NodeTwin(script=lambda _: says(text))


@pytest.mark.parametrize(
    "fields",
    [{"contract": "invoice@prod"}, {"response_format": {"type": "contract", "contract": "invoice"}}],
    ids=["extra body", "response format"],
)
async def test_an_answer_states_where_the_name_led(tmp_path: Path, fields: dict[str, Any]) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        revision = (await here.register())["revision"]
        await here.promote(1)
        response = await here.ask("POST", CHAT, chat(**fields))
    member = response.json()["schemagate"]["contract"]
    assert response.status_code == 200, response.text
    assert response.json()["schemagate"]["completion"] == "complete"
    assert member["digest"] == revision["digest"]
    assert (member["owner"], member["name"], member["alias"], member["revision"]) == ("local", "invoice", "prod", 1)
    assert (member["revision_id"], member["state"], member["class"]) == (revision["id"], "active", "tenant")
    assert (member["visibility"], member["team"], member["deprecated"]) == ("private", None, None)
    assert member["signature"] == {"status": "unsigned", "key_id": None}
    assert response.headers["x-schemagate-contract"] == revision["digest"]
    assert response.headers["x-schemagate-revision"] == revision["id"]
    assert "deprecation" not in response.headers


async def test_a_sent_contract_has_no_name_and_says_so(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        response = await here.ask("POST", CHAT, strict(INVOICE))
    member = response.json()["schemagate"]["contract"]
    assert {member[name] for name in ("owner", "name", "alias", "revision", "revision_id", "state")} == {None}
    assert member["signature"] is None
    assert response.headers["x-schemagate-contract"] == member["digest"]
    assert "x-schemagate-revision" not in response.headers


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_alias_that_moves_in_mid_request_changes_nothing(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001
    gate = asyncio.Event()
    only_in_the_first = '{"id":"a"}'  # the second revision asks for `total` too

    def script(_: Any) -> list[Any]:
        started, *rest = says(only_in_the_first)
        return [started, gate, *rest]

    node = NodeTwin(script=script)
    async with registry(tmp_path, node=node) as here:
        first = (await here.register())["revision"]
        second = (await here.register(schema=NARROWER))["revision"]
        await here.promote(1)
        asked = asyncio.ensure_future(here.ask("POST", CHAT, chat(contract="invoice@prod", stream=stream)))
        await until(lambda: node.num_open == 1)
        await here.promote(2)
        now = await here.ask("GET", "/v1/contracts/invoice@prod")
        gate.set()
        response = await asked
    assert now.json()["revision"]["id"] == second["id"]
    if stream:
        chunks = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
        member = json.loads(chunks[-1])["schemagate"]
    else:
        member = response.json()["schemagate"]
    assert member["completion"] == "complete"
    assert (member["contract"]["revision"], member["contract"]["revision_id"]) == (1, first["id"])
    assert member["contract"]["digest"] == first["digest"] != second["digest"]
    assert response.headers["x-schemagate-revision"] == first["id"]


async def test_the_object_is_judged_under_the_revision_that_was_resolved(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        await here.register()
        await here.register(schema=NARROWER)
        await here.promote(1)
        old = await here.ask("POST", CHAT, chat(contract="invoice@1"))
        new = await here.ask("POST", CHAT, chat(contract="invoice@2"))
    assert old.json()["schemagate"]["completion"] == "complete"
    assert error_of(new) == (422, "output_failed_validation")
    assert new.json()["schemagate"]["contract"]["revision"] == 2


async def test_a_revision_is_found_by_number_and_by_digest(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        digest = (await here.register())["digest"]
        answers = [
            await here.ask("POST", CHAT, chat(contract=name))
            for name in ("invoice@1", digest, f"invoice@{digest}", "local/invoice@1")
        ]
    members = [answer.json()["schemagate"]["contract"] for answer in answers]
    assert {member["revision"] for member in members} == {1}
    assert {member["alias"] for member in members} == {None}


async def test_what_is_not_served_is_refused_before_a_model_is_looked_for(tmp_path: Path) -> None:
    node = NodeTwin()
    async with registry(tmp_path, node=node) as here:
        await here.register(state="draft")
        await here.register("old")
        await here.ask("POST", "/v1/contracts/old/revisions/1/state", {"state": "sunset"})
        await here.register("gone")
        await here.ask("DELETE", "/v1/contracts/gone")
        refused = {
            name: await here.ask("POST", CHAT, chat(contract=name, model="no such model"))
            for name in ("invoice@1", "old@1", "gone@1", "absent", "absent@3", "not a name!", "invoice@nowhere")
        }
    assert {name: error_of(answer) for name, answer in refused.items()} == {
        "invoice@1": (409, "draft_revision"),
        "old@1": (410, "sunset_revision"),
        "gone@1": (410, "contract_gone"),
        "absent": (404, "contract_not_found"),
        "absent@3": (404, "contract_not_found"),
        "not a name!": (400, "invalid_name"),
        "invoice@nowhere": (404, "alias_not_found"),
    }
    assert {answer.json()["error"]["param"] for answer in refused.values()} == {"contract"}
    assert refused["invoice@1"].headers["x-should-retry"] == "false"
    assert node.requests == []


async def test_a_deprecated_revision_is_served_and_says_so(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        await here.register()
        body = {"state": "deprecated", "reason": "use invoice2"}
        await here.ask("POST", "/v1/contracts/invoice/revisions/1/state", body)
        response = await here.ask("POST", CHAT, chat(contract="invoice@1"))
        streamed = await here.ask("POST", CHAT, chat(contract="invoice@1", stream=True))
    member = response.json()["schemagate"]["contract"]
    assert (member["state"], member["deprecated"]) == ("deprecated", "use invoice2")
    assert response.headers["deprecation"] == streamed.headers["deprecation"] == "true"


async def test_a_regular_expression_is_generated_under_and_its_text_is_judged(tmp_path: Path) -> None:
    definition = {"name": "code", "kind": "regex", "definition": "[a-z]{3}"}
    async with registry(tmp_path, node=node_saying("abc")) as here:
        taken = await here.ask("POST", "/v1/contracts", definition)
        answered = await here.ask("POST", CHAT, chat(contract="code@1"))
        explained = await here.ask("POST", EXPLAIN, {"contract": "code@1"})
    assert taken.status_code == 201, taken.text
    assert answered.status_code == explained.status_code == 200, answered.text
    member = answered.json()["schemagate"]
    assert (member["completion"], member["contract"]["kind"]) == ("complete", "regex")
    assert member["validation"]["verdict"] == "valid"


async def test_a_text_outside_its_regular_expression_is_never_complete(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying("abcd")) as here:
        await here.ask("POST", "/v1/contracts", {"name": "code", "kind": "regex", "definition": "[a-z]{3}"})
        answered = await here.ask("POST", CHAT, chat(contract="code@1"))
    assert (answered.status_code, error_of(answered)[1]) == (422, "output_failed_validation")
    validation = answered.json()["schemagate"]["validation"]
    assert (validation["verdict"], validation["pointer"], validation["keyword"]) == ("invalid", "", "regex")


async def test_a_draft_can_be_explained_and_explaining_warms_what_follows(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with registry(tmp_path, pool=pool, node=node_saying('{"id":"a"}')) as here:
        await here.register(state="draft")
        explained = await here.ask("POST", EXPLAIN, {"contract": "invoice@1"})
        await here.promote(1)
        answered = await here.ask("POST", CHAT, chat(contract="invoice@prod"))
    assert explained.status_code == 200, explained.text
    assert explained.json()["contract"]["state"] == "draft"
    assert explained.json()["limit_class"] == "tenant"
    assert answered.json()["schemagate"]["cache"] == "l1"
    assert answered.json()["schemagate"]["contract"]["state"] == "active"
    assert len(pool.requests) == 1


async def test_a_revisions_own_policy_decides_what_may_be_checked_afterwards(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with registry(tmp_path, pool=pool, node=node_saying('["a"]')) as here:
        unique = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        await here.register("strict", unique)
        await here.register("lenient", unique, policy={"allow_checked_after": True})
        strictly = await here.ask("POST", CHAT, chat(contract="strict@1"))
        leniently = await here.ask("POST", CHAT, chat(contract="lenient@1"))
    assert [request.policy.allow_checked_after for request in pool.requests] == [False, True]
    one, two = (each.json()["schemagate"] for each in (strictly, leniently))
    assert one["contract"]["digest"] == two["contract"]["digest"]
    assert one["artifact_key"] != two["artifact_key"]


async def test_a_named_contract_and_the_same_text_sent_share_an_artifact_within_a_tenant(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with registry(tmp_path, pool=pool, node=node_saying('{"id":"a"}')) as here:
        await here.register()
        named = await here.ask("POST", CHAT, chat(contract="invoice@1"))
        sent = await here.ask("POST", CHAT, strict(INVOICE))
    assert named.json()["schemagate"]["artifact_key"] == sent.json()["schemagate"]["artifact_key"]
    assert len(pool.requests) == 1


async def test_usage_is_written_down_and_the_audit_line_names_the_revision(tmp_path: Path) -> None:
    async with registry(tmp_path, node=node_saying('{"id":"a"}')) as here:
        revision = (await here.register())["revision"]
        with structlog.testing.capture_logs() as lines:
            for _ in range(3):
                await here.ask("POST", CHAT, chat(contract="invoice@1"))
        await here.ask("POST", EXPLAIN, {"contract": "invoice@1"})
        metrics = (await here.client.get("/metrics")).text
    async with registry(tmp_path) as here:
        usage = (await here.ask("GET", "/v1/contracts/invoice/usage")).json()
    assert [(each["revision"], each["requests"]) for each in usage["revisions"]] == [(1, 3)]
    audited = [line for line in lines if line["event"] == "request"]
    assert {(line["revision_id"], line["contract_owner"]) for line in audited} == {(revision["id"], "local")}
    assert 'schemagate_gateway_resolutions_total{signature="unsigned",state="active"} 4.0' in metrics


async def test_a_shared_contract_is_used_by_its_owners_name_in_ones_own_partition(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with registry(tmp_path, pool=pool, node=node_saying('{"id":"a"}')) as here:
        await here.register(visibility="shared")
        await here.promote(1)
        async with here.holding(tenant="other", roles=["caller"]) as there:
            theirs = await there.ask("POST", CHAT, chat(contract="local/invoice@prod"))
            unqualified = await there.ask("POST", CHAT, chat(contract="invoice@prod"))
        mine = await here.ask("POST", CHAT, chat(contract="invoice@prod"))
    assert theirs.status_code == 200, theirs.text
    assert theirs.json()["schemagate"]["contract"]["owner"] == "local"
    assert error_of(unqualified) == (404, "contract_not_found")
    assert theirs.json()["schemagate"]["artifact_key"] != mine.json()["schemagate"]["artifact_key"]
    assert len({request.tenant_partition for request in pool.requests}) == 2


async def test_a_report_points_into_the_registered_text(tmp_path: Path) -> None:
    from compiler_pool.protocol import Rejected, RejectionWire

    def refuses(request: CompileRequest) -> Any:
        if '"note"' in request.canonical_text:
            wire = RejectionWire(code="trial_failed", message="no", pointer="/properties/note")
            return Rejected(rejections=[wire], cost=None)
        return compiled(request)

    async with registry(tmp_path, pool=PoolTwin(answer=refuses)) as here:
        await here.register(schema=WIDER)
        response = await here.ask("POST", CHAT, chat(contract="invoice@1"))
    assert error_of(response) == (400, "trial_failed")
    assert response.json()["error"]["pointer"] == "/properties/note"
