"""Limits, budgets, entitlements, capability and negotiation: pure functions over frozen values."""
