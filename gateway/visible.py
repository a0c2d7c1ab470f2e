"""Reading what a tenant may see: its own contracts, and those that others share. All else is not there."""

from registry.catalogue import Catalogue
from registry.errors import NotFoundError, TombstonedError
from registry.identifiers import TenantId
from registry.permissions import reference_to_contract
from registry.revision import Contract, Visibility


async def visible_contract(catalogue: Catalogue, viewer: TenantId, text: str, *, retired: bool = False) -> Contract:
    """The contract `[owner/]name`; with `retired`, one's own also after it was.

    One and the same question is put to the store whether a contract is there, is another's, or is not there.

    Raises:
        InvalidNameError, NotFoundError, TombstonedError: only a contract's own tenant is told that it was retired.
    """
    reference = reference_to_contract(text)
    owner = viewer if reference.owner is None else reference.owner
    contract = await catalogue.contracts.contract(owner, reference.name)
    if contract is None:
        raise NotFoundError("contract", text)
    if owner == viewer:
        if contract.tombstoned_at is not None and not retired:
            raise TombstonedError("contract", text)
        return contract
    if contract.visibility is not Visibility.SHARED or contract.tombstoned_at is not None:
        raise NotFoundError("contract", text)
    return contract
