"""How long all pointers into a value are together: a long name over many small parts makes each of theirs long.

64 KiB can hold a name of 32 KiB above ten thousand `{}`: a third of a gigabyte of pointers.
"""

from typing import Final

from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import ContractRejectedError

LIMIT_NAME: Final = "max_pointer_characters"
_PER_BYTE: Final = 64
"""Characters of pointers for each byte that a contract may have; real schemas are below 10."""


def check_pointers(value: JsonValue, limits: ContractLimits) -> None:
    """Raise `ContractRejectedError` if the pointers into `value` are too long together. Linear."""
    meter = PointerMeter(limits)
    pending: list[tuple[JsonValue, int]] = [(value, 0)]
    while pending:
        parent, length = pending.pop()
        if isinstance(parent, dict):
            for name, member in parent.items():
                own = length + 1 + len(name) + name.count("~") + name.count("/")
                meter.add(own)
                if isinstance(member, dict | list):
                    pending.append((member, own))
        elif isinstance(parent, list):
            for index, member in enumerate(parent):
                own = length + 1 + len(str(index))
                meter.add(own)
                if isinstance(member, dict | list):
                    pending.append((member, own))


class PointerMeter:
    """Adds up the lengths of pointers while they are made."""

    def __init__(self, limits: ContractLimits) -> None:
        self._most = _PER_BYTE * limits.max_contract_bytes
        self._observed = 0

    def add(self, length: int) -> None:
        """One more pointer of that many characters. Raises `ContractRejectedError`."""
        self._observed += length
        if self._observed > self._most:
            rejection = Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message="All JSON Pointers into the contract are too long together: long names stand over many parts.",
                limit_name=LIMIT_NAME,
                limit=self._most,
                observed=self._observed,
            )
            raise ContractRejectedError((rejection,))
