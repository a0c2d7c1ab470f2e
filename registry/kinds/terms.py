"""What a contract is read under, and how the contracts inside it are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.limits import ContractLimits
from registry.contract import CanonicalContract, JsonValue
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from registry.kinds.faults import moved

NO_DOCUMENTS: Final[Mapping[str, JsonValue]] = MappingProxyType({})
NO_DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Limits, policy, and the documents that schemas may refer to."""

    limits: ContractLimits
    policy: EnforcementPolicy
    documents: Mapping[str, JsonValue] = field(default_factory=lambda: NO_DOCUMENTS)
    dialect: Dialect | None = None
    """What a schema without `$schema` is written in; `None` is 2020-12."""
    document_dialects: Mapping[str, Dialect] = field(default_factory=lambda: NO_DIALECTS)
    """The same for documents, by URI."""

    def schema(self, value: JsonValue, *, pointer: str = "") -> CanonicalContract:
        """The schema that stands at `pointer`. Raises `ContractRejectedError`, with pointers into the whole."""
        try:
            return read_json_schema(
                value,
                limits=self.limits,
                policy=self.policy,
                documents=self.documents,
                dialect=self.dialect,
                document_dialects=self.document_dialects,
            )
        except ContractRejectedError as error:
            raise moved(error, pointer) from error
