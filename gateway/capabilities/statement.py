"""The statement of capabilities, made from the tables by which requests are decided, so that the two cannot differ."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Final, Literal

from annotated_types import Le, MaxLen

from compiler_pool.form.formats.table import FORMAT_FITS, Fit
from gateway.capabilities.protocol import (
    ApiMember,
    Capabilities,
    EngineMember,
    FeaturesMember,
    FieldMember,
    FormatMember,
    JsonSchemaMember,
    KeywordMember,
    KindMember,
    LimitClassMember,
    ModelCard,
    ModelLimits,
    ModelMember,
    RequestLimitsMember,
    SchemaDialectMember,
    TextBoundsMember,
    ToolsMember,
    WireDialectMember,
)
from gateway.chat.fields import CHAT_FIELDS
from gateway.chat.protocol import MAX_STOP_STRINGS, ChatRequest
from gateway.dialects.spoken import SPOKEN
from gateway.intake import MATRIX
from gateway.nodes import ModelOffer
from gateway.settings import GatewaySettings
from policy.limits import GOVERNED, TENANT
from policy.serving import ServingPolicy
from policy.serving_plan import Capability
from registry.contract import ContractKind
from registry.dialects import Dialect

_CREATED: Final = 0

_HOLDERS: Final[dict[ContractKind, Literal["schema", "text", "list", "object"]]] = {
    ContractKind.JSON_SCHEMA: "schema",
    ContractKind.REGEX: "text",
    ContractKind.LARK: "text",
    ContractKind.GBNF: "text",
    ContractKind.CHOICE: "list",
    ContractKind.STRUCTURAL_TAG: "object",
    ContractKind.TOOL_SET: "list",
}

APIS: Final = (
    ApiMember(name="chat_completions", path="/v1/chat/completions", streaming=True),
    ApiMember(name="responses", path="/v1/responses", streaming=True),
)


def model_card(offer: ModelOffer, policy: ServingPolicy) -> ModelCard:
    """One model, as this caller may use it."""
    is_ours = offer.capability is Capability.GRAMMAR
    return ModelCard(
        id=offer.model,
        created=_CREATED,
        max_model_len=offer.context_tokens,
        schemagate=ModelMember(
            capability=offer.capability.value,
            tokenizer_digest=offer.tokenizer_digest,
            engine=offer.engine,
            engine_version=offer.engine_version,
            context_tokens=offer.context_tokens,
            limits=ModelLimits(
                context_tokens=offer.context_tokens,
                max_completion_tokens=offer.context_tokens,
                max_choices=_most("n") or 1,
                max_top_logprobs=_most("top_logprobs") if is_ours else None,
                max_tools=TENANT.contract.max_tools if is_ours and policy.allow_tools else None,
                max_stop_strings=MAX_STOP_STRINGS,
            ),
            contract_kinds=[kind.value for kind in ContractKind] if is_ours else [],
            apis=[api.name for api in APIS],
            streaming=policy.allow_streaming,
        ),
    )


def capabilities(settings: GatewaySettings, policy: ServingPolicy, offers: Sequence[ModelOffer]) -> Capabilities:
    """What this deployment can do for a caller under `policy`."""
    bounds = settings.text_bounds
    return Capabilities(
        version=version("schemagate"),
        engine=EngineMember(name=MATRIX.engine, version=MATRIX.engine_version),
        contract_kinds=[KindMember(kind=kind.value, definition=_HOLDERS[kind]) for kind in ContractKind],
        json_schema=_json_schema(),
        wire_dialects=_wire_dialects(),
        apis=[*APIS],
        features=_features(policy),
        limits={
            limits.name: LimitClassMember(contract=asdict(limits.contract), references=asdict(limits.references))
            for limits in (TENANT, GOVERNED)
        },
        text=TextBoundsMember(
            max_digits=bounds.max_digits,
            max_string_length=bounds.max_string_length,
            max_items=bounds.max_items,
            max_depth=bounds.max_depth,
            max_undeclared=bounds.max_undeclared,
        ),
        request=RequestLimitsMember(
            max_body_bytes=settings.max_body_bytes,
            max_body_nesting=settings.max_body_nesting,
            request_seconds=settings.request_seconds,
        ),
        models=[model_card(offer, policy) for offer in sorted(offers, key=lambda offer: offer.model)],
    )


def _most(field: str) -> int | None:
    """The upper bound in the wire type of chat; None where the field is not served."""
    known = ChatRequest.model_fields.get(field)
    for bound in [] if known is None else known.metadata:
        if isinstance(bound, MaxLen):
            return bound.max_length
        if isinstance(bound, Le) and isinstance(bound.le, int):
            return bound.le
    return None


def _json_schema() -> JsonSchemaMember:
    return JsonSchemaMember(
        default_dialect=Dialect.DRAFT_2020_12.value,
        dialects=[
            SchemaDialectMember(name=dialect.value, handling="read" if dialect.is_2020_12 else "translated")
            for dialect in Dialect
        ],
        keywords=[
            KeywordMember(keyword=keyword, status=capability.value)
            for keyword, capability in sorted(MATRIX.rows.items())
        ],
        formats=[
            FormatMember(
                format=name,
                status="checked_after" if fit is Fit.WIDER else "enforced",
                narrower=fit is Fit.NARROWER,
            )
            for name, fit in sorted(FORMAT_FITS.items())
        ],
    )


def _wire_dialects() -> list[WireDialectMember]:
    fields: dict[str, list[FieldMember]] = {}
    for each in SPOKEN:
        member = FieldMember(field=each.field, value=each.value, becomes=each.becomes)
        fields.setdefault(each.server, []).append(member)
    return [WireDialectMember(server=server, fields=members) for server, members in fields.items()]


def _features(policy: ServingPolicy) -> FeaturesMember:
    used = CHAT_FIELDS.used
    has_tools = "tools" in used and policy.allow_tools
    tools = ToolsMember(
        function=True,
        custom=True,
        custom_formats=["text", ContractKind.REGEX.value, ContractKind.LARK.value],
        parallel="parallel_tool_calls" in used,
        choices=["none", "auto", "required", "function", "custom", "allowed_tools"],
        hosted=policy.hosted_tools.value,
    )
    return FeaturesMember(
        tools=tools if has_tools else None,
        choices="n" in used,
        logprobs="logprobs" in used,
        reasoning="reasoning_effort" in used and policy.allow_reasoning,
        refusal=policy.allow_refusal,
        streaming=policy.allow_streaming,
        stream_mode=policy.stream_mode.value,
        inline_contracts=policy.allow_inline,
        named_contracts=True,
        idempotency_key=True,
    )
