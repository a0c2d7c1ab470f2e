"""`/v1/models` and `/v1/capabilities` say what requests are then held to."""

from dataclasses import replace
from pathlib import Path

import openai

from compiler_pool.artifact import TokenizerDigest
from gateway.capabilities.statement import capabilities, model_card
from gateway.dialects.sent import READERS
from gateway.dialects.spoken import SPOKEN
from gateway.nodes import ModelOffer
from gateway.validation.formats.table import FORMATS
from policy.capability import LLGUIDANCE_1_9_1
from policy.limits import TENANT, limit_names
from policy.serving import ServingPolicy
from policy.serving_plan import Capability
from registry.contract import ContractKind
from registry.dialects import Dialect
from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, NodeTwin, gateway_with, twin_settings

OFFER = ModelOffer(
    model="m",
    tokenizer_digest=TokenizerDigest("sha256:" + "a" * 64),
    context_tokens=2048,
    engine="torch",
    engine_version="1",
)
SETTINGS = twin_settings(Path())


def test_every_table_is_stated_whole() -> None:
    stated = capabilities(SETTINGS, ServingPolicy(), [OFFER])
    assert {kind.kind for kind in stated.contract_kinds} == {kind.value for kind in ContractKind}
    assert {dialect.name for dialect in stated.json_schema.dialects} == {dialect.value for dialect in Dialect}
    assert {each.keyword: each.status for each in stated.json_schema.keywords} == {
        keyword: capability.value for keyword, capability in LLGUIDANCE_1_9_1.rows.items()
    }
    assert {each.format for each in stated.json_schema.formats} == set(FORMATS)
    assert set(stated.limits["tenant"].contract) == set(limit_names())
    assert stated.limits["tenant"].contract["max_nesting"] == TENANT.contract.max_nesting
    assert sum(len(each.fields) for each in stated.wire_dialects) == len(SPOKEN)


def test_every_field_that_is_read_is_spoken_of_and_no_other() -> None:
    assert {each.field.partition(".")[0] for each in SPOKEN} == set(READERS)


def test_a_policy_narrows_what_is_stated() -> None:
    narrow = ServingPolicy(allow_tools=False, allow_streaming=False, allow_inline=False, allow_refusal=True)
    stated = capabilities(SETTINGS, narrow, [OFFER])
    assert stated.features.tools is None
    assert (stated.features.streaming, stated.features.inline_contracts, stated.features.refusal) == (
        False,
        False,
        True,
    )
    assert (stated.models[0].schemagate.streaming, stated.models[0].schemagate.limits.max_tools) == (False, None)


def test_the_statement_does_not_depend_on_the_order_of_nodes() -> None:
    other = replace(OFFER, model="n")
    assert capabilities(SETTINGS, ServingPolicy(), [OFFER, other]) == capabilities(
        SETTINGS, ServingPolicy(), [other, OFFER]
    )


def test_a_model_has_the_fields_of_openai_and_the_context_under_vllms_name() -> None:
    card = model_card(OFFER, ServingPolicy()).model_dump()
    read = openai.types.Model.model_validate(card)
    assert (read.id, read.object, read.owned_by) == ("m", "model", "schemagate")
    assert card["max_model_len"] == 2048


def test_a_model_without_a_grammar_of_ours_promises_no_kind_of_contract() -> None:
    upstream = replace(OFFER, tokenizer_digest=None, capability=Capability.JSON_SCHEMA)
    told = model_card(upstream, ServingPolicy()).schemagate
    assert (told.capability, told.tokenizer_digest, told.contract_kinds) == ("json_schema", None, [])
    assert (told.limits.max_tools, told.limits.max_top_logprobs) == (None, None)
    ours = model_card(OFFER, ServingPolicy()).schemagate
    assert (ours.limits.max_choices, ours.limits.max_top_logprobs, ours.limits.max_tools) == (8, 20, 128)


async def test_capabilities_need_a_key_and_have_a_tag(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        nobody = await world.client.get("/v1/capabilities", headers={"Authorization": ""})
        first = await world.client.get("/v1/capabilities")
        again = await world.client.get("/v1/capabilities")
        same = await world.client.get("/v1/capabilities", headers={"If-None-Match": f'"x", W/{first.headers["etag"]}'})
        other = await world.client.get("/v1/capabilities", headers={"If-None-Match": '"x"'})
    assert nobody.status_code == 401
    assert (first.status_code, first.content, first.headers["etag"]) == (200, again.content, again.headers["etag"])
    assert first.headers["cache-control"] == "private, no-cache"
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", first.headers["etag"])
    assert other.status_code == 200
    assert [model["id"] for model in first.json()["models"]] == [MODEL]


async def test_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        response = await world.client.get("/v1/capabilities?verbose=1")
    assert (response.status_code, response.json()["error"]["param"]) == (400, "verbose")


async def test_the_stock_client_reads_models_and_their_limits(tmp_path: Path) -> None:
    async with (
        served_gateway(tmp_path, node=NodeTwin()) as (url, key),
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as api,
    ):
        [model] = [each async for each in api.models.list()]
        same = await api.models.retrieve(MODEL)
    assert model == same
    assert model.model_extra is not None
    assert model.model_extra["schemagate"]["limits"]["context_tokens"] == 2048
