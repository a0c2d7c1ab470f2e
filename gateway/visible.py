"""Reading what a tenant may see: its own contracts, and those that others share. All else is not there."""

from registry.catalogue import Catalogue
from registry.errors import NotFoundError, TombstonedError
from registry.identifiers import TenantId
from registry.permissions import reference_to_contract
from registry.revision import Contract


async def visible_contract(catalogue: Catalogue, viewer: TenantId, text: str, *, retired: bool = False) -> Contract:
    """The contract `[owner/]name`; with `retired`, one's own also after it was.

    The store is asked for what the viewer may see, in one and the same statement whether a contract is there, is
    another's, or is not there: what is private to others does not leave the database.

    Raises:
        InvalidNameError, NotFoundError, TombstonedError: only a contract's own tenant is told that it was retired.
    """
    reference = reference_to_contract(text)
    owner = viewer if reference.owner is None else reference.owner
    contract = await catalogue.contracts.visible_contract(viewer, owner, reference.name)
    if contract is None:
        raise NotFoundError("contract", text)
    if contract.tombstoned_at is not None and not retired:
        raise TombstonedError("contract", text)
    return contract
