"""Who calls: tenants, API keys, and what of them is kept."""
