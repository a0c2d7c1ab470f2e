"""What levels say comes to one policy that no lower level weakens; and whether a request is served under it."""

from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.serving import Downgrade, Floor, HostedTools, RunningTwin, ServingPolicy, StreamMode
from policy.serving_levels import SaidPolicy, effective, families_of
from policy.serving_plan import (
    Asked,
    AskedPart,
    Capability,
    ContractOrigin,
    Enforcer,
    Granted,
    NotGranted,
    ServingRefusal,
    decide,
)

_NAMES = st.frozensets(st.sampled_from("abc"))
_SAID = st.builds(
    SaidPolicy,
    floor=st.none() | st.sampled_from(Floor),
    models=st.none() | _NAMES,
    allow_tools=st.none() | st.booleans(),
    allow_streaming=st.none() | st.booleans(),
    allow_reasoning=st.none() | st.booleans(),
    allow_refusal=st.none() | st.booleans(),
    allow_inline=st.none() | st.booleans(),
    downgrade=st.none() | st.sampled_from(Downgrade),
    max_repairs=st.none() | st.integers(0, 5),
    stream_mode=st.none() | st.sampled_from(StreamMode),
    hosted_tools=st.none() | st.sampled_from(HostedTools),
    running_twin=st.none() | st.sampled_from(RunningTwin),
    fail_open_webhooks=st.none() | _NAMES,
)
_CONTRACTED = Asked(model="m", contract=ContractOrigin.INLINE)


def test_a_level_can_say_every_member_of_a_policy() -> None:
    assert [each.name for each in fields(SaidPolicy)] == [each.name for each in fields(ServingPolicy)]


def test_without_a_word_the_default_holds() -> None:
    assert effective(()) == ServingPolicy()
    assert effective((SaidPolicy(), SaidPolicy())) == ServingPolicy()


def test_the_default_weakens_nothing() -> None:
    default = ServingPolicy()
    assert default.downgrade is Downgrade.NONE
    assert not default.allow_refusal
    assert default.hosted_tools is HostedTools.REFUSE
    assert not default.fail_open_webhooks


def test_a_family_decides_what_its_tenant_leaves_unsaid() -> None:
    family = SaidPolicy(downgrade=Downgrade.REPAIR, max_repairs=3, allow_refusal=True)
    policy = effective((SaidPolicy(), SaidPolicy(floor=Floor.CHECKED), family))
    assert policy == replace(ServingPolicy(), downgrade=Downgrade.REPAIR, max_repairs=3, allow_refusal=True)


def test_a_family_cannot_take_back_what_its_tenant_says() -> None:
    tenant = SaidPolicy(floor=Floor.STRICT, downgrade=Downgrade.NONE, models=frozenset("ab"), allow_refusal=False)
    family = SaidPolicy(
        floor=Floor.CHECKED, downgrade=Downgrade.REPAIR, models=frozenset("bc"), allow_refusal=True, allow_tools=False
    )
    policy = effective((tenant, family))
    assert policy == replace(ServingPolicy(), floor=Floor.STRICT, models=frozenset("b"), allow_tools=False)


def test_no_models_is_none_and_not_all() -> None:
    policy = effective((SaidPolicy(models=frozenset("a")), SaidPolicy(models=frozenset("b"))))
    assert policy.models == frozenset()
    answer = decide(policy, Asked(model="a", contract=ContractOrigin.NONE), Capability.GRAMMAR)
    assert isinstance(answer, NotGranted)


@settings(deadline=None)
@given(st.lists(_SAID, max_size=4))
def test_no_level_is_weakened_by_another(levels: list[SaidPolicy]) -> None:
    policy = effective(levels)
    repairs = {Downgrade.NONE: 0, Downgrade.VALIDATE: 1, Downgrade.REPAIR: 2}
    for level in levels:
        assert level.floor is not Floor.STRICT or policy.floor is Floor.STRICT
        if level.models is not None:
            assert policy.models is not None
            assert policy.models <= level.models
        for name in ("tools", "streaming", "reasoning", "refusal", "inline"):
            assert getattr(level, f"allow_{name}") is not False or not getattr(policy, f"allow_{name}")
        assert level.downgrade is None or repairs[policy.downgrade] <= repairs[level.downgrade]
        assert level.max_repairs is None or policy.max_repairs <= level.max_repairs
        assert level.stream_mode is not StreamMode.HOLD_BACK or policy.stream_mode is StreamMode.HOLD_BACK
        assert level.hosted_tools is not HostedTools.REFUSE or policy.hosted_tools is HostedTools.REFUSE
        if level.fail_open_webhooks is not None:
            assert policy.fail_open_webhooks <= level.fail_open_webhooks


@settings(deadline=None)
@given(_SAID)
def test_one_level_alone_holds_as_it_was_said(level: SaidPolicy) -> None:
    policy = effective((level,))
    for each in fields(SaidPolicy):
        said = getattr(level, each.name)
        assert getattr(policy, each.name) == (getattr(ServingPolicy(), each.name) if said is None else said)


@pytest.mark.parametrize(
    ("name", "owner", "families"),
    [
        ("invoice", None, ("invoice",)),
        ("billing.eu.invoice", None, ("billing.*", "billing.eu.*", "billing.eu.invoice")),
        ("billing.invoice", "other", ("other/billing.*", "other/billing.invoice")),
    ],
)
def test_families_go_from_wide_to_narrow(name: str, owner: str | None, families: tuple[str, ...]) -> None:
    assert families_of(name, owner=owner) == families


