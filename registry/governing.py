"""What a tenant's policy and a contract's class ask of the revision behind an alias."""

from dataclasses import dataclass

from policy.governance import PromotionSafety, RegistryPolicy
from registry.identifiers import AliasName
from registry.revision import ContractClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What has to be shown before the alias moves; the signature also for as long as it is served."""

    signature: bool
    second_person: bool
    safety: PromotionSafety


def demands_of(policy: RegistryPolicy, contract_class: ContractClass, alias: AliasName | None) -> Demands:
    """All aliases of governed contracts are protected, and always take a signature and a second person.

    No alias, which is to say a number or a digest, is asked no less than a protected one: it would be the way around.
    """
    is_governed = contract_class is ContractClass.GOVERNED
    if not is_governed and alias is not None and alias not in policy.protected_aliases:
        return Demands(signature=False, second_person=False, safety=PromotionSafety.ANY)
    return Demands(
        signature=policy.require_signature or is_governed,
        second_person=policy.two_person_promotion or is_governed,
        safety=policy.promotion_safety,
    )
