"""The serving policy that holds for a request: of its tenant, and of its contract's family once that is known."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from gateway.policies.documents import FAMILY, read_stored, said_in
from gateway.policies.errors import PolicyUnreadableError
from gateway.tenant_settings import TenantSettings
from policy.serving import ServingPolicy
from policy.serving_levels import SaidPolicy, effective, families_of
from registry.identifiers import TenantId
from registry.revision import Contract
from registry.store.tenant_settings import Setting, Topic

_MAX_KEPT: Final = 1024

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPolicies:
    """One tenant's policies at one moment, so that a request is judged by one state of them."""

    tenant: TenantId
    installation: SaidPolicy
    said: Mapping[str, SaidPolicy]
    """By subject: "" is the tenant."""
    _known: dict[tuple[str, ...], ServingPolicy] = field(default_factory=dict)

    def of_contract(self, contract: Contract | None) -> ServingPolicy:
        """What holds under a registered contract; None: under one that was sent, or under none."""
        if contract is None:
            return self.of_families(())
        owner = None if contract.tenant == self.tenant else contract.tenant
        return self.of_families(families_of(contract.name, owner=owner))

    def of_families(self, families: tuple[str, ...]) -> ServingPolicy:
        """What holds in the narrowest of `families`, which go from wide to narrow."""
        subjects = ("", *(each for family in families if (each := FAMILY + family) in self.said))
        known = self._known.get(subjects)
        if known is None:
            levels = (self.said[each] for each in subjects if each in self.said)
            known = self._known[subjects] = effective((self.installation, *levels))
        return known


class ServingPolicies:
    """All tenants' policies. What `of_tenant` gives out is at most as old as `TenantSettings` says."""

    def __init__(self, settings: TenantSettings, *, installation: SaidPolicy) -> None:
        self._settings = settings
        self._installation = installation
        self._read: OrderedDict[TenantId, tuple[Mapping[str, Setting], TenantPolicies]] = OrderedDict()

    async def of_tenant(self, tenant: TenantId) -> TenantPolicies:
        """The policies of a tenant as they are now.

        Raises:
            PolicyUnreadableError: a document is not one that this gateway understands: nothing is served on a guess.
            StoreUnavailableError: the registry's, where the database does not answer.
        """
        documents = await self._settings.of_tenant(tenant, Topic.SERVING)
        known = self._read.get(tenant)
        # The same mapping is the same question to the database: nothing to read again.
        if known is not None and known[0] is documents:
            return known[1]
        said = {subject: _said(setting) for subject, setting in documents.items()}
        policies = TenantPolicies(tenant=tenant, installation=self._installation, said=said)
        self._read[tenant] = (documents, policies)
        self._read.move_to_end(tenant)
        while len(self._read) > _MAX_KEPT:
            self._read.popitem(last=False)
        return policies


def _said(setting: Setting) -> SaidPolicy:
    sent = read_stored(setting.document)
    if sent is None:
        _log.error("unreadable serving policy", tenant=setting.tenant, subject=setting.subject, version=setting.version)
        raise PolicyUnreadableError
    return said_in(sent)
