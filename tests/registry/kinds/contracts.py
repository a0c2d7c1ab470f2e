"""How these tests read contracts of every kind."""

from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT, LimitClass
from policy.rejection import Rejection
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.errors import ContractRejectedError
from registry.reading import read_contract
from tests.registry.reading import parsed


def read(kind: ContractKind, value: Any, *, limits: LimitClass = TENANT) -> CanonicalContract:
    """The contract; objects and lists go through the parser, strings stay as they are."""
    sent: JsonValue = value if isinstance(value, str) else parsed(value)
    return read_contract(kind, sent, limits=limits.contract, policy=EnforcementPolicy())


def refusal(kind: ContractKind, value: JsonValue, *, limits: LimitClass = TENANT) -> Rejection:
    """The first reason why the value is refused."""
    with pytest.raises(ContractRejectedError) as caught:
        read_contract(kind, value, limits=limits.contract, policy=EnforcementPolicy())
    return caught.value.rejections[0]
