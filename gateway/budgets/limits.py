"""Which limits hold for a caller: the installation's, and what operators set for tenant, team and key."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from gateway.auth.authenticator import Caller
from gateway.budgets.errors import BudgetUnreadableError
from gateway.budgets.ledger import AccountName, Accounts, LimitedAccount
from gateway.budgets.protocol import BudgetSent, PriceSetting, WindowSent
from gateway.settings import GatewaySettings
from gateway.tenant_settings import TenantSettings
from policy.budget import NANO_USD, Level, LevelLimits, WindowLimits
from policy.periods import CalendarMonth, Period, Span
from policy.prices import ModelPrice, PriceTable
from registry.contract import JsonValue
from registry.identifiers import TenantId
from registry.store.tenant_settings import Setting, Topic

_DEFAULT_SECONDS: Final = 60
_MAX_KEPT: Final = 4_096


class BudgetLimits:
    """The limits of every caller, at most a second old."""

    def __init__(self, defaults: LevelLimits, settings: TenantSettings) -> None:
        self._defaults = defaults
        self._settings = settings
        self._read: OrderedDict[TenantId, tuple[Mapping[str, Setting], Mapping[str, LevelLimits]]] = OrderedDict()

    async def accounts_of(self, caller: Caller) -> Accounts:
        """The accounts that a request of `caller` counts for: its key's and its team's where something is set for
        them, and its tenant's.

        Raises:
            BudgetUnreadableError: a document cannot be read, so that nobody knows what is allowed.
            StoreUnavailableError: the registry's, where the database does not answer.
        """
        names = [AccountName(tenant=caller.tenant, level=Level.KEY, subject=caller.key_id)]
        if caller.actor.team is not None:
            names.append(AccountName(tenant=caller.tenant, level=Level.TEAM, subject=caller.actor.team))
        limits = await self._of_tenant(caller.tenant)
        accounts = [
            LimitedAccount(name=name, limits=limits[subject_of(name)]) for name in names if subject_of(name) in limits
        ]
        accounts.append(await self.account(AccountName(tenant=caller.tenant, level=Level.TENANT)))
        return tuple(accounts)

    async def account(self, name: AccountName) -> LimitedAccount:
        """One account with the limits that hold for it.

        Raises:
            BudgetUnreadableError, StoreUnavailableError: as `accounts_of`.
        """
        limits = (await self._of_tenant(name.tenant)).get(subject_of(name))
        if limits is None:
            limits = self._defaults if name.level is Level.TENANT else LevelLimits()
        return LimitedAccount(name=name, limits=limits)

    async def _of_tenant(self, tenant: TenantId) -> Mapping[str, LevelLimits]:
        documents = await self._settings.of_tenant(tenant, Topic.BUDGET)
        kept = self._read.get(tenant)
        # The same mapping is handed out until it is a second old: read once, not for every request.
        if kept is not None and kept[0] is documents:
            return kept[1]
        limits = {subject: self._limits(subject, each.document) for subject, each in documents.items()}
        self._read[tenant] = (documents, limits)
        self._read.move_to_end(tenant)
        while len(self._read) > _MAX_KEPT:
            self._read.popitem(last=False)
        return limits

    def _limits(self, subject: str, document: JsonValue) -> LevelLimits:
        sent = read_stored(document)
        if sent is None:
            raise BudgetUnreadableError
        return merged(LevelLimits() if subject else self._defaults, sent)


def default_limits(settings: GatewaySettings) -> LevelLimits:
    """What holds for a tenant of whom nothing is said."""
    return LevelLimits(
        max_concurrent_requests=settings.max_concurrent_requests,
        windows=(
            WindowLimits(
                period=Span(seconds=_DEFAULT_SECONDS),
                max_requests=settings.requests_per_minute,
                max_tokens=settings.tokens_per_minute,
                max_compile_cpu_ms=settings.compile_cpu_ms_per_minute,
                max_unique_digests=settings.unique_contracts_per_minute,
            ),
        ),
    )


def merged(below: LevelLimits, sent: BudgetSent) -> LevelLimits:
    """What a document says, and for what it does not say, what holds without it."""
    windows = {window.period.spelling: window for window in below.windows}
    for each in sent.windows:
        period = _period(each)
        windows[period.spelling] = _window(windows.get(period.spelling, WindowLimits(period=period)), each)
    said = sent.model_fields_set
    return LevelLimits(
        max_concurrent_requests=sent.max_concurrent_requests
        if "max_concurrent_requests" in said
        else below.max_concurrent_requests,
        max_concurrent_streams=sent.max_concurrent_streams
        if "max_concurrent_streams" in said
        else below.max_concurrent_streams,
        windows=tuple(windows.values()),
    )


def subject_of(name: AccountName) -> str:
    """Under which subject an account's document lies."""
    return "" if name.level is Level.TENANT else f"{name.level}:{name.subject}"


def read_stored(document: JsonValue) -> BudgetSent | None:
    """A kept document; None where it cannot be read, as one that a newer gateway wrote."""
    try:
        return BudgetSent.model_validate(document)
    except ValidationError:
        return None


def stored(sent: BudgetSent) -> JsonValue:
    """The document as it is kept: what is not said is not there, and money is text."""
    document: dict[str, JsonValue] = sent.model_dump(mode="json")
    return document


def price_table(setting: PriceSetting) -> PriceTable:
    """The operator's table as `policy` computes with it."""
    return PriceTable(
        compile_cpu_second=setting.compile_cpu_second,
        models={
            name: ModelPrice(
                input_per_million=price.input_per_million,
                cached_input_per_million=price.input_per_million
                if price.cached_input_per_million is None
                else price.cached_input_per_million,
                output_per_million=price.output_per_million,
            )
            for name, price in setting.models.items()
        },
    )


def _period(sent: WindowSent) -> Period:
    return CalendarMonth() if sent.seconds is None else Span(seconds=sent.seconds)


def _window(below: WindowLimits, sent: WindowSent) -> WindowLimits:
    said = sent.model_fields_set
    usd = None if sent.max_usd is None else int(sent.max_usd * NANO_USD)
    return WindowLimits(
        period=below.period,
        max_requests=sent.max_requests if "max_requests" in said else below.max_requests,
        max_tokens=sent.max_tokens if "max_tokens" in said else below.max_tokens,
        max_nano_usd=usd if "max_usd" in said else below.max_nano_usd,
        max_compile_cpu_ms=sent.max_compile_cpu_ms if "max_compile_cpu_ms" in said else below.max_compile_cpu_ms,
        max_unique_digests=sent.max_unique_contracts if "max_unique_contracts" in said else below.max_unique_digests,
    )