@pytest.mark.parametrize("able", [each for each in Capability if each is not Capability.GRAMMAR])
def test_a_contract_without_a_grammar_is_refused_unless_the_policy_says_otherwise(able: Capability) -> None:
    answer = decide(ServingPolicy(), _CONTRACTED, able)
    assert isinstance(answer, NotGranted)
    assert (answer.refusal, answer.part) == (ServingRefusal.CAPABILITY_UNAVAILABLE, AskedPart.CONTRACT)
    validating = decide(ServingPolicy(downgrade=Downgrade.VALIDATE, max_repairs=7), _CONTRACTED, able)
    assert validating == Granted(enforcer=Enforcer.VALIDATOR, max_repairs=0)
    repairing = decide(ServingPolicy(downgrade=Downgrade.REPAIR, max_repairs=2), _CONTRACTED, able)
    assert repairing == Granted(enforcer=Enforcer.VALIDATOR, max_repairs=2)


@pytest.mark.parametrize("downgrade", list(Downgrade))
def test_a_strict_floor_knows_no_downgrade(downgrade: Downgrade) -> None:
    policy = ServingPolicy(floor=Floor.STRICT, downgrade=downgrade)
    answer = decide(policy, _CONTRACTED, Capability.JSON_SCHEMA)
    assert isinstance(answer, NotGranted)
    assert answer.refusal is ServingRefusal.CAPABILITY_UNAVAILABLE
    assert decide(policy, _CONTRACTED, Capability.GRAMMAR) == Granted(enforcer=Enforcer.GRAMMAR)


@pytest.mark.parametrize("able", list(Capability))
def test_what_has_no_contract_needs_no_capability(able: Capability) -> None:
    asked = Asked(model="m", contract=ContractOrigin.NONE, is_streamed=True)
    assert decide(ServingPolicy(), asked, able) == Granted(enforcer=Enforcer.NOBODY)


@pytest.mark.parametrize(
    ("policy", "asked", "refusal", "part"),
    [
        ({"models": frozenset("x")}, {}, ServingRefusal.MODEL_NOT_ALLOWED, AskedPart.MODEL),
        ({"allow_tools": False}, {"uses_tools": True}, ServingRefusal.TOOLS_NOT_ALLOWED, AskedPart.TOOLS),
        ({"allow_streaming": False}, {"is_streamed": True}, ServingRefusal.STREAMING_NOT_ALLOWED, AskedPart.STREAM),
        (
            {"allow_reasoning": False},
            {"wants_reasoning": True},
            ServingRefusal.REASONING_NOT_ALLOWED,
            AskedPart.REASONING,
        ),
        (
            {"allow_inline": False},
            {"contract": ContractOrigin.INLINE},
            ServingRefusal.INLINE_CONTRACT_NOT_ALLOWED,
            AskedPart.CONTRACT,
        ),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(
    policy: dict[str, object], asked: dict[str, object], refusal: ServingRefusal, part: AskedPart
) -> None:
    request = replace(Asked(model="m", contract=ContractOrigin.NONE), **asked)  # type: ignore[arg-type]
    answer = decide(replace(ServingPolicy(), **policy), request, Capability.GRAMMAR)  # type: ignore[arg-type]
    assert isinstance(answer, NotGranted)
    assert (answer.refusal, answer.part) == (refusal, part)
    assert isinstance(decide(ServingPolicy(), request, Capability.GRAMMAR), Granted)


def test_a_registered_contract_is_served_where_inline_ones_are_not() -> None:
    asked = Asked(model="m", contract=ContractOrigin.REGISTERED)
    assert decide(ServingPolicy(allow_inline=False), asked, Capability.GRAMMAR) == Granted(enforcer=Enforcer.GRAMMAR)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"uses_tools": True}, AskedPart.TOOLS),
        ({"wants_reasoning": True}, AskedPart.REASONING),
        ({"wants_logprobs": True}, AskedPart.LOGPROBS),
    ],
)
def test_what_needs_our_decoding_is_not_imitated(asked: dict[str, object], part: AskedPart) -> None:
    request = replace(Asked(model="m", contract=ContractOrigin.NONE), **asked)  # type: ignore[arg-type]
    for able, downgrade in product(Capability, Downgrade):
        answer = decide(ServingPolicy(downgrade=downgrade), request, able)
        if able is Capability.GRAMMAR:
            assert isinstance(answer, Granted)
        else:
            assert isinstance(answer, NotGranted)
            assert (answer.refusal, answer.part) == (ServingRefusal.CAPABILITY_UNAVAILABLE, part)


@settings(deadline=None)
@given(
    st.builds(
        Asked,
        model=st.sampled_from("abz"),
        contract=st.sampled_from(ContractOrigin),
        uses_tools=st.booleans(),
        is_streamed=st.booleans(),
        wants_reasoning=st.booleans(),
        wants_logprobs=st.booleans(),
    ),
    st.lists(_SAID, max_size=3).map(effective),
    st.sampled_from(Capability),
)
def test_a_contract_is_never_left_to_nobody(asked: Asked, policy: ServingPolicy, able: Capability) -> None:
    answer = decide(policy, asked, able)
    if isinstance(answer, Granted):
        assert (answer.enforcer is Enforcer.NOBODY) == (asked.contract is ContractOrigin.NONE)
        if answer.enforcer is Enforcer.VALIDATOR:
            assert policy.downgrade is not Downgrade.NONE
            assert policy.floor is Floor.CHECKED
            assert answer.max_repairs <= policy.max_repairs
        else:
            assert answer.max_repairs == 0
