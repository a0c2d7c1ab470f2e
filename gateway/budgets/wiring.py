"""The parts of budgets, made from the settings."""

from contextlib import AsyncExitStack

from gateway.budgets.desk import BudgetDesk
from gateway.budgets.ledger import BudgetLedger
from gateway.budgets.limits import BudgetLimits, default_limits, price_table
from gateway.budgets.local_share import LocalShare
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.redis_ledger import RedisBudgetLedger
from gateway.budgets.redis_link import RedisLink
from gateway.budgets.settings import BudgetSettings
from gateway.budgets.shared_ledger import SharedBudgetLedger
from gateway.metrics import GatewayMetrics
from gateway.settings import GatewaySettings
from gateway.tasks import TaskOwner
from gateway.tenant_settings import TenantSettings


def open_budgets(
    settings: GatewaySettings,
    tenant_settings: TenantSettings,
    metrics: GatewayMetrics,
    *,
    ledger: BudgetLedger | None,
    tasks: TaskOwner,
    stack: AsyncExitStack,
) -> BudgetDesk:
    """A desk over `ledger`, or over the one that the settings name; `stack` closes it."""
    budgets = settings.budgets
    desk = BudgetDesk(
        ledger or _ledger(budgets, metrics),
        BudgetLimits(default_limits(settings), tenant_settings),
        prices=price_table(budgets.prices),
        lease_seconds=budgets.lease_seconds,
    )
    stack.push_async_callback(desk.close)
    tasks.start(desk.run(), name="budgets")
    return desk


def _ledger(settings: BudgetSettings, metrics: GatewayMetrics) -> BudgetLedger:
    local = MemoryBudgetLedger(lease_seconds=settings.lease_seconds, on_lost=metrics.lost_reservations.inc)
    if settings.redis_url is None:
        return local
    link = RedisLink(settings.redis_url.get_secret_value(), timeout_seconds=settings.redis_timeout_seconds)
    redis = RedisBudgetLedger(link, lease_seconds=settings.lease_seconds, on_lost=metrics.lost_reservations.inc)
    share = LocalShare(num_replicas=settings.num_replicas, reserve_permille=settings.reserve_permille)
    return SharedBudgetLedger(redis, MemoryBudgetLedger(lease_seconds=settings.lease_seconds), share, metrics)
